import { speakingAgentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionRecord, SessionTransfer } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { CallAnswers } from './call-answers.ts';
import type { CarrierCallback, CarrierDocument, TransferTarget } from './carrier.ts';
import type { TrustedCallback } from './trusted-callback.ts';

/** How a transfer under way looks to the carrier: `CarrierCommands`. */
export interface TransferTargets {
  transferTarget(session: SessionRecord, transfer: SessionTransfer): TransferTarget;
}

/** Transfers under way at a carrier: whom it dials, and where the caller goes when nobody answers. */
export class CallTransfers {
  readonly #store: SessionStore;
  readonly #commands: TransferTargets;
  readonly #agents: SessionAgents;
  readonly #answers: CallAnswers;

  constructor(deps: {
    store: SessionStore;
    commands: TransferTargets;
    agents: SessionAgents;
    answers: CallAnswers;
  }) {
    this.#store = deps.store;
    this.#commands = deps.commands;
    this.#agents = deps.agents;
    this.#answers = deps.answers;
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

  /** Back to the agent when the other side did not answer, unless the agent was told otherwise. */
  async ended(
    trusted: TrustedCallback,
    call: Extract<CarrierCallback, { type: 'transfer_ended' }>,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    const session = await this.#store.findCall(account._id, call.carrierCallId);
    const transferId = new URL(trusted.request.url).searchParams.get('transfer_result');
    if (!session || isTerminal(session.status) || call.bridged) return carrier.acknowledge('hangup');
    if (session.transfer?.transfer_id !== transferId) return carrier.acknowledge('hangup');
    const agent = await speakingAgentOf(this.#agents, session);
    const destination = agent?.config.transfer.destinations.find(
      ({ target }) => target.type === 'phone' && target.phone_number === session.transfer?.to,
    );
    if (destination && destination.on_failure !== 'return') return carrier.acknowledge('hangup');
    return this.#answers.connect(trusted, session);
  }
}
