import type { Turn } from '@parley/shared/contracts/turn';
import type { Clock } from '@parley/shared/time/clock';
import { toTurn, type CallLog } from '../calls/call-log.ts';
import { agentOf, type SessionAgent, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { CallEndedWebhook } from './call-ended-webhook.ts';
import type { LeadAnalysis } from './lead-analysis.ts';
import type { LeadAnalyst } from './lead-analyst.ts';
import type { PostCallJobRecord } from './post-call-job-model.ts';

/** What else runs after the lead analysis and before the webhook, side by side. */
export interface PostCallStep {
  run(facts: {
    session: SessionRecord;
    agent: SessionAgent | null;
    turns: Turn[];
    signal: AbortSignal;
  }): Promise<void>;
}

/** Keeps what the analyses of a session found, once all are done. Safe to repeat. */
export type KeepResults = (facts: {
  session: SessionRecord;
  agent: SessionAgent | null;
  lead: LeadAnalysis | null;
}) => Promise<void>;

/** What one job does: the lead analysis, further analyses side by side, a row in databases, then the call-ended webhook. */
export class PostCallRun {
  readonly #store: SessionStore;
  readonly #agents: SessionAgents;
  readonly #callLog: CallLog;
  readonly #lead: LeadAnalyst;
  readonly #steps: readonly PostCallStep[];
  readonly #keep: KeepResults;
  readonly #webhook: CallEndedWebhook;
  readonly #clock: Clock;

  constructor(deps: {
    store: SessionStore;
    agents: SessionAgents;
    callLog: CallLog;
    lead: LeadAnalyst;
    steps: readonly PostCallStep[];
    keep: KeepResults;
    webhook: CallEndedWebhook;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#agents = deps.agents;
    this.#callLog = deps.callLog;
    this.#lead = deps.lead;
    this.#steps = deps.steps;
    this.#keep = deps.keep;
    this.#webhook = deps.webhook;
    this.#clock = deps.clock;
  }

  /** @throws what a step failed with, and the reason of `signal` */
  async run(job: PostCallJobRecord, signal: AbortSignal): Promise<void> {
    const session = await this.#store.find(job._id);
    if (!session || session.erased_at !== null) {
      if (session) await this.finish(job._id, 'skipped');
      return;
    }
    await this.#store.change(session._id, { post_call_status: 'running' });
    const agent = await agentOf(this.#agents, session);
    const turns = job.turns ?? (await this.#callLog.turns(session._id)).map(toTurn);
    const lead = await this.#lead.analyse(session, agent, turns, signal);
    const facts = { session, agent, turns, signal };
    // Each to its end, whatever becomes of the others.
    const ran = await Promise.allSettled(this.#steps.map((step) => step.run(facts)));
    const failed = ran.find((one) => one.status === 'rejected');
    if (failed) throw failed.reason;
    if (lead?.goal_status) await this.#store.change(session._id, { goal_status: lead.goal_status });
    await this.#keep({ session, agent, lead });
    await this.#webhook.deliver(session, agent, lead);
    await this.finish(session._id, 'done');
  }

  /** Notes on the session how that ended. */
  async finish(sessionId: string, status: 'done' | 'failed' | 'skipped'): Promise<void> {
    await this.#store.change(sessionId, {
      post_call_status: status,
      post_call_finished_at: new Date(this.#clock.now()),
    });
  }
}
