import { z } from 'zod';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { parseBase64 } from './base64.ts';
import { CarrierProtocolError } from './carrier-adapter.ts';
import type { CarrierAudio } from './carrier-adapter.ts';
import { MediaScanner } from './media-scanner.ts';

/** Counters and times: numbers, or digits as text. Anything else of the two types counts as not given. */
export const counter = z.union([z.string(), z.number()]).transform((value) => {
  const number = typeof value === 'number' ? value : /^\d{1,15}$/.test(value) ? Number(value) : undefined;
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
});

/** A rate that may come as text. */
export const rate = z.union([z.number(), z.string().regex(/^\d+$/).transform(Number)]);

/** Ids are text; a number is read as its digits. */
export const identifier = z
  .union([z.string(), z.number().transform(String)])
  .pipe(z.string().min(1).max(256));

const anyMessage = z.looseObject({ event: z.string() });

export const mediaMessage = z.object({
  media: z.object({
    track: z.string().optional(),
    chunk: counter.optional(),
    timestamp: counter.optional(),
    payload: z.string(),
  }),
});

const scanner = new MediaScanner();
const audio: CarrierAudio = {
  type: 'audio',
  bytes: new Uint8Array(0),
  chunk: undefined,
  timestampMs: undefined,
};

/** The fast path. @returns undefined for everything that is not plain caller audio */
export function scanMedia(message: Uint8Array): CarrierAudio | undefined {
  if (!scanner.scan(message)) return undefined;
  audio.bytes = scanner.bytes;
  audio.chunk = scanner.chunk;
  audio.timestampMs = scanner.timestampMs;
  return audio;
}

/** The same through the schema. @returns undefined for the other track and for no audio at all */
export function parseMedia(carrier: CarrierName, message: object): CarrierAudio | undefined {
  const { media } = parseWith(carrier, mediaMessage, message);
  if (media.track !== undefined && media.track !== 'inbound') return undefined;
  const bytes = parseBase64(media.payload);
  if (!bytes) throw new CarrierProtocolError(carrier, 'malformed', 'media.payload is not valid base64');
  if (bytes.length === 0) return undefined;
  return { type: 'audio', bytes, chunk: media.chunk, timestampMs: media.timestamp };
}

/** @throws CarrierProtocolError when it is no JSON object with an `event` */
export function parseMessage(carrier: CarrierName, message: Uint8Array): { event: string } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(message.buffer, message.byteOffset, message.byteLength).toString());
  } catch {
    // The parser's own message quotes what it read, which may be what a person said.
    throw new CarrierProtocolError(carrier, 'malformed', 'the message is not valid JSON');
  }
  return parseWith(carrier, anyMessage, parsed);
}

/** @throws CarrierProtocolError naming the fields that are wrong, without their values */
export function parseWith<T extends z.ZodType>(
  carrier: CarrierName,
  schema: T,
  message: unknown,
): z.output<T> {
  const result = schema.safeParse(message);
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue) => issue.path.join('.') || 'message');
  throw new CarrierProtocolError(carrier, 'malformed', `invalid or missing: ${fields.join(', ')}`);
}
