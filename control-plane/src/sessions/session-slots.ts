import type { RateCounter, Slots, Wakeup } from '@parley/shared/bus/bus';
import { TooManyRequestsError, UnavailableError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { sessionLimitKind, sessionSlots, windowBucket } from '../rate-limits/limit-buckets.ts';
import { agentOf, type SessionAgent, type SessionAgents } from './session-agent.ts';
import type { SessionRecord } from './session-record.ts';
import { WIDGET_SESSIONS_AT_ONCE } from './visitor-limits.ts';

/** Limits of the installation; 0 means none. */
export interface SessionLimits {
  concurrentSessionsPerOrg: number;
  sessionStartsPerMinute: number;
}

/** Limits that an org has set itself, below those of the installation. */
export interface SessionOwnLimits {
  matching(resource: 'session_starts' | 'concurrent_sessions', target: LimitedSession): Promise<OwnLimit[]>;
}

/** What a session's own limits depend on. */
export interface LimitedSession {
  orgId: string;
  projectId: string;
  agentId: string | null;
  accountId: string | null;
}

interface OwnLimit {
  _id: string;
  project_id: string | null;
  agent_id?: string | null;
  telephony_account_id?: string | null;
  limit: number;
  window_seconds: number | null;
}

/** Whose slots a session takes. */
export interface SlotOwner {
  orgId: string;
  projectId: string;
  agent: SessionAgent | null;
  /** Begun by a visitor of a public page: visitors have slots of their own. */
  visitor: boolean;
  /** How many calls an inbound deployment takes at once, for one that came by it. */
  deployment?: { id: string; limit: number } | undefined;
  /** The account at whose carrier the call is; null: at none, or at the client's own. */
  accountId: string | null;
  /** The account that dials the call, whose calls are counted by who dials. */
  dialAccountId?: string | undefined;
}

/** The most that a deployment may say. */
export const MAX_DEPLOYMENT_CALLS = 1000;
/** Calls that carriers bring count, but only the carrier refuses them. */
const UNLIMITED = 1_000_000;

/** How long a slot is kept after its credential has expired. */
const GRACE_MS = 60_000;
/** How long a slot of a running call lasts; the reaper renews it. */
export const RUNNING_SLOT_MS = 120_000;
const EVENTS_PER_MINUTE = 20;
/** Begins the buckets of inbound deployments. */
const DEPLOYMENT = 'inbound deployment:';

/** Limits on how many sessions start, and on how many run at once. */
export class SessionSlots {
  readonly #agents: SessionAgents;
  readonly #ownLimits: SessionOwnLimits;
  readonly #limits: SessionLimits;
  readonly #slots: Slots;
  readonly #rates: RateCounter;
  readonly #freed: Wakeup;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    agents: SessionAgents;
    ownLimits: SessionOwnLimits;
    limits: SessionLimits;
    bus: { slots: Slots; rates: RateCounter; dispatch: Wakeup };
    clock: Clock;
    logger: Logger;
  }) {
    this.#agents = deps.agents;
    this.#ownLimits = deps.ownLimits;
    this.#limits = deps.limits;
    this.#slots = deps.bus.slots;
    this.#rates = deps.bus.rates;
    this.#freed = deps.bus.dispatch;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Counts one more start. @throws TooManyRequestsError `rate_limited` */
  async countStart(session: LimitedSession): Promise<void> {
    const { projectId } = session;
    const own = await this.#ownLimits.matching('session_starts', session);
    const limits = own.map(({ _id, limit, window_seconds }) => ({
      bucket: windowBucket('session_starts', _id),
      limit,
      seconds: window_seconds ?? 60,
    }));
    const ofInstallation = this.#limits.sessionStartsPerMinute;
    if (ofInstallation > 0)
      limits.push({ bucket: `session_starts:${projectId}`, limit: ofInstallation, seconds: 60 });
    for (const { bucket, limit, seconds } of limits) {
      await this.#count(
        bucket,
        { limit, seconds },
        `Session limit reached (${limit} in ${seconds} seconds).`,
      );
    }
  }

  /** Counts one more event into a session. @throws TooManyRequestsError `rate_limited` */
  countEvent(sessionId: string): Promise<void> {
    return this.#count(
      `session_events:${sessionId}`,
      { limit: EVENTS_PER_MINUTE, seconds: 60 },
      `Event limit of this session reached (${EVENTS_PER_MINUTE} a minute).`,
    );
  }

  /**
   * Takes a slot in every bucket of the session, or in none.
   * @param lifeSeconds lifetime of the session's credential
   * @returns the buckets in which it holds a slot
   * @throws TooManyRequestsError `concurrency_limit`; UnavailableError when visitors can't be counted
   */
  async take(sessionId: string, owner: SlotOwner, lifeSeconds: number): Promise<string[]> {
    const limits = await this.limitsFor(owner);
    if (limits.length === 0) return [];
    const full = await this.#unlessSilent(this.#slots.take(sessionId, limits, lifeSeconds * 1000 + GRACE_MS));
    if (full === undefined) {
      // No other limit bounds what visitors of public pages cost.
      if (owner.visitor)
        throw new UnavailableError(
          'Session limits of public pages cannot be checked. Retry in a few seconds.',
        );
      return [];
    }
    if (full !== null) {
      const [who] = full.split(':');
      throw new TooManyRequestsError(
        'concurrency_limit',
        `The ${who} has reached its limit of concurrent sessions. Retry when one has ended.`,
        10,
      );
    }
    return limits.map(({ bucket }) => bucket);
  }

  /**
   * Takes the slots of a session again as its call begins: they may have expired since it was created.
   * @throws TooManyRequestsError `limit`
   */
  async retake(session: SessionRecord): Promise<void> {
    if (session.slot_scopes.length === 0) return;
    try {
      const limits = await this.limitsFor({
        orgId: session.org_id,
        projectId: session.project_id,
        agent: await agentOf(this.#agents, session),
        visitor: session.widget,
        accountId: session.telephony_account_id,
      });
      const own = [
        ...limits.filter(({ bucket }) => session.slot_scopes.includes(bucket)),
        // It was let in by its deployment once, and counts whatever the limit is by now.
        ...session.slot_scopes
          .filter((bucket) => bucket.startsWith(DEPLOYMENT))
          .map((bucket) => ({ bucket, limit: MAX_DEPLOYMENT_CALLS })),
      ];
      const full = await this.#slots.take(session._id, own, RUNNING_SLOT_MS);
      if (full !== null) {
        const limit = own.find(({ bucket }) => bucket === full)?.limit;
        throw new TooManyRequestsError('limit', `Concurrent session limit reached (${limit}).`, 10);
      }
    } catch (error) {
      if (error instanceof TooManyRequestsError) throw error;
      // Calls continue without the bus: each gateway has a limit of its own.
      this.#logger.warn({ err: error, sessionId: session._id }, 'concurrency slots could not be renewed');
    }
  }

  /** Releases slots, if the bus can be reached: otherwise the leases expire by themselves. */
  async release(sessionId: string, buckets: readonly string[]): Promise<void> {
    if (buckets.length === 0) return;
    try {
      await this.#slots.release(sessionId, buckets);
      await this.#freed.publish();
    } catch (error) {
      this.#logger.warn({ err: error, sessionId }, 'concurrency slots could not be released');
    }
  }

  async #count(
    bucket: string,
    { limit, seconds }: { limit: number; seconds: number },
    message: string,
  ): Promise<void> {
    const hit = await this.#unlessSilent(this.#rates.hit(bucket, seconds));
    if (!hit || hit.count <= limit) return;
    const waitMs = hit.resetAt - this.#clock.now();
    throw new TooManyRequestsError('rate_limited', message, Math.max(1, Math.ceil(waitMs / 1000)));
  }

  /** The answer of the bus; undefined when it cannot be reached, so that calls continue uncounted. */
  async #unlessSilent<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#logger.warn({ err: error }, 'session limits are not enforced: the bus cannot be reached');
      return undefined;
    }
  }

  /** What a session takes slots of, while it runs. */
  async limitsFor(owner: SlotOwner): Promise<{ bucket: string; limit: number }[]> {
    const { orgId, projectId, agent, visitor, deployment, accountId } = owner;
    const all = await this.#ownLimits.matching('concurrent_sessions', {
      ...{ orgId, projectId, agentId: agent?.agent_id ?? null },
      accountId: accountId ?? owner.dialAccountId ?? null,
    });
    const own = all.filter((limit) => sessionLimitKind(limit) === 'tenant');
    const ofInstallation = this.#limits.concurrentSessionsPerOrg;
    const perOrg = [
      ...own.filter((limit) => limit.project_id === null).map(({ limit }) => limit),
      ...(ofInstallation > 0 ? [ofInstallation] : []),
    ];
    const perProject = own.find((limit) => limit.project_id !== null)?.limit;
    const perAgent = agent?.config.limits.max_concurrent_sessions ?? null;
    return [
      ...(perOrg.length > 0 ? [{ bucket: `org:${orgId}`, limit: Math.min(...perOrg) }] : []),
      ...(perProject === undefined ? [] : [{ bucket: `project:${projectId}`, limit: perProject }]),
      ...(agent && perAgent !== null ? [{ bucket: `agent:${agent.agent_id}`, limit: perAgent }] : []),
      ...all
        .filter((limit) => sessionLimitKind(limit) !== 'tenant')
        .map((one) => ({ bucket: sessionSlots({ ...one, org_id: orgId }), limit: one.limit })),
      ...(deployment ? [{ bucket: `${DEPLOYMENT}${deployment.id}`, limit: deployment.limit }] : []),
      ...(accountId === null ? [] : [{ bucket: `account:${accountId}`, limit: UNLIMITED }]),
      ...(agent && visitor ? [{ bucket: `widget:${agent.agent_id}`, limit: WIDGET_SESSIONS_AT_ONCE }] : []),
    ];
  }
}
