import type { Model } from 'mongoose';
import { ConflictError, ValidationError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { CallLog } from '../calls/call-log.ts';
import { agentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { referenceNotFound } from '../tenancy/references.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import type { AnalysisResults } from './analysis-results.ts';
import { postCallJobCollection, repeatId } from './post-call-job-model.ts';
import type { PostCallJobRecord } from './post-call-job-model.ts';
import type { PostCallJobs } from './post-call-jobs.ts';
import type { RuleAnalyses, RuleSource } from './rule-analyses.ts';

/** Until rows are marked nobody takes the job; one whose maker died meanwhile is taken after it. */
const MARKING_MS = 10_000;

/** Analyses of a session once more: asked for here, done by the post-call jobs. */
export class RepeatedAnalyses {
  readonly #jobs: Model<PostCallJobRecord>;
  readonly #queue: Pick<PostCallJobs, 'isPending' | 'wake'>;
  readonly #results: AnalysisResults;
  readonly #rules: RuleAnalyses;
  readonly #analyses: RuleSource;
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #callLog: Pick<CallLog, 'countTurns'>;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    queue: Pick<PostCallJobs, 'isPending' | 'wake'>;
    results: AnalysisResults;
    rules: RuleAnalyses;
    analyses: RuleSource;
    agents: Pick<SessionAgents, 'version'>;
    callLog: Pick<CallLog, 'countTurns'>;
    clock: Clock;
  }) {
    this.#jobs = deps.database.model(postCallJobCollection);
    this.#queue = deps.queue;
    this.#results = deps.results;
    this.#rules = deps.rules;
    this.#analyses = deps.analyses;
    this.#agents = deps.agents;
    this.#callLog = deps.callLog;
    this.#clock = deps.clock;
  }

  /**
   * Has analyses run again.
   * @param ids null: the lead analysis and the rules that follow the session
   * @returns the session's rows; those that will be replaced are `pending`
   * @throws ConflictError `invalid_state` before the end of the call and of what follows it, while they already run
   *   again, and where there is no transcript; ValidationError for ids that the project does not have; PaymentRequiredError
   */
  async request(session: SessionRecord, ids: readonly string[] | null): Promise<AnalysisResultRecord[]> {
    if (!isTerminal(session.status))
      throw new ConflictError('invalid_state', 'The session has not ended yet. End it first.');
    if (await this.#queue.isPending(session._id))
      throw new ConflictError('invalid_state', 'The analyses of this session are still running.');
    if ((await this.#callLog.countTurns(session._id)) === 0)
      throw new ConflictError('invalid_state', 'There is no transcript of this session to analyse.');
    const agent = await agentOf(this.#agents, session);
    const rules = ids
      ? await this.#analyses.byIds(session.org_id, session.project_id, ids)
      : await this.#rules.ofSession(session, agent);
    if (ids) {
      const known = new Set(rules.map(({ _id }) => _id));
      const missing = ids.flatMap((id, n) =>
        known.has(id) ? [] : referenceNotFound(['body', 'analysis_ids', n]),
      );
      if (missing.length > 0) throw new ValidationError(missing);
    }
    const lead = ids === null && (agent?.config.analysis.lead_analysis ?? false);
    await this.#rules.requireFunds(session, [
      ...rules.map((rule) => rule.llm_id ?? session.llm_id),
      ...(lead ? [agent?.config.analysis.llm_id ?? session.llm_id] : []),
    ]);
    await this.#enqueue(session._id, ids);
    // Only whoever has made the job marks rows, and before it runs: none waits for a run that does not come.
    await this.#results.await(session, { lead, rules });
    await this.#jobs.updateOne({ _id: repeatId(session._id) }, { $set: { lease_until: new Date(0) } });
    this.#queue.wake();
    return this.#results.ofSession(session._id);
  }

  /** One at a time. A job that ran before counts its attempts on, so that nobody mistakes it for the former. */
  async #enqueue(sessionId: string, ids: readonly string[] | null): Promise<void> {
    const running = new ConflictError('invalid_state', 'The analyses of this session are still running.');
    const _id = repeatId(sessionId);
    const now = this.#clock.now();
    const fresh = {
      status: 'pending' as const,
      run_at: new Date(now),
      lease_until: new Date(now + MARKING_MS),
      analysis_ids: ids === null ? null : [...ids],
    };
    const before = await this.#jobs.findOne({ _id }).lean<PostCallJobRecord>();
    if (before) {
      const { matchedCount } = await this.#jobs.updateOne(
        { _id, status: { $in: ['done', 'failed'] }, attempts: before.attempts },
        { $set: { ...fresh, attempts_before: before.attempts } },
      );
      if (matchedCount === 0) throw running;
      return;
    }
    try {
      const Job = this.#jobs;
      await new Job({ _id, ...fresh }).save();
    } catch (error) {
      throw isDuplicateKey(error) ? running : error;
    }
  }
}
