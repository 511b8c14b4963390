import type { RateCounter } from '@parley/shared/bus/bus';
import type { PlanTool, SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { ToolCall, ToolOutcome, ToolRunner } from '@parley/shared/tools/tool-runner';

type Limit = SessionPlan['limits']['tool_calls'][number];

/** Runs tools as often as the org and the project of the call let it; a further call is refused, and counts too. */
export class LimitedTools implements ToolRunner {
  readonly #limits: readonly Limit[];
  readonly #tools: ToolRunner;
  readonly #rates: RateCounter;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #logger: Logger;

  constructor(deps: {
    limits: readonly Limit[];
    tools: ToolRunner;
    rates: RateCounter;
    clock: Pick<Clock, 'now'>;
    logger: Logger;
  }) {
    this.#limits = deps.limits;
    this.#tools = deps.tools;
    this.#rates = deps.rates;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  async run(tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> {
    for (const limit of this.#limits) {
      const waitMs = await this.#waitMs(limit);
      signal.throwIfAborted();
      if (waitMs === undefined) continue;
      const seconds = Math.max(1, Math.ceil(waitMs / 1000));
      const content = `The tool was not run: too many tools were called. Do not call it again within ${seconds} seconds.`;
      return { ok: false, code: 'rate_limited', content, assigned: {}, durationMs: 0 };
    }
    return this.#tools.run(tool, call, signal);
  }

  /** @returns how long the limit stays reached; undefined where it is not */
  async #waitMs({ bucket, limit, window_seconds }: Limit): Promise<number | undefined> {
    try {
      const { count, resetAt } = await this.#rates.hit(bucket, window_seconds);
      return count > limit ? resetAt - this.#clock.now() : undefined;
    } catch (error) {
      // Calls go on without the bus.
      this.#logger.warn({ err: error }, 'tool calls are not counted: the bus cannot be reached');
      return undefined;
    }
  }
}
