import type { Logger } from '@parley/shared/logging/logger';
import type { CallLog } from '../calls/call-log.ts';
import type { OwnEventData } from '../calls/session-events.ts';
import type { PostCallStep } from '../post-call/post-call-run.ts';
import type { OrgChats } from '../providers/org-chats.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { owner, type SessionStore } from '../sessions/session-store.ts';
import { extractMemories, MemoryAnswerError } from './memory-extraction.ts';
import type { MemoryRecord } from './memory-model.ts';
import type { MemoryService, NewMemory } from './memory-service.ts';

/** As long as the analyses beside it have. */
const TIME_MS = 60_000;

/** What sessions do with memories: they begin with what is known, and leave what was learnt. */
export class SessionMemories implements PostCallStep {
  readonly #memories: MemoryService;
  readonly #store: SessionStore;
  readonly #callLog: CallLog;
  readonly #chats: Pick<OrgChats, 'open'>;
  readonly #logger: Logger;

  constructor(deps: {
    memories: MemoryService;
    store: SessionStore;
    callLog: CallLog;
    chats: Pick<OrgChats, 'open'>;
    logger: Logger;
  }) {
    this.#memories = deps.memories;
    this.#store = deps.store;
    this.#callLog = deps.callLog;
    this.#chats = deps.chats;
    this.#logger = deps.logger;
  }

  /** What the agent is told of its caller. That it was told is an event of the session. */
  async forPlan(session: SessionRecord, agent: SessionAgent | null): Promise<MemoryRecord[]> {
    const known = await this.#memories.forCall(session, agent);
    if (known.length > 0) {
      const data = { action: 'read' as const, count: known.length, memory_ids: known.map(({ _id }) => _id) };
      await this.#callLog.append(owner(session), { type: 'memory', data, key: `memory_read_${session.leg}` });
    }
    return known;
  }

  /** Whether the agent may note something in this call. */
  mayNote(session: SessionRecord, agent: SessionAgent | null): Promise<boolean> {
    return this.#memories.mayNote(session, agent);
  }

  /** After the call. A model that fails leaves nothing, and holds nothing up. */
  async run(facts: Parameters<PostCallStep['run']>[0]): Promise<void> {
    const { session, agent, turns } = facts;
    if (!agent || !turns.some((turn) => turn.role === 'caller')) return;
    const task = await this.#memories.toWrite(session, agent);
    if (!task) return;
    const outcome = await this.#learn(facts, agent, task.known);
    if (typeof outcome === 'string') {
      await this.#notify(session, { count: 0, error: outcome });
      return;
    }
    const { ids, dropped } = await this.#memories.remember(session, agent, task.subject, outcome);
    // It may have been erased while the model was thinking.
    const now = await this.#store.find(session._id);
    if (now?.erased_at === null) await this.#notify(session, { count: ids.length, memory_ids: ids, dropped });
    else await this.#memories.forgetSession(session._id);
  }

  /** @returns what was learnt, or the code of what went wrong */
  async #learn(
    { session, turns, signal: stopping }: Parameters<PostCallStep['run']>[0],
    agent: SessionAgent,
    known: readonly MemoryRecord[],
  ): Promise<NewMemory[] | string> {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(TIME_MS)]);
    try {
      const llmId = agent.config.analysis.llm_id ?? session.llm_id;
      const { org_id: orgId, project_id: projectId } = session;
      const model = await this.#chats.open({ orgId, projectId, llmId });
      if (!model) return 'model_unavailable';
      const question = {
        turns,
        known: known.map(({ content }) => content),
        date: (session.started_at ?? session.created_at).toISOString().slice(0, 10),
      };
      return await extractMemories(model, question, signal);
    } catch (error) {
      stopping.throwIfAborted();
      const code = signal.aborted
        ? 'timeout'
        : error instanceof MemoryAnswerError
          ? 'answer_invalid'
          : 'llm_error';
      // The kind alone: messages may hold what was said.
      const kind = error instanceof Error ? error.constructor.name : 'unknown';
      this.#logger.warn(
        { sessionId: session._id, code, kind },
        'memories could not be extracted from a call',
      );
      return code;
    }
  }

  #notify(session: SessionRecord, data: Omit<OwnEventData<'memory'>, 'action'>): Promise<void> {
    return this.#callLog.append(owner(session), {
      type: 'memory',
      data: { action: 'write', ...data },
      key: 'memory_write',
    });
  }
}
