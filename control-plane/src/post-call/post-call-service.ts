import type { Model } from 'mongoose';
import type { Turn } from '@parley/shared/contracts/turn';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { toTurn, type CallLog } from '../calls/call-log.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import { openChatModel } from '../providers/chat.ts';
import { recordingMediaPath, type MediaLinks } from '../recordings/media-links.ts';
import type { RecordingService } from '../recordings/recording-service.ts';
import { agentOf, type SessionAgent, type SessionAgents } from '../sessions/session-agent.ts';
import type { AfterCall } from '../sessions/session-closer.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { Directory } from '../tenancy/directory.ts';
import { CALL_ENDED, type WebhookDeliveryService } from '../webhooks/webhook-delivery-service.ts';
import { analysisResultCollection } from './analysis-result-model.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import { toCallEndedPayload } from './call-ended-payload.ts';
import { analyseLead, LeadAnalysisError, type LeadAnalysis } from './lead-analysis.ts';
import { postCallJobCollection } from './post-call-job-model.ts';
import type { PostCallJobRecord } from './post-call-job-model.ts';

const PARALLEL = 4;
/** Longer than any run takes. */
const LEASE_MS = 5 * 60_000;
const ATTEMPTS = 5;
const RETRY_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
const DEFAULT_LINK_DAYS = 7;

/** What else runs after the lead analysis and before the webhook, side by side. */
export interface PostCallStep {
  run(facts: {
    session: SessionRecord;
    agent: SessionAgent | null;
    turns: Turn[];
    signal: AbortSignal;
  }): Promise<void>;
}

/** After a call: the lead analysis, further analyses, then the call-ended webhook. Once for each session. */
export class PostCallService implements AfterCall {
  readonly #jobs: Model<PostCallJobRecord>;
  readonly #results: Model<AnalysisResultRecord>;
  readonly #store: SessionStore;
  readonly #agents: SessionAgents;
  readonly #callLog: CallLog;
  readonly #recordings: RecordingService;
  readonly #mediaLinks: MediaLinks;
  readonly #deliveries: WebhookDeliveryService;
  readonly #catalog: ModelCatalog;
  readonly #directory: Directory;
  readonly #steps: readonly PostCallStep[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  #task: PeriodicTask | undefined;

