import type { COMMAND_ARGS } from '@parley/shared/contracts/commands';
import { UnavailableError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { z } from 'zod';
import type { SessionRecord, SessionTransfer } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import { owner, type SessionEventLog, type SessionStore } from '../sessions/session-store.ts';
import type { CallAnswers } from './call-answers.ts';
import { CarrierError } from './carrier.ts';
import type { CarrierCallback, CarrierDocument, TransferTarget } from './carrier.ts';
import type { TrustedCallback } from './trusted-callback.ts';

/** How a transfer under way looks to the carrier: `CarrierCommands`. */
export interface TransferTargets {
  transferTarget(session: SessionRecord, transfer: SessionTransfer): TransferTarget;
}

/** Transfers of which the other side is told first: `Consults`. */
export interface Conferences {
  /** Whether a call may go where the conference of a transfer is. */
  mayJoin(accountId: string, carrierCallId: string, transferId: string): Promise<boolean>;
}

/** Reaches the gateway that had the caller: `GatewayCommands`. */
interface TransferGateways {
  /** @throws UnavailableError when the gateway can't be reached */
  send(
    target: { gatewayId: string; sessionId: string },
    type: 'transfer_result',
    args: z.input<typeof COMMAND_ARGS.transfer_result>,
  ): Promise<unknown>;
}

/** Transfers under way at a carrier: whom it dials, and where the caller goes when nobody answers. */
export class CallTransfers {
  readonly #store: SessionStore;
  readonly #commands: TransferTargets;
  readonly #answers: CallAnswers;
  readonly #consults: Conferences;
  readonly #gateways: TransferGateways;
  readonly #events: SessionEventLog;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    store: SessionStore;
    commands: TransferTargets;
    answers: CallAnswers;
    consults: Conferences;
    gateways: TransferGateways;
    events: SessionEventLog;
    clock: Clock;
    logger: Logger;
  }) {
    this.#store = deps.store;
    this.#commands = deps.commands;
    this.#answers = deps.answers;
    this.#consults = deps.consults;
    this.#gateways = deps.gateways;
    this.#events = deps.events;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** The document that dials the other side. */
  async document(
    { carrier, account }: TrustedCallback,
    carrierCallId: string,
    transferId: string,
  ): Promise<CarrierDocument> {
    const session = await this.#store.findCall(account._id, carrierCallId);
    if (!session?.transfer || session.transfer.transfer_id !== transferId)
      return carrier.acknowledge('hangup');
    return carrier.transferDocument(this.#commands.transferTarget(session, session.transfer));
  }

  /** The document that brings a call together with the other one of a transfer. */
  async conference(
    { carrier, account }: TrustedCallback,
    carrierCallId: string,
    transferId: string,
  ): Promise<CarrierDocument> {
    const may = await this.#consults.mayJoin(account._id, carrierCallId, transferId);
    return may ? carrier.conferenceDocument(transferId) : carrier.acknowledge('hangup');
  }

  /** Whom the caller was transferred to has answered: keys are pressed, where there are any. */
  async answered(
    { carrier, account }: TrustedCallback,
    call: Extract<CarrierCallback, { type: 'transfer_answered' }>,
  ): Promise<void> {
    const session = await this.#store.findCall(account._id, call.carrierCallId);
    const transfer = session?.transfer;
    if (!transfer || transfer.transfer_id !== call.transferId || transfer.outcome !== undefined) return;
    const answered = { ...transfer, outcome: 'answered' as const };
    // A repeated callback presses nothing again.
    const first = await this.#store.change(
      session._id,
      { transfer: answered },
      { 'transfer.outcome': { $exists: false } },
    );
    if (!first) return;
    await this.#tell(session, 'bridged');
    if (transfer.extension == null) return;
    await carrier.sendDtmf(call.targetCallId, transfer.extension).catch((error: unknown) => {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.code }, 'an extension could not be dialled');
    });
  }

  /** The dial is over: back to the agent when the other side did not answer. What is to follow, the agent knows. */
  async ended(
    trusted: TrustedCallback,
    call: Extract<CarrierCallback, { type: 'transfer_ended' }>,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    const session = await this.#store.findCall(account._id, call.carrierCallId);
    const transferId = call.transferId ?? new URL(trusted.request.url).searchParams.get('transfer_result');
    const transfer = session?.transfer;
    if (!session || isTerminal(session.status)) return carrier.acknowledge('hangup');
    if (transfer?.transfer_id !== transferId) return carrier.acknowledge('hangup');
    if (call.bridged) {
      await this.#tell(session, 'bridged');
      return carrier.acknowledge('hangup');
    }
    // The caller's own leg tells of the end of a conversation.
    if (transfer.outcome === 'answered') return carrier.acknowledge();
    const back = await this.#store.change(session._id, { transfer: { ...transfer, outcome: 'failed' } });
    await this.#events.append(owner(session), {
      type: 'transfer',
      data: {
        ...{ transfer_id: transfer.transfer_id, phase: 'failed', code: codeOf(call.cause) },
        ...(transfer.destination_id != null && { destination_id: transfer.destination_id }),
      },
      key: `transfer_${transfer.transfer_id}_failed`,
      offsetMs: session.started_at ? this.#clock.now() - session.started_at.getTime() : 0,
    });
    await this.#tell(session, 'returns');
    return this.#answers.connect(trusted, back ?? session, { again: true });
  }

  /** A call is over, of a session or of none, while somebody may still be called for it. Safe to repeat. */
  async callerLeft(session: SessionRecord | null): Promise<void> {
    if (session?.transfer && session.transfer.outcome === undefined && !isTerminal(session.status))
      await this.#tell(session, 'caller_left');
  }

  /** Tells the gateway that had the caller, which waits no longer than it must anyway. */
  async #tell(
    { _id, gateway_id: gatewayId, transfer }: SessionRecord,
    result: z.input<typeof COMMAND_ARGS.transfer_result>['result'],
  ): Promise<void> {
    if (gatewayId === null || !transfer) return;
    try {
      await this.#gateways.send({ gatewayId, sessionId: _id }, 'transfer_result', {
        ...{ transfer_id: transfer.transfer_id, result },
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#logger.warn({ sessionId: _id }, 'a gateway was not told of a transfer');
    }
  }
}

/** Our word for why nobody was reached, by what the carriers call it. */
function codeOf(cause: string | null): string {
  const words = cause ?? '';
  if (/busy/i.test(words)) return 'busy';
  if (/no.?answer|timeout/i.test(words)) return 'no_answer';
  if (/reject/i.test(words)) return 'rejected';
  if (/unallocated|not.?found|invalid/i.test(words)) return 'invalid_number';
  return 'failed';
}
