import type { Leases, Slots, Wakeup } from '@parley/shared/bus/bus';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import { DIAL_PRIORITIES, type SessionRecord } from '../sessions/session-record.ts';
import type { DialMoves } from './dial-moves.ts';
import { CALLBACK_GRACE_MS } from './dial-moves.ts';
import type { DialQueue } from './dial-queue.ts';
import type { DialRecovery } from './dial-recovery.ts';
import type { DialStore } from './dial-store.ts';
import type { Dialler } from './dialler.ts';
import type { DialGate, GateVerdict } from './outbound-calls.ts';
import { scopesOf, SERVER_SCOPE, type SleepingScopes } from './sleeping-scopes.ts';

/** Who dials holds it; when its process dies, another takes over after this. */
const LEASE = 'dispatcher';
const LEASE_MS = 5000;
const RENEW_MS = 1000;
/** How often work is looked for that nobody has told of. */
export const SWEEP_MS = 1000;
const RECOVER_MS = 5000;
/**
 * New calls of those that go first are looked for this often at most, unless they are told of as such: with nothing else to do, and
 * while there is.
 */
const URGENT_MS = { idle: 100, busy: 500 };
/** So are all calls, whatever was said of them. */
const REFRESH_MS = { idle: 250, busy: SWEEP_MS };
/** What gates have said of a call holds so long. */
const FRESH_MS = 1000;
/** Calls of which the gates are asked before it is their turn: no more than may have it while the answers are fresh. */
const LOOK_AHEAD = 8;
/** Requests to carriers that are under way at one time. */
const MAX_IN_FLIGHT = 200;

/** The answers of all gates, in their order, and when they were asked. */
interface Asked {
  at: number;
  verdicts: Promise<GateVerdict[]>;
}

/** Picks the calls that are dialled next, and when. Of all processes one does, which holds the lease. */
export class Dispatcher {
  readonly #queue: DialQueue;
  readonly #sleeping: SleepingScopes;
  readonly #gates: readonly DialGate[];
  readonly #dials: DialStore;
  readonly #moves: DialMoves;
  readonly #dialler: Dialler;
  readonly #recovery: DialRecovery;
  readonly #process: DispatcherProcess;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #asked = new Map<string, Asked>();
  #task: PeriodicTask | undefined;
  #stopListening: (() => void) | undefined;
  #wake = Promise.withResolvers<void>();
  #stale = true;
  #urgent = false;
  #renewedAt = -Infinity;
  #refreshedAt = -Infinity;
  #urgentAt = -Infinity;
  /** When the last call was taken up, and how far apart they are on average. */
  #taken = { at: -Infinity, apartMs: FRESH_MS };
  #recoveredAt = -Infinity;

  constructor(deps: {
    queue: DialQueue;
    sleeping: SleepingScopes;
    /** May grow until the first call is made. */
    gates: readonly DialGate[];
    dials: DialStore;
    moves: DialMoves;
    dialler: Dialler;
    recovery: DialRecovery;
    process: DispatcherProcess;
  }) {
    this.#queue = deps.queue;
    this.#sleeping = deps.sleeping;
    this.#gates = deps.gates;
    this.#dials = deps.dials;
    this.#moves = deps.moves;
    this.#dialler = deps.dialler;
    this.#recovery = deps.recovery;
    this.#process = deps.process;
  }

