import type { BlockList } from 'node:net';
import { addressKey, clientAddress } from '@parley/shared/http/client-address';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { UpgradeRequest } from '../server/upgrade-request.ts';
import { AdmissionError } from './session-source.ts';

/** How long a credential that nobody issued stays refused without asking again. */
const REMEMBERED_MS = 60_000;
/** Entries of each kind; the oldest go. */
const MAX_ENTRIES = 10_000;
/** How often an address that goes on is told to the log. */
const TELL_EVERY_MS = 60_000;

interface Address {
  /** Refusals that the address has left, as of `at`. */
  left: number;
  at: number;
  toldAt: number;
}

/**
 * What was refused a short while ago: guesses at credentials cost the control plane a look-up each, so an address gets
 * only so many of them a minute, and the same guess is looked up once. Credentials that are admitted cost nothing.
 */
export class RefusedCredentials {
  readonly #perMinute: number;
  readonly #trusted: BlockList;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #addresses = new Map<string, Address>();
  /** Until when each digest is refused; monotonic ms. */
  readonly #digests = new Map<string, number>();

  /** @param deps.perMinute refusals of one address; 0: any number */
  constructor(deps: { perMinute: number; trustedProxies: BlockList; clock: Clock; logger: Logger }) {
    this.#perMinute = deps.perMinute;
    this.#trusted = deps.trustedProxies;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** What a limit counts of a request: the client's address, or its network. */
  addressOf({ remoteAddress, headers }: UpgradeRequest): string {
    return addressKey(clientAddress(remoteAddress, headers.get('x-forwarded-for'), this.#trusted));
  }

  /** Whether nothing that this address brings is looked up for a while. */
  mayNotAsk(address: string): boolean {
    return this.#perMinute > 0 && this.#leftOf(address).left < 1;
  }

  /** Whether a credential is known to be none. @param digest of it, with whatever else decides that */
  knows(digest: string): boolean {
    const until = this.#digests.get(digest);
    return until !== undefined && until > this.#clock.monotonic();
  }

  /** Notes why a credential was not admitted. Only what a guess would lead to counts against its address. */
  note(address: string, digest: string, error: unknown): void {
    if (!(error instanceof AdmissionError)) return;
    const { code } = error;
    if (code !== 'credential_invalid' && code !== 'signature_invalid') return;
    this.#count(address);
    if (code !== 'credential_invalid' || this.knows(digest)) return;
    this.#digests.delete(digest);
    this.#digests.set(digest, this.#clock.monotonic() + REMEMBERED_MS);
    forgetOldest(this.#digests);
  }

  #leftOf(key: string): Address {
    const now = this.#clock.monotonic();
    const known = this.#addresses.get(key);
    if (known === undefined) return { left: this.#perMinute, at: now, toldAt: -Infinity };
    known.left = Math.min(this.#perMinute, known.left + ((now - known.at) * this.#perMinute) / 60_000);
    known.at = now;
    return known;
  }

  #count(key: string): void {
    if (this.#perMinute === 0) return;
    const address = this.#leftOf(key);
    address.left--;
    if (address.left < 1 && address.at - address.toldAt >= TELL_EVERY_MS) {
      address.toldAt = address.at;
      this.#logger.warn(
        { pii: { address: key } },
        'connections from one address are refused for a while: too many invalid credentials. Is it a proxy, name it in TRUSTED_PROXIES',
      );
    }
    this.#addresses.delete(key);
    this.#addresses.set(key, address);
    forgetOldest(this.#addresses);
  }
}

function forgetOldest(entries: Map<string, unknown>): void {
  if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
}
