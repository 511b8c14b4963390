import { randomBytes } from 'node:crypto';
import { UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { sha256 } from '../identity/identity-common.ts';
import type { Origin } from '../identity/identity-common.ts';
import type { Tokens } from '../identity/sign-ins.ts';

const LIFETIME_MS = 600_000;
const MOST_CODES = 10;

interface Owners<User> {
  /** The first user of the installation; made where there is none yet. */
  localOwner(origin: Origin): Promise<{ user: User; isNew: boolean }>;
}

interface SignIns<User> {
  start(user: User, origin: Origin): Promise<Tokens>;
}

interface Orgs {
  first(): Promise<{ _id: string } | null>;
  addOwner(orgId: string, userId: string): Promise<void>;
}

/**
 * Links that sign in whoever started the installation, once each, within ten minutes. Only where the one who reads the
 * terminal owns all there is: a platform that runs in one process on somebody's own machine.
 */
export class StartLinks<User extends { _id: string }> {
  /** When each ends to be good, by the SHA-256 of its code. */
  readonly #codes = new Map<string, number>();
  readonly #consoleUrl: string;
  readonly #owners: Owners<User>;
  readonly #orgs: Orgs;
  readonly #signIns: SignIns<User>;
  readonly #clock: Clock;

  constructor(deps: {
    consoleUrl: string;
    userAccounts: Owners<User>;
    orgs: Orgs;
    signIns: SignIns<User>;
    clock: Clock;
  }) {
    this.#consoleUrl = deps.consoleUrl;
    this.#owners = deps.userAccounts;
    this.#orgs = deps.orgs;
    this.#signIns = deps.signIns;
    this.#clock = deps.clock;
  }

  /** @returns an address; its code is behind the `#`, which browsers keep to themselves */
  create(): string {
    const code = randomBytes(32).toString('base64url');
    for (const oldest of this.#codes.keys()) {
      if (this.#codes.size < MOST_CODES) break;
      this.#codes.delete(oldest);
    }
    this.#codes.set(digestOf(code), this.#clock.now() + LIFETIME_MS);
    return `${this.#consoleUrl}/start#code=${code}`;
  }

  /** @throws UnauthorizedError when the code is unknown, used or old */
  async redeem(code: string, origin: Origin): Promise<Tokens> {
    const digest = digestOf(code);
    const goodUntil = this.#codes.get(digest);
    this.#codes.delete(digest);
    if (goodUntil === undefined || goodUntil <= this.#clock.now())
      throw new UnauthorizedError(
        'unauthenticated',
        'The link was used already or has expired. Start Parley again for a new one.',
      );
    const { user, isNew } = await this.#owners.localOwner(origin);
    if (isNew) {
      const org = await this.#orgs.first();
      if (org) await this.#orgs.addOwner(org._id, user._id);
    }
    return this.#signIns.start(user, origin);
  }
}

function digestOf(code: string): string {
  return sha256(code).toString('hex');
}
