import type { Model } from 'mongoose';
import { AppError } from '@parley/shared/errors/app-error';
import type { PlanToolMock } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { TestCase } from '../agent-tests/agent-test-conversation.ts';
import type { CallLog } from '../calls/call-log.ts';
import { LeasedJobs } from '../jobs/leased-jobs.ts';
import type { Retry } from '../jobs/leased-jobs.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { diffOf, exchangesOf, isSpoken } from './replay-diff.ts';
import type { StoredToolCall } from './replay-diff.ts';
import { replayCollection } from './replay-model.ts';
import type { ReplayRecord } from './replay-model.ts';

/** A conversation in writing takes at most so long. */
const TIMEOUT_SECONDS = 600;
/** One that was taken up so often has stopped its processes. */
const MOST_ATTEMPTS = 3;

/** A call of a tool in a session, as it is stored. */
export interface SessionToolCall extends StoredRecord, StoredToolCall {
  session_id: string;
  /** Null for the built-in tools and those of a client. */
  tool_id: string | null;
  result: string | null;
}

/** Versions of agents, and what is attached to them: `StoredAgents`. */
export interface ReplayAgents {
  version(agentId: string, version: number): Promise<SessionAgent | null>;
  contentOf(agentId: string, version: number): Promise<{ tools: { id: string; enabled: boolean }[] } | null>;
}

/** Holds a conversation in writing, as tests of agents do. @returns its session, which is over */
export type HoldConversation = (test: TestCase, signal: AbortSignal) => Promise<SessionRecord>;

/** What is done with the conversations that repeat others. */
export interface RepeatedTalks {
  hold: HoldConversation;
  /** Erases one that came to nothing. */
  forget(sessionId: string): Promise<unknown>;
}

/** Holds the replays that wait, one at a time in this process, and notes how they compare. */
export class ReplayRunner {
  readonly #replays: Model<ReplayRecord>;
  readonly #jobs: LeasedJobs<ReplayRecord>;
  readonly #toolCalls: Model<SessionToolCall>;
  readonly #store: SessionStore;
  readonly #agents: ReplayAgents;
  readonly #callLog: CallLog;
  readonly #talks: RepeatedTalks;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #task: PeriodicTask | undefined;

  constructor(deps: {
    database: Database;
    toolCalls: Collection<SessionToolCall>;
    store: SessionStore;
    agents: ReplayAgents;
    callLog: CallLog;
    talks: RepeatedTalks;
    clock: Clock;
    logger: Logger;
  }) {
    this.#replays = deps.database.model(replayCollection);
    this.#jobs = new LeasedJobs({ ...deps, records: this.#replays });
    this.#toolCalls = deps.database.model(deps.toolCalls);
    this.#store = deps.store;
    this.#agents = deps.agents;
    this.#callLog = deps.callLog;
    this.#talks = deps.talks;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** `task` runs `work`: a replay that is ordered wakes it. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  wake(): void {
    void this.#task?.runNow();
  }

