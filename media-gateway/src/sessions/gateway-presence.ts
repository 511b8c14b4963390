import { withTimeout } from '@parley/shared/async/timeout';
import type { Presence } from '@parley/shared/bus/bus';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { LoopLoad } from './loop-load.ts';

const BEAT_MS = 5000;
const HOLD_MS = 10_000;
/** Others learn that this gateway has gone without being told, too. */
const LEAVE_MS = 1000;
/** An event loop this late makes itself heard. */
const LATE_LOOP_MS = 100;
/** Of so many failures in a row one is logged. */
const LOGGED_FAILURES = 12;

/** Who this gateway is. */
export interface GatewayIdentity {
  gatewayId: string;
  /** Where it can be reached, for operators. */
  url: string;
  version: string;
  capacity: number;
}

/** The calls of this process, as others learn of them. */
export interface PresentCalls {
  readonly calls: number;
  readonly draining: boolean;
  readonly overloaded: boolean;
  sessionIds(): readonly string[];
}

/** Tells others that this gateway lives, how full it is, and which calls it holds. */
export class GatewayPresence {
  readonly #identity: GatewayIdentity;
  readonly #presence: Presence;
  readonly #load: LoopLoad;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #timers = new Map<'beat' | 'hold', Timer>();
  #calls: PresentCalls | undefined;
  #failures = 0;
  #leaving: Promise<void> | undefined;

  constructor(deps: {
    identity: GatewayIdentity;
    presence: Presence;
    load: LoopLoad;
    clock: Clock;
    logger: Logger;
  }) {
    this.#identity = deps.identity;
    this.#presence = deps.presence;
    this.#load = deps.load;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** From now on others know of this gateway. */
  start(calls: PresentCalls): void {
    this.#calls = calls;
    this.#every('beat', BEAT_MS, () => this.#measureAndBeat(calls));
    this.#every('hold', HOLD_MS, () => this.#holdAll(calls));
  }

  /** Something changed that others should know at once. */
  beat(): void {
    if (this.#calls) this.#try(this.#beat(this.#calls));
  }

  hold(sessionId: string): void {
    this.#try(this.#presence.holdCalls(this.#identity.gatewayId, [sessionId]));
  }

  drop(sessionId: string): void {
    this.#try(this.#presence.dropCall(sessionId));
  }

  /** Others are told that this gateway has gone. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#leaving ??= this.#leave();
    return this.#leaving;
  }

  async #leave(): Promise<void> {
    for (const timer of this.#timers.values()) timer.cancel();
    const left = this.#presence.leave(this.#identity.gatewayId);
    await withTimeout(left, LEAVE_MS, 'Saying goodbye').catch(() => undefined);
  }

  #every(what: 'beat' | 'hold', ms: number, task: () => Promise<void>): void {
    const run = (): void => {
      if (this.#leaving) return;
      this.#try(task());
      this.#timers.set(what, this.#clock.setTimeout(run, ms));
    };
    run();
  }

  async #measureAndBeat(calls: PresentCalls): Promise<void> {
    const p99Ms = this.#load.measure();
    if (p99Ms > LATE_LOOP_MS && calls.calls > 0)
      this.#logger.warn(
        { p99Ms, calls: calls.calls, refusing: calls.overloaded },
        'the event loop is overloaded: timers run late',
      );
    await this.#beat(calls);
  }

  async #beat({ calls, draining }: PresentCalls): Promise<void> {
    const { gatewayId, url, version, capacity } = this.#identity;
    await this.#presence.beat({
      gateway_id: gatewayId,
      url,
      capacity,
      calls,
      loop_delay_p99_ms: this.#load.delayMs,
      draining,
      version,
    });
  }

  async #holdAll(calls: PresentCalls): Promise<void> {
    const sessionIds = calls.sessionIds();
    if (sessionIds.length > 0) await this.#presence.holdCalls(this.#identity.gatewayId, sessionIds);
  }

  /** Presence is renewed by itself: trouble is logged, not thrown. */
  #try(task: Promise<void>): void {
    task.then(
      () => void (this.#failures = 0),
      (error: unknown) => {
        if (this.#failures++ % LOGGED_FAILURES === 0)
          this.#logger.warn({ err: error }, 'the presence of this gateway cannot be published');
      },
    );
  }
}
