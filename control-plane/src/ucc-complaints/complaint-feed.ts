import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { CarrierError } from '../carriers/carrier.ts';
import type { ComplaintAccount, ComplaintAccounts } from './complaint-accounts.ts';
import type { ComplaintIntake } from './complaint-intake.ts';

/** Complaints as carriers list them. */
export class ComplaintFeed {
  readonly #accounts: Pick<ComplaintAccounts, 'openComplaints'>;
  readonly #intake: Pick<ComplaintIntake, 'take'>;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    accounts: Pick<ComplaintAccounts, 'openComplaints'>;
    intake: Pick<ComplaintIntake, 'take'>;
    clock: Clock;
    logger: Logger;
  }) {
    this.#accounts = deps.accounts;
    this.#intake = deps.intake;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /**
   * Pulls all complaints of each account, until a time. One that fails does not keep the others from being pulled.
   * @returns what failed first
   */
  async pull(
    accounts: readonly ComplaintAccount[],
    endMs: number,
    signal: AbortSignal,
  ): Promise<CarrierError | undefined> {
    let failure: CarrierError | undefined;
    for (const account of accounts) {
      if (signal.aborted) break;
      try {
        await this.#pull(account, endMs, signal);
      } catch (error) {
        if (!(error instanceof CarrierError)) throw error;
        this.#logger.warn(
          { accountId: account._id, code: error.code, status: error.status },
          'complaints could not be pulled from the carrier',
        );
        failure ??= error;
      }
    }
    return failure;
  }

  /** @throws CarrierError */
  async #pull(account: ComplaintAccount, endMs: number, signal: AbortSignal): Promise<void> {
    const feed = await this.#accounts.openComplaints(account._id);
    if (!feed) return;
    let unreadable = 0;
    for await (const page of feed.pages(signal)) {
      for (const told of page) {
        if (told) await this.#intake.take(account, told, 'list');
        else unreadable++;
      }
      if (this.#clock.now() > endMs) throw new CarrierError(account.provider, 'timeout');
    }
    if (unreadable > 0)
      this.#logger.warn({ accountId: account._id, unreadable }, 'the carrier lists complaints without an id');
  }
}
