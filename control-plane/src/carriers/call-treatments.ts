import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { isOpen, type CallingWindows } from '../calling-hours/calling-windows.ts';
import type { SessionAgents } from '../sessions/session-agent.ts';
import type { Directory } from '../tenancy/directory.ts';
import { CarrierError, type CallTreatment, type CarrierCallback, type CarrierDocument } from './carrier.ts';
import type { CalledNumber, CalledNumbers, DeployedNumber, NumberDeployments } from './deployed-number.ts';
import type { TrustedCallback } from './trusted-callback.ts';

/** Why the agent of a number does not take a call. */
export type Occasion = 'outside_hours' | 'overflow';

/** Whether calls of an account may go to a number: `TelephonyAccountService`. */
export interface ForwardTargets {
  mayCall(accountId: string, number: string): Promise<boolean>;
}

const FORWARD_RING_SECONDS = 30;
const DEFAULT_LANGUAGE = 'en-US';

const ALWAYS: Pick<CallingWindows, 'windows' | 'use_contact_timezone'> = {
  use_contact_timezone: false,
  windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], start: '00:00', end: '24:00' }],
};

/** Calls that no agent takes: what they are told, and where they go. */
export class CallTreatments {
  readonly #numbers: CalledNumbers;
  readonly #deployments: NumberDeployments;
  readonly #forwards: ForwardTargets;
  readonly #agents: SessionAgents;
  readonly #directory: Directory;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    numbers: CalledNumbers;
    deployments: NumberDeployments;
    forwards: ForwardTargets;
    agents: SessionAgents;
    directory: Directory;
    clock: Clock;
    logger: Logger;
  }) {
    this.#numbers = deps.numbers;
    this.#deployments = deps.deployments;
    this.#forwards = deps.forwards;
    this.#agents = deps.agents;
    this.#directory = deps.directory;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Whether the deployment's agent answers now. */
  async isOpen(deployment: DeployedNumber, number: CalledNumber): Promise<boolean> {
    if (deployment.status === 'paused') return false;
    const { availability, closed_dates: closedDates } = deployment;
    if (!availability && closedDates.length === 0) return true;
    const windows = availability ?? { ...ALWAYS, timezone: await this.#timezoneOf(number) };
    return isOpen(windows, this.#clock.now(), { closedDates });
  }

  /** Tells the caller something, or sends the call on; refuses it where the carrier or a rule does not let it. */
  async begin(
    { carrier, account }: TrustedCallback,
    carrierCallId: string,
    {
      deployment,
      number,
      occasion,
    }: { deployment: DeployedNumber; number: CalledNumber; occasion: Occasion },
  ): Promise<CarrierDocument> {
    const treatment = await this.#treatment(account._id, carrierCallId, { deployment, number, occasion });
    this.#logger.info(
      { carrier: carrier.name, deploymentId: deployment._id, occasion, treated: treatment !== null },
      'incoming call treated without its agent',
    );
    if (!treatment) return carrier.refuse(carrierCallId, 'rejected');
    try {
      return await carrier.treat(carrierCallId, treatment);
    } catch (error) {
      return this.#over(error, carrier.acknowledge('hangup'));
    }
  }

  /** The next step, at carriers that take one at a time. */
  async continue(
    { carrier, account }: TrustedCallback,
    { carrierCallId, step, state }: Extract<CarrierCallback, { type: 'treated' }>,
  ): Promise<CarrierDocument> {
    const [id = '', occasion] = state.split(' ');
    const deployment = await this.#deployments.find(id);
    const number = deployment && (await this.#numbers.find(deployment.phone_number_id));
    // What a callback says is the account's own word: of another's deployment it learns nothing.
    const isOurs = number?.telephony_account_id === account._id && number.status === 'active';
    const treatment =
      isOurs && (occasion === 'outside_hours' || occasion === 'overflow')
        ? await this.#treatment(account._id, carrierCallId, { deployment: deployment!, number, occasion })
        : null;
    try {
      if (treatment) await carrier.continueTreatment(carrierCallId, treatment, step);
      else await carrier.hangup(carrierCallId);
    } catch (error) {
      return this.#over(error, carrier.acknowledge());
    }
    return carrier.acknowledge();
  }

  /** @returns null where there is nothing to be said or nowhere to go */
  async #treatment(
    accountId: string,
    carrierCallId: string,
    {
      deployment,
      number,
      occasion,
    }: { deployment: DeployedNumber; number: CalledNumber; occasion: Occasion },
  ): Promise<CallTreatment | null> {
    const action = occasion === 'overflow' ? deployment.overflow.action : deployment.outside_hours;
    if (action.type !== 'message' && action.type !== 'forward') return null;
    const to = action.type === 'forward' ? action.forward_to : null;
    // Countries may have been taken from the account since the deployment was made.
    if (to !== null && !(await this.#forwards.mayCall(accountId, to))) return null;
    // A carrier that takes one step at a time tells of the caller only once: all steps are of one version.
    const agent = await this.#agents.forNewSession(deployment.agent_id, carrierCallId);
    const language = agent?.config.language.primary ?? DEFAULT_LANGUAGE;
    return {
      say: action.message === '' ? null : { text: action.message, language },
      forward:
        to === null ? null : { to, callerId: number.phone_number, ringTimeoutSeconds: FORWARD_RING_SECONDS },
      state: `${deployment._id} ${occasion}`,
    };
  }

  /** The caller may be gone already. */
  #over(error: unknown, document: CarrierDocument): CarrierDocument {
    if (!(error instanceof CarrierError)) throw error;
    this.#logger.warn({ code: error.code, status: error.status }, 'the carrier refused to treat a call');
    return document;
  }

  async #timezoneOf({ org_id, project_id }: CalledNumber): Promise<string> {
    const project = await this.#directory.project(project_id);
    return project?.timezone ?? (await this.#directory.org(org_id))?.timezone ?? 'UTC';
  }
}
