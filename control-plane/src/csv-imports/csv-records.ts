import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { TextDecoder } from 'node:util';
import { parse } from 'csv-parse';

/** Of one record: a quote that is not closed would else take the rest of the file for one. */
export const MAX_RECORD_CHARACTERS = 100_000;
const DELIMITERS = [',', ';', '\t'] as const;

/** A file that cannot be read, or not on from some record; the message is for its owner. */
export class BadCsvError extends Error {
  override readonly name = 'BadCsvError';
}

/**
 * Records of a CSV file as people have them, the header first: UTF-8 or, with a byte order mark, UTF-16; separated by
 * commas, semicolons or tabs, which the header shows. A quote within a cell that is not quoted as a whole is text. The
 * file is read as fast as its records are taken, and closed with the iterator.
 * @see RFC 4180
 * @throws BadCsvError
 */
export async function* readCsv(file: string): AsyncGenerator<string[], void, undefined> {
  const delimiter = delimiterOf(await beginningOf(file));
  let records = 0;
  let fault: string | undefined;
  const parser = parse({
    delimiter,
    // Who asks knows how many cells there should be, and which records have others.
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_RECORD_CHARACTERS,
    // An error would discard records that were not taken yet.
    skip_records_with_error: true,
    on_record(cells: string[]) {
      if (fault !== undefined) return null;
      records++;
      return cells;
    },
    on_skip(error) {
      const what = MESSAGES[error?.code ?? ''] ?? 'cannot be read';
      fault ??= `${records === 0 ? 'The header' : `Row ${records}`} ${what}.`;
      return undefined;
    },
  });
  // What it meets is thrown where the records are taken.
  const wanted = (): boolean => fault === undefined;
  pipeline(textOf(file, wanted), parser, () => undefined);
  yield* parser as AsyncIterable<string[]>;
  if (fault !== undefined) throw new BadCsvError(fault);
}

const MESSAGES: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'has a quote that is not closed',
  CSV_MAX_RECORD_SIZE: `is longer than ${MAX_RECORD_CHARACTERS} characters: perhaps a quote is not closed`,
};

/** @param wanted whether there is to be more */
async function* textOf(file: string, wanted = () => true): AsyncGenerator<string, void, undefined> {
  let decoder: TextDecoder | undefined;
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
      decoder ??= new TextDecoder(encodingOf(chunk), { fatal: true });
      yield decoder.decode(chunk, { stream: true });
      if (!wanted()) return;
    }
    if (decoder) yield decoder.decode();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new BadCsvError('Save it as UTF-8, or as UTF-16 with a byte order mark.', { cause: error });
  }
}

function encodingOf([a, b]: Buffer): string {
  if (a === 0xff && b === 0xfe) return 'utf-16le';
  return a === 0xfe && b === 0xff ? 'utf-16be' : 'utf-8';
}

async function beginningOf(file: string): Promise<string> {
  for await (const text of textOf(file)) return text;
  return '';
}

/** The one that the first line has most of, outside quotes. */
function delimiterOf(text: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((one) => [one, 0]));
  let quoted = false;
  for (const character of text) {
    if (character === '"') quoted = !quoted;
    else if (quoted) continue;
    else if (character === '\n' || character === '\r') break;
    else if (counts.has(character)) counts.set(character, counts.get(character)! + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0]![0];
}
