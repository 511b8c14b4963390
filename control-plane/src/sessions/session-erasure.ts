import { TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import { ConflictError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { Scope } from '../tenancy/scope.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';
import { isTerminal } from './session-states.ts';
import type { SessionStore } from './session-store.ts';

/** Removes what the features keep of a session. Doing it twice is harmless. */
type SessionEraser = (sessionId: string) => Promise<unknown>;

/** Memories of people, which are erased with them. */
export interface SubjectMemories {
  /** @returns how many there were */
  forgetSession(sessionId: string): Promise<number>;
  /** @returns how many there were */
  forgetSubject(scope: Scope, subject: string): Promise<number>;
}

/** Rows of databases, which go with a person, and not when the time is over that a session is kept. */
export interface SubjectRows {
  /** @returns how many there were */
  forgetSession(sessionId: string): Promise<number>;
  /** @returns how many there were */
  forgetSubject(scope: Scope, subject: string): Promise<number>;
}

/** People whom campaigns call. */
export interface SubjectContacts {
  /** @returns how many there were */
  forgetSubject(scope: Scope, subject: string): Promise<number>;
}

const ERASED_AT_ONCE = 100;

/** Erases personal data from sessions. */
export class SessionErasure {
  readonly #store: SessionStore;
  readonly #eraseParts: SessionEraser;
  readonly #memories: SubjectMemories;
  readonly #rows: SubjectRows;
  readonly #contacts: SubjectContacts;
  readonly #clock: Clock;

  constructor(deps: {
    store: SessionStore;
    eraseParts: SessionEraser;
    memories: SubjectMemories;
    rows: SubjectRows;
    contacts: SubjectContacts;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#eraseParts = deps.eraseParts;
    this.#memories = deps.memories;
    this.#rows = deps.rows;
    this.#contacts = deps.contacts;
    this.#clock = deps.clock;
  }

  /**
   * Erases what a session knows of people; times stay.
   * @returns how many memories came from it
   * @throws ConflictError `invalid_state` while it is not over
   */
  async erase(session: SessionRecord): Promise<{ memories: number }> {
    if (!isTerminal(session.status))
      throw new ConflictError('invalid_state', 'The session has not ended yet. End it first.');
    // The mark comes first: data that arrives later is not stored, and what a crash leaves is erased later.
    await this.#store.change(session._id, {
      erase_at_end: true,
      erased_at: session.erased_at ?? new Date(this.#clock.now()),
      variables: {},
      trusted_variables: [],
      overrides: null,
      from_number: null,
      to_number: null,
      user_identifier: null,
      said: [],
      goal_status: null,
      outcome: null,
      recording_id: null,
      tool_mocks: null,
      flow_state: null,
      // Who has held the call stays; what they were told goes.
      hand_overs: (session.hand_overs ?? []).map(({ handover_id, agent_id, version, leg, from_index }) => ({
        ...{ handover_id, agent_id, version, ...(leg !== undefined && { leg }), from_index },
      })),
    });
    await this.#eraseParts(session._id);
    const memories = await this.#memories.forgetSession(session._id);
    await this.#store.change(session._id, { erase_at_end: false });
    return { memories };
  }

  /** The same because somebody asked for it: its rows in databases go, too. */
  async eraseWithRows(session: SessionRecord): Promise<{ memories: number; rows: number }> {
    const { memories } = await this.erase(session);
    return { memories, rows: await this.#rows.forgetSession(session._id) };
  }

  /**
   * Erases every session of a person in a project; those that still go on are erased when they end.
   * @param subject a phone number or a `user_identifier`
   */
  async eraseSubject(
    scope: Scope,
    subject: string,
  ): Promise<{ sessions: number; recordings: number; memories: number; rows: number; contacts: number }> {
    // First of all: nobody calls them any more.
    const contacts = await this.#contacts.forgetSubject(scope, subject);
    const sessions = scope.collection(sessionCollection);
    const theirs = [{ numbers: subject }, { user_identifier: subject }];
    const erased = { sessions: 0, recordings: 0, memories: 0, rows: 0, contacts };
    for (const which of theirs) {
      const live = { ...which, status: { $nin: [...TERMINAL_STATUSES] }, erase_at_end: false };
      erased.sessions += await sessions.updateMany(live, { $set: { erase_at_end: true } });
      // An erased session no longer matches the query.
      for (;;) {
        const page = await sessions.find(
          { ...which, status: { $in: [...TERMINAL_STATUSES] } },
          { limit: ERASED_AT_ONCE },
        );
        for (const session of page) {
          const gone = await this.eraseWithRows(session);
          erased.memories += gone.memories;
          erased.rows += gone.rows;
          erased.sessions++;
          if (session.recording_id !== null) erased.recordings++;
        }
        if (page.length < ERASED_AT_ONCE) break;
      }
    }
    // These go last: no session of the person adds further ones. Rows may be left of sessions that were erased before.
    erased.memories += await this.#memories.forgetSubject(scope, subject);
    erased.rows += await this.#rows.forgetSubject(scope, subject);
    return erased;
  }
}
