import type { RateCounter } from '@parley/shared/bus/bus';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { windowBucket } from './limit-buckets.ts';
import type { LimitTarget, RateLimitService } from './rate-limit-service.ts';

type PlanLimits = NonNullable<SessionPlanWire['limits']['tool_calls']>;

/** How often tools may run, by an org's own limits: gateways count what calls run, and this what runs without one. */
export class ToolCallLimits {
  readonly #limits: Pick<RateLimitService, 'matching'>;
  readonly #rates: RateCounter;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #logger: Logger;

  constructor(deps: {
    limits: Pick<RateLimitService, 'matching'>;
    rates: RateCounter;
    clock: Pick<Clock, 'now'>;
    logger: Logger;
  }) {
    this.#limits = deps.limits;
    this.#rates = deps.rates;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Those of a call. @param target.projectId null: none, so that only the org's hold */
  async of(target: LimitTarget): Promise<PlanLimits> {
    const own = await this.#limits.matching('tool_calls', target);
    return own.map(({ _id, limit, window_seconds }) => ({
      bucket: windowBucket('tool_calls', _id),
      limit,
      window_seconds: window_seconds ?? 60,
    }));
  }

  /** Counts one more call. @throws TooManyRequestsError `rate_limited` */
  async count(orgId: string, projectId: string | null): Promise<void> {
    for (const { bucket, limit, window_seconds } of await this.of({ orgId, projectId })) {
      const hit = await this.#rates.hit(bucket, window_seconds).catch((error: unknown) => {
        this.#logger.warn({ err: error }, 'tool calls are not counted: the bus cannot be reached');
      });
      if (!hit || hit.count <= limit) continue;
      const waitMs = hit.resetAt - this.#clock.now();
      throw new TooManyRequestsError(
        'rate_limited',
        `Tool call limit reached (${limit} in ${window_seconds} seconds).`,
        Math.max(1, Math.ceil(waitMs / 1000)),
      );
    }
  }
}
