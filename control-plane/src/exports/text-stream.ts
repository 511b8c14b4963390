import { Readable } from 'node:stream';

/**
 * A body that is made while it is read: no more than one piece is made ahead of a slow reader, and nothing more once
 * the client has gone.
 * @param pieces texts; large ones, since each is a write
 */
export function textStream(pieces: AsyncIterable<string>, signal: AbortSignal): Readable {
  const stream = Readable.from(bytes(pieces), { objectMode: false, highWaterMark: 1 });
  // A client that goes is no error to tell anybody of: the stream ends with it.
  stream.on('error', () => undefined);
  if (signal.aborted) stream.destroy();
  else signal.addEventListener('abort', () => stream.destroy(), { once: true });
  return stream;
}

async function* bytes(pieces: AsyncIterable<string>): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) if (piece !== '') yield Buffer.from(piece, 'utf8');
}
