import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { PeriodicTask } from '../jobs/periodic-task.ts';
import type { AgentTestConversations } from './agent-test-conversations.ts';
import type { AgentTestLeases } from './agent-test-leases.ts';
import type { AgentTestRunRecord } from './agent-test-model.ts';
import type { TestRunners } from './agent-test-service.ts';

const EVERY_MS = 5000;
/** Runs of this process at once, each of another org. */
const RUNS_AT_ONCE = 4;

/** Why a run stops before its end. */
type Stop = 'cancelled' | 'stopping';

/**
 * Runs what was asked for, in the order it was asked for: one run of an org at a time, over all processes. A run whose
 * process is gone is failed by the others, since what its conversations were doing is not known.
 */
export class AgentTestRunner implements TestRunners {
  readonly #leases: AgentTestLeases;
  readonly #conversations: AgentTestConversations;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #active = new Map<string, { stop: AbortController; done: Promise<void> }>();
  #task: PeriodicTask | undefined;
  #stopping = false;

  constructor(deps: {
    leases: AgentTestLeases;
    conversations: AgentTestConversations;
    clock: Clock;
    logger: Logger;
  }) {
    this.#leases = deps.leases;
    this.#conversations = deps.conversations;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  start(): this {
    this.#task = new PeriodicTask({
      name: 'agent tests',
      everyMs: EVERY_MS,
      work: () => this.work(),
      clock: this.#clock,
      logger: this.#logger,
    });
    return this;
  }

  wake(): void {
    void this.#task?.runNow();
  }

  stop(runId: string): void {
    this.#active.get(runId)?.stop.abort('cancelled' satisfies Stop);
  }

  /** Begins what may begin, and fails what was lost. */
  async work(): Promise<void> {
    await this.#failLost();
    while (!this.#stopping && this.#active.size < RUNS_AT_ONCE) {
      const run = await this.#leases.claim();
      if (!run) return;
      this.#begin(run);
    }
  }

  /** Runs under way fail: another process can not go on with a conversation. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true;
    await this.#task?.[Symbol.asyncDispose]();
    const active = [...this.#active.values()];
    for (const { stop } of active) stop.abort('stopping' satisfies Stop);
    await Promise.all(active.map(({ done }) => done));
  }

  #begin(run: AgentTestRunRecord): void {
    const stop = new AbortController();
    const done = this.#run(run, stop).finally(() => {
      this.#active.delete(run._id);
      this.wake();
    });
    this.#active.set(run._id, { stop, done });
  }

  /** Never rejects. */
  async #run(run: AgentTestRunRecord, stop: AbortController): Promise<void> {
    const { signal } = stop;
    const lease = this.#leases.keep(run, () => stop.abort('cancelled' satisfies Stop));
    try {
      await this.#conversations.holdAll(run, signal);
      if (!signal.aborted) await this.#leases.complete(run._id);
      else if (signal.reason === ('stopping' satisfies Stop)) await this.#leases.fail(run._id);
    } catch (error) {
      this.#logger.error({ err: error, testRunId: run._id }, 'test run failed');
      await this.#leases.fail(run._id).catch((failure: unknown) => {
        this.#logger.error(
          { err: failure, testRunId: run._id },
          'a failed test run could not be marked as failed',
        );
      });
    } finally {
      lease.stop();
    }
  }

  async #failLost(): Promise<void> {
    for (const { _id } of await this.#leases.lost()) {
      if (this.#active.has(_id)) continue;
      this.#logger.warn({ testRunId: _id }, 'a test run was lost with its process');
      await this.#leases.fail(_id);
    }
  }
}
