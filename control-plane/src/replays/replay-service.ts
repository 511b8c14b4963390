import { ConflictError, NotFoundError, TooManyRequestsError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { ListPage } from '../storage/list.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { isSpoken } from './replay-diff.ts';
import { replayCollection } from './replay-model.ts';
import type { ReplayRecord } from './replay-model.ts';
import type { StartReplayRequest } from './replay-schema.ts';

/** What it writes to the audit trail. */
export const REPLAY_AUDIT = ['session.replayed'] as const;

/** Replays of a project that wait or run. */
const MAX_UNFINISHED = 50;
const RETRY_AFTER_SECONDS = 30;

/** Versions of agents: `StoredAgents`. */
export interface ReplayedAgents {
  /** The newest, and whether this one exists; null when the agent is gone. */
  latestVersion(agentId: string): Promise<number | null>;
  version(agentId: string, version: number): Promise<object | null>;
}

/** What was said in a session: `CallLog`. */
export interface ReplayedTurns {
  turns(sessionId: string): Promise<{ role: string; text: string }[]>;
}

/** Orders of replays, and what came of them. */
export class ReplayService {
  readonly #agents: ReplayedAgents;
  readonly #callLog: ReplayedTurns;
  readonly #audit: AuditLog<(typeof REPLAY_AUDIT)[number]>;
  readonly #clock: Clock;
  readonly #wake: () => void;

  constructor(deps: {
    agents: ReplayedAgents;
    callLog: ReplayedTurns;
    audit: AuditLog<(typeof REPLAY_AUDIT)[number]>;
    clock: Clock;
    /** There is something to run. */
    wake: () => void;
  }) {
    this.#agents = deps.agents;
    this.#callLog = deps.callLog;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#wake = deps.wake;
  }

  /**
   * Queues a replay.
   * @throws ConflictError `invalid_state` for a session that is not over, was erased, has no agent or no stored words of a
   *   caller; ValidationError `reference_not_found` for a version that does not exist; TooManyRequestsError `queue_full`
   */
  async start(
    scope: Scope,
    caller: Principal,
    session: SessionRecord,
    { version }: StartReplayRequest,
    origin: { address: string },
  ): Promise<ReplayRecord> {
    const agentId = session.agent_id;
    if (!isTerminal(session.status)) throw refused('The session has not ended yet.');
    if (session.erased_at !== null) throw refused('The session was erased.');
    if (agentId === null) throw refused('The session has no agent.');
    const turns = await this.#callLog.turns(session._id);
    if (!turns.some(({ role, text }) => role === 'caller' && isSpoken(text)))
      throw refused('The session has no stored words of a caller.');
    const wanted = version ?? (await this.#agents.latestVersion(agentId));
    if (wanted === null) throw new NotFoundError();
    if (!(await this.#agents.version(agentId, wanted)))
      throw invalid(['body', 'version'], 'Version not found', 'reference_not_found');
    const unfinished = { status: { $in: ['queued', 'running'] as const } };
    if (
      (await scope.collection(replayCollection).count(unfinished, { limit: MAX_UNFINISHED })) >=
      MAX_UNFINISHED
    )
      throw new TooManyRequestsError(
        'queue_full',
        `Limit of unfinished replays reached (${MAX_UNFINISHED}). Wait for one to finish.`,
        RETRY_AFTER_SECONDS,
      );
    const replay = await scope.collection(replayCollection).insert({
      _id: newId('rpl', this.#clock.now()),
      session_id: session._id,
      ...{ agent_id: agentId, agent_version: wanted, status: 'queued', error: null, turns: null },
      ...{ replay_session_id: null, started_at: null, ended_at: null },
      ...{ run_at: new Date(this.#clock.now()), lease_until: new Date(0), attempts: 0, failures: 0 },
      created_by: principalId(caller),
    });
    await this.#audit.record({
      ...{ scope, caller, address: origin.address },
      ...{ action: 'session.replayed', target: session._id },
    });
    this.#wake();
    return replay;
  }

  list(scope: Scope, sessionId: string, list: ListInput): Promise<ListPage<ReplayRecord>> {
    return scope.collection(replayCollection).page({ ...commonFilter(list), session_id: sessionId }, list);
  }
}

function refused(why: string): ConflictError {
  return new ConflictError('invalid_state', `${why} It cannot be replayed.`);
}
