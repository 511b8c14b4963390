import { createInterface } from 'node:readline';
import type { Clock } from '@parley/shared/time/clock';
import { openBoundedProcess } from '../../lifecycle/bounded-process.ts';
import type { TextChunk } from './chunk-text.ts';
import { DocumentError } from './document-error.ts';
import type { ExtractLine, ExtractOrder } from './extract-child.ts';

const PROGRAM = new URL('./extract-child.ts', import.meta.url);
/** Passages of one document. */
const MAX_CHUNKS = 50_000;

/**
 * The passages of a document, as a bounded process reads them. The process is gone when this ends, whatever ends it.
 * @throws DocumentError; the reason of `signal`
 */
export async function* extractDocument(
  order: ExtractOrder,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<TextChunk> {
  signal.throwIfAborted();
  const child = openBoundedProcess(PROGRAM, order, { clock, signal });
  let chunks = 0;
  try {
    for await (const line of createInterface({ input: child.output, crlfDelay: Infinity })) {
      const told = parseLine(line);
      if (!told) break;
      if ('failure' in told) throw new DocumentError(told.failure);
      if ('done' in told) return;
      if (++chunks > MAX_CHUNKS) throw new DocumentError('too_much_text');
      yield told.chunk;
    }
    signal.throwIfAborted();
    // Killed, or dead of its own limit, before it was done.
    throw new DocumentError('too_complex');
  } finally {
    await child.close();
  }
}

/** @returns undefined for a line that was cut off */
function parseLine(line: string): ExtractLine | undefined {
  try {
    return JSON.parse(line) as ExtractLine;
  } catch {
    return undefined;
  }
}
