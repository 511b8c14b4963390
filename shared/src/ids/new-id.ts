import { randomBytes } from 'node:crypto';

/**
 * Three letters that say what an id names: `agt` in `agt_01k…`. Each belongs to the feature that keeps such records.
 * Ids of sessions are UUIDs and have none.
 */
export type IdPrefix = string;

const PREFIX = /^[a-z]{3}$/;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * 26 lower-case characters that sort by time: 48 bits of milliseconds, then 80 random bits (the form of ULID, in
 * lower case).
 */
export function sortableId(nowMs = Date.now()): string {
  let text = '';
  let time = nowMs;
  for (let i = 0; i < 10; i++) {
    text = ALPHABET[time % 32]! + text;
    time = Math.floor(time / 32);
  }
  const random = randomBytes(16);
  for (let i = 0; i < 16; i++) text += ALPHABET[random[i]! & 31]!;
  return text;
}

/** A new id, for example `agt_01k…`. @throws Error when the prefix is not three letters: a mistake of the program */
export function newId(prefix: IdPrefix, nowMs?: number): string {
  return `${checked(prefix)}_${sortableId(nowMs)}`;
}

/** UUID version 7 (RFC 9562): sorts by time. */
export function uuidV7(nowMs = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The form of one kind of id; after the prefix anything may follow that a client could have been given. */
export function idPattern(prefix: IdPrefix): RegExp {
  return new RegExp(`^${checked(prefix)}_[A-Za-z0-9_-]{1,64}$`);
}

function checked(prefix: IdPrefix): IdPrefix {
  if (!PREFIX.test(prefix)) throw new Error(`An id prefix must have three letters: ${prefix} does not.`);
  return prefix;
}
