import type { IncomingMessage } from 'node:http';
import { AppError, ValidationError } from '@parley/shared/errors/app-error';
import type { BodySpec, JsonBody } from './operation.ts';
import { invalid, parseInput } from './validation.ts';

const MAX_JSON_DEPTH = 64;

/**
 * Reads a whole body, also a chunked one, up to `limitBytes`.
 * @throws AppError 413 `too_large`
 */
export async function readBytes(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > limitBytes) throw tooLarge(limitBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw tooLarge(limitBytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

function tooLarge(limitBytes: number): AppError {
  return new AppError(413, 'too_large', `The body is larger than ${limitBytes} bytes.`);
}

function mediaType(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

function hasBody(request: IncomingMessage): boolean {
  return (
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  );
}

const TYPES = {
  json: ['application/json'],
  form: ['application/x-www-form-urlencoded'],
  multipart: ['multipart/form-data'],
} as const;

/** The content types a spec takes; none means any. */
export function contentTypesOf(spec: BodySpec<unknown>): readonly string[] {
  return 'contentTypes' in spec ? spec.contentTypes : TYPES[spec.kind];
}

/**
 * Picks the spec that fits the request's content type.
 * @throws AppError 415 `unsupported_media_type`
 */
export function chooseBody(request: IncomingMessage, specs: readonly BodySpec<unknown>[]): BodySpec<unknown> {
  const type = mediaType(request);
  const chosen = specs.find((spec) => {
    const types = contentTypesOf(spec);
    return types.length === 0 || types.includes(type) || (spec.kind === 'json' && type.endsWith('+json'));
  });
  if (chosen) return chosen;
  // Without a body there is no type either: the schema says what is missing.
  if (type === '' && !hasBody(request)) return specs[0]!;
  const offered = specs.flatMap((spec) => contentTypesOf(spec)).join(' or ');
  throw new AppError(415, 'unsupported_media_type', `Unsupported content type. Send ${offered}.`);
}

/**
 * Bytes to what the handler gets.
 * @throws ValidationError; AppError 400 `bad_request` for a broken multipart body
 */
export async function parseBody(
  spec: BodySpec<unknown>,
  raw: Buffer,
  request: IncomingMessage,
): Promise<unknown> {
  switch (spec.kind) {
    case 'raw':
      return raw;
    case 'stream':
      return request;
    case 'json':
      return parseJsonBody(spec, raw);
    case 'form': {
      const fields = collect(new URLSearchParams(raw.toString('utf8')));
      if (spec.atLeastOne && Object.keys(fields).length === 0) throw nothingSent();
      checkStorable(fields, 'body');
      return parseInput(spec.schema, fields, 'body');
    }
    case 'multipart': {
      if (raw.length === 0) return parseInput(spec.schema, {}, 'body');
      let form: FormData;
      try {
        const headers = { 'content-type': request.headers['content-type'] ?? '' };
        form = await new Response(new Uint8Array(raw), { headers }).formData();
      } catch (cause) {
        throw new AppError(400, 'bad_request', 'The body is not valid multipart/form-data.', { cause });
      }
      const fields = collect(form);
      checkStorable(fields, 'body');
      return parseInput(spec.schema, fields, 'body');
    }
  }
}

/** @throws ValidationError */
export function parseJsonBody<T>(spec: JsonBody<T>, raw: Buffer): T {
  if (raw.length === 0) {
    if (!spec.optional) throw invalid(['body'], 'Field required', 'missing');
    return parseInput(spec.schema, {}, 'body');
  }
  let value: unknown;
  try {
    // `fatal` refuses bytes that are no UTF-8 instead of replacing them.
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw));
  } catch {
    throw invalid(['body'], 'The body is not valid JSON', 'json_invalid');
  }
  checkStorable(value, 'body');
  if (spec.readOnly.length > 0 || spec.atLeastOne) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      value = Object.fromEntries(Object.entries(value).filter(([key]) => !spec.readOnly.includes(key)));
      if (spec.atLeastOne && Object.keys(value as object).length === 0) throw nothingSent();
    }
  }
  return parseInput(spec.schema, value, 'body');
}

/**
 * Depth that no record has, and NUL characters, which BSON cannot hold in a name and no text has a use for, end here:
 * those of texts, of field names and of the names of files.
 * @throws ValidationError
 */
export function checkStorable(value: unknown, where: 'body' | 'query'): void {
  checkAt(value, [where], 0);
}

function checkAt(value: unknown, loc: readonly (string | number)[], depth: number): void {
  const text = value instanceof File ? value.name : value;
  if (typeof text === 'string' && text.includes('\0')) {
    const what = value instanceof File ? 'must not contain a NUL character in its file name' : NO_NUL;
    throw invalid(loc, what, 'string_pattern_mismatch');
  }
  if (typeof value !== 'object' || value === null) return;
  const whole = loc.slice(0, 1);
  if (depth > MAX_JSON_DEPTH)
    throw invalid(whole, `must not be nested deeper than ${MAX_JSON_DEPTH} levels`, 'json_invalid');
  for (const [key, child] of Object.entries(value)) {
    if (key.includes('\0')) throw invalid(whole, `${NO_NUL} in a field name`, 'json_invalid');
    checkAt(child, [...loc, Array.isArray(value) ? Number(key) : key], depth + 1);
  }
}

const NO_NUL = 'must not contain a NUL character';

function nothingSent(): ValidationError {
  return invalid(['body'], 'At least one field is required', 'missing');
}

/** Names to values; a name that comes again gives an array. */
export function collect<T>(pairs: Iterable<[string, T]>): Record<string, T | T[]> {
  const fields = new Map<string, T | T[]>();
  for (const [name, value] of pairs) {
    const known = fields.get(name);
    if (known === undefined) fields.set(name, value);
    else if (Array.isArray(known)) known.push(value);
    else fields.set(name, [known, value]);
  }
  return Object.fromEntries(fields);
}
