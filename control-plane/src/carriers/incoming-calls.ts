import { PaymentRequiredError, TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { SessionAgents } from '../sessions/session-agent.ts';
import type { SessionCreation } from '../sessions/session-creation.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { CallAnswers } from './call-answers.ts';
import type { CarrierCallback, CarrierDocument } from './carrier.ts';
import type { TrustedCallback } from './trusted-callback.ts';

/** Numbers in use: `PhoneNumberService`. */
export interface CalledNumbers {
  findActive(
    accountId: string,
    phoneNumber: string,
  ): Promise<{ _id: string; org_id: string; project_id: string } | null>;
}

/** Which agent answers a number: `InboundDeploymentService`. */
export interface NumberDeployments {
  forNumber(numberId: string): Promise<{
    _id: string;
    agent_id: string;
    /** null = by the agent's traffic rule. */
    agent_version: number | null;
    blocked_numbers: string[];
    variables: Record<string, string>;
  } | null>;
}

/** Calls that people make to numbers: who answers them, or why nobody does. */
export class IncomingCalls {
  readonly #numbers: CalledNumbers;
  readonly #deployments: NumberDeployments;
  readonly #agents: SessionAgents;
  readonly #directory: Directory;
  readonly #creation: SessionCreation;
  readonly #answers: CallAnswers;
  readonly #logger: Logger;

  constructor(deps: {
    numbers: CalledNumbers;
    deployments: NumberDeployments;
    agents: SessionAgents;
    directory: Directory;
    creation: SessionCreation;
    answers: CallAnswers;
    logger: Logger;
  }) {
    this.#numbers = deps.numbers;
    this.#deployments = deps.deployments;
    this.#agents = deps.agents;
    this.#directory = deps.directory;
    this.#creation = deps.creation;
    this.#answers = deps.answers;
    this.#logger = deps.logger;
  }

  /** A call arrives, or is told of again. */
  async arrived(
    trusted: TrustedCallback,
    call: Extract<CarrierCallback, { type: 'incoming' }>,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    const refuse = (reason: 'busy' | 'rejected', why: string) => {
      this.#logger.info({ carrier: carrier.name, accountId: account._id, why }, 'incoming call refused');
      return carrier.refuse(call.carrierCallId, reason);
    };
    if (account.status === 'disabled') return refuse('rejected', 'account_disabled');
    const number = call.to === null ? null : await this.#numbers.findActive(account._id, call.to);
    if (!number) return refuse('rejected', 'unknown_number');
    const deployment = await this.#deployments.forNumber(number._id);
    if (!deployment) return refuse('rejected', 'not_deployed');
    if (call.from !== null && deployment.blocked_numbers.includes(call.from))
      return refuse('busy', 'blocked');
    const org = await this.#directory.org(number.org_id);
    if (org?.status !== 'active') return refuse('busy', 'org_suspended');
    const agent =
      deployment.agent_version === null
        ? await this.#agents.forNewSession(deployment.agent_id)
        : await this.#agents.version(deployment.agent_id, deployment.agent_version);
    if (!agent || agent.archived || agent.project_id !== number.project_id)
      return refuse('rejected', 'no_agent');
    try {
      const session = await this.#creation.createInbound({
        accountId: account._id,
        carrier: carrier.name,
        carrierCallId: call.carrierCallId,
        from: call.from,
        to: call.to,
        phoneNumberId: number._id,
        inboundDeploymentId: deployment._id,
        agent,
        variables: deployment.variables,
      });
      if (isTerminal(session.status)) return carrier.acknowledge('hangup');
      return await this.#answers.connect(trusted, session);
    } catch (error) {
      if (error instanceof TooManyRequestsError || error instanceof PaymentRequiredError)
        return refuse('busy', error.code);
      throw error;
    }
  }
}
