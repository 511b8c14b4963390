import { TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import type { Turn } from '@parley/shared/contracts/turn';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionRecord } from './session-record.ts';
import type { TerminalStatus } from './session-states.ts';
import type { SessionChange, SessionStore, Transition } from './session-store.ts';

/** The work that follows the end of a call. */
export interface AfterCall {
  /**
   * Asked for once per session; asking again changes nothing but an earlier time.
   * @param turns what was said, where it is not stored
   */
  enqueue(session: SessionRecord, options: { turns: Turn[] | null; delayMs?: number }): Promise<void>;
}

/** How long a late report is awaited before the call is analysed as the reaper found it. */
const ANALYSE_AFTER_MS = 10 * 60_000;
/** How long the process that closed a session may take to follow it up before it counts as dead. */
const FOLLOW_UP_MS = 30_000;
const PAGE = 500;

/** One step that follows the end of a session; it may be repeated. */
type Step = (session: SessionRecord, turns: Turn[] | null) => Promise<unknown>;

/**
 * Ends sessions. The status moves in one atomic write that also notes that something follows; the steps that follow
 * may each be done again, and the note goes after the last. A process that dies in between leaves the note, by which
 * the end is made whole: with the report's next delivery, or by the reaper.
 */
export class SessionCloser {
  readonly #store: SessionStore;
  readonly #release: (session: SessionRecord) => Promise<unknown>;
  readonly #book: (session: SessionRecord) => Promise<unknown>;
  readonly #hangup: (session: SessionRecord) => Promise<void>;
  readonly #erase: (session: SessionRecord) => Promise<unknown>;
  readonly #afterCall: AfterCall;
  readonly #recordings: { lost(sessionId: string): Promise<void> };
  readonly #clock: Clock;

  constructor(deps: {
    store: SessionStore;
    /** Gives back what a session that is over took: unused credentials and slots. Safe to repeat. */
    release: (session: SessionRecord) => Promise<unknown>;
    /** Books what a session cost that is over. Safe to repeat. */
    book: (session: SessionRecord) => Promise<unknown>;
    /** Ends the call at its carrier. */
    hangup: (session: SessionRecord) => Promise<void>;
    /** Forgets a session that is over. */
    erase: (session: SessionRecord) => Promise<unknown>;
    afterCall: AfterCall;
    recordings: { lost(sessionId: string): Promise<void> };
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#release = deps.release;
    this.#book = deps.book;
    this.#hangup = deps.hangup;
    this.#erase = deps.erase;
    this.#afterCall = deps.afterCall;
    this.#recordings = deps.recordings;
    this.#clock = deps.clock;
  }

  /** Moves the session to its end, and takes the steps that follow.
   * @returns the session as it is now; null when its state does not allow it or `where` does not hold
   */
  async close(
    sessionId: string,
    to: TerminalStatus,
    options: Omit<Transition, 'cause'>,
  ): Promise<SessionRecord | null> {
    const closed = await this.#store.end(sessionId, to, options);
    if (closed) await this.#followUp(closed, null);
    return closed;
  }

  /**
   * The same by a gateway's report, whose id is `set.report_id`: it has the last word over what the reaper or the
   * carrier said. The same report again makes up for what did not follow the first time.
   * @param turns what was said, where it is not stored
   */
  async closeByReport(
    session: SessionRecord,
    to: TerminalStatus,
    set: SessionChange,
    turns: Turn[] | null,
  ): Promise<void> {
    const moved =
      (await this.#store.end(session._id, to, { set })) ??
      (await this.#store.replaceVerdict(session._id, set));
    const closed = moved ?? (await this.#store.find(session._id));
    if (closed?.follow_up && closed.report_id === set.report_id) await this.#followUp(closed, turns);
  }

  /** Completes ends whose process died; not those by a report, which is delivered again by itself. */
  async repair(signal: AbortSignal): Promise<void> {
    const before = new Date(this.#clock.now() - FOLLOW_UP_MS);
    const ended = { status: { $in: [...TERMINAL_STATUSES] } };
    const left = await this.#store.findMany(
      { ...ended, follow_up: true, closed_by: { $ne: 'report' }, ended_at: { $lte: before } },
      { limit: PAGE },
    );
    for (const session of left) {
      if (signal.aborted) return;
      await this.#followUp(session, null);
    }
    // Those that were to be erased at their end, however it came, or were not erased to the end.
    for (const session of await this.#store.findMany({ ...ended, erase_at_end: true }, { limit: PAGE })) {
      if (signal.aborted) return;
      await this.#erase(session);
    }
  }

  async #followUp(session: SessionRecord, turns: Turn[] | null): Promise<void> {
    for (const step of this.#steps) await step(session, turns);
  }

  readonly #steps: readonly Step[] = [
    (session) => this.#store.notify(session, 'end'),
    (session) => this.#release(session),
    (session) => this.#book(session),
    (session) => this.#hangUp(session),
    async (session) => session.closed_by === 'reaper' && this.#recordings.lost(session._id),
    async (session) => session.erase_at_end && this.#erase(session),
    (session, turns) => this.#enqueue(session, turns),
    (session) => this.#store.followedUp(session),
  ];

  /** Ends the call at its carrier when nobody else has: it may still be ringing. */
  async #hangUp(session: SessionRecord): Promise<void> {
    const { closed_by: by } = session;
    if (session.carrier_call_id !== null && (by === 'reaper' || by === 'api')) await this.#hangup(session);
  }

  async #enqueue(session: SessionRecord, turns: Turn[] | null): Promise<void> {
    if (session.closed_by === 'report') await this.#afterCall.enqueue(session, { turns });
    else if (session.status === 'ended' && session.post_call_status === 'pending')
      await this.#afterCall.enqueue(session, { turns: null, delayMs: ANALYSE_AFTER_MS });
  }
}
