import type { Readable } from 'node:stream';
import { AppError } from '@parley/shared/errors/app-error';
import { parseByteRange } from './byte-range.ts';
import type { ByteRange } from './byte-range.ts';
import { HttpResponse } from './operation.ts';

export interface ServedFile {
  /** Bytes. */
  size: number;
  contentType: string;
  /** For who saves it. */
  name: string;
  read(range?: ByteRange): Readable;
}

/**
 * A file of a tenant, or the part of it that a `Range` header asks for.
 * @throws AppError 416 `range_not_satisfiable`
 */
export function fileResponse(file: ServedFile, rangeHeader: string | undefined): HttpResponse {
  const headers = {
    'Content-Type': file.contentType,
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, max-age=0',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Content-Disposition': `inline; filename="${file.name}"`,
  };
  const range = parseByteRange(rangeHeader, file.size);
  if (range === 'unsatisfiable')
    throw new AppError(416, 'range_not_satisfiable', `The file has ${file.size} bytes.`);
  if (range === null)
    return new HttpResponse(200, file.read(), { ...headers, 'Content-Length': String(file.size) });
  return new HttpResponse(206, file.read(range), {
    ...headers,
    'Content-Length': String(range.end - range.start + 1),
    'Content-Range': `bytes ${range.start}-${range.end}/${file.size}`,
  });
}
