import type { AnalysisRecord } from '../analyses/analysis-record.ts';
import type { Feature } from '../composition/feature.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Collection } from '../storage/collection.ts';
import { analysisResultCollection } from './analysis-result-model.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import { analysisResultRoutes } from './analysis-result-routes.ts';
import { AnalysisResults } from './analysis-results.ts';
import { toCallEndedPayload } from './call-ended-payload.ts';
import { AnalysisTrial } from './analysis-trial.ts';
import { CallEndedWebhook } from './call-ended-webhook.ts';
import type { FoundGoals } from './found-goals.ts';
import { LeadAnalyst } from './lead-analyst.ts';
import { postCallJobCollection } from './post-call-job-model.ts';
import { PostCallJobs } from './post-call-jobs.ts';
import { PostCallRun } from './post-call-run.ts';
import type { PostCallStep } from './post-call-run.ts';
import { postCallSample } from './post-call-sample.ts';
import { RepeatRun } from './repeat-run.ts';
import { RepeatedAnalyses } from './repeated-analyses.ts';
import { RuleAnalyses } from './rule-analyses.ts';
import { RuleRunner } from './rule-runner.ts';
import { UnansweredCalls } from './unanswered-calls.ts';

/** How often what is due is looked for; what is new wakes the task. */
const JOB_INTERVAL_MS = 5000;

type Needs<T extends abstract new (deps: never) => unknown> = ConstructorParameters<T>[0];

/** Databases, as far as sessions become rows of them. */
export interface AnalysedSessions {
  /** Safe to repeat. */
  add(facts: {
    session: SessionRecord;
    agent: SessionAgent | null;
    /** The fields of the call-ended webhook. */
    lead: Readonly<Record<string, unknown>>;
    results: readonly AnalysisResultRecord[];
  }): Promise<void>;
}

/** What follows calls. `memories`: what agents learn of their callers, beside the analyses. */
export function createPostCall({
  memories,
  sessionRows,
  named,
  goals,
  ...deps
}: Omit<Needs<typeof PostCallJobs>, 'run' | 'repeat'> &
  Omit<Needs<typeof PostCallRun>, 'keep' | 'lead' | 'steps' | 'webhook'> &
  Omit<Needs<typeof CallEndedWebhook> & Needs<typeof LeadAnalyst>, 'results'> &
  Needs<typeof RuleRunner> &
  Omit<Needs<typeof RuleAnalyses>, 'results' | 'runner'> & {
    memories: PostCallStep;
    sessionRows: AnalysedSessions;
    goals: readonly FoundGoals[];
    named: { analyses: Collection<AnalysisRecord>; sessions: Collection<SessionRecord> };
  }) {
  const results = new AnalysisResults(deps);
  const runner = new RuleRunner(deps);
  const rules = new RuleAnalyses({ ...deps, results, runner });
  const lead = new LeadAnalyst({ ...deps, results });
  const webhook = new CallEndedWebhook({ ...deps, results });
  const run = new PostCallRun({
    ...{ ...deps, lead, steps: [rules, memories] },
    keep: async ({ session, agent, lead: found }) => {
      if (found?.goal_status)
        for (const follower of goals) await follower.goalFound(session, found.goal_status);
      const payload = toCallEndedPayload({ session, lead: found, rows: [], recordingUrl: null });
      await sessionRows.add({
        session,
        agent,
        lead: { ...payload, goal_status: found?.goal_status ?? null },
        results: await results.ofSession(session._id),
      });
    },
    webhook,
  });
  const repeat = new RepeatRun({ ...deps, goals, lead, rules, results });
  const postCall = new PostCallJobs({ ...deps, run, repeat });
  const repeats = new RepeatedAnalyses({ ...deps, queue: postCall, results, rules });
  const trial = new AnalysisTrial({ ...deps, runner, sessions: named.sessions });
  return {
    postCall,
    unansweredCalls: new UnansweredCalls({ ...deps, webhook }),
    collections: [analysisResultCollection, postCallJobCollection],
    routes: analysisResultRoutes({ results, repeats, trial, analyses: named.analyses }),
    workers: [
      {
        name: 'post-call jobs',
        everyMs: JOB_INTERVAL_MS,
        work: (signal) => postCall.work(signal),
        wakeWith: (task) => postCall.wakeWith(task),
      },
    ],
    erases: {
      session: async (sessionId: string) => {
        await results.erase(sessionId);
        await postCall.erase(sessionId);
      },
    },
    samples: [postCallSample],
  } satisfies Feature & { postCall: PostCallJobs; unansweredCalls: UnansweredCalls };
}
