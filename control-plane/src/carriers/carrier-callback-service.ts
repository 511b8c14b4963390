import type { CarrierName } from '@parley/shared/contracts/session-values';
import { AppError } from '@parley/shared/errors/app-error';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { CallProgress } from './call-progress.ts';
import type { CallTransfers } from './call-transfers.ts';
import type { CallbackSignatures } from './callback-signatures.ts';
import {
  CarrierProtocolError,
  type CarrierCallback,
  type CarrierDocument,
  type CarrierRequest,
} from './carrier.ts';
import type { DialledCalls } from './dialled-calls.ts';
import type { IncomingCalls } from './incoming-calls.ts';
import type { TrustedCallback } from './trusted-callback.ts';

/** What carriers tell, and what they are answered. Touches nothing that is not of the account in the path. */
export class CarrierCallbackService {
  readonly #signatures: CallbackSignatures;
  readonly #incoming: IncomingCalls;
  readonly #dialled: DialledCalls;
  readonly #transfers: CallTransfers;
  readonly #progress: CallProgress;

  constructor(deps: {
    signatures: CallbackSignatures;
    incoming: IncomingCalls;
    dialled: DialledCalls;
    transfers: CallTransfers;
    progress: CallProgress;
  }) {
    this.#signatures = deps.signatures;
    this.#incoming = deps.incoming;
    this.#dialled = deps.dialled;
    this.#transfers = deps.transfers;
    this.#progress = deps.progress;
  }

  /** @param request as for `CallbackSignatures.trust` */
  async handle(
    carrierName: CarrierName,
    accountId: string,
    request: CarrierRequest,
  ): Promise<CarrierDocument> {
    const trusted = await this.#signatures.trust(carrierName, accountId, request);
    const { carrier } = trusted;
    let callback: CarrierCallback | undefined;
    let dialId: string | null;
    try {
      callback = carrier.parseCallback(trusted.request);
      dialId = carrier.dialOf(trusted.request);
    } catch (error) {
      if (!(error instanceof CarrierProtocolError)) throw error;
      throw new AppError(400, 'bad_request', error.message, { cause: error });
    }
    if (!callback) return carrier.acknowledge();
    const named = dialId === null ? {} : await this.#dialled.named(trusted, dialId, callback);
    return named.answer ?? this.#answer(trusted, callback, named.session);
  }

  /** @param known the session of the call, where it was read just now */
  async #answer(
    trusted: TrustedCallback,
    callback: CarrierCallback,
    known?: SessionRecord,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    // A transfer under way asks at the voice address too: for its document first.
    const transferId = new URL(trusted.request.url).searchParams.get('transfer');
    if (transferId !== null && callback.type !== 'ended') {
      return this.#transfers.document(trusted, callback.carrierCallId, transferId);
    }
    const conferenceId = new URL(trusted.request.url).searchParams.get('conference');
    if (conferenceId !== null && callback.type !== 'ended') {
      return this.#transfers.conference(trusted, callback.carrierCallId, conferenceId);
    }
    switch (callback.type) {
      case 'incoming':
        return callback.direction === 'inbound'
          ? this.#incoming.arrived(trusted, callback)
          : this.#dialled.connect(trusted, callback.carrierCallId);
      case 'dialled':
        await this.#progress.begun(account._id, callback.carrierCallId, known);
        return carrier.acknowledge();
      case 'ringing':
        await this.#progress.rings(account._id, callback.carrierCallId, known);
        return carrier.acknowledge();
      case 'answered':
        await this.#dialled.answered(trusted, callback.carrierCallId);
        return carrier.acknowledge();
      case 'ended':
        await this.#transfers.callerLeft(await this.#progress.ended(trusted, callback, known));
        return carrier.acknowledge();
      case 'machine':
        await this.#progress.answeredBy(account._id, callback);
        return carrier.acknowledge();
      case 'transfer_answered':
        await this.#transfers.answered(trusted, callback);
        return carrier.acknowledge();
      case 'transfer_ended':
        return (
          (await this.#incoming.forwarded(trusted, callback)) ?? this.#transfers.ended(trusted, callback)
        );
      case 'treated':
        return this.#incoming.treated(trusted, callback);
      case 'recording':
        await this.#progress.recorded(account._id, callback);
        return carrier.acknowledge();
      case 'stream':
        await this.#progress.stream(account._id, callback);
        return carrier.acknowledge();
    }
  }
}
