import type { DocumentFormat } from '../files/document-format.ts';
import { chunkText } from './chunk-text.ts';
import type { Chunking, TextChunk } from './chunk-text.ts';
import { DocumentError } from './document-error.ts';
import type { DocumentFailure } from './document-error.ts';
import { readDocument } from './read-document.ts';

/** The program that reads one document. Its only argument is an `ExtractOrder` as JSON; it writes lines of JSON. */
export interface ExtractOrder {
  path: string;
  format: DocumentFormat;
  chunking: Chunking;
}

export type ExtractLine = { chunk: TextChunk } | { failure: DocumentFailure } | { done: true };

/** All the text of a document. */
const MAX_CHARACTERS = 10_000_000;

const order = JSON.parse(process.argv[2]!) as ExtractOrder;

/** Waits while the reader is behind. */
async function write(line: ExtractLine): Promise<void> {
  if (process.stdout.write(`${JSON.stringify(line)}\n`)) return;
  await new Promise((resolve) => process.stdout.once('drain', resolve));
}

async function extract(): Promise<void> {
  const parts: string[] = [];
  let length = 0;
  for await (const part of readDocument(order.path, order.format)) {
    length += part.length;
    if (length > MAX_CHARACTERS) throw new DocumentError('too_much_text');
    parts.push(part);
  }
  let found = false;
  // What no text has a use for, and databases and JSON have trouble with.
  const text = parts
    .join('')
    .toWellFormed()
    .replace(/[\0\u0001-\u0008\u000b\u000c\u000e-\u001f]/g, ' ');
  for (const chunk of chunkText(text, order.chunking)) {
    found = true;
    await write({ chunk });
  }
  if (!found) throw new DocumentError('no_text');
}

try {
  await extract();
  await write({ done: true });
} catch (error) {
  await write({ failure: (error instanceof DocumentError ? error.failure : undefined) ?? 'broken' });
}
