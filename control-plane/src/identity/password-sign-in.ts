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

/** Signs users in by their password, within limits, and lets them change it. */
export class PasswordSignIn {
  readonly #accounts: UserAccounts;
  readonly #signIns: SignIns;
  readonly #bus: Bus;
  readonly #audit: AuditLog<IdentityAction>;
  readonly #clock: Clock;

  constructor(deps: {
    accounts: UserAccounts;
    signIns: SignIns;
    bus: Bus;
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
    for (const { bucket, limit } of limits) {
      const { count, resetAt } = await this.#bus.rates.hit(bucket, LOGIN_WINDOW_SECONDS, 0);
      if (count >= limit) {
        const seconds = Math.max(1, Math.ceil((resetAt - this.#clock.now()) / 1000));
        throw new TooManyRequestsError('rate_limited', 'Too many failed sign-ins. Try again later.', seconds);
      }
    }
    const user = await this.#accounts.userByEmail(email);
    if (!(await this.#accounts.verifyPassword(user, password)) || !user) {
      for (const { bucket } of limits) await this.#bus.rates.hit(bucket, LOGIN_WINDOW_SECONDS, 1);
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

  /** Ends the user's other sign-ins. @throws UnauthorizedError when the current password is wrong */
  async changePassword(caller: UserPrincipal, current: string, next: string, origin: Origin): Promise<void> {
    const user = await this.#accounts.user(caller.user_id);
    if (!(await this.#accounts.verifyPassword(user, current))) {
      throw new UnauthorizedError('unauthenticated', 'Incorrect current password.');
    }
    await this.#accounts.setPassword(user._id, next);
    await this.#signIns.end({ user_id: user._id, except: caller.sign_in_id });
    await this.#audit.record({
      caller,
      address: origin.address,
      action: 'password.changed',
      target: user._id,
    });
  }
}
