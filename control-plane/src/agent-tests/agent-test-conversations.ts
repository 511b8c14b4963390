import type { Model } from 'mongoose';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionAgents } from '../sessions/session-agent.ts';
import type { Database } from '../storage/database.ts';
import type { TestCase, Verdict } from './agent-test-conversation.ts';
import { agentTestResultCollection, agentTestRunCollection, contentOf } from './agent-test-model.ts';
import type { AgentTestResultRecord, AgentTestRunRecord } from './agent-test-model.ts';

/** Conversations of one run at once, and so of one org. */
const TALKS_AT_ONCE = 3;

/** Holds the conversations of one run and notes their verdicts. */
export class AgentTestConversations {
  readonly #runs: Model<AgentTestRunRecord>;
  readonly #results: Model<AgentTestResultRecord>;
  readonly #agents: SessionAgents;
  readonly #runTest: (test: TestCase, signal: AbortSignal) => Promise<Verdict>;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    database: Database;
    agents: SessionAgents;
    runTest: (test: TestCase, signal: AbortSignal) => Promise<Verdict>;
    clock: Clock;
    logger: Logger;
  }) {
    this.#runs = deps.database.model(agentTestRunCollection);
    this.#results = deps.database.model(agentTestResultCollection);
    this.#agents = deps.agents;
    this.#runTest = deps.runTest;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Returns when none is left, or when `signal` has stopped those under way. */
  async holdAll(run: AgentTestRunRecord, signal: AbortSignal): Promise<void> {
    await Promise.all(Array.from({ length: TALKS_AT_ONCE }, () => this.#lane(run, signal)));
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
      return await this.#runTest(test, signal);
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
}

function broken(error: string): Verdict {
  return { status: 'error', checks: [], error };
}
