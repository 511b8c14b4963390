import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AppError } from '@parley/shared/errors/app-error';
import { readUploadWithFields } from '../http/read-upload.ts';
import { storeFile } from '../storage/store-file.ts';
import { BadCsvError, readCsv } from './csv-records.ts';

/** The largest CSV file that is taken, in bytes. */
export const MAX_CSV_BYTES = 20 * 1024 * 1024;
/** Rows of it, the header not counted. */
export const MAX_CSV_ROWS = 50_000;

const TYPES = ['text/csv', 'text/tab-separated-values', 'application/csv', 'application/vnd.ms-excel'];
/** What browsers and programs send for files whose kind they do not know. */
const ANY_TYPES = ['', 'text/plain', 'application/octet-stream'];
const NAMES = /\.(csv|tsv|txt)$/i;

/** Where the file of an import is until it is over. */
export function importPath(storageDir: string, importId: string): string {
  return path.join(path.resolve(storageDir), 'imports', `${importId}.csv`);
}

/**
 * Stores the CSV file `file` of a multipart body.
 * @param fields text fields that may come beside it
 * @throws AppError 400 `bad_request`, 413, 415; ValidationError
 */
export async function storeCsvUpload(
  request: IncomingMessage,
  target: string,
  fields: readonly string[] = [],
): Promise<{ name: string; sizeBytes: number; fields: Record<string, string> }> {
  const upload = await readUploadWithFields(
    request,
    { maxBytes: MAX_CSV_BYTES, fields },
    async ({ name, contentType, content }) => {
      checkKind(name, contentType);
      return { name, ...(await storeFile(target, content as AsyncIterable<Uint8Array>, MAX_CSV_BYTES)) };
    },
  );
  return { ...upload.taken, fields: upload.fields };
}

/**
 * Takes the CSV file of a multipart body, and has its records read before the answer.
 * @param read gets the records, the header first, as often as it opens them, and the text fields that came
 * @throws as `storeCsvUpload`; AppError 400 `bad_file` for a file that cannot be read to its end
 */
export async function readCsvUpload<T>(
  request: IncomingMessage,
  fields: readonly string[],
  read: (open: () => AsyncGenerator<string[], void, undefined>, fields: Record<string, string>) => Promise<T>,
): Promise<T> {
  const file = path.join(tmpdir(), `parley-${randomUUID()}.csv`);
  try {
    const upload = await storeCsvUpload(request, file, fields);
    return await read(() => readCsv(file), upload.fields);
  } catch (error) {
    throw error instanceof BadCsvError ? badFile(error) : error;
  } finally {
    await rm(file, { force: true });
  }
}

/** 400 `bad_file`: what is wrong with it is in the error's message. */
export function badFile(error: BadCsvError): AppError {
  return new AppError(400, 'bad_file', `The file cannot be imported. ${error.message}`, { cause: error });
}

function checkKind(name: string, contentType: string): void {
  const type = contentType.split(';')[0]!.trim().toLowerCase();
  if (TYPES.includes(type) || (ANY_TYPES.includes(type) && NAMES.test(name))) return;
  throw new AppError(415, 'unsupported_media_type', 'Unsupported kind of file. Send a CSV file.');
}
