import type { Bus } from '@parley/shared/bus/bus';
import { TooManyRequestsError, UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { UserPrincipal } from '../tenancy/principal.ts';
import { normalEmail, sha256 } from './identity-common.ts';
import type { IdentityAction, Origin } from './identity-common.ts';
import type { SignIns, Tokens } from './sign-ins.ts';
import type { UserAccounts } from './user-accounts.ts';

const LOGIN_WINDOW_SECONDS = 900;
const LOGIN_FAILURES = 10;
/** Over all addresses: somebody guesses from many places. */
const LOGIN_FAILURES_PER_ACCOUNT = 100;

type Accounts = Pick<UserAccounts, 'user' | 'userByEmail' | 'verifyPassword' | 'setPassword'>;

interface Limit {
  bucket: string;
  limit: number;
}

/** Signs users in by their password, within limits, and lets them change it. */
export class PasswordSignIn {
  readonly #accounts: Accounts;
  readonly #signIns: Pick<SignIns, 'start' | 'end'>;
  readonly #bus: Pick<Bus, 'rates'>;
  readonly #audit: AuditLog<IdentityAction>;
  readonly #clock: Clock;

  constructor(deps: {
    accounts: Accounts;
    signIns: Pick<SignIns, 'start' | 'end'>;
    bus: Pick<Bus, 'rates'>;
    audit: AuditLog<IdentityAction>;
    clock: Clock;
  }) {
    this.#accounts = deps.accounts;
    this.#signIns = deps.signIns;
    this.#bus = deps.bus;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
  }

  /** @throws UnauthorizedError, the same for a wrong address and a wrong password; TooManyRequestsError */
  async login(email: string, password: string, origin: Origin): Promise<Tokens> {
    const account = sha256(normalEmail(email)).toString('hex').slice(0, 32);
    const limits = [
      { bucket: `login:${account}:${origin.address}`, limit: LOGIN_FAILURES },
      { bucket: `login:${account}`, limit: LOGIN_FAILURES_PER_ACCOUNT },
    ];
    const user = await this.#accounts.userByEmail(email);
    if (!(await this.#guess(limits, () => this.#accounts.verifyPassword(user, password, origin))) || !user) {
      await this.#audit.record({
        caller: 'anonymous',
        address: origin.address,
        action: 'sign_in.failed',
        target: user?._id ?? 'unknown',
      });
      throw new UnauthorizedError('unauthenticated', 'Incorrect e-mail address or password.');
    }
    return this.#signIns.start(user, origin);
  }

  /**
   * Tries a password. It counts as a failure before it is looked at, so that many at once are not all judged; a right one
   * is taken out of the count again.
   * @throws TooManyRequestsError
   */
  async #guess(limits: readonly Limit[], verify: () => Promise<boolean>): Promise<boolean> {
    const counted: Limit[] = [];
    const forget = () =>
      Promise.all(counted.map(({ bucket }) => this.#bus.rates.hit(bucket, LOGIN_WINDOW_SECONDS, -1)));
    for (const limit of limits) {
      const { count, resetAt } = await this.#bus.rates.hit(limit.bucket, LOGIN_WINDOW_SECONDS);
      counted.push(limit);
      if (count > limit.limit) {
        // One that is not judged is no failure.
        await forget();
        const seconds = Math.max(1, Math.ceil((resetAt - this.#clock.now()) / 1000));
        throw new TooManyRequestsError('rate_limited', 'Too many failed sign-ins. Try again later.', seconds);
      }
    }
    let right: boolean;
    try {
      right = await verify();
    } catch (error) {
      await forget();
      throw error;
    }
    if (right) await forget();
    return right;
  }

  /** Ends the user's other sign-ins. @throws UnauthorizedError when the current password is wrong; TooManyRequestsError */
  async changePassword(caller: UserPrincipal, current: string, next: string, origin: Origin): Promise<void> {
    const user = await this.#accounts.user(caller.user_id);
    const limits = [{ bucket: `password:${user._id}`, limit: LOGIN_FAILURES }];
    if (!(await this.#guess(limits, () => this.#accounts.verifyPassword(user, current, origin)))) {
      throw new UnauthorizedError('unauthenticated', 'Incorrect current password.');
    }
    await this.#accounts.setPassword(user._id, next, origin);
    await this.#signIns.end({ user_id: user._id, except: caller.sign_in_id });
    await this.#audit.record({
      caller,
      address: origin.address,
      action: 'password.changed',
      target: user._id,
    });
  }
}
