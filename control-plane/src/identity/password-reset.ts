import type { Bus } from '@parley/shared/bus/bus';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import { normalEmail, sha256 } from './identity-common.ts';
import type { IdentityAction, Origin } from './identity-common.ts';
import type { Mailer } from './mailer.ts';
import type { SignIns } from './sign-ins.ts';
import type { UserAccounts } from './user-accounts.ts';

/** New passwords by mailed link. */
export class PasswordReset {
  readonly #accounts: UserAccounts;
  readonly #signIns: SignIns;
  readonly #bus: Bus;
  readonly #audit: AuditLog<IdentityAction>;
  readonly #mailer: Mailer;
  readonly #background: BackgroundWork;
  readonly #consoleUrl: string;

  constructor(deps: {
    accounts: UserAccounts;
    signIns: SignIns;
    bus: Bus;
    audit: AuditLog<IdentityAction>;
    mailer: Mailer;
    background: BackgroundWork;
    consoleUrl: string;
  }) {
    this.#accounts = deps.accounts;
    this.#signIns = deps.signIns;
    this.#bus = deps.bus;
    this.#audit = deps.audit;
    this.#mailer = deps.mailer;
    this.#background = deps.background;
    this.#consoleUrl = deps.consoleUrl;
  }

  /** Mails a link that works for an hour. Says nothing about whether the account exists, not even by its time. */
  request(email: string, origin: Origin): void {
    this.#background.run('a password reset e-mail could not be sent', async () => {
      const account = sha256(normalEmail(email)).toString('hex').slice(0, 32);
      const { count } = await this.#bus.rates.hit(`forgot:${account}:${origin.address}`, 3600);
      if (count > 5) return;
      const user = await this.#accounts.userByEmail(email);
      if (!user) return;
      const token = await this.#accounts.createResetToken(user._id);
      await this.#mailer.send({
        to: user.email,
        subject: 'Choose a new password',
        text: `Choose a new password within an hour:\n${this.#consoleUrl}/reset-password?token=${token}\n`,
      });
    });
  }

  /** Ends all sign-ins of the user. @throws UnauthorizedError when the token is unknown, used or old */
  async complete(token: string, password: string, origin: Origin): Promise<void> {
    const user = await this.#accounts.redeemResetToken(token, password, origin);
    await this.#signIns.end({ user_id: user._id });
    await this.#audit.record({
      caller: user._id,
      address: origin.address,
      action: 'password.reset',
      target: user._id,
    });
  }
}
