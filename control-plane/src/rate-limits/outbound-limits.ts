import type { RateCounter, Slots } from '@parley/shared/bus/bus';
import { TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { dialLimitScope, windowBucket } from './limit-buckets.ts';
import type { RateLimitRecord } from './rate-limit-model.ts';
import type { LimitTarget, RateLimitService } from './rate-limit-service.ts';

/** A call that is dialled, as far as an org's own limits depend on it: of `SessionRecord`. */
export interface LimitedDial {
  org_id: string;
  project_id: string;
  agent_id: string | null;
  dial: { account_id: string } | null;
}

/** How long a client waits that comes to a full bucket, in seconds. */
const FULL_SECONDS = 10;

/** Limits that orgs set on their outbound calls: a condition on each dial, and on what clients may order. */
export class OutboundLimits {
  readonly name = 'rate_limits';
  readonly #limits: Pick<RateLimitService, 'matching'>;
  readonly #bus: { rates: RateCounter; slots: Slots };
  readonly #clock: Pick<Clock, 'now'>;
  readonly #logger: Logger;

  constructor(deps: {
    limits: Pick<RateLimitService, 'matching'>;
    bus: { rates: RateCounter; slots: Slots };
    clock: Pick<Clock, 'now'>;
    logger: Logger;
  }) {
    this.#limits = deps.limits;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Places and paces of a dial, of limits of either action: what waits is dialled when they allow. */
  async check({ org_id, project_id, agent_id, dial }: LimitedDial): Promise<{
    pass: true;
    places: { bucket: string; limit: number }[];
    paces: { scope: string; perSecond: number }[];
  }> {
    const target = {
      ...{ orgId: org_id, projectId: project_id, agentId: agent_id },
      accountId: dial?.account_id ?? null,
    };
    const [concurrent, dials] = await Promise.all([
      this.#limits.matching('concurrent_outbound', target),
      this.#limits.matching('outbound_dials', target),
    ]);
    return {
      pass: true,
      places: concurrent.map((one) => ({ bucket: dialLimitScope(one), limit: one.limit })),
      paces: dials.map((one) => ({
        scope: dialLimitScope(one),
        perSecond: one.limit / (one.window_seconds ?? 60),
      })),
    };
  }

  /**
   * Counts a call that a client orders, where a limit says that it is refused instead of waiting.
   * @throws TooManyRequestsError `rate_limited`, `concurrency_limit`
   */
  async order(target: LimitTarget): Promise<void> {
    for (const limit of await this.#limits.matching('concurrent_outbound', target))
      if (limit.action !== 'queue') await this.#refuseFull(limit);
    for (const limit of await this.#limits.matching('outbound_dials', target))
      if (limit.action !== 'queue') await this.#count(limit);
  }

  async #refuseFull(limit: RateLimitRecord): Promise<void> {
    const used = await this.#unlessSilent(this.#bus.slots.count(dialLimitScope(limit)));
    if (used === undefined || used < limit.limit) return;
    throw new TooManyRequestsError(
      'concurrency_limit',
      `Limit of concurrent outbound calls reached (${limit.limit}). Retry when one has ended.`,
      FULL_SECONDS,
    );
  }

  async #count({ _id, limit, window_seconds }: RateLimitRecord): Promise<void> {
    const seconds = window_seconds ?? 60;
    const hit = await this.#unlessSilent(this.#bus.rates.hit(windowBucket('outbound_dials', _id), seconds));
    if (!hit || hit.count <= limit) return;
    const waitMs = hit.resetAt - this.#clock.now();
    throw new TooManyRequestsError(
      'rate_limited',
      `Limit of outbound calls reached (${limit} in ${seconds} seconds).`,
      Math.max(1, Math.ceil(waitMs / 1000)),
    );
  }

  /** Calls are ordered without the bus, too: they are dialled only with it. */
  async #unlessSilent<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#logger.warn({ err: error }, 'outbound calls are not counted: the bus cannot be reached');
      return undefined;
    }
  }
}
