import type { Bus } from '@parley/shared/bus/bus';
import { TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';

/** At most `limit` in `windowSeconds`, counted in `bucket`. */
export interface RequestLimit {
  bucket: string;
  limit: number;
  windowSeconds: number;
}

export interface LimitState {
  limit: number;
  remaining: number;
  resetSeconds: number;
}

/** Counts requests in the bus, so that all control planes count together. Without a bus nobody is refused. */
export class RequestLimiter {
  readonly #bus: Pick<Bus, 'rates'>;
  readonly #logger: Logger;
  readonly #clock: Clock;

  constructor({ bus, logger, clock }: { bus: Pick<Bus, 'rates'>; logger: Logger; clock: Clock }) {
    this.#bus = bus;
    this.#logger = logger;
    this.#clock = clock;
  }

  /**
   * Counts one request against every limit.
   * @returns the tightest one, and whether it refuses the request
   */
  async hit(limits: readonly RequestLimit[]): Promise<{ state: LimitState; refused: boolean } | null> {
    try {
      const states = await Promise.all(
        limits.map(async ({ bucket, limit, windowSeconds }) => {
          const { count, resetAt } = await this.#bus.rates.hit(bucket, windowSeconds);
          const resetSeconds = Math.max(1, Math.ceil((resetAt - this.#clock.now()) / 1000));
          return {
            state: { limit, remaining: Math.max(0, limit - count), resetSeconds },
            refused: count > limit,
          };
        }),
      );
      states.sort((a, b) => Number(b.refused) - Number(a.refused) || a.state.remaining - b.state.remaining);
      return states[0] ?? null;
    } catch (error) {
      this.#logger.warn({ err: error }, 'rate limits are not enforced: the bus cannot be reached');
      return null;
    }
  }
}

export function rateLimited(state: LimitState): TooManyRequestsError {
  return new TooManyRequestsError(
    'rate_limited',
    'Too many requests. Retry after the time in the Retry-After header.',
    state.resetSeconds,
  );
}
