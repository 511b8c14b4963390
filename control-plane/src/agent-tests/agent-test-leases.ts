import type { Model } from 'mongoose';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { agentTestResultCollection, agentTestRunCollection } from './agent-test-model.ts';
import type { AgentTestResultRecord, AgentTestRunRecord } from './agent-test-model.ts';

const LEASE_MS = 45_000;
const RENEW_MS = 5000;
const LOST_AT_ONCE = 100;

/** Which process has which run: at most one run of an org is under way, over all processes. */
export class AgentTestLeases {
  readonly #runs: Model<AgentTestRunRecord>;
  readonly #results: Model<AgentTestResultRecord>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #owner: string;

  constructor(deps: {
    database: Database;
    clock: Clock;
    logger: Logger;
    /** Names this process in leases. */
    owner: string;
  }) {
    this.#runs = deps.database.model(agentTestRunCollection);
    this.#results = deps.database.model(agentTestResultCollection);
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#owner = deps.owner;
  }

  /** The oldest run that may begin, now held by this process. */
  async claim(): Promise<AgentTestRunRecord | null> {
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

  /** Says that this process is still there, until it is stopped. `onGone`: the run was cancelled elsewhere. */
  keep(run: AgentTestRunRecord, onGone: () => void): { stop(): void } {
    let timer: Timer | undefined;
    let over = false;
    const renew = async (): Promise<void> => {
      try {
        const { matchedCount } = await this.#runs.updateOne(
          { _id: run._id, status: 'running', lease_owner: this.#owner },
          { $set: { lease_until: new Date(this.#clock.now() + LEASE_MS) } },
        );
        if (matchedCount === 0 && !over) onGone();
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

  /** Ends a run whose conversations are over. */
  async complete(runId: string): Promise<void> {
    await this.#runs.updateOne(
      { _id: runId, status: 'running', lease_owner: this.#owner },
      { $set: { status: 'completed', ended_at: new Date(this.#clock.now()) } },
    );
  }

  /** Runs whose lease is over: their process is gone. */
  lost(): Promise<AgentTestRunRecord[]> {
    return this.#runs
      .find({ status: 'running', lease_until: { $lte: new Date(this.#clock.now()) } })
      .limit(LOST_AT_ONCE)
      .lean<AgentTestRunRecord[]>();
  }

  /** Ends a run that nobody goes on with, and its results. */
  async fail(runId: string): Promise<void> {
    const ended_at = new Date(this.#clock.now());
    const of = (status: 'pending' | 'running') => ({ test_run_id: runId, status });
    await this.#results.updateMany(of('running'), {
      $set: {
        status: 'error',
        error: 'The process that ran the test stopped. Run the test again.',
        ended_at,
      },
    });
    await this.#results.updateMany(of('pending'), { $set: { status: 'cancelled', ended_at } });
    // Counted, not added up: another process may be failing the same run.
    const count = (status: 'passed' | 'failed' | 'error') =>
      this.#results.countDocuments({ test_run_id: runId, status });
    const [passed, failed, errored] = await Promise.all([count('passed'), count('failed'), count('error')]);
    await this.#runs.updateOne(
      { _id: runId, status: 'running' },
      { $set: { status: 'failed', ended_at, passed, failed, errored } },
    );
  }
}
