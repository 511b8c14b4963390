import { toTurn, type CallLog } from '../calls/call-log.ts';
import { agentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { AnalysisResults } from './analysis-results.ts';
import type { FoundGoals } from './found-goals.ts';
import type { LeadAnalyst } from './lead-analyst.ts';
import { toTask } from './post-call-job-model.ts';
import type { PostCallJobRecord } from './post-call-job-model.ts';
import type { RuleAnalyses } from './rule-analyses.ts';

/** What a job does that repeats analyses: these alone, no webhook tells of them. */
export class RepeatRun {
  readonly #store: SessionStore;
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #callLog: Pick<CallLog, 'turns'>;
  readonly #lead: LeadAnalyst;
  readonly #rules: RuleAnalyses;
  readonly #results: Pick<AnalysisResults, 'giveUp'>;
  readonly #goals: readonly FoundGoals[];

  constructor(deps: {
    store: SessionStore;
    agents: Pick<SessionAgents, 'version'>;
    callLog: Pick<CallLog, 'turns'>;
    lead: LeadAnalyst;
    rules: RuleAnalyses;
    results: Pick<AnalysisResults, 'giveUp'>;
    goals: readonly FoundGoals[];
  }) {
    this.#store = deps.store;
    this.#agents = deps.agents;
    this.#callLog = deps.callLog;
    this.#lead = deps.lead;
    this.#rules = deps.rules;
    this.#results = deps.results;
    this.#goals = deps.goals;
  }

  /** @throws what a step failed with, and the reason of `signal` */
  async run(job: PostCallJobRecord, signal: AbortSignal): Promise<void> {
    const session = await this.#store.find(toTask(job).sessionId);
    if (!session || session.erased_at !== null) return;
    const turns = (await this.#callLog.turns(session._id)).map(toTurn);
    if (job.analysis_ids !== null) {
      await this.#rules.runNamed(job.analysis_ids, { session, turns, signal });
      return;
    }
    const agent = await agentOf(this.#agents, session);
    const lead = await this.#lead.analyse(session, agent, turns, signal);
    await this.#rules.run({ session, agent, turns, signal });
    if (!lead?.goal_status) return;
    await this.#store.change(session._id, { goal_status: lead.goal_status });
    for (const follower of this.#goals) await follower.goalFound(session, lead.goal_status);
  }

  /** Leaves no row waiting. */
  giveUp(sessionId: string): Promise<void> {
    return this.#results.giveUp(sessionId);
  }
}
