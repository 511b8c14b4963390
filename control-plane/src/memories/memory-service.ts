import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import type { z } from 'zod';
import type { MemoryKind } from '@parley/shared/contracts/session-values';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { memoryCollection } from './memory-model.ts';
import type { MemoryRecord } from './memory-model.ts';
import type { createMemoryRequest, patchMemoryRequest } from './memory-schema.ts';

/** What it writes to the audit trail. */
export const MEMORY_AUDIT = ['memories.erased'] as const;

/** No call is told of more (`config.memory.max_items`), so nobody has a use for more. */
export const MEMORIES_PER_SUBJECT = 100;
const DAY_MS = 24 * 60 * 60_000;

/** What is learnt of one call. */
export const MAX_LEARNT = 10;

/** Something to be kept of a call. */
export interface NewMemory {
  kind: MemoryKind;
  content: string;
}

/** What agents know about the people they speak with. */
export class MemoryService {
  readonly #memories: Model<MemoryRecord>;
  readonly #directory: Directory;
  readonly #audit: AuditLog<(typeof MEMORY_AUDIT)[number]>;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    directory: Directory;
    audit: AuditLog<(typeof MEMORY_AUDIT)[number]>;
    clock: Clock;
  }) {
    this.#memories = deps.database.model(memoryCollection);
    this.#directory = deps.directory;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
  }

  list(
    scope: Scope,
    agentId: string,
    list: ListInput & AnyOf<MemoryRecord, 'subject' | 'kind' | 'session_id'>,
  ): Promise<ListPage<MemoryRecord>> {
    const { subject, kind, session_id } = list;
    const filter = {
      ...commonFilter(list),
      ...equalities({ subject, kind, session_id }),
      agent_id: agentId,
      ...this.#alive(),
    };
    return scope.collection(memoryCollection).page(filter, list);
  }

  /** @throws ConflictError `limit_reached` when enough is known of the subject */
  async create(
    scope: Scope,
    agentId: string,
    request: z.output<typeof createMemoryRequest>,
  ): Promise<MemoryRecord> {
    const { expires_at, ...fields } = request;
    const memories = scope.collection(memoryCollection);
    const known = await memories.count(
      { agent_id: agentId, subject: request.subject, ...this.#alive() },
      { limit: MEMORIES_PER_SUBJECT },
    );
    if (known >= MEMORIES_PER_SUBJECT) {
      const message = `Limit of memories of one subject reached (${MEMORIES_PER_SUBJECT}). Delete one first.`;
      throw new ConflictError('limit_reached', message);
    }
    return memories.insert({
      _id: newId('mry', this.#clock.now()),
      ...fields,
      agent_id: agentId,
      source: 'api',
      session_id: null,
      expires_at: this.#expiry(expires_at),
    });
  }

  async update(
    scope: Scope,
    memory: MemoryRecord,
    request: z.output<typeof patchMemoryRequest>,
  ): Promise<MemoryRecord> {
    const { content, pinned, expires_at } = request;
    const change: Partial<MemoryRecord> = {
      ...(content !== undefined && { content }),
      ...(pinned !== undefined && { pinned }),
      ...(expires_at !== undefined && { expires_at: this.#expiry(expires_at) }),
    };
    const filter = { _id: memory._id, ...this.#alive() };
    const changed = await scope.collection(memoryCollection).update(filter, { $set: change });
    if (!changed) throw new NotFoundError();
    return changed;
  }

  async delete(scope: Scope, memory: MemoryRecord): Promise<void> {
    await scope.collection(memoryCollection).delete({ _id: memory._id });
  }

  /** One agent forgets a person. @returns how many memories that were */
  async forget(
    scope: Scope,
    caller: Principal,
    agentId: string,
    subject: string,
    origin: { address: string },
  ): Promise<number> {
    const deleted = await scope.collection(memoryCollection).deleteMany({ agent_id: agentId, subject });
    const { address } = origin;
    // Who it was stays out of the trail.
    await this.#audit.record({ scope, caller, address, action: 'memories.erased', target: agentId });
    return deleted;
  }

  /** All agents of the project forget a person. @returns how many memories that were */
  forgetSubject(scope: Scope, subject: string): Promise<number> {
    return scope.collection(memoryCollection).deleteMany({ subject });
  }

  /** What an agent that is purged knew. */
  forgetAgent(scope: Scope, agentId: string): Promise<number> {
    return scope.collection(memoryCollection).deleteMany({ agent_id: agentId });
  }

  /** What came from a session. @returns how many memories that were */
  async forgetSession(sessionId: string): Promise<number> {
    return (await this.#memories.deleteMany({ session_id: sessionId })).deletedCount;
  }

  // Calls

  /** What the agent is to be told of the person it will speak with: pinned ones first, then the newest. */
  async forCall(session: SessionRecord, agent: SessionAgent | null): Promise<MemoryRecord[]> {
    if (!agent?.config.memory.read) return [];
    const subjects = await this.#subjectsOf(session);
    return subjects.length === 0 ? [] : this.#known(session, agent, subjects);
  }

  /**
   * Whom a call's memories are to be filed under, and what is known of them already.
   * @returns null when nothing of this call is to be remembered, or was already
   */
  async toWrite(
    session: SessionRecord,
    agent: SessionAgent | null,
  ): Promise<{ subject: string; known: MemoryRecord[] } | null> {
    if (!agent?.config.memory.write || session.test_run_id !== null) return null;
    const subjects = await this.#subjectsOf(session);
    const [subject] = subjects;
    if (subject === undefined) return null;
    // Not what the agent noted during the call.
    const learnt = Array.from({ length: MAX_LEARNT }, (_, index) => memoryId(session._id, index));
    const done = await this.#memories.exists({ _id: { $in: learnt } });
    return done ? null : { subject, known: await this.#known(session, agent, subjects) };
  }

  /** Whether what the agent notes in this call would be kept. */
  async mayNote(session: SessionRecord, agent: SessionAgent | null): Promise<boolean> {
    if (!agent?.config.memory.write || session.test_run_id !== null) return false;
    return (await this.#subjectsOf(session)).length > 0;
  }

  /**
   * Keeps what the agent noted during a call.
   * @param note told once or several times: it counts once
   */
  async note(
    session: SessionRecord,
    agent: SessionAgent | null,
    note: NewMemory & { eventId: string },
  ): Promise<void> {
    if (!agent || !(await this.mayNote(session, agent))) return;
    const [subject] = await this.#subjectsOf(session);
    const { eventId, ...memory } = note;
    if (subject !== undefined)
      await this.#keep(session, agent, subject, [{ _id: noteId(eventId), ...memory }]);
  }

  /**
   * Keeps what was learnt in a call; of what is not pinned the oldest makes room.
   * @returns ids of what was kept, and how many had to go
   */
  async remember(
    session: SessionRecord,
    agent: SessionAgent,
    subject: string,
    learnt: readonly NewMemory[],
  ): Promise<{ ids: string[]; dropped: number }> {
    const memories = learnt.map((memory, index) => ({ _id: memoryId(session._id, index), ...memory }));
    return this.#keep(session, agent, subject, memories);
  }

  async #keep(
    session: SessionRecord,
    agent: SessionAgent,
    subject: string,
    memories: readonly (NewMemory & { _id: string })[],
  ): Promise<{ ids: string[]; dropped: number }> {
    const { max_items: most, ttl_days: days } = agent.config.memory;
    const now = this.#clock.now();
    const records = memories.map(({ _id, kind, content }) => ({
      _id,
      org_id: session.org_id,
      project_id: session.project_id,
      agent_id: agent.agent_id,
      subject,
      kind,
      content,
      source: 'session' as const,
      session_id: session._id,
      pinned: false,
      expires_at: days === null ? null : new Date(now + days * DAY_MS),
    }));
    try {
      await this.#memories.insertMany(records, { ordered: false });
    } catch (error) {
      // The same was kept before.
      if (!isDuplicateKey(error)) throw error;
    }
    const tooMany = await this.#memories
      .find(this.#ofSubjects(session, agent, [subject]))
      .sort(TOLD_FIRST)
      .skip(most)
      .limit(MEMORIES_PER_SUBJECT)
      .select({ _id: 1 })
      .lean<{ _id: string }[]>();
    const gone = new Set(tooMany.map(({ _id }) => _id));
    const { deletedCount } = await this.#memories.deleteMany({ _id: { $in: [...gone] }, pinned: false });
    return { ids: records.map(({ _id }) => _id).filter((id) => !gone.has(id)), dropped: deletedCount };
  }

  #known(session: SessionRecord, agent: SessionAgent, subjects: readonly string[]): Promise<MemoryRecord[]> {
    return this.#memories
      .find(this.#ofSubjects(session, agent, subjects))
      .sort(TOLD_FIRST)
      .limit(agent.config.memory.max_items)
      .lean<MemoryRecord[]>();
  }

  #ofSubjects(session: SessionRecord, agent: SessionAgent, subjects: readonly string[]) {
    return {
      org_id: session.org_id,
      project_id: session.project_id,
      agent_id: agent.agent_id,
      subject: subjects.length === 1 ? subjects[0]! : { $in: [...subjects] },
      ...this.#alive(),
    };
  }

  /** Names of the far end, the one that is given to new memories first; none for visitors of a widget. */
  async #subjectsOf(session: SessionRecord): Promise<string[]> {
    if (session.widget || session.erased_at !== null || session.erase_at_end) return [];
    const number = session.direction === 'inbound' ? session.from_number : session.to_number;
    const subjects = [session.user_identifier, number].filter((name) => name !== null);
    if (subjects.length === 0) return [];
    const org = await this.#directory.org(session.org_id);
    return org?.feature_flags['memories'] === false ? [] : subjects;
  }

  #alive() {
    return { expires_at: { $not: { $lte: new Date(this.#clock.now()) } } };
  }

  #expiry(text: string | null): Date | null {
    if (text === null) return null;
    const at = new Date(text);
    if (at.getTime() <= this.#clock.now()) throw invalid(['body', 'expires_at'], 'must be in the future');
    return at;
  }
}

const TOLD_FIRST = { pinned: -1, created_at: -1, _id: -1 } as const;

/** The same for the same call, so that a job that runs again adds nothing. */
function memoryId(sessionId: string, index: number): string {
  return `mry_${createHash('sha256').update(`${sessionId}:${index}`).digest('hex').slice(0, 26)}`;
}

/** The same for the same event. */
function noteId(eventId: string): string {
  return `mry_${createHash('sha256').update(eventId).digest('hex').slice(0, 26)}`;
}
