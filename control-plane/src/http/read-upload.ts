import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import type { BusboyHeaders } from '@fastify/busboy';
import { AppError, ValidationError } from '@parley/shared/errors/app-error';
import { tooLarge } from '../storage/store-file.ts';
import { checkStorable } from './read-body.ts';
import { invalid } from './validation.ts';

export interface UploadedFile {
  name: string;
  contentType: string;
  content: Readable;
}

/** Room for the boundaries and headers of a body. */
const AROUND_BYTES = 64 * 1024;
const MAX_FIELD_BYTES = 32 * 1024;
const MAX_NAME_CHARACTERS = 255;

/**
 * Reads the one file `file` of a multipart body as it comes; nothing of it is held in memory.
 * @param maxBytes of the file: a body that says it is longer is refused at once
 * @param take reads the content to its end, or throws
 * @throws AppError 400 `bad_request` for a body that is none, 413 `too_large`; ValidationError; what `take` throws
 */
export async function readUpload<T>(
  request: IncomingMessage,
  maxBytes: number,
  take: (file: UploadedFile) => Promise<T>,
): Promise<T> {
  return (await readUploadWithFields(request, { maxBytes, fields: [] }, take)).taken;
}

/**
 * As `readUpload`, of a body with text fields beside the file.
 * @param options.fields that may come, each once
 * @returns what `take` made of the file, and the fields that came
 */
export async function readUploadWithFields<T>(
  request: IncomingMessage,
  { maxBytes, fields: known }: { maxBytes: number; fields: readonly string[] },
  take: (file: UploadedFile) => Promise<T>,
): Promise<{ taken: T; fields: Record<string, string> }> {
  const around = AROUND_BYTES + known.length * MAX_FIELD_BYTES;
  if (Number(request.headers['content-length'] ?? 0) > maxBytes + around) throw tooLarge(maxBytes);
  let parser: InstanceType<typeof Busboy>;
  try {
    parser = new Busboy({
      headers: request.headers as BusboyHeaders,
      // One more of each than there may be, so that what is too much can be named.
      limits: {
        ...{ files: 2, fields: known.length + 1, parts: known.length + 3 },
        ...{ fieldSize: MAX_FIELD_BYTES, headerPairs: 20 },
      },
    });
  } catch (cause) {
    throw badBody(cause);
  }
  let taken: Promise<T> | undefined;
  let refused: ValidationError | undefined;
  const fields: Record<string, string> = {};
  const opened: Readable[] = [];
  const read = Promise.withResolvers<void>();
  parser.on('file', (field, content, name, _encoding, contentType) => {
    opened.push(content);
    // It is destroyed with the body; whoever reads it is told by the stream itself.
    content.on('error', () => {});
    refused ??= problemOf(field, name, taken !== undefined);
    if (refused) content.resume();
    else {
      taken = take({ name, contentType, content });
      taken.catch(read.reject);
    }
  });
  parser.on('field', (field, value, _fieldCut, valueCut) => {
    if (!known.includes(field)) refused ??= extra(field);
    else if (field in fields) refused ??= invalid(['body', field], 'must be given once', 'too_long');
    else if (valueCut)
      refused ??= invalid(['body', field], `must have at most ${MAX_FIELD_BYTES} bytes`, 'too_long');
    else fields[field] = value;
  });
  parser.once('finish', () => read.resolve());
  parser.once('error', (cause: unknown) => read.reject(badBody(cause)));
  request.once('close', () => {
    if (!request.complete) read.reject(badBody(new Error('The body broke off.')));
  });
  try {
    request.pipe(parser);
    await read.promise;
    if (refused) throw refused;
    if (taken === undefined) throw invalid(['body', 'file'], 'Field required', 'missing');
    checkStorable(fields, 'body');
    return { taken: await taken, fields };
  } finally {
    request.unpipe(parser);
    for (const stream of opened) stream.destroy(new Error('The body is over.'));
    // Nothing reads or writes any more when the caller goes on.
    await taken?.catch(() => {});
  }
}

function problemOf(field: string, name: unknown, again: boolean): ValidationError | undefined {
  if (field !== 'file') return extra(field);
  if (again) return invalid(['body', 'file'], 'must be one file', 'too_long');
  if (typeof name !== 'string' || name === '')
    return invalid(['body', 'file'], 'must be a file with a name', 'missing');
  if (name.includes('\0') || name.length > MAX_NAME_CHARACTERS)
    return invalid(
      ['body', 'file'],
      `must have a name of at most ${MAX_NAME_CHARACTERS} characters`,
      'too_long',
    );
  return undefined;
}

function extra(field: string): ValidationError {
  return invalid(['body', field.slice(0, 100)], 'Extra inputs are not permitted', 'extra_forbidden');
}

function badBody(cause: unknown): AppError {
  return new AppError(400, 'bad_request', 'The body is not valid multipart/form-data.', { cause });
}
