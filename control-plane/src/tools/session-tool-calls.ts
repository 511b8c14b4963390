import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import { NotFoundError } from '@parley/shared/errors/app-error';
import type { ToolCallAnswer, ToolCallRequest } from '@parley/shared/contracts/tool-calls';
import type { SessionStatus } from '@parley/shared/contracts/session-values';
import type { ToolOutcome } from '@parley/shared/tools/tool-runner';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import { speakingAgentOf } from '../sessions/session-agent.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { toolRunCollection } from './tool-run-model.ts';
import type { ToolRunRecord } from './tool-run-model.ts';

/** How long an answer is kept for those who ask again. */
const KEPT_MS = 15 * 60_000;

/** A session, as far as it is asked for here. */
export interface ToolSession extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string | null;
  agent_version: number | null;
  status: SessionStatus;
  hand_overs?: readonly { agent_id: string; version: number }[];
  variables: Record<string, string>;
}

/** Runs tools of agents: `ToolFunctions`. */
export interface AgentTools {
  /** @throws NotFoundError; the reason of `signal` */
  runFor(
    agent: SessionAgent,
    request: ToolCallRequest,
    session: { session_id: string; variables: Record<string, string> },
    signal: AbortSignal,
  ): Promise<ToolOutcome>;
}

/** What gateways have run for their calls; each tool call once, whoever asks again. */
export class SessionToolCalls {
  readonly #sessions: Model<ToolSession>;
  readonly #runs: Model<ToolRunRecord>;
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #tools: AgentTools;
  readonly #clock: Clock;
  /** Those that this process runs now. */
  readonly #running = new Map<string, Promise<ToolCallAnswer>>();

  constructor(deps: {
    database: Database;
    sessions: Collection<ToolSession>;
    agents: Pick<SessionAgents, 'version'>;
    tools: AgentTools;
    clock: Clock;
  }) {
    this.#sessions = deps.database.model(deps.sessions);
    this.#runs = deps.database.model(toolRunCollection);
    this.#agents = deps.agents;
    this.#tools = deps.tools;
    this.#clock = deps.clock;
  }

  /** @throws NotFoundError for a session that does not run, and for a tool that its agent does not have */
  async run(sessionId: string, request: ToolCallRequest, signal: AbortSignal): Promise<ToolCallAnswer> {
    // Some models use an id twice: other arguments are another call.
    const id = createHash('sha256')
      .update(JSON.stringify([sessionId, request]))
      .digest('hex');
    const running = this.#running.get(id);
    if (running) return running;
    const run = this.#once(id, sessionId, request, signal).finally(() => this.#running.delete(id));
    this.#running.set(id, run);
    return run;
  }

  async erase(sessionId: string): Promise<void> {
    await this.#runs.deleteMany({ session_id: sessionId });
  }

  async #once(
    id: string,
    sessionId: string,
    request: ToolCallRequest,
    signal: AbortSignal,
  ): Promise<ToolCallAnswer> {
    const session = await this.#sessions.findOne({ _id: sessionId }).lean<ToolSession>();
    if (!session || isTerminal(session.status)) throw new NotFoundError();
    const agent = await speakingAgentOf(this.#agents, session);
    if (!agent) throw new NotFoundError();
    try {
      const expires_at = new Date(this.#clock.now() + KEPT_MS);
      await this.#runs.create({ _id: id, session_id: sessionId, answer: null, expires_at });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return this.#known(id);
    }
    const { variables } = session;
    const outcome = await this.#tools.runFor(agent, request, { session_id: sessionId, variables }, signal);
    const { durationMs: duration_ms, ok, content, code, assigned } = outcome;
    const answer = { ok, content, ...(code === undefined ? {} : { code }), assigned, duration_ms };
    await this.#runs.updateOne({ _id: id }, { $set: { answer: JSON.stringify(answer) } });
    return answer;
  }

  /** What another process, or this one before, has made of it. It may have died: then nobody knows, and nothing is run. */
  async #known(id: string): Promise<ToolCallAnswer> {
    const run = await this.#runs.findOne({ _id: id }).lean<ToolRunRecord>();
    if (run?.answer != null) return JSON.parse(run.answer) as ToolCallAnswer;
    const content = 'The tool was started before, and what became of it is not known. Do not call it again.';
    return { ok: false, code: 'outcome_unknown', content, assigned: {}, duration_ms: 0 };
  }
}
