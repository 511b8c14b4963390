import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { UnavailableError } from '@parley/shared/errors/app-error';

const COST_BITS = 17;
const BLOCK_SIZE = 8;
const KEY_BYTES = 32;
/** 128 * N * r is 128 MiB; the rest is room. */
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
const MAX_AT_ONCE = 2;
const MAX_WAITING = 100;

let running = 0;
const waiting: (() => void)[] = [];

/** @returns `scrypt$<log2 N>$<r>$<salt>$<key>`, RFC 7914 with p = 1 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, COST_BITS, BLOCK_SIZE);
  return ['scrypt', COST_BITS, BLOCK_SIZE, salt.toString('base64url'), key.toString('base64url')].join('$');
}

// Checked when there is no such user, so that both cases take as long.
const NOBODY = `scrypt$${COST_BITS}$${BLOCK_SIZE}$${'A'.repeat(22)}$${'A'.repeat(43)}`;

/** @param stored null for a user that does not exist: as slow, and false */
export async function verifyPassword(password: string, stored: string | null): Promise<boolean> {
  const [, bits = '', size = '', salt = '', expected = ''] = (stored ?? NOBODY).split('$');
  const key = await derive(password, Buffer.from(salt, 'base64url'), Number(bits), Number(size));
  return timingSafeEqual(key, Buffer.from(expected, 'base64url')) && stored !== null;
}

/** At most two at once, each 128 MiB; more wait, and past a bound are told to come back. */
async function derive(password: string, salt: Buffer, costBits: number, blockSize: number): Promise<Buffer> {
  if (running >= MAX_AT_ONCE) {
    if (waiting.length >= MAX_WAITING) throw new UnavailableError('Too many sign-ins at once.');
    await new Promise<void>((resolve) => waiting.push(resolve));
  } else running += 1;
  try {
    return await new Promise((resolve, reject) => {
      const options = { N: 2 ** costBits, r: blockSize, p: 1, maxmem: MAX_MEMORY_BYTES };
      scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
        error ? reject(error) : resolve(key),
      );
    });
  } finally {
    // The place is handed on as it is.
    const next = waiting.shift();
    if (next) next();
    else running -= 1;
  }
}
