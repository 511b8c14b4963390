import type { Model } from 'mongoose';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import { turnSchema, type TimedWord, type Turn } from '@parley/shared/contracts/turn';
import type { LiveEvent } from '@parley/shared/contracts/live-events';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { TOTAL_LIMIT, type ListPage } from '../storage/list.ts';
import { INDEX_STEP, sessionEventCollection, toEvent } from './session-event-model.ts';
import type { SessionEventRecord } from './session-event-model.ts';
import type { OwnEventData, OwnEventType } from './session-events.ts';
import { turnCollection } from './turn-model.ts';
import type { TurnRecord } from './turn-model.ts';

/** A bound on the turns of a call: more than four hours have at a turn a second. */
const MAX_TURNS = 15_000;

/** Whose events and turns these are. */
export interface LogOwner {
  session_id: string;
  org_id: string;
  project_id: string;
}

/** How often an append tries for the next index against concurrent writers. */
const APPEND_TRIES = 8;
/** Sessions whose last event is remembered. */
const MAX_REMEMBERED = 10_000;

/** Who tells those that follow a session of its events. */
export interface EventListeners {
  publish(of: LogOwner, event: LiveEvent): void;
}

/** Who keeps the words that transcripts are searched by. Safe to repeat. */
export interface TurnWords {
  add(sessionId: string, text: string): Promise<void>;
  change(
    sessionId: string,
    texts: { before: string; after: string },
    turns: () => Promise<string[]>,
  ): Promise<void>;
}

type LastEvent = Pick<SessionEventRecord, 'index' | 'at' | 'offset_ms'>;

/** The stored events and turns of sessions. */
export class CallLog {
  readonly #database: Database;
  readonly #events: Model<SessionEventRecord>;
  readonly #turns: Model<TurnRecord>;
  readonly #clock: Clock;
  readonly #listeners: EventListeners | undefined;
  readonly #words: TurnWords | undefined;
  /** By session, the last event that this process has appended, the one that was longest ago first. */
  readonly #lasts = new Map<string, LastEvent>();

  constructor({
    database,
    clock,
    listeners,
    words,
  }: {
    database: Database;
    clock: Clock;
    listeners?: EventListeners;
    words?: TurnWords;
  }) {
    this.#database = database;
    this.#listeners = listeners;
    this.#words = words;
    this.#events = database.model(sessionEventCollection);
    this.#turns = database.model(turnCollection);
    this.#clock = clock;
  }

  /** Stores a gateway's event. @returns false when it was there already, by id or by place */
  async storeGatewayEvent(owner: LogOwner, event: CallEvent): Promise<boolean> {
    try {
      await this.#database.insert(sessionEventCollection, {
        _id: event.id,
        ...owner,
        index: (event.index + 1) * INDEX_STEP,
        at: new Date(event.at),
        offset_ms: event.offset_ms,
        type: event.type,
        data: event.data,
      });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Tells those who follow the session of a gateway's event: once it and all that belongs to it are stored. */
  tell(owner: LogOwner, { id, at, offset_ms, type, data, ...event }: CallEvent): void {
    const index = (event.index + 1) * INDEX_STEP;
    this.#listeners?.publish(owner, toEvent({ _id: id, index, at: new Date(at), offset_ms, type, data }));
  }

  /** Passes on what is never stored. */
  pass(owner: LogOwner, { id, at, offset_ms, type, data }: CallEvent): void {
    this.#listeners?.publish(owner, { id, index: null, at, offset_ms, type, data });
  }

  /**
   * Adds an event of the control plane behind the last one.
   * @param event `key` makes it happen once: a second event of the same session and key changes nothing. Without an
   *   `offsetMs` it is placed by the event before it; 0 when that one came before the answer. `first` says that the
   *   session is new, and `alone` that nobody but control planes writes of it yet: no event before it is looked for, or
   *   none but what this process remembers, unless one stands in the way
   */
  async append<T extends OwnEventType>(
    owner: LogOwner,
    event: {
      type: T;
      data: OwnEventData<T>;
      key?: string;
      offsetMs?: number;
      first?: boolean;
      alone?: boolean;
    },
  ): Promise<void> {
    const { type, data, key, offsetMs, first = false, alone = false } = event;
    const now = this.#clock.now();
    const id = key === undefined ? newId('evt', now) : `evt_${owner.session_id}_${key}`;
    for (let attempt = 1; ; attempt++) {
      const remembered = attempt === 1 && alone ? this.#lasts.get(owner.session_id) : undefined;
      const last = first && attempt === 1 ? null : (remembered ?? (await this.#last(owner.session_id)));
      const place = {
        index: (last?.index ?? 0) + 1,
        at: new Date(now),
        offset_ms: offsetMs ?? offsetAfter(last, now),
      };
      try {
        await this.#database.insert(sessionEventCollection, { _id: id, ...owner, ...place, type, data });
        if (first || alone) this.#remember(owner.session_id, place);
        this.#listeners?.publish(owner, toEvent({ _id: id, ...place, type, data }));
        return;
      } catch (error) {
        if (isDuplicateKey(error, '_id')) return;
        if (!isDuplicateKey(error) || attempt === APPEND_TRIES) throw error;
      }
    }
  }

  #remember(sessionId: string, event: LastEvent): void {
    this.#lasts.delete(sessionId);
    this.#lasts.set(sessionId, event);
    if (this.#lasts.size <= MAX_REMEMBERED) return;
    const oldest = this.#lasts.keys().next();
    if (!oldest.done) this.#lasts.delete(oldest.value);
  }

  #last(sessionId: string): Promise<LastEvent | null> {
    return this.#events
      .findOne({ session_id: sessionId })
      .sort({ index: -1 })
      .select({ index: 1, at: 1, offset_ms: 1 })
      .lean<SessionEventRecord>();
  }

  /**
   * Stores a turn; it replaces an earlier form of the same turn.
   * @param words when each was said; undefined: it is not told anew, and stays known as long as the text is the same
   */
  async storeTurn(owner: LogOwner, turn: Turn, words?: readonly TimedWord[] | null): Promise<void> {
    const { turn_index, ...said } = turn;
    const [known] = await this.turnsNumbered(owner.session_id, [turn_index]);
    await this.#keepSearched(owner.session_id, turn, known?.text);
    await this.#turns.updateOne(
      { _id: `${owner.session_id}:${turn_index}` },
      {
        $set: {
          role: said.role,
          text: said.text,
          start_ms: said.start_ms,
          end_ms: said.end_ms,
          language: said.language ?? null,
          interrupted: said.interrupted,
          backchannel: said.backchannel ?? false,
          confidence: said.confidence ?? null,
          node_id: said.node_id ?? null,
          redacted: said.redacted,
          latency: said.latency ?? null,
          ...(words === undefined && known?.text === said.text ? {} : { words: words ?? null }),
        },
        $setOnInsert: { ...owner, turn_index },
      },
      { upsert: true },
    );
  }

