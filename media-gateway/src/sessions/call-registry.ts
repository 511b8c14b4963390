import { withTimeout } from '@parley/shared/async/timeout';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { Call } from '../call/call.ts';
import type { CallStarter, NewCall, StartedCall } from './call-starter.ts';
import type { GatewayPresence, PresentCalls } from './gateway-presence.ts';
import type { LoopLoad } from './loop-load.ts';

/** Ended calls have this long to write their report once the time for draining is over. */
const END_MS = 5000;

/** Room for one call, taken before the credential is claimed. */
export interface Slot {
  /** Gives the room back unless a call has taken it. Idempotent. */
  release(): void;
}

interface Entry extends StartedCall {
  socket: NewCall['socket'];
}

/** The calls of this process: admits, counts and drains them. */
export class CallRegistry implements PresentCalls {
  readonly #maxCalls: number;
  readonly #starter: CallStarter;
  readonly #presence: GatewayPresence;
  readonly #load: LoopLoad;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #calls = new Set<Entry>();
  /** The latest leg of each session. */
  readonly #bySession = new Map<string, Entry>();
  /** Sockets that were let in and have not begun. */
  readonly #expected = new Set<Promise<void>>();
  #reserved = 0;
  #draining = false;
  #closed = false;
  #onEmpty: (() => void) | undefined;
  #disposing: Promise<void> | undefined;

  constructor(deps: {
    maxCalls: number;
    starter: CallStarter;
    presence: GatewayPresence;
    load: LoopLoad;
    clock: Clock;
    logger: Logger;
  }) {
    this.#maxCalls = deps.maxCalls;
    this.#starter = deps.starter;
    this.#presence = deps.presence;
    this.#load = deps.load;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  get calls(): number {
    return this.#calls.size;
  }

  /** Calls whose far end is not connected: it may come back, or is being connected to somebody else. */
  get callsWithoutSocket(): number {
    let count = 0;
    for (const { socket } of this.#calls) if (socket.closed) count++;
    return count;
  }

  get capacity(): number {
    return this.#maxCalls;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Whether another connection may be let in now. */
  get hasRoom(): boolean {
    return !this.#draining && !this.overloaded && this.#calls.size + this.#reserved < this.#maxCalls;
  }

  /** The calls it has make it late: one more would be worse for all. */
  get overloaded(): boolean {
    return this.#load.isTooMuch(this.#calls.size);
  }

  sessionIds(): readonly string[] {
    return [...this.#bySession.keys()];
  }

  /** The latest leg of a session, if it is here. */
  find(sessionId: string): StartedCall | undefined {
    return this.#bySession.get(sessionId);
  }

  /** A connection was let in and may become a call: draining waits for it. `begin` must not reject. */
  expect(begin: Promise<void>): void {
    this.#expected.add(begin);
    void begin.finally(() => {
      this.#expected.delete(begin);
      this.#notifyEmpty();
    });
  }

  /** @returns undefined when there is no room. Connections let in before draining began still get one. */
  reserve(): Slot | undefined {
    if (this.#closed || this.#calls.size + this.#reserved >= this.#maxCalls) return undefined;
    this.#reserved++;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        this.#reserved--;
      },
    };
  }

  /**
   * Begins a call in a reserved slot. When it cannot, the session is reported as failed and the participant's
   * connection ended.
   * @throws what kept the call from beginning
   */
  begin(start: NewCall, slot: Slot): Call {
    const sessionId = start.plan.session_id;
    const entry: Entry = { ...this.#starter.start(start), socket: start.socket };
    slot.release();
    const earlierLeg = this.#bySession.get(sessionId);
    this.#calls.add(entry);
    this.#bySession.set(sessionId, entry);
    // It has been waiting for this, and what it reports moves nothing any more.
    earlierLeg?.call.end({ ended_by: 'caller', hangup_reason: 'caller_hangup' });
    this.#presence.hold(sessionId);
    const logger = this.#logger.child({ sessionId, leg: start.plan.leg });
    void entry.call.ended.then((report) => {
      this.#remove(sessionId, entry);
      const { ended_by, hangup_reason, failure_reason, duration_ms: durationMs } = report;
      logger.info({ endedBy: ended_by, reason: hangup_reason ?? failure_reason, durationMs }, 'call ended');
      this.#notifyEmpty();
    });
    return entry.call;
  }

  /**
   * Reports the end of a session whose credential is claimed and that nobody is there to take up any more. No call
   * opens. Resolves when the report is on disk.
   */
  async decline(plan: SessionPlan, reason: CallEndReason, slot: Slot): Promise<void> {
    slot.release();
    // The claim was the session's last: what an earlier leg reports moves nothing any more.
    this.#bySession.get(plan.session_id)?.call.end(reason);
    await this.#starter.reportNotBegun(plan, reason);
  }

  /** From now on nothing new is let in. */
  refuse(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#presence.beat();
  }

  /**
   * Lets nothing new in and waits for what runs, at most `timeoutMs`; what still runs then is ended with
   * `hangup_reason: shutdown` and reported.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.refuse();
    if (!this.#empty) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onEmpty = resolve;
      const timer = this.#clock.setTimeout(resolve, timeoutMs);
      await promise;
      timer.cancel();
    }
    await this.#endAll();
  }

  /** Ends what runs. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#draining = true;
    this.#closed = true;
    this.#disposing ??= this.#endAll();
    return this.#disposing;
  }

  async #endAll(): Promise<void> {
    if (this.#calls.size === 0) return;
    this.#logger.info({ calls: this.#calls.size }, 'stopping: ending the calls in progress');
    const ended: Promise<unknown>[] = [];
    for (const { call } of [...this.#calls]) {
      call.end({ ended_by: 'system', hangup_reason: 'shutdown' });
      ended.push(call.ended);
    }
    await withTimeout(Promise.all(ended), END_MS, 'Ending the calls').catch((error: unknown) => {
      this.#logger.error({ err: error, calls: this.#calls.size }, 'stopping: some calls did not end in time');
    });
  }

  #remove(sessionId: string, entry: Entry): void {
    this.#calls.delete(entry);
    // A later leg may have taken the session over.
    if (this.#bySession.get(sessionId) !== entry) return;
    this.#bySession.delete(sessionId);
    this.#presence.drop(sessionId);
  }

  get #empty(): boolean {
    return this.#calls.size === 0 && this.#expected.size === 0;
  }

  #notifyEmpty(): void {
    if (this.#empty) this.#onEmpty?.();
  }
}