  /** The task that runs `work`, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
    this.#stopListening = this.#process.bus.dispatch.subscribe((urgent) => {
      this.#stale = true;
      this.#urgent ||= urgent;
      this.#sleeping.slotsAreFree();
      this.#wake.resolve();
      void this.#task?.runNow();
    });
  }

  /** Dials whatever may be dialled, for as long as there is more within a second. */
  async work(signal: AbortSignal): Promise<void> {
    const { clock } = this.#process;
    const onStop = () => this.#wake.resolve();
    signal.addEventListener('abort', onStop);
    try {
      while (!signal.aborted && (await this.#holdsLease())) {
        if (clock.monotonic() - this.#recoveredAt >= RECOVER_MS) {
          this.#recoveredAt = clock.monotonic();
          await this.#recovery.sweep(signal);
        }
        const waitMs = await this.#dispatch(signal);
        if (waitMs === null) return;
        await this.#pause(waitMs);
      }
    } finally {
      signal.removeEventListener('abort', onStop);
    }
  }

  /** Waits for the requests that are under way, and lets another process take over at once. */
  async release(): Promise<void> {
    this.#stopListening?.();
    await Promise.all(this.#inFlight);
    await this.#process.bus.leases.release(LEASE, this.#process.name);
  }

  /** @returns in how many ms there may be more to do; null: not within a second, unless somebody says so */
  async #dispatch(signal: AbortSignal): Promise<number | null> {
    const { clock } = this.#process;
    for (;;) {
      if (signal.aborted || !(await this.#holdsLease())) return null;
      if (this.#inFlight.size >= MAX_IN_FLIGHT) await Promise.race(this.#inFlight);
      this.#wake = Promise.withResolvers();
      // While nobody may be dialled, nobody is looked for.
      if (this.#sleeping.isAsleep(SERVER_SCOPE, clock.now())) return this.#waitMs(Infinity);
      this.#refresh('busy');
      const call =
        (await this.#queue.next(clock.now())) ??
        (this.#refresh('idle') ? await this.#queue.next(clock.now()) : null);
      if (call) await this.#safely(call);
      else return this.#waitMs(this.#nextLookMs());
    }
  }

  #waitMs(nextLookMs: number): number | null {
    const now = this.#process.clock.now();
    const waitMs = Math.min((this.#sleeping.firstWake(now) ?? Infinity) - now, nextLookMs);
    return waitMs > SWEEP_MS ? null : Math.max(0, waitMs);
  }

  /** Looks for calls anew, if it is time to. @returns whether other calls may be found than before */
  #refresh(work: 'idle' | 'busy'): boolean {
    const now = this.#process.clock.monotonic();
    if (now - this.#refreshedAt >= (this.#stale ? REFRESH_MS[work] : SWEEP_MS)) {
      this.#stale = this.#urgent = false;
      this.#refreshedAt = this.#urgentAt = now;
      this.#queue.refresh();
      for (const [id, { at }] of this.#asked)
        if (this.#process.clock.now() - at >= FRESH_MS) this.#asked.delete(id);
      return true;
    }
    if (!this.#urgent && (!this.#stale || now - this.#urgentAt < URGENT_MS[work])) return false;
    this.#urgent = false;
    this.#urgentAt = now;
    this.#queue.refresh(DIAL_PRIORITIES.campaign);
    return true;
  }

  /** In how many ms there is to be looked again for calls that may be new; Infinity: not before the next sweep. */
  #nextLookMs(): number {
    if (this.#urgent) return 0;
    if (!this.#stale) return Infinity;
    const now = this.#process.clock.monotonic();
    const urgentAt = this.#urgentAt + URGENT_MS.idle;
    return (urgentAt > now ? urgentAt : this.#refreshedAt + REFRESH_MS.idle) - now;
  }

  /** A call that cannot be looked at holds up no other. */
  async #safely(call: SessionRecord): Promise<void> {
    try {
      await this.#attempt(call);
    } catch (error) {
      this.#process.logger.error(
        { err: error, sessionId: call._id },
        'an outbound call could not be taken up; it is tried again',
      );
      this.#queue.holdUp(call);
    }
  }

  async #attempt(call: SessionRecord): Promise<void> {
    const { bus, clock } = this.#process;
    const asked = this.#ask(call);
    this.#asked.delete(call._id);
    this.#askAhead();
    const slots: { bucket: string; limit: number }[] = [];
    const paces: { scope: string; perSecond: number }[] = [];
    const counting = this.#gates.filter(({ taken }) => taken);
    const now = await Promise.all(counting.map((gate) => gate.check(call, clock.now())));
    for (const verdict of [...(await asked.verdicts), ...now]) {
      if (verdict.pass) {
        slots.push(...(verdict.places ?? []));
        paces.push(...(verdict.paces ?? []));
      } else if ('end' in verdict) {
        await this.#moves.finish(call, verdict.end);
        return this.#queue.letGo(call);
      } else return this.#defer(call, verdict, asked.at);
    }
    const shared = [...slots.map(({ bucket }) => bucket), ...paces.map(({ scope }) => scope)];
    if (shared.some((scope) => this.#sleeping.isAsleep(scope, clock.now()))) return this.#queue.holdUp(call);
    const ttlMs = call.dial!.ring_timeout_seconds * 1000 + 2 * CALLBACK_GRACE_MS;
    const refusal = await bus.slots.takeAtPace(call._id, { slots, paces }, ttlMs);
    if (refusal) {
      this.#sleeping.sleep(refusal, clock.now());
      if (!scopesOf(call).includes(refusal.by)) return this.#queue.holdUp(call);
      this.#queue.putBack(call);
      this.#asked.set(call._id, asked);
      return;
    }
    this.#noteTaken();
    for (const gate of counting) await gate.taken?.(call);
    const buckets = slots.map(({ bucket }) => bucket);
    const request = this.#claim(call, buckets).finally(() => this.#inFlight.delete(request));
    this.#inFlight.add(request);
  }

  /** Asks the gates of calls that come next, several at a time: what they read of several, they read at once. */
  #askAhead(): void {
    const ahead = Math.min(LOOK_AHEAD, Math.ceil(FRESH_MS / 2 / this.#taken.apartMs));
    const next = this.#queue.upcoming(ahead);
    const isFresh = ({ _id }: SessionRecord) => this.#isFresh(this.#asked.get(_id));
    if (next.filter(isFresh).length <= next.length / 2) for (const call of next) this.#ask(call);
  }

  #noteTaken(): void {
    const now = this.#process.clock.monotonic();
    const apart = Math.min(FRESH_MS, now - this.#taken.at);
    this.#taken = { at: now, apartMs: Math.max(1, this.#taken.apartMs * 0.8 + apart * 0.2) };
  }

  #isFresh(asked: Asked | undefined): asked is Asked {
    return asked !== undefined && this.#process.clock.now() - asked.at < FRESH_MS;
  }

  /** What the gates say of a call, but for those that count: asked once while the answers are fresh. */
  #ask(call: SessionRecord): Asked {
    const now = this.#process.clock.now();
    const known = this.#asked.get(call._id);
    if (this.#isFresh(known)) return known;
    const ahead = this.#gates.filter(({ taken }) => !taken);
    const verdicts = Promise.all(ahead.map(async (gate) => gate.check(call, now)));
    // Who waits for them takes the error in.
    verdicts.catch(() => undefined);
    const asked = { at: now, verdicts };
    this.#asked.set(call._id, asked);
    return asked;
  }

  async #claim(call: SessionRecord, buckets: string[]): Promise<void> {
    const { bus, logger, name } = this.#process;
    try {
      const claimed = await this.#dials
        .claim(call, name, { slot_scopes: buckets })
        .finally(() => this.#queue.letGo(call));
      if (!claimed) return await bus.slots.release(call._id, buckets);
      await this.#dialler.dial(claimed);
    } catch (error) {
      logger.error({ err: error, sessionId: call._id }, 'an outbound call could not be taken up');
    }
  }

  /** It may not be dialled before then: that is no time in the queue, as a rule. @param askedAtMs when that was found */
  async #defer(
    call: SessionRecord,
    { until: untilMs, counts = false }: { until: number; counts?: boolean },
    askedAtMs: number,
  ): Promise<void> {
    const giveUpAt = counts ? null : call.dial!.give_up_at;
    this.#queue.holdUp(call);
    await this.#dials.change(
      call._id,
      { 'dial.state': 'waiting' },
      {
        dial: {
          not_before: new Date(untilMs),
          ...(giveUpAt && { give_up_at: new Date(giveUpAt.getTime() + Math.max(0, untilMs - askedAtMs)) }),
        },
      },
    );
  }

  async #holdsLease(): Promise<boolean> {
    const { bus, clock, name, logger } = this.#process;
    const now = clock.monotonic();
    if (now - this.#renewedAt < RENEW_MS) return true;
    try {
      const holds = await bus.leases.acquire(LEASE, name, LEASE_MS);
      if (holds) this.#renewedAt = now;
      return holds;
    } catch (error) {
      logger.warn({ err: error }, 'no calls are dialled: the bus cannot be reached');
      return false;
    }
  }

  async #pause(ms: number): Promise<void> {
    const timer = this.#process.clock.setTimeout(() => this.#wake.resolve(), ms);
    await this.#wake.promise;
    timer.cancel();
  }
}

/** Where a dispatcher runs. */
export interface DispatcherProcess {
  /** Names it in leases and claims. */
  name: string;
  bus: { leases: Leases; slots: Slots; dispatch: Wakeup };
  clock: Clock;
  logger: Logger;
}
