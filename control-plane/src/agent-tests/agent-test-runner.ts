import type { Model } from 'mongoose';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { SessionAgents } from '../sessions/session-agent.ts';
import { PeriodicTask } from '../jobs/periodic-task.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { runTest } from './agent-test-conversation.ts';
import type { ConversationDeps, Verdict } from './agent-test-conversation.ts';
import { agentTestResultCollection, agentTestRunCollection, contentOf } from './agent-test-model.ts';
import type { AgentTestResultRecord, AgentTestRunRecord } from './agent-test-model.ts';
import type { TestRunners } from './agent-test-service.ts';

const EVERY_MS = 5000;
/** Runs of this process at once, each of another org. */
const RUNS_AT_ONCE = 4;
/** Conversations of one run at once, and so of one org. */
const TALKS_AT_ONCE = 3;
const LEASE_MS = 45_000;
const RENEW_MS = 5000;
const LOST_AT_ONCE = 100;

/** Why a run stops before its end. */
type Stop = 'cancelled' | 'stopping';

/**
 * Runs what was asked for, in the order it was asked for: one run of an org at a time, over all processes. A run whose
 * process is gone is failed by the others, since what its conversations were doing is not known.
 */
export class AgentTestRunner implements TestRunners {
  readonly #runs: Model<AgentTestRunRecord>;
  readonly #results: Model<AgentTestResultRecord>;
  readonly #agents: SessionAgents;
  readonly #deps: ConversationDeps;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #owner: string;
  readonly #active = new Map<string, { stop: AbortController; done: Promise<void> }>();
  #task: PeriodicTask | undefined;
  #stopping = false;

