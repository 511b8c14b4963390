import type { Feature } from '../composition/feature.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { analysisResultCollection } from './analysis-result-model.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import { analysisResultRoutes } from './analysis-result-routes.ts';
import { AnalysisResults } from './analysis-results.ts';
import { toCallEndedPayload } from './call-ended-payload.ts';
import { CallEndedWebhook } from './call-ended-webhook.ts';
import { LeadAnalyst } from './lead-analyst.ts';
import { postCallJobCollection } from './post-call-job-model.ts';
import { PostCallJobs } from './post-call-jobs.ts';
import { PostCallRun } from './post-call-run.ts';
import type { PostCallStep } from './post-call-run.ts';
import { RuleAnalyses } from './rule-analyses.ts';

/** How often what is due is looked for; what is new wakes the task. */
const JOB_INTERVAL_MS = 5000;

type Needs<T extends abstract new (deps: never) => unknown> = ConstructorParameters<T>[0];

/** Databases, as far as sessions become rows of them. */
export interface AnalysedSessions {
  /** Safe to repeat. */
  add(facts: {
    session: SessionRecord;
    /** The fields of the call-ended webhook. */
    lead: Readonly<Record<string, unknown>>;
    results: readonly AnalysisResultRecord[];
  }): Promise<void>;
}

/** What follows calls. `memories`: what agents learn of their callers, beside the analyses. */
export function createPostCall({
  memories,
  sessionRows,
  ...deps
}: Omit<Needs<typeof PostCallJobs>, 'run'> &
  Omit<Needs<typeof PostCallRun>, 'keep' | 'lead' | 'steps' | 'webhook'> &
  Omit<Needs<typeof CallEndedWebhook> & Needs<typeof LeadAnalyst>, 'results'> &
  Needs<typeof RuleAnalyses> & { memories: PostCallStep; sessionRows: AnalysedSessions }) {
  const analysisResults = new AnalysisResults(deps.database);
  const run = new PostCallRun({
    ...deps,
    lead: new LeadAnalyst({ ...deps, results: analysisResults }),
    steps: [new RuleAnalyses(deps), memories],
    keep: async (session, lead) => {
      const payload = toCallEndedPayload({ session, lead, rows: [], recordingUrl: null });
      await sessionRows.add({
        session,
        lead: { ...payload, goal_status: lead?.goal_status ?? null },
        results: await analysisResults.ofSession(session._id),
      });
    },
    webhook: new CallEndedWebhook({ ...deps, results: analysisResults }),
  });
  const postCall = new PostCallJobs({ ...deps, run });
  return {
    postCall,
    collections: [analysisResultCollection, postCallJobCollection],
    routes: analysisResultRoutes({ analysisResults }),
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
        await analysisResults.erase(sessionId);
        await postCall.erase(sessionId);
      },
    },
  } satisfies Feature & { postCall: PostCallJobs };
}
