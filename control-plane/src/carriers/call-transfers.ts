import type { Logger } from '@parley/shared/logging/logger';
import { speakingAgentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionRecord, SessionTransfer } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { CallAnswers } from './call-answers.ts';
import { CarrierError } from './carrier.ts';
import type { Carrier, CarrierCallback, CarrierDocument, TransferTarget } from './carrier.ts';
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

/** Transfers under way at a carrier: whom it dials, and where the caller goes when nobody answers. */
export class CallTransfers {
  readonly #store: SessionStore;
  readonly #commands: TransferTargets;
  readonly #agents: SessionAgents;
  readonly #answers: CallAnswers;
  readonly #consults: Conferences;
  readonly #logger: Logger;

  constructor(deps: {
    store: SessionStore;
    commands: TransferTargets;
    agents: SessionAgents;
    answers: CallAnswers;
    consults: Conferences;
    logger: Logger;
  }) {
    this.#store = deps.store;
    this.#commands = deps.commands;
    this.#agents = deps.agents;
    this.#answers = deps.answers;
    this.#consults = deps.consults;
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
    if (!first || transfer.extension == null) return;
    await carrier.sendDtmf(call.targetCallId, transfer.extension).catch((error: unknown) => {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.code }, 'an extension could not be dialled');
    });
  }

  /** Back to the agent when the other side did not answer, unless the agent was told otherwise. */
  async ended(
    trusted: TrustedCallback,
    call: Extract<CarrierCallback, { type: 'transfer_ended' }>,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    const session = await this.#store.findCall(account._id, call.carrierCallId);
    const transferId = call.transferId ?? new URL(trusted.request.url).searchParams.get('transfer_result');
    const transfer = session?.transfer;
    if (!session || isTerminal(session.status) || call.bridged) return carrier.acknowledge('hangup');
    if (transfer?.transfer_id !== transferId) return carrier.acknowledge('hangup');
    // The caller's own leg tells of the end of a conversation.
    if (transfer.outcome === 'answered') return carrier.acknowledge();
    const agent = await speakingAgentOf(this.#agents, session);
    const destination = agent?.config.transfer.destinations.find(
      ({ id, target }) =>
        id === transfer.destination_id || (target.type === 'phone' && target.phone_number === transfer.to),
    );
    if (destination?.on_failure === 'hangup') return this.#hangUp(carrier, call.carrierCallId);
    const back = await this.#store.change(session._id, { transfer: { ...transfer, outcome: 'failed' } });
    return this.#answers.connect(trusted, back ?? session, { again: true });
  }

  /** By a document, or by a command where the carrier takes no documents. */
  async #hangUp(carrier: Carrier, carrierCallId: string): Promise<CarrierDocument> {
    if (carrier.answersByCommand) await carrier.hangup(carrierCallId);
    return carrier.acknowledge('hangup');
  }
}