  /** Before the turn itself is: what a crash cuts off is done when its event comes again. */
  async #keepSearched(
    sessionId: string,
    { turn_index, text: after }: Turn,
    before: string | undefined,
  ): Promise<void> {
    if (!this.#words) return;
    if (before === undefined) return this.#words.add(sessionId, after);
    if (before === after) return;
    await this.#words.change(sessionId, { before, after }, async () => {
      const others = (await this.turns(sessionId)).filter((turn) => turn.turn_index !== turn_index);
      return [...others.map(({ text }) => text), after];
    });
  }

  /** The whole transcript, in order. @param options.words with the times of its words */
  turns(sessionId: string, { words = false } = {}): Promise<TurnRecord[]> {
    return this.#turns
      .find({ session_id: sessionId })
      .select(words ? '+words' : {})
      .sort({ turn_index: 1 })
      .limit(MAX_TURNS)
      .lean<TurnRecord[]>();
  }

  countTurns(sessionId: string): Promise<number> {
    return this.#turns.countDocuments({ session_id: sessionId });
  }

  /** A page of events, ordered by index. */
  async events(
    sessionId: string,
    query: {
      types?: readonly string[] | undefined;
      afterIndex?: number | undefined;
      limit: number;
      offset: number;
    },
  ): Promise<ListPage<SessionEventRecord>> {
    const filter = {
      session_id: sessionId,
      ...(query.types ? { type: { $in: [...query.types] } } : {}),
      ...(query.afterIndex === undefined ? {} : { index: { $gt: query.afterIndex } }),
    };
    const [items, count] = await Promise.all([
      this.#events
        .find(filter)
        .sort({ index: 1 })
        .skip(query.offset)
        .limit(query.limit)
        .lean<SessionEventRecord[]>(),
      this.#events.countDocuments(filter, { limit: TOTAL_LIMIT + 1 }),
    ]);
    return count > TOTAL_LIMIT ? { items, total: TOTAL_LIMIT, total_capped: true } : { items, total: count };
  }

  /** Events behind a place, in order; none of those before it. */
  eventsAfter(
    sessionId: string,
    { types, index, limit }: { types?: readonly string[] | undefined; index: number; limit: number },
  ): Promise<SessionEventRecord[]> {
    return this.#events
      .find({
        session_id: sessionId,
        ...(types ? { type: { $in: [...types] } } : {}),
        index: { $gt: index },
      })
      .sort({ index: 1 })
      .limit(limit)
      .lean<SessionEventRecord[]>();
  }

  /** An event of the session, by its id. */
  event(sessionId: string, id: string): Promise<SessionEventRecord | null> {
    return this.#events.findOne({ _id: id, session_id: sessionId }).lean<SessionEventRecord>();
  }

  /** Those of these turns that are stored, in any order. */
  turnsNumbered(sessionId: string, indexes: readonly number[]): Promise<TurnRecord[]> {
    return this.#turns
      .find({ _id: { $in: indexes.map((index) => `${sessionId}:${index}`) } })
      .limit(indexes.length)
      .lean<TurnRecord[]>();
  }

  /** Removes turns and the texts of events; state events stay where they are. */
  async erase(sessionId: string): Promise<void> {
    await this.#turns.deleteMany({ session_id: sessionId });
    await this.#events.deleteMany({ session_id: sessionId, type: { $ne: 'state' } });
  }
}

/** As a plan's history and an analysis take it. */
export function toTurn(record: TurnRecord): Turn {
  return turnSchema.parse({
    turn_index: record.turn_index,
    role: record.role,
    text: record.text,
    start_ms: record.start_ms,
    end_ms: record.end_ms,
    interrupted: record.interrupted,
    ...(record.backchannel ? { backchannel: true } : {}),
    redacted: record.redacted,
    ...(record.language === null ? {} : { language: record.language }),
    ...(record.confidence === null ? {} : { confidence: record.confidence }),
    ...(record.node_id === null ? {} : { node_id: record.node_id }),
    ...(record.latency === null ? {} : { latency: record.latency }),
  });
}

function offsetAfter(last: LastEvent | null, now: number): number {
  return last && last.offset_ms > 0 ? Math.max(last.offset_ms, last.offset_ms + now - last.at.getTime()) : 0;
}