  /** Holds every replay that is due, one after the other; also what another process has left behind. */
  async work(signal: AbortSignal): Promise<void> {
    await this.#makeDue();
    const job = {
      started: { status: 'running' as const, started_at: new Date(this.#clock.now()) },
      work: (replay: ReplayRecord, held: AbortSignal) => this.#run(replay, held),
      failed: (replay: ReplayRecord, error: unknown, retry: Retry) => this.#failed(replay, error, retry),
    };
    while (!signal.aborted && (await this.#jobs.next(signal, job)));
  }

  /** Those that earlier versions have ordered say nowhere when they are to run: as soon as nobody holds them. */
  async #makeDue(): Promise<void> {
    const now = new Date(this.#clock.now());
    await this.#replays.updateMany(
      {
        status: { $in: ['queued', 'running'] },
        run_at: { $exists: false },
        $or: [{ lease_until: null }, { lease_until: { $lte: now } }],
      },
      { $set: { run_at: now, lease_until: new Date(0), attempts: 0, failures: 0 } },
    );
  }

  async #run(replay: ReplayRecord, signal: AbortSignal): Promise<void> {
    if (replay.attempts > MOST_ATTEMPTS) throw new ReplayError(STOPPED);
    // Of a process that has stopped in the middle of it.
    if (replay.replay_session_id !== null) await this.#talks.forget(replay.replay_session_id);
    const turns = await this.#compare(replay, signal);
    await this.#end(replay, { status: 'completed', turns: JSON.stringify(turns) });
  }

  async #failed(replay: ReplayRecord, error: unknown, { interrupted, again }: Retry): Promise<void> {
    if (interrupted && again) {
      await this.#jobs.settle(replay, { status: 'queued', started_at: null, ...again });
      return;
    }
    if (!isForReaders(error))
      this.#logger.error({ err: error, replayId: replay._id }, 'a replay failed unexpectedly');
    const why = isForReaders(error) ? error.message : 'An internal error occurred.';
    await this.#end(replay, { status: 'failed', error: why });
  }

  async #compare(replay: ReplayRecord, signal: AbortSignal) {
    const { agent_id, agent_version } = replay;
    const session = await this.#store.find(replay.session_id);
    const agent = await this.#agents.version(agent_id, agent_version);
    if (!session || session.erased_at !== null || !agent)
      throw new ReplayError('The session or the version is gone.');
    const before = await this.#exchanges(session._id);
    const calls = await this.#callsOf(session._id);
    const lines = before.flatMap(({ caller }) => (caller !== null && isSpoken(caller) ? [caller] : []));
    const held = await this.#talks.hold(
      {
        // Nothing outside is asked again: what the call before the call found is among the variables.
        agent: { ...agent, config: { ...agent.config, pre_call: { ...agent.config.pre_call, url: null } } },
        runId: replay._id,
        content: {
          channel: 'text',
          variables: session.variables,
          turns: lines.map((caller) => ({ caller, expect: [] })),
          persona: null,
          max_turns: lines.length,
          timeout_seconds: TIMEOUT_SECONDS,
          checks: [],
          tool_mocks: await this.#mocks(replay, calls),
        },
        onSession: async (sessionId) => {
          await this.#jobs.settle(replay, { replay_session_id: sessionId });
        },
      },
      signal,
    );
    return diffOf(before, await this.#exchanges(held._id));
  }

  async #exchanges(sessionId: string) {
    return exchangesOf(await this.#callLog.turns(sessionId), await this.#callsOf(sessionId));
  }

  #callsOf(sessionId: string): Promise<SessionToolCall[]> {
    return this.#toolCalls
      .find({ session_id: sessionId })
      .sort({ offset_ms: 1, _id: 1 })
      .lean<SessionToolCall[]>();
  }

  /** Every tool of the version answers what it answered then, or fails: none is asked again. */
  async #mocks(replay: ReplayRecord, calls: readonly SessionToolCall[]): Promise<PlanToolMock[]> {
    const content = await this.#agents.contentOf(replay.agent_id, replay.agent_version);
    const known = calls.flatMap(({ tool_id, ...call }) => (tool_id === null ? [] : [toMock(tool_id, call)]));
    const unknown = (content?.tools ?? [])
      .filter(({ id }) => !known.some(({ tool_id }) => tool_id === id))
      .map(({ id }) => ({ tool_id: id, function: null, match: {}, result: null, error: NEVER_CALLED }));
    return [...known, ...unknown];
  }

  /** Of a session that was erased meanwhile nothing is kept. */
  async #end(replay: ReplayRecord, set: Pick<ReplayRecord, 'status'> & Partial<ReplayRecord>): Promise<void> {
    const ended_at = new Date(this.#clock.now());
    await this.#jobs.settle(replay, { ...set, ended_at, run_at: null, lease_until: new Date(0) });
  }
}

const STOPPED = 'The processes that ran the replay stopped. Start another one.';
const NEVER_CALLED = 'This tool was not called in the conversation that is replayed.';

/** Why a replay came to nothing, for those who read it. */
class ReplayError extends Error {}

function isForReaders(error: unknown): error is Error {
  return (
    error instanceof ReplayError ||
    error instanceof AppError ||
    (error instanceof Error && ['TestCallError', 'TestTimeout'].includes(error.name))
  );
}

function toMock(
  tool_id: string,
  { arguments: given, ok, result }: Pick<SessionToolCall, 'arguments' | 'ok' | 'result'>,
): PlanToolMock {
  const match = parsed(given);
  const answer = result ?? '';
  return {
    ...{ tool_id, function: null, match: isObject(match) ? match : {} },
    ...(ok === false ? { result: null, error: answer } : { result: parsed(answer), error: null }),
  };
}

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '{}') as unknown;
  } catch {
    return text;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
