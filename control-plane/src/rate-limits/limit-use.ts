import type { RateCounter, Slots } from '@parley/shared/bus/bus';
import type { Logger } from '@parley/shared/logging/logger';
import { dialLimitScope, sessionSlots, windowBucket } from './limit-buckets.ts';
import type { RateLimitRecord } from './rate-limit-model.ts';

/** How much of an org's own limits is used now. */
export class LimitUse {
  readonly #bus: { rates: RateCounter; slots: Slots };
  readonly #logger: Logger;

  constructor(deps: { bus: { rates: RateCounter; slots: Slots }; logger: Logger }) {
    this.#bus = deps.bus;
    this.#logger = deps.logger;
  }

  /** @returns null where nothing is counted, or the bus cannot be reached */
  async of(limit: RateLimitRecord): Promise<number | null> {
    try {
      return await this.#read(limit);
    } catch (error) {
      this.#logger.warn({ err: error }, 'the use of rate limits is not known: the bus cannot be reached');
      return null;
    }
  }

  async #read(limit: RateLimitRecord): Promise<number | null> {
    if (!limit.enabled) return null;
    if (limit.resource === 'concurrent_sessions') return this.#bus.slots.count(sessionSlots(limit));
    if (limit.resource === 'concurrent_outbound') return this.#bus.slots.count(dialLimitScope(limit));
    // Those that wait have a pace, and no window in which they are counted.
    if (limit.resource === 'outbound_dials' && limit.action === 'queue') return null;
    const bucket = windowBucket(limit.resource, limit._id);
    return (await this.#bus.rates.hit(bucket, limit.window_seconds ?? 60, 0)).count;
  }
}
