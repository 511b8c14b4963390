import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { UnavailableError } from '@parley/shared/errors/app-error';

const BLOCK_SIZE = 8;
const KEY_BYTES = 32;
/** 128 * N * r is 128 MiB at a cost of 17, and eight times that at 20; the rest is room. */
const MAX_MEMORY_BYTES = 2 * 1024 * 1024 * 1024;
const MAX_AT_ONCE = 2;
const MAX_WAITING = 100;
/** Of one lane: who asks for more is told to come back before others are. */
const MAX_WAITING_IN_LANE = 10;

/** Passwords by scrypt (RFC 7914, p = 1). */
export class PasswordHasher {
  readonly #costBits: number;
  /** Checked when there is no such user, so that both cases take as long. */
  readonly #nobody: string;
  /** Those who wait, by lane; the lane whose turn is next comes first. */
  readonly #lanes = new Map<string, (() => void)[]>();
  #waiting = 0;
  #running = 0;

  /** @param costBits log2 of scrypt's N */
  constructor({ costBits }: { costBits: number }) {
    this.#costBits = costBits;
    this.#nobody = `scrypt$${costBits}$${BLOCK_SIZE}$${'A'.repeat(22)}$${'A'.repeat(43)}`;
  }

  /**
   * @param lane who asks, such as an address: lanes take turns, so that none makes the others wait
   * @returns `scrypt$<log2 N>$<r>$<salt>$<key>`
   */
  async hash(password: string, lane: string): Promise<string> {
    const salt = randomBytes(16);
    const key = await this.#derive(password, salt, this.#costBits, BLOCK_SIZE, lane);
    return ['scrypt', this.#costBits, BLOCK_SIZE, salt.toString('base64url'), key.toString('base64url')].join(
      '$',
    );
  }

  /** @param stored null for a user that does not exist: as slow, and false */
  async verify(password: string, stored: string | null, lane: string): Promise<boolean> {
    const [, bits = '', size = '', salt = '', expected = ''] = (stored ?? this.#nobody).split('$');
    const key = await this.#derive(
      password,
      Buffer.from(salt, 'base64url'),
      Number(bits),
      Number(size),
      lane,
    );
    return timingSafeEqual(key, Buffer.from(expected, 'base64url')) && stored !== null;
  }

  /** At most two at once, each 128 MiB by default; more wait, and past a bound are told to come back. */
  async #derive(
    password: string,
    salt: Buffer,
    costBits: number,
    blockSize: number,
    lane: string,
  ): Promise<Buffer> {
    if (this.#running >= MAX_AT_ONCE) await this.#wait(lane);
    else this.#running += 1;
    try {
      return await new Promise((resolve, reject) => {
        const options = { N: 2 ** costBits, r: blockSize, p: 1, maxmem: MAX_MEMORY_BYTES };
        scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
          error ? reject(error) : resolve(key),
        );
      });
    } finally {
      // The place is handed on as it is.
      const next = this.#next();
      if (next) next();
      else this.#running -= 1;
    }
  }

  #wait(lane: string): Promise<void> {
    const queue = this.#lanes.get(lane) ?? [];
    if (this.#waiting >= MAX_WAITING || queue.length >= MAX_WAITING_IN_LANE)
      throw new UnavailableError('Too many sign-ins are in progress. Retry in a few seconds.');
    this.#lanes.set(lane, queue);
    this.#waiting += 1;
    return new Promise((resolve) => queue.push(resolve));
  }

  /** The first of the first lane, which goes behind the others. */
  #next(): (() => void) | undefined {
    const [first] = this.#lanes;
    if (!first) return undefined;
    const [lane, queue] = first;
    const next = queue.shift();
    this.#waiting -= 1;
    this.#lanes.delete(lane);
    if (queue.length > 0) this.#lanes.set(lane, queue);
    return next;
  }
}