  constructor(deps: {
    database: Database;
    store: SessionStore;
    agents: SessionAgents;
    callLog: CallLog;
    recordings: RecordingService;
    mediaLinks: MediaLinks;
    deliveries: WebhookDeliveryService;
    catalog: ModelCatalog;
    directory: Directory;
    steps?: readonly PostCallStep[];
    clock: Clock;
    logger: Logger;
  }) {
    this.#jobs = deps.database.model(postCallJobCollection);
    this.#results = deps.database.model(analysisResultCollection);
    this.#store = deps.store;
    this.#agents = deps.agents;
    this.#callLog = deps.callLog;
    this.#recordings = deps.recordings;
    this.#mediaLinks = deps.mediaLinks;
    this.#deliveries = deps.deliveries;
    this.#catalog = deps.catalog;
    this.#directory = deps.directory;
    this.#steps = deps.steps ?? [];
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** The task that runs `work`, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  /** @inheritdoc */
  async enqueue(
    session: SessionRecord,
    { turns, delayMs = 0 }: { turns: Turn[] | null; delayMs?: number },
  ): Promise<void> {
    // A test tells nobody, and is judged by its own run.
    if (session.test_run_id !== null) {
      await this.#finish(session._id, 'skipped');
      return;
    }
    const runAt = new Date(this.#clock.now() + delayMs);
    try {
      const Job = this.#jobs;
      await new Job({
        _id: session._id,
        status: 'pending',
        run_at: runAt,
        lease_until: new Date(0),
        turns,
      }).save();
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // A late report brings the reaper's job forward; one that has run is not run again.
      await this.#jobs.updateOne(
        { _id: session._id, status: 'pending', attempts: 0, run_at: { $gt: runAt } },
        { $set: { run_at: runAt, ...(turns ? { turns } : {}) } },
      );
    }
    if (delayMs === 0) void this.#task?.runNow();
  }

  /** Runs every job that is due. */
  async work(signal: AbortSignal): Promise<void> {
    const lanes = Array.from({ length: PARALLEL }, async () => {
      while (!signal.aborted) {
        const job = await this.#claim();
        if (!job) return;
        await this.#attempt(job, signal);
      }
    });
    await Promise.all(lanes);
  }

  results(sessionId: string): Promise<AnalysisResultRecord[]> {
    return this.#results
      .find({ session_id: sessionId })
      .sort({ created_at: 1, _id: 1 })
      .limit(200)
      .lean<AnalysisResultRecord[]>();
  }

  /** Whether its analyses are still to be made. */
  async isPending(sessionId: string): Promise<boolean> {
    return (await this.#jobs.exists({ _id: sessionId, status: 'pending' })) !== null;
  }

  async erase(sessionId: string): Promise<void> {
    await this.#results.deleteMany({ session_id: sessionId });
    await this.#jobs.updateOne({ _id: sessionId }, { $set: { turns: null } });
  }

  #claim(): Promise<PostCallJobRecord | null> {
    const now = new Date(this.#clock.now());
    return this.#jobs
      .findOneAndUpdate(
        { status: 'pending', run_at: { $lte: now }, lease_until: { $lte: now } },
        { $set: { lease_until: new Date(now.getTime() + LEASE_MS) }, $inc: { attempts: 1 } },
        { sort: { run_at: 1 }, returnDocument: 'after' },
      )
      .lean<PostCallJobRecord>();
  }

  async #attempt(job: PostCallJobRecord, signal: AbortSignal): Promise<void> {
    try {
      await this.#run(job, signal);
      await this.#jobs.updateOne({ _id: job._id }, { $set: { status: 'done', turns: null } });
    } catch (error) {
      // Stopping is no failure: the job is taken up again.
      const again = signal.aborted || job.attempts < ATTEMPTS;
      const wait = signal.aborted ? 0 : RETRY_MS * job.attempts;
      const details = { err: error, sessionId: job._id };
      if (signal.aborted) this.#logger.info(details, 'post-call job interrupted');
      else if (again) this.#logger.warn(details, 'post-call job failed and will be retried');
      else this.#logger.error(details, 'post-call job failed');
      await this.#jobs.updateOne(
        { _id: job._id },
        {
          $set: again
            ? { status: 'pending', run_at: new Date(this.#clock.now() + wait), lease_until: new Date(0) }
            : { status: 'failed', turns: null },
          ...(signal.aborted ? { $inc: { attempts: -1 } } : {}),
        },
      );
      if (!again) await this.#finish(job._id, 'failed');
    }
  }

  async #run(job: PostCallJobRecord, signal: AbortSignal): Promise<void> {
    const session = await this.#store.find(job._id);
    if (!session || session.erased_at !== null) {
      if (session) await this.#finish(job._id, 'skipped');
      return;
    }
    await this.#store.change(session._id, { post_call_status: 'running' });
    const agent = await agentOf(this.#agents, session);
    const turns = job.turns ?? (await this.#callLog.turns(session._id)).map(toTurn);
    const lead = await this.#analyseLead(session, agent, turns, signal);
    const facts = { session, agent, turns, signal };
    // Each to its end, whatever becomes of the others.
    const ran = await Promise.allSettled(this.#steps.map((step) => step.run(facts)));
    const failed = ran.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    if (lead?.goal_status) await this.#store.change(session._id, { goal_status: lead.goal_status });
    await this.#deliver(session, agent, lead);
    await this.#finish(session._id, 'done');
  }

  async #finish(sessionId: string, status: 'done' | 'failed' | 'skipped'): Promise<void> {
    await this.#store.change(sessionId, {
      post_call_status: status,
      post_call_finished_at: new Date(this.#clock.now()),
    });
  }

  /** Row one. Its failure leaves nulls and holds nothing up. */
  async #analyseLead(
    session: SessionRecord,
    agent: SessionAgent | null,
    turns: Turn[],
    signal: AbortSignal,
  ): Promise<LeadAnalysis | null> {
    const settings = agent?.config.analysis;
    if (!settings?.lead_analysis) return null;
    const llmId = settings.llm_id ?? session.llm_id;
    const done = await this.#results
      .findOne({ _id: leadRowId(session), status: 'done' })
      .lean<AnalysisResultRecord>();
    if (done?.structured_json) return done.structured_json as unknown as LeadAnalysis;
    const callerTurns = turns.filter((turn) => turn.role === 'caller').length;
    if (callerTurns < settings.min_caller_turns || turns.length === 0) {
      await this.#saveLead(session, llmId, { status: 'skipped', structured_json: null, error: null });
      return null;
    }
    try {
      const provider = await this.#catalog.resolve(session.org_id, llmId, {
        language: 'en',
        projectId: session.project_id,
      });
      if (!provider) throw new LeadAnalysisError('model_unavailable');
      const model = await openChatModel(provider, this.#catalog.fetchFor(session.org_id));
      const lead = await analyseLead(
        model,
        {
          turns,
          goal: settings.goal,
          language: settings.language,
          date: (session.started_at ?? session.created_at).toISOString().slice(0, 10),
        },
        signal,
      );
      await this.#saveLead(session, llmId, { status: 'done', structured_json: { ...lead }, error: null });
      return lead;
    } catch (error) {
      if (signal.aborted || !(error instanceof LeadAnalysisError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.message }, 'lead analysis failed');
      await this.#saveLead(session, llmId, { status: 'failed', structured_json: null, error: error.message });
      return null;
    }
  }

