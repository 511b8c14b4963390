import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@parley/shared/time/clock';

/** How long a link lives unless its purpose says otherwise. */
export const MEDIA_LINK_MS = 15 * 60_000;

export interface MediaLink {
  url: string;
  expiresAt: Date;
}

/** Links that open one file for a time: the signature in the query stands in for the header. */
export class MediaLinks {
  readonly #key: Buffer;
  readonly #publicUrl: string;
  readonly #clock: Clock;

  /** @param options.key used for nothing else */
  constructor(options: { key: Buffer; publicUrl: string; clock: Clock }) {
    this.#key = options.key;
    this.#publicUrl = options.publicUrl;
    this.#clock = options.clock;
  }

  /** @param path below `/media/v1/` */
  sign(path: string, lifeMs = MEDIA_LINK_MS): MediaLink {
    const expires = Math.floor((this.#clock.now() + lifeMs) / 1000);
    const query = `expires=${expires}&signature=${this.#signature(path, expires)}`;
    return { url: `${this.#publicUrl}${path}?${query}`, expiresAt: new Date(expires * 1000) };
  }

  /** Whether the signature is ours and the time has not come. */
  verify(path: string, query: { expires: number; signature: string }): boolean {
    const expected = Buffer.from(this.#signature(path, query.expires));
    const given = Buffer.from(query.signature);
    const valid = given.length === expected.length && timingSafeEqual(given, expected);
    return valid && query.expires * 1000 > this.#clock.now();
  }

  /** Over path, purpose and time, so that no link can be made into another. */
  #signature(path: string, expires: number): string {
    return createHmac('sha256', this.#key).update(`GET\n${path}\n${expires}`).digest('base64url');
  }
}

/** Path of a recording's audio outside `/v1`. */
export function recordingMediaPath(recordingId: string): string {
  return `/media/v1/recordings/${recordingId}`;
}