  constructor(
    deps: ConversationDeps & {
      database: Database;
      agents: SessionAgents;
      logger: Logger;
      /** Names this process in leases. */
      owner: string;
    },
  ) {
    this.#runs = deps.database.model(agentTestRunCollection);
    this.#results = deps.database.model(agentTestResultCollection);
    this.#agents = deps.agents;
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#owner = deps.owner;
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
      const run = await this.#claim();
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

  async #claim(): Promise<AgentTestRunRecord | null> {
    const busy: string[] = await this.#runs.distinct('org_id', { status: 'running' });
    for (;;) {
      const next = await this.#runs
        .findOne({ status: 'queued', org_id: { $nin: busy } })
        .sort({ created_at: 1 })
        .lean<AgentTestRunRecord>();
      if (!next) return null;
      const now = this.#clock.now();
      try {
        const claimed = await this.#runs
          .findOneAndUpdate(
            { _id: next._id, status: 'queued' },
            {
              $set: {
                status: 'running',
                started_at: new Date(now),
                lease_owner: this.#owner,
                lease_until: new Date(now + LEASE_MS),
              },
            },
            { returnDocument: 'after' },
          )
          .lean<AgentTestRunRecord>();
        if (claimed) return claimed;
      } catch (error) {
        // Another process has begun another run of this org.
        if (!isDuplicateKey(error)) throw error;
        busy.push(next.org_id);
      }
    }
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
    const lease = this.#keepLease(run, stop);
    try {
      await Promise.all(Array.from({ length: TALKS_AT_ONCE }, () => this.#lane(run, signal)));
      if (!signal.aborted) {
        await this.#runs.updateOne(
          { _id: run._id, status: 'running', lease_owner: this.#owner },
          { $set: { status: 'completed', ended_at: new Date(this.#clock.now()) } },
        );
      } else if (signal.reason === ('stopping' satisfies Stop)) await this.#fail(run._id);
    } catch (error) {
      this.#logger.error({ err: error, testRunId: run._id }, 'test run failed');
      await this.#fail(run._id).catch((failure: unknown) => {
        this.#logger.error(
          { err: failure, testRunId: run._id },
          'a failed test run could not be marked as failed',
        );
      });
    } finally {
      lease.stop();
    }
  }

  /** One conversation after the other, until none is left. */
  async #lane(run: AgentTestRunRecord, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const result = await this.#results
        .findOneAndUpdate(
          { test_run_id: run._id, status: 'pending' },
          { $set: { status: 'running', started_at: new Date(this.#clock.now()) } },
          { sort: { _id: 1 }, returnDocument: 'after' },
        )
        .lean<AgentTestResultRecord>();
      if (!result) return;
      const verdict = await this.#attempt(run, result, signal);
      if (verdict) await this.#settle(run, result, verdict);
    }
  }

  /** @returns undefined when the run was stopped meanwhile */
  async #attempt(
    run: AgentTestRunRecord,
    result: AgentTestResultRecord,
    signal: AbortSignal,
  ): Promise<Verdict | undefined> {
    try {
      const agent = await this.#agents.version(run.agent_id, run.agent_version);
      if (!agent) return broken('The agent version no longer exists.');
      const onSession = async (sessionId: string) => {
        await this.#results.updateOne({ _id: result._id }, { $set: { session_id: sessionId } });
      };
      const test = { agent, runId: run._id, content: contentOf(result), onSession };
      return await runTest(this.#deps, test, signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      this.#logger.error(
        { err: error, testRunId: run._id, resultId: result._id },
        'agent test failed unexpectedly',
      );
      return broken('An internal error occurred.');
    }
  }

  /** Counts once: a result that was cancelled meanwhile stays so. */
  async #settle(run: AgentTestRunRecord, result: AgentTestResultRecord, verdict: Verdict): Promise<void> {
    const { modifiedCount } = await this.#results.updateOne(
      { _id: result._id, status: 'running' },
      { $set: { ...verdict, ended_at: new Date(this.#clock.now()) } },
    );
    if (modifiedCount === 0) return;
    const counter = { passed: 'passed', failed: 'failed', error: 'errored' }[verdict.status];
    await this.#runs.updateOne({ _id: run._id, status: 'running' }, { $inc: { [counter]: 1 } });
  }

  /** Says that this process is still there, and learns when the run was cancelled elsewhere. */
  #keepLease(run: AgentTestRunRecord, stop: AbortController): { stop(): void } {
    let timer: Timer | undefined;
    let over = false;
    const renew = async (): Promise<void> => {
      try {
        const { matchedCount } = await this.#runs.updateOne(
          { _id: run._id, status: 'running', lease_owner: this.#owner },
          { $set: { lease_until: new Date(this.#clock.now() + LEASE_MS) } },
        );
        if (matchedCount === 0 && !over) stop.abort('cancelled' satisfies Stop);
      } catch (error) {
        this.#logger.warn({ err: error, testRunId: run._id }, 'the lease of a test run could not be renewed');
      }
      if (!over) later();
    };
    const later = () => (timer = this.#clock.setTimeout(() => void renew(), RENEW_MS));
    later();
    return {
      stop() {
        over = true;
        timer?.cancel();
      },
    };
  }

  async #failLost(): Promise<void> {
    const lost = await this.#runs
      .find({ status: 'running', lease_until: { $lte: new Date(this.#clock.now()) } })
      .limit(LOST_AT_ONCE)
      .lean<AgentTestRunRecord[]>();
    for (const { _id } of lost) {
      if (this.#active.has(_id)) continue;
      this.#logger.warn({ testRunId: _id }, 'a test run was lost with its process');
      await this.#fail(_id);
    }
  }

  async #fail(runId: string): Promise<void> {
    const ended_at = new Date(this.#clock.now());
    const of = (status: 'pending' | 'running') => ({ test_run_id: runId, status });
    const lost = await this.#results.updateMany(of('running'), {
      $set: {
        status: 'error',
        error: 'The process that ran the test stopped. Run the test again.',
        ended_at,
      },
    });
    await this.#results.updateMany(of('pending'), { $set: { status: 'cancelled', ended_at } });
    await this.#runs.updateOne(
      { _id: runId, status: 'running' },
      { $set: { status: 'failed', ended_at }, $inc: { errored: lost.modifiedCount } },
    );
  }
}

function broken(error: string): Verdict {
  return { status: 'error', checks: [], error };
}
