import type { CarrierName } from '@parley/shared/contracts/session-values';
import { AppError, ForbiddenError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { CallProgress } from './call-progress.ts';
import type { CallTransfers } from './call-transfers.ts';
import {
  CarrierProtocolError,
  type Carrier,
  type CarrierCallback,
  type CarrierDocument,
  type CarrierRequest,
} from './carrier.ts';
import type { DialledCalls } from './dialled-calls.ts';
import type { IncomingCalls } from './incoming-calls.ts';
import type { CalledAccount, TrustedCallback } from './trusted-callback.ts';

/** Accounts at carriers, and the signalling opened with them: `TelephonyAccountService`. */
export interface CalledAccounts {
  find(accountId: string): Promise<CalledAccount | null>;
  /** @returns null when there is no such account */
  open(accountId: string): Promise<Carrier | null>;
}

/** What carriers tell, and what they are answered. Touches nothing that is not of the account in the path. */
export class CarrierCallbackService {
  readonly #accounts: CalledAccounts;
  readonly #incoming: IncomingCalls;
  readonly #dialled: DialledCalls;
  readonly #transfers: CallTransfers;
  readonly #progress: CallProgress;
  readonly #publicUrl: string;
  readonly #logger: Logger;

  constructor(deps: {
    accounts: CalledAccounts;
    incoming: IncomingCalls;
    dialled: DialledCalls;
    transfers: CallTransfers;
    progress: CallProgress;
    publicUrl: string;
    logger: Logger;
  }) {
    this.#accounts = deps.accounts;
    this.#incoming = deps.incoming;
    this.#dialled = deps.dialled;
    this.#transfers = deps.transfers;
    this.#progress = deps.progress;
    this.#publicUrl = deps.publicUrl;
    this.#logger = deps.logger;
  }

  /**
   * @param request its `url` holds path and query only; the public address is put in front
   * @throws ForbiddenError for unknown accounts and bad signatures alike: nothing but a log line remains
   */
  async handle(
    carrierName: CarrierName,
    accountId: string,
    request: CarrierRequest,
  ): Promise<CarrierDocument> {
    const account = await this.#accounts.find(accountId);
    const carrier = account?.provider === carrierName ? await this.#accounts.open(accountId) : null;
    const signed = { ...request, url: `${this.#publicUrl}${request.url}` };
    if (!account || !carrier?.verifyWebhook(signed)) {
      this.#logger.warn(
        { carrier: carrierName, known: account !== null },
        'carrier callback refused: invalid signature',
      );
      throw new ForbiddenError('bad_signature', 'Invalid signature.');
    }
    const trusted = { carrier, account, request: signed };
    let callback: CarrierCallback | undefined;
    let dialId: string | null;
    try {
      callback = carrier.parseCallback(signed);
      dialId = carrier.dialOf(signed);
    } catch (error) {
      if (!(error instanceof CarrierProtocolError)) throw error;
      throw new AppError(400, 'bad_request', error.message, { cause: error });
    }
    if (!callback) return carrier.acknowledge();
    const givenUp = dialId === null ? null : await this.#dialled.named(trusted, dialId, callback);
    return givenUp ?? this.#answer(trusted, callback);
  }

  async #answer(trusted: TrustedCallback, callback: CarrierCallback): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    // A transfer under way asks at the voice address too: for its document first.
    const transferId = new URL(trusted.request.url).searchParams.get('transfer');
    if (transferId !== null && callback.type !== 'ended') {
      return this.#transfers.document(trusted, callback.carrierCallId, transferId);
    }
    switch (callback.type) {
      case 'incoming':
        return callback.direction === 'inbound'
          ? this.#incoming.arrived(trusted, callback)
          : this.#dialled.connect(trusted, callback.carrierCallId);
      case 'dialled':
        return carrier.acknowledge();
      case 'ringing':
        await this.#progress.rings(account._id, callback.carrierCallId);
        return carrier.acknowledge();
      case 'answered':
        await this.#dialled.answered(trusted, callback.carrierCallId);
        return carrier.acknowledge();
      case 'ended':
        await this.#progress.ended(account._id, callback);
        return carrier.acknowledge();
      case 'transfer_ended':
        return this.#transfers.ended(trusted, callback);
      case 'treated':
        return this.#incoming.treated(trusted, callback);
      case 'stream':
        await this.#progress.stream(account._id, callback);
        return carrier.acknowledge();
    }
  }
}
