import { PaymentRequiredError, TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import type { InboundCall, SessionCreation } from '../sessions/session-creation.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { TreatmentReason } from '../sessions/session-treatment.ts';
import type { CallAnswers } from './call-answers.ts';
import type { CallHours } from './call-hours.ts';
import type { CalledLines } from './called-lines.ts';
import type { CallTreatments } from './call-treatments.ts';
import type { CarrierCallback, CarrierDocument } from './carrier.ts';
import type { CalledNumber, DeployedNumber } from './deployed-number.ts';
import type { TrustedCallback } from './trusted-callback.ts';

type IncomingCall = Extract<CarrierCallback, { type: 'incoming' }>;

/** What is known of a call once its number is. */
interface DeployedCall {
  trusted: TrustedCallback;
  call: IncomingCall;
  number: CalledNumber;
  deployment: DeployedNumber;
  /** The deployment's own. */
  agent: SessionAgent;
}

/** Calls that people make to numbers: who answers them, or why nobody does. */
export class IncomingCalls {
  readonly #lines: CalledLines;
  readonly #agents: SessionAgents;
  readonly #creation: SessionCreation;
  readonly #answers: CallAnswers;
  readonly #hours: CallHours;
  readonly #treatments: CallTreatments;
  readonly #logger: Logger;

  constructor(deps: {
    lines: CalledLines;
    agents: SessionAgents;
    creation: SessionCreation;
    answers: CallAnswers;
    hours: CallHours;
    treatments: CallTreatments;
    logger: Logger;
  }) {
    this.#lines = deps.lines;
    this.#agents = deps.agents;
    this.#creation = deps.creation;
    this.#answers = deps.answers;
    this.#hours = deps.hours;
    this.#treatments = deps.treatments;
    this.#logger = deps.logger;
  }

  /** A call arrives, or is told of again. */
  async arrived(trusted: TrustedCallback, call: IncomingCall): Promise<CarrierDocument> {
    const { account } = trusted;
    // One that the carrier has refused since then is known by its signature all the same.
    if (account.status === 'disabled' || account.status === 'unverified')
      return this.#refuse(trusted, call, 'busy', `account_${account.status}`);
    const line = await this.#lines.find(account._id, call.to);
    if ('why' in line) return this.#refuse(trusted, call, line.reason, line.why);
    const { number, deployment } = line;
    const { carrierCallId } = call;
    const known = await this.#creation.knownInbound({ accountId: account._id, carrierCallId });
    if (known) return this.#connect(trusted, known);
    const { agent_id, agent_version, overflow, blocked_numbers } = deployment;
    const agent =
      agent_version === null
        ? await this.#agents.forNewSession(agent_id, callerOf(call))
        : await this.#agents.version(agent_id, agent_version);
    if (!agent || agent.project_id !== number.project_id)
      return this.#refuse(trusted, call, 'rejected', 'no_agent');
    const deployed = { trusted, call, number, deployment, agent };
    if (call.from !== null && blocked_numbers.includes(call.from)) return this.#treat(deployed, 'blocked');
    if (!(await this.#hours.isOpen(deployment, number))) return this.#act(deployed, 'outside_hours');
    return this.#answer(deployed, agent, overflow.max_concurrent, () => this.#act(deployed, 'overflow'));
  }

  /** A step of what a call gets that no agent takes is done, at carriers that take one at a time. */
  treated(
    trusted: TrustedCallback,
    callback: Extract<CarrierCallback, { type: 'treated' }>,
  ): Promise<CarrierDocument> {
    return this.#treatments.continue(trusted, callback);
  }

  /** The call that it was sent on to is over. @returns null for a call that an agent takes */
  forwarded(
    trusted: TrustedCallback,
    callback: Extract<CarrierCallback, { type: 'transfer_ended' }>,
  ): Promise<CarrierDocument | null> {
    return this.#treatments.forwarded(trusted, callback);
  }

  /** What the deployment says of a call that its agent does not take. */
  async #act(deployed: DeployedCall, reason: 'outside_hours' | 'overflow'): Promise<CarrierDocument> {
    const { deployment } = deployed;
    const action = reason === 'overflow' ? deployment.overflow.action : deployment.outside_hours;
    if (action.type !== 'agent') return this.#treat(deployed, reason);
    const caller = callerOf(deployed.call);
    const agent = action.agent_id === null ? null : await this.#agents.forNewSession(action.agent_id, caller);
    return this.#answer(deployed, agent, null, () =>
      this.#refuse(deployed.trusted, deployed.call, 'busy', reason),
    );
  }

  /** No agent takes it: a session says so, whatever the caller is told. */
  async #treat(deployed: DeployedCall, reason: TreatmentReason): Promise<CarrierDocument> {
    const session = await this.#treatments.begin(orderOf(deployed, deployed.agent), deployed, reason);
    return this.#connect(deployed.trusted, session);
  }

  /** @param whenFull what is done where a limit lets no further call in */
  async #answer(
    deployed: DeployedCall,
    agent: SessionAgent | null,
    maxConcurrent: number | null,
    whenFull: () => Promise<CarrierDocument>,
  ): Promise<CarrierDocument> {
    const { trusted, call, number } = deployed;
    if (!agent || agent.archived || agent.project_id !== number.project_id)
      return this.#refuse(trusted, call, 'rejected', 'no_agent');
    try {
      const session = await this.#creation.createInbound(orderOf(deployed, agent), maxConcurrent);
      return await this.#connect(trusted, session);
    } catch (error) {
      if (error instanceof TooManyRequestsError) return whenFull();
      if (error instanceof PaymentRequiredError) return this.#refuse(trusted, call, 'busy', error.code);
      throw error;
    }
  }

  async #connect(trusted: TrustedCallback, session: SessionRecord): Promise<CarrierDocument> {
    if (session.treatment) return this.#treatments.treat(trusted, session);
    if (isTerminal(session.status)) return trusted.carrier.acknowledge('hangup');
    return this.#answers.connect(trusted, session);
  }

  #refuse(
    { carrier, account }: TrustedCallback,
    call: IncomingCall,
    reason: 'busy' | 'rejected',
    why: string,
  ): Promise<CarrierDocument> {
    this.#logger.info({ carrier: carrier.name, accountId: account._id, why }, 'incoming call refused');
    return carrier.refuse(call.carrierCallId, reason);
  }
}

function orderOf({ trusted, call, number, deployment }: DeployedCall, agent: SessionAgent): InboundCall {
  return {
    accountId: trusted.account._id,
    carrier: trusted.carrier.name,
    carrierCallId: call.carrierCallId,
    from: call.from,
    to: call.to,
    phoneNumberId: number._id,
    inboundDeploymentId: deployment._id,
    agent,
    variables: deployment.variables,
  };
}

/** Whoever keeps their version of an agent; a call without a number is told of again by its id. */
function callerOf({ from, carrierCallId }: IncomingCall): string {
  return from ?? carrierCallId;
}
