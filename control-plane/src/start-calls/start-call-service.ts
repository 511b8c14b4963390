import type { RateCounter } from '@parley/shared/bus/bus';
import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  TooManyRequestsError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { SingleCall } from '../campaigns/single-calls.ts';
import { invalid } from '../http/validation.ts';
import { refuseArchived } from '../sessions/session-choices.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { Overrides } from '../sessions/session-overrides.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import { checkReferences } from '../tenancy/references.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { RequestedCall } from './start-call-schema.ts';

/** Campaigns of one call. */
export interface SingleCampaigns {
  /**
   * Makes a campaign of kind `single` with its one contact, running or scheduled, and queues the call that is for now.
   * What it throws leaves nothing behind.
   * @throws PaymentRequiredError; ConflictError `invalid_state` (agent archived, no usable number, account disabled);
   *   TooManyRequestsError `queue_full`; ValidationError (variables, models)
   */
  createSingle(
    scope: Scope,
    call: SingleCall,
  ): Promise<{ campaignId: string; contactId: string; sessionId: string | null; queuedAt: Date }>;
}

/** What became of a request. */
export interface StartedCall {
  campaignId: string;
  contactId: string;
  /** null: it is for later. */
  sessionId: string | null;
  queuedAt: Date;
}

export interface StartCallAgents {
  /** The version that a new session with this caller is to use; null when there is no such agent. */
  forNewSession(agentId: string, caller: string | null): Promise<SessionAgent | null>;
}

export interface StartCallOverrides {
  /** @returns the agent as it will run. @throws ValidationError */
  check(scope: Scope, agent: SessionAgent, overrides: Overrides | null): Promise<SessionAgent>;
}

export interface StartCallAnalyses {
  missing(orgId: string, projectId: string, ids: readonly string[]): Promise<string[]>;
}

export interface StartCallFunds {
  /** @throws PaymentRequiredError */
  requireFunds(orgId: string): Promise<void>;
}

export const START_CALLS_PER_MINUTE = 60;
const MAX_AHEAD_MS = 30 * 24 * 3_600_000;

/** Calls that a client starts one by one: by the API, or by an agent's webhook. */
export class StartCalls {
  readonly #agents: StartCallAgents;
  readonly #overrides: StartCallOverrides;
  readonly #analyses: StartCallAnalyses;
  readonly #campaigns: SingleCampaigns;
  readonly #phoneNumbers: Collection<StoredRecord>;
  readonly #directory: Directory;
  readonly #funds: StartCallFunds;
  readonly #site: { bus: { rates: RateCounter }; clock: Clock; logger: Logger };

  constructor(deps: {
    agents: StartCallAgents;
    overrides: StartCallOverrides;
    analyses: StartCallAnalyses;
    campaigns: SingleCampaigns;
    phoneNumbers: Collection<StoredRecord>;
    directory: Directory;
    funds: StartCallFunds;
    site: { bus: { rates: RateCounter }; clock: Clock; logger: Logger };
  }) {
    this.#agents = deps.agents;
    this.#overrides = deps.overrides;
    this.#analyses = deps.analyses;
    this.#campaigns = deps.campaigns;
    this.#phoneNumbers = deps.phoneNumbers;
    this.#directory = deps.directory;
    this.#funds = deps.funds;
    this.#site = deps.site;
  }

  /** The agent, in whichever version: who is called chooses it. @throws NotFoundError */
  async agent(agentId: string, caller: string | null = null): Promise<SessionAgent> {
    const agent = await this.#agents.forNewSession(agentId, caller);
    if (!agent) throw new NotFoundError();
    return agent;
  }

  /**
   * For a request without a caller: the org and the project of an agent must be in use.
   * @throws ForbiddenError `org_suspended`; ConflictError `invalid_state`; NotFoundError
   */
  async permit(agent: SessionAgent): Promise<void> {
    const [org, project] = await Promise.all([
      this.#directory.org(agent.org_id),
      this.#directory.project(agent.project_id),
    ]);
    if (!org || !project) throw new NotFoundError();
    if (org.status !== 'active')
      throw new ForbiddenError('org_suspended', 'This org is suspended: no call can be started.');
    if (project.archived_at)
      throw new ConflictError('invalid_state', 'The project is archived: no call can be started.');
  }

  /**
   * Counts a request, and starts its call.
   * @throws TooManyRequestsError `rate_limited`, `queue_full`; ValidationError; ConflictError `invalid_state`;
   *   PaymentRequiredError
   */
  async start(
    scope: Scope,
    { agent_id: agentId }: Pick<SessionAgent, 'agent_id'>,
    call: RequestedCall,
    asked: { source: 'api' | 'webhook'; by: string },
  ): Promise<StartedCall> {
    await this.#count(agentId);
    const agent = await this.agent(agentId, call.to);
    await this.#funds.requireFunds(agent.org_id);
    refuseArchived(agent);
    const now = this.#site.clock.now();
    const at = call.scheduleAt?.getTime() ?? 0;
    if (at > now + MAX_AHEAD_MS)
      throw invalid(['body', 'schedule_at'], 'must be at most 30 days ahead', 'less_than_equal');
    if (call.phoneNumberId !== null)
      await checkReferences(scope, [
        { collection: this.#phoneNumbers, id: call.phoneNumberId, loc: ['body', 'phone_number_id'] },
      ]);
    await this.#checkAnalyses(scope, call.analysisIds ?? []);
    await this.#overrides.check(scope, agent, call.overrides);
    return this.#campaigns.createSingle(scope, {
      agent,
      to: call.to,
      name: call.name,
      externalId: call.externalId,
      timezone: call.timezone,
      numberIds: call.phoneNumberId === null ? [] : [call.phoneNumberId],
      variables: call.variables,
      overrides: call.overrides,
      analysisIds: call.analysisIds,
      retry: call.retry,
      startAt: at > now ? call.scheduleAt : null,
      source: asked.source,
      createdBy: asked.by,
    });
  }

  /** A bus that is silent limits nobody. */
  async #count(agentId: string): Promise<void> {
    const { bus, clock, logger } = this.#site;
    const hit = await bus.rates.hit(`start_calls:${agentId}`, 60).catch((err: unknown) => {
      logger.warn({ err }, 'started calls are not counted: the bus cannot be reached');
      return null;
    });
    if (!hit || hit.count <= START_CALLS_PER_MINUTE) return;
    throw new TooManyRequestsError(
      'rate_limited',
      `Limit of calls that are started with this agent reached (${START_CALLS_PER_MINUTE} a minute).`,
      Math.max(1, Math.ceil((hit.resetAt - clock.now()) / 1000)),
    );
  }

  async #checkAnalyses(scope: Scope, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const missing = await this.#analyses.missing(scope.orgId, scope.projectId, ids);
    if (missing.length === 0) return;
    throw new ValidationError(
      missing.map((id) => ({
        loc: ['body', 'post_call_analysis_ids', ids.indexOf(id)],
        msg: 'Analysis not found in the project',
        type: 'reference_not_found',
      })),
    );
  }
}
