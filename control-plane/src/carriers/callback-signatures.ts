import type { CarrierName } from '@parley/shared/contracts/session-values';
import { ForbiddenError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Carrier, CarrierRequest } from './carrier.ts';
import type { CalledAccount, TrustedCallback } from './trusted-callback.ts';

/** Accounts at carriers, and the signalling opened with them: `TelephonyAccountService`. */
export interface CalledAccounts {
  find(accountId: string): Promise<CalledAccount | null>;
  /** @returns null when there is no such account */
  open(accountId: string): Promise<Carrier | null>;
  /** A callback of the account has come, and its signature is right. */
  called(account: CalledAccount): void;
}

/** Whether callbacks come from the carriers whose they are said to be. */
export class CallbackSignatures {
  readonly #accounts: CalledAccounts;
  readonly #publicUrl: string;
  readonly #logger: Logger;

  constructor(deps: { accounts: CalledAccounts; publicUrl: string; logger: Logger }) {
    this.#accounts = deps.accounts;
    this.#publicUrl = deps.publicUrl;
    this.#logger = deps.logger;
  }

  /**
   * @param request its `url` holds path and query only; the public address is put in front
   * @throws ForbiddenError for unknown accounts and bad signatures alike: nothing but a log line remains
   */
  async trust(
    carrierName: CarrierName,
    accountId: string,
    request: CarrierRequest,
  ): Promise<TrustedCallback> {
    const account = await this.#accounts.find(accountId);
    const carrier = account?.provider === carrierName ? await this.#accounts.open(accountId) : null;
    const signed = { ...request, url: `${this.#publicUrl}${request.url}` };
    if (account && carrier?.verifyWebhook(signed)) {
      this.#accounts.called(account);
      return { carrier, account, request: signed };
    }
    this.#logger.warn(
      { carrier: carrierName, known: account !== null },
      'carrier callback refused: invalid signature',
    );
    throw new ForbiddenError('bad_signature', 'Invalid signature.');
  }
}