  async #saveLead(
    session: SessionRecord,
    llmId: string,
    set: Pick<AnalysisResultRecord, 'status' | 'structured_json' | 'error'>,
  ): Promise<void> {
    await this.#results.updateOne(
      { _id: leadRowId(session) },
      {
        $set: { ...set, llm_id: llmId },
        $setOnInsert: {
          org_id: session.org_id,
          project_id: session.project_id,
          session_id: session._id,
          analysis_id: null,
          rule_name: 'lead',
          source: 'system',
        },
      },
      { upsert: true },
    );
  }

  async #deliver(
    session: SessionRecord,
    agent: SessionAgent | null,
    lead: LeadAnalysis | null,
  ): Promise<void> {
    const settings = agent?.config.webhooks.call_ended;
    if (!agent || !settings?.enabled || settings.url === null) return;
    if (session.channel === 'web' ? !settings.web_calls : !settings.phone_calls) return;
    if (session.started_at === null && !settings.include_unanswered) return;
    const current = (await this.#store.find(session._id)) ?? session;
    await this.#deliveries.create({
      org_id: session.org_id,
      project_id: session.project_id,
      session_id: session._id,
      agent_id: agent.agent_id,
      event: CALL_ENDED,
      url: settings.url,
      payload: toCallEndedPayload({
        session: current,
        lead,
        rows: await this.results(session._id),
        recordingUrl: await this.#recordingUrl(current),
      }),
    });
  }

  /** The link exists at once; it answers 503 until the file is there. */
  async #recordingUrl(session: SessionRecord): Promise<string | null> {
    if (!session.record) return null;
    const recording = await this.#recordings.ofSession(session._id);
    if (!recording || recording.status === 'failed') return null;
    const org = await this.#directory.org(session.org_id);
    const days = org?.media_link_days ?? DEFAULT_LINK_DAYS;
    return this.#mediaLinks.sign(recordingMediaPath(recording._id), days * DAY_MS).url;
  }
}

function leadRowId(session: SessionRecord): string {
  return `anr_${session._id}_lead`;
}
