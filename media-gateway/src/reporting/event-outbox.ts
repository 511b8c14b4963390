import { backoffMs } from '@parley/shared/async/backoff';
import { withTimeout } from '@parley/shared/async/timeout';
import type { EventLog } from '@parley/shared/bus/bus';
import { DROPPED_FIRST, MAX_UNSENT_EVENTS, NEVER_DROPPED } from '@parley/shared/contracts/call-events';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';

/** Events of this long are sent together. */
const GATHER_MS = 20;
const MAX_BATCH = 256;
const APPEND_TIMEOUT_MS = 10_000;
/** Reports are on disk and can be up to 1 MiB each: more than these are not also held in memory. */
const MAX_REPORTS = 64;
/** Events that are never dropped may exceed the bound up to here. */
const HARD_LIMIT_FACTOR = 5;

/**
 * Events on their way to the event log, in order, for all calls of the process. While the log can't be reached they
 * wait here, within bounds: `turn_decision` is dropped first, then whatever else is only shown.
 */
export class EventOutbox {
  readonly #log: Pick<EventLog, 'append'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #limit: number;
  #queue: CallEvent[] = [];
  #sending: CallEvent[] = [];
  readonly #reports = new Set<string>();
  readonly #roomTasks = new Set<() => void>();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;
  #dropped = 0;
  #pushed = 0;
  #closed = false;

  constructor(deps: { events: Pick<EventLog, 'append'>; clock: Clock; logger: Logger; limit?: number }) {
    this.#log = deps.events;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#limit = deps.limit ?? MAX_UNSENT_EVENTS;
  }

  /** Events not accepted by the log yet. */
  get size(): number {
    return this.#queue.length + this.#sending.length;
  }

  /** Events taken since the start. */
  get pushed(): number {
    return this.#pushed;
  }

  /** How many of them are done with; they go in order. */
  get settled(): number {
    return this.#pushed - this.size;
  }

  /** Events given up since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Never blocks and never throws. */
  push(event: CallEvent): void {
    if (this.#closed) return;
    this.#queue.push(event);
    this.#pushed++;
    if (event.type === 'call_ended') this.#reports.add(event.id);
    if (this.size > this.#limit) this.#dropOne();
    this.#schedule(GATHER_MS);
  }

  /**
   * As `push`, for a report that is on disk.
   * @returns false when it is not taken, because enough others wait; true when it is on its way, now or already
   */
  pushReport(event: CallEvent): boolean {
    if (this.#reports.has(event.id)) return true;
    if (this.#reports.size >= MAX_REPORTS) return false;
    this.push(event);
    return true;
  }

  /** Whether this report waits here. */
  holdsReport(eventId: string): boolean {
    return this.#reports.has(eventId);
  }

  /** Whether another report is taken: spares reading it from disk. */
  get hasRoomForReport(): boolean {
    return this.#reports.size < MAX_REPORTS;
  }

  /** Calls `task` once, as soon as another report is taken. The same task is kept once. */
  onceReportRoom(task: () => void): void {
    this.#roomTasks.add(task);
  }

  /** Sends what is there without waiting. @returns whether all of it was sent before `timeoutMs` passed */
  async flush(timeoutMs: number): Promise<boolean> {
    if (this.size === 0) return true;
    this.#timer?.cancel();
    this.#timer = undefined;
    const sent = (async () => {
      await this.#running;
      await this.#send();
    })();
    await withTimeout(sent, timeoutMs, 'Sending the last events').catch(() => undefined);
    return this.size === 0;
  }

  /** What is unsent then is lost, but for the reports on disk. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    await this.flush(2000);
    this.#closed = true;
    this.#timer?.cancel();
    if (this.size > 0)
      this.#logger.warn({ events: this.size }, 'some call events were not sent before the process stopped');
  }

  #schedule(ms: number): void {
    if (this.#timer || this.#running || this.#closed) return;
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = undefined;
      void this.#send();
    }, ms);
  }

  #send(): Promise<void> {
    this.#running ??= this.#sendAll().finally(() => {
      this.#running = undefined;
      if (this.size > 0) {
        const retryMs = backoffMs(this.#failures - 1, { firstMs: 100, maxMs: 5000 });
        this.#schedule(this.#failures === 0 ? GATHER_MS : retryMs);
      }
    });
    return this.#running;
  }

  /** Until nothing is left or the log fails. What failed is the first to be sent again. */
  async #sendAll(): Promise<void> {
    while (this.size > 0 && !this.#closed) {
      if (this.#sending.length === 0) this.#sending = this.#queue.splice(0, MAX_BATCH);
      try {
        await withTimeout(this.#log.append(this.#sending), APPEND_TIMEOUT_MS, 'Writing to the event log');
      } catch (error) {
        this.#failures++;
        if (this.#failures === 1 || this.#failures % 60 === 0) {
          this.#logger.warn({ err: error, waiting: this.size }, 'the event log cannot be reached');
        }
        return;
      }
      if (this.#failures > 0)
        this.#logger.info({ waiting: this.#queue.length }, 'the event log can be reached again');
      this.#failures = 0;
      for (const { id } of this.#sending) this.#reports.delete(id);
      this.#sending = [];
      if (this.hasRoomForReport) this.#notifyRoom();
    }
  }

  #notifyRoom(): void {
    const tasks = [...this.#roomTasks];
    this.#roomTasks.clear();
    for (const task of tasks) task();
  }

  #dropOne(): void {
    let at = this.#queue.findIndex((event) => DROPPED_FIRST.has(event.type));
    if (at === -1) at = this.#queue.findIndex((event) => !NEVER_DROPPED.has(event.type));
    if (at === -1) {
      if (this.size <= this.#limit * HARD_LIMIT_FACTOR) return;
      at = 0; // what it said is in the report as well
    }
    const [event] = this.#queue.splice(at, 1);
    if (event) this.#reports.delete(event.id);
    this.#dropped++;
    if (this.#dropped % 1000 === 1)
      this.#logger.warn(
        { dropped: this.#dropped },
        'the event outbox is full: call events are being dropped',
      );
  }
}
