import { invalid } from '../http/validation.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Filter, Scope } from '../tenancy/scope.ts';

/** Records that are read, and held, at a time. */
const PAGE = 500;

type Cells = Record<string, unknown>;
/** What an export goes on behind. */
type Position = readonly (string | number)[];

/** Sessions as an export reads them. */
export type ExportedSession = StoredRecord;
/** Turns as an export reads them. */
export type ExportedTurn = StoredRecord & { session_id: string; turn_index: number };
/** Calls of tools as an export reads them. */
export type ExportedToolCall = StoredRecord & { session_id: string };

export interface ExportCollections {
  sessions: Collection<ExportedSession>;
  turns: Collection<ExportedTurn>;
  tool_calls: Collection<ExportedToolCall>;
}

/** What is exported. */
export interface ExportRange {
  created_after?: Date | undefined;
  created_before?: Date | undefined;
  cursor?: string | undefined;
  /** Of sessions: those that are left of all of the project. */
  sessions: Filter<ExportedSession>;
  /** Whether calls of tools are only those of such sessions. */
  narrowed: boolean;
  signal: AbortSignal;
}

/** A kind of export: the names of its cells, and its records page by page, the oldest first. */
export interface ExportSource {
  columns: readonly string[];
  pages(scope: Scope, range: ExportRange): AsyncGenerator<Cells[], void, undefined>;
}

const SESSION_FIELDS = [
  ...['agent_id', 'agent_version', 'channel', 'direction', 'provider', 'status', 'from_number', 'to_number'],
  ...[
    'user_identifier',
    'created_at',
    'started_at',
    'ended_at',
    'duration_seconds',
    'agent_duration_seconds',
  ],
  ...['transfer_duration_seconds', 'ended_by', 'hangup_reason', 'failure_reason', 'answered_by', 'outcome'],
  ...['goal_status', 'language', 'message_count', 'attempt_number', 'llm_id', 'stt_id', 'tts_id'],
  ...['campaign_id', 'contact_id', 'recording_id', 'variables'],
] as const;
const TURN_FIELDS = [
  ...['session_id', 'role', 'text', 'start_ms', 'end_ms', 'language', 'interrupted', 'confidence', 'node_id'],
  ...['redacted', 'created_at'],
] as const;
const TOOL_CALL_FIELDS = [
  ...['session_id', 'agent_id', 'tool_id', 'tool_name', 'tool_call_id', 'arguments', 'ok', 'status', 'code'],
  ...['result', 'duration_ms', 'offset_ms', 'created_at'],
] as const;

/** What of a project can be exported. `cursor` is the last cell of each record: an export that broke off goes on behind it. */
export function exportSources(collections: ExportCollections): Record<keyof ExportCollections, ExportSource> {
  return {
    sessions: {
      columns: ['session_id', ...SESSION_FIELDS, 'cursor'],
      async *pages(scope, range) {
        const from = positionIn(range.cursor, 2);
        for await (const page of byTime(scope, collections.sessions, range.sessions, from))
          yield page.map((session) => ({
            session_id: session._id,
            ...picked(session, SESSION_FIELDS),
            cursor: toCursor(positionOf(session)),
          }));
      },
    },
    tool_calls: {
      columns: ['id', ...TOOL_CALL_FIELDS, 'cursor'],
      async *pages(scope, range) {
        const made = madeBetween(range);
        for await (const page of byTime(scope, collections.tool_calls, made, positionIn(range.cursor, 2))) {
          // Few of very many may be left: nobody reads on for somebody who has gone.
          if (range.signal.aborted) return;
          const calls = range.narrowed ? await ofSessions(scope, page, range.sessions) : page;
          yield calls.map((call) => ({
            id: call._id,
            ...picked(call, TOOL_CALL_FIELDS),
            cursor: toCursor(positionOf(call)),
          }));
        }
      },
    },
    turns: {
      columns: ['index', ...TURN_FIELDS, 'cursor'],
      async *pages(scope, range) {
        const position = positionIn(range.cursor, 3);
        const begun = position ? String(position[1]) : null;
        // The session in which it broke off comes first again, from its next turn on.
        const from = position && [position[0]!, ''];
        for await (const page of byTime(scope, collections.sessions, range.sessions, from)) {
          for (const session of page) {
            if (position && session.created_at.getTime() === position[0] && session._id < begun!) continue;
            yield* turnsOf(scope, session, session._id === begun ? Number(position![2]) : -1);
          }
        }
      },
    },
  };

  /** Those of the calls whose sessions are left. */
  async function ofSessions(scope: Scope, calls: ExportedToolCall[], which: Filter<ExportedSession>) {
    const ids = [...new Set(calls.map(({ session_id }) => session_id))];
    const found = await scope
      .collection(collections.sessions)
      .find({ $and: [{ _id: { $in: ids } }, which] } as Filter<ExportedSession>, { limit: ids.length });
    const left = new Set(found.map(({ _id }) => _id));
    return calls.filter(({ session_id }) => left.has(session_id));
  }

  async function* turnsOf(scope: Scope, session: ExportedSession, behind: number) {
    for (let last = behind; ;) {
      const turns = await scope
        .collection(collections.turns)
        .find({ session_id: session._id, turn_index: { $gt: last } } as Filter<ExportedTurn>, {
          sort: { turn_index: 1 },
          limit: PAGE,
        });
      yield turns.map((turn) => ({
        index: turn.turn_index,
        ...picked(turn, TURN_FIELDS),
        cursor: toCursor([...positionOf(session), turn.turn_index]),
      }));
      if (turns.length < PAGE) return;
      last = turns.at(-1)!.turn_index;
    }
  }
}

async function* byTime<T extends StoredRecord>(
  scope: Scope,
  collection: Collection<T>,
  which: Filter<T>,
  position: Position | null,
): AsyncGenerator<T[], void, undefined> {
  let after = position;
  for (;;) {
    const [ms, id] = after ?? [];
    const time = new Date(Number(ms));
    const conditions = [
      which,
      ...(after
        ? [
            { created_at: { $gte: time } },
            { $or: [{ created_at: { $gt: time } }, { created_at: time, _id: { $gt: id } }] },
          ]
        : []),
    ];
    const page = await scope
      .collection(collection)
      .find({ $and: conditions } as Filter<T>, { sort: { created_at: 1, _id: 1 }, limit: PAGE });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = positionOf(page.at(-1)!);
  }
}

function madeBetween({ created_after, created_before }: ExportRange): Filter<ExportedToolCall> {
  if (!created_after && !created_before) return {};
  return {
    created_at: {
      ...(created_after && { $gte: created_after }),
      ...(created_before && { $lt: created_before }),
    },
  };
}

function positionOf(record: StoredRecord): Position {
  return [record.created_at.getTime(), record._id];
}

function toCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @throws ValidationError for a text that is no cursor of this kind of export */
function positionIn(cursor: string | undefined, length: 2 | 3): Position | null {
  if (cursor === undefined) return null;
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
  } catch {
    read = null;
  }
  const kinds = ['number', 'string', 'number'].slice(0, length);
  const fits =
    Array.isArray(read) &&
    read.length === length &&
    kinds.every((kind, n) => typeof (read as unknown[])[n] === kind) &&
    Math.abs(Number(read[0])) < 8e15;
  if (!fits) throw invalid(['query', 'cursor'], 'must be the `cursor` of a record of this export');
  return read as Position;
}

function picked(record: object, fields: readonly string[]): Cells {
  const cells = record as Cells;
  return Object.fromEntries(fields.map((field) => [field, cells[field] ?? null]));
}
