import { backoffMs } from '../async/backoff.ts';
import type { Logger } from '../logging/logger.ts';
import type { Clock, Timer } from '../time/clock.ts';
import type { ConsumeOptions, EventConsumer, Leases } from './bus.ts';
import { parseLetter } from './dead-letters.ts';
import { compareEventIds, parseEvent, type EventStore, type StoredEvent } from './event-store.ts';
import { OutageGate } from './outage-gate.ts';

/** Events of one session that were given to us, oldest first. Only the first is ever handled. */
interface Line {
  sessionId: string;
  entries: Entry[];
  /** Runs while the first one waits for its next try. */
  retry: Timer | undefined;
}

interface Entry {
  id: string;
  /** Unknown when it has to be claimed first. */
  body: string | undefined;
  delivery: number;
  /** How long nobody may have had it in hand before it is claimed, ms. */
  claimAfterMs: number;
  /** The store has been told that this delivery does not count. */
  uncounted?: boolean;
}

/** What became of a try: over, to be tried again, or storage could not be reached. */
type Handled = 'done' | 'outage' | { retryInMs: number };

interface Partition {
  number: number;
  /** On the monotonic clock: past it somebody else may hold the partition. */
  leaseEndsAt: number;
  lines: Map<string, Line>;
  /** Ids in `lines`. */
  ids: Set<string>;
  /** Lines whose first entry may be handled now. */
  ready: Line[];
  running: number;
  /** What was pending when we came is known, so new events can't overtake it. */
  loaded: boolean;
  /** Given back once what was read has been handled. */
  leaving: boolean;
  /** Somebody else may hold it: nothing more is begun. */
  lost: boolean;
  sweepAt: number;
  onIdle: (() => void) | undefined;
}

/** How many events of a partition wait in memory, in batches: beyond, nothing more of it is read. */
const MAX_WAITING_BATCHES = 8;

/**
 * Handles events of an `EventStore` as `EventLog.consume` promises: partitions by lease, an even share of them with
 * the other consumers, sessions side by side, and within a session one after another, whatever failed before.
 */
export class EventReader implements EventConsumer {
  readonly #store: EventStore;
  readonly #leases: Leases;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #options: Required<Omit<ConsumeOptions, 'isOutage' | 'onDead' | 'onError'>> &
    Pick<ConsumeOptions, 'isOutage' | 'onDead' | 'onError'>;
  readonly #partitions = new Map<number, Partition>();
  readonly #outage: OutageGate;
  readonly #leavings = new Set<Promise<void>>();
  readonly #tending: Promise<void>;
  readonly #reading: Promise<void>;
  /** Handlers at work, over all partitions. */
  #running = 0;
  #stopping = false;
  #stopped = false;
  #disposing: Promise<void> | undefined;
  /** Ends the wait of the read loop when the partitions to read from have changed. */
  #read = new AbortController();
  /** Resolves when the read under way has come back and what it brought is in its line. */
  #readEnds: Promise<void> = Promise.resolve();
  #wakeTending: (() => void) | undefined;

  constructor(deps: {
    store: EventStore;
    leases: Leases;
    logger: Logger;
    clock: Clock;
    options: ConsumeOptions;
  }) {
    this.#store = deps.store;
    this.#leases = deps.leases;
    this.#logger = deps.logger;
    this.#clock = deps.clock;
    const { claimAfterMs = 30_000, maxDeliveries = 5, leaseMs = 15_000, batch = 64 } = deps.options;
    this.#options = { ...deps.options, claimAfterMs, maxDeliveries, leaseMs, batch };
    this.#outage = new OutageGate({
      clock: deps.clock,
      logger: deps.logger,
      pauses: { firstMs: Math.min(100, claimAfterMs), maxMs: Math.min(5000, claimAfterMs) },
      onOpen: () => this.#advanceAll(),
    });
    this.#tending = this.#tend();
    this.#reading = this.#readAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    this.#stopping = true;
    this.#read.abort();
    const left = this.#store.leave(this.#options.consumer).catch((error: unknown) => this.#report(error));
    await this.#reading;
    for (const partition of this.#partitions.values()) this.#leave(partition);
    // Leases are renewed until the last handler has ended.
    while (this.#leavings.size > 0) await Promise.all(this.#leavings);
    this.#stopped = true;
    this.#outage.close();
    this.#wakeTending?.();
    await this.#tending;
    await left;
  }

  // --- Partitions ---

  async #tend(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#tendOnce();
      } catch (error) {
        this.#report(error);
      }
      for (const partition of this.#partitions.values()) {
        if (this.#clock.monotonic() >= partition.leaseEndsAt) this.#lose(partition);
      }
      if (!this.#stopped) await this.#untilWoken(this.#options.leaseMs / 3);
    }
  }

  async #tendOnce(): Promise<void> {
    const { consumer, leaseMs } = this.#options;
    for (const partition of this.#partitions.values()) {
      const at = this.#clock.monotonic();
      if (partition.lost) continue;
      if (await this.#leases.acquire(leaseName(partition.number), consumer, leaseMs)) {
        partition.leaseEndsAt = at + leaseMs;
      } else if (this.#partitions.get(partition.number) === partition) {
        this.#lose(partition);
      }
    }
    if (this.#stopping) return;

    const living = await this.#store.join(consumer, leaseMs);
    const share = Math.ceil(this.#store.partitions / Math.max(1, living));
    let held = 0;
    for (const partition of this.#partitions.values()) {
      if (partition.leaving || partition.lost) continue;
      held++;
      if (held > share) this.#leave(partition);
    }
    for (let number = 0; number < this.#store.partitions && held < share; number++) {
      if (this.#stopping) return;
      if (this.#partitions.has(number)) continue;
      const at = this.#clock.monotonic();
      if (!(await this.#leases.acquire(leaseName(number), consumer, leaseMs))) continue;
      held++;
      this.#partitions.set(number, {
        number,
        leaseEndsAt: at + leaseMs,
        lines: new Map(),
        ids: new Set(),
        ready: [],
        running: 0,
        loaded: false,
        leaving: false,
        lost: false,
        sweepAt: 0,
        onIdle: undefined,
      });
    }
    for (const partition of [...this.#partitions.values()]) {
      if (this.#stopping) return;
      if (partition.lost || partition.leaving || this.#clock.monotonic() < partition.sweepAt) continue;
      await this.#sweep(partition);
    }
  }

  /** Finds what is pending and not ours yet: left by a consumer that died, or by ourselves in an earlier life. */
  async #sweep(partition: Partition): Promise<void> {
    const { leaseMs, claimAfterMs: usual } = this.#options;
    // What a holder before us had in hand when its lease ended is nobody's now.
    const claimAfterMs = partition.loaded ? usual : Math.min(leaseMs, usual);
    const pending = await this.#store.pending(partition.number, partition.loaded ? claimAfterMs : 0);
    for (const { id, sessionId, idleMs } of pending) {
      if (partition.lost || partition.ids.has(id)) continue;
      const entry: Entry = { id, body: undefined, delivery: 0, claimAfterMs };
      partition.ids.add(id);
      const line = partition.lines.get(sessionId);
      if (!line) {
        const begun: Line = { sessionId, entries: [entry], retry: undefined };
        partition.lines.set(sessionId, begun);
        this.#retryIn(partition, begun, claimAfterMs - idleMs);
        continue;
      }
      // The first may be in the hands of a handler: only what waits behind it is put in order.
      const later = line.entries.findIndex((other, i) => i > 0 && compareEventIds(other.id, id) > 0);
      line.entries.splice(later === -1 ? line.entries.length : later, 0, entry);
    }
    if (!partition.loaded) {
      partition.loaded = true;
      this.#read.abort();
    }
    await this.#store.trim(partition.number);
    partition.sweepAt = this.#clock.monotonic() + usual;
  }

  #leave(partition: Partition): void {
    if (partition.leaving || partition.lost) return;
    partition.leaving = true;
    this.#read.abort();
    for (const line of partition.lines.values()) line.retry?.cancel();
    const left = this.#handBack(partition).finally(() => this.#leavings.delete(left));
    this.#leavings.add(left);
  }

  async #handBack(partition: Partition): Promise<void> {
    // A read that began before may still bring something: the next holder would be ahead of it.
    await this.#readEnds;
    await this.#idle(partition);
    if (partition.lost) return;
    // From here on it is neither renewed nor taken again before the lease has been given back.
    partition.lost = true;
    try {
      await Promise.all([
        this.#store.trim(partition.number),
        this.#leases.release(leaseName(partition.number), this.#options.consumer),
      ]);
    } catch (error) {
      this.#report(error);
    } finally {
      this.#partitions.delete(partition.number);
    }
  }

  #lose(partition: Partition): void {
    if (partition.lost) return;
    this.#logger.warn(
      { partition: partition.number },
      'the lease of an event partition was lost to another process',
    );
    partition.lost = true;
    partition.ready.length = 0;
    for (const line of partition.lines.values()) line.retry?.cancel();
    this.#read.abort();
    const left = this.#idle(partition).finally(() => {
      this.#partitions.delete(partition.number);
      this.#leavings.delete(left);
    });
    this.#leavings.add(left);
  }

  /** Resolves when nothing of the partition runs or is about to. */
  #idle(partition: Partition): Promise<void> {
    return new Promise((resolve) => {
      const earlier = partition.onIdle;
      partition.onIdle = () => {
        earlier?.();
        resolve();
      };
      this.#advance(partition);
    });
  }

  #untilWoken(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        timer.cancel();
        this.#wakeTending = undefined;
        resolve();
      };
      const timer = this.#clock.setTimeout(wake, ms);
      this.#wakeTending = wake;
    });
  }

  // --- Reading ---

  async #readAll(): Promise<void> {
    for (let failures = 0; !this.#stopping;) {
      this.#read = new AbortController();
      const { signal } = this.#read;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#readEnds = promise;
      const limit = this.#options.batch;
      const partitions = [...this.#partitions.values()]
        .filter((p) => p.loaded && !p.leaving && !p.lost && p.ids.size < limit * MAX_WAITING_BATCHES)
        .map((p) => p.number);
      try {
        if (partitions.length === 0) {
          await aborted(signal);
          continue;
        }
        const { consumer } = this.#options;
        const events = await this.#store.read({ partitions, consumer, limit, signal });
        failures = 0;
        for (const event of events) this.#accept(event);
        for (const partition of this.#partitions.values()) this.#advance(partition);
      } catch (error) {
        this.#report(error);
        const timer = this.#clock.setTimeout(
          () => this.#read.abort(),
          backoffMs(failures++, { firstMs: 100, maxMs: 2000 }),
        );
        await aborted(signal);
        timer.cancel();
      } finally {
        resolve();
      }
    }
  }

  #accept({ partition: number, id, sessionId, body }: StoredEvent): void {
    const partition = this.#partitions.get(number);
    // Lost meanwhile: it stays pending, and the one who holds the partition finds it.
    if (!partition || partition.lost || partition.ids.has(id)) return;
    const entry: Entry = { id, body, delivery: 1, claimAfterMs: this.#options.claimAfterMs };
    partition.ids.add(id);
    const line = partition.lines.get(sessionId);
    if (line) {
      line.entries.push(entry);
      return;
    }
    const begun: Line = { sessionId, entries: [entry], retry: undefined };
    partition.lines.set(sessionId, begun);
    partition.ready.push(begun);
  }

  // --- Handling ---

  #advance(partition: Partition): void {
    // What waits for storage stays pending: whoever holds the partition next finds it.
    if (this.#outage.isShut && partition.leaving) partition.ready.length = 0;
    while (this.#mayBegin(partition)) {
      const line = partition.ready.shift();
      if (!line) break;
      partition.running++;
      this.#running++;
      void this.#handleFirst(partition, line);
    }
    if (partition.running === 0 && partition.ready.length === 0) partition.onIdle?.();
  }

  #advanceAll(): void {
    for (const partition of this.#partitions.values()) this.#advance(partition);
  }

  #mayBegin(partition: Partition): boolean {
    return partition.running < this.#options.batch && this.#outage.mayTry(this.#running);
  }

  async #handleFirst(partition: Partition, line: Line): Promise<void> {
    const entry = line.entries[0]!;
    let result: Handled;
    try {
      result = await this.#handle(partition, line.sessionId, entry);
    } catch (error) {
      this.#report(error);
      entry.body = undefined;
      result = { retryInMs: this.#options.claimAfterMs };
    }
    partition.running--;
    this.#running--;
    if (result === 'done') {
      const full = partition.ids.size >= this.#options.batch * MAX_WAITING_BATCHES;
      line.entries.shift();
      partition.ids.delete(entry.id);
      if (full) this.#read.abort();
      if (line.entries.length === 0) partition.lines.delete(line.sessionId);
      else if (!partition.lost) partition.ready.push(line);
    } else if (result === 'outage') {
      if (!partition.lost) partition.ready.push(line);
    } else {
      this.#retryIn(partition, line, result.retryInMs);
    }
    if (this.#outage.isShut) this.#advanceAll();
    else this.#advance(partition);
  }

  async #handle(partition: Partition, sessionId: string, entry: Entry): Promise<Handled> {
    const { consumer, claimAfterMs, maxDeliveries, handle } = this.#options;
    if (entry.body === undefined) {
      const claimed = await this.#store.claim(partition.number, consumer, entry.id, entry.claimAfterMs);
      if (claimed === null) return 'done';
      if ('idleMs' in claimed) return { retryInMs: entry.claimAfterMs - claimed.idleMs };
      entry.claimAfterMs = claimAfterMs;
      entry.body = claimed.body;
      entry.delivery = claimed.delivery;
      entry.uncounted = false;
    }
    const stored: StoredEvent = { partition: partition.number, id: entry.id, sessionId, body: entry.body };
    const event = parseEvent(entry.body);
    if (typeof event === 'string') return this.#bury(stored, event);
    if (entry.delivery > maxDeliveries)
      return this.#bury(stored, 'every consumer that received the event stopped');
    try {
      await handle(event, entry.delivery);
    } catch (error) {
      this.#report(error);
      if (this.#options.isOutage?.(error)) {
        this.#outage.failed();
        await this.#uncount(partition, entry);
        return 'outage';
      }
      this.#outage.reached();
      if (entry.delivery >= maxDeliveries) {
        return this.#bury(stored, error instanceof Error ? error.message : String(error));
      }
      entry.body = undefined;
      return { retryInMs: claimAfterMs };
    }
    this.#outage.reached();
    await this.#untilDone(partition, () => this.#store.acknowledge(partition.number, entry.id));
    return 'done';
  }

  async #bury(event: StoredEvent, reason: string): Promise<'done'> {
    await this.#store.bury(event, reason);
    this.#options.onDead?.(parseLetter(event.body), reason);
    return 'done';
  }

  /** A process that dies before storage is back leaves the event with the deliveries that counted. */
  async #uncount(partition: Partition, entry: Entry): Promise<void> {
    if (entry.uncounted) return;
    const { consumer } = this.#options;
    try {
      await this.#store.countDeliveries(partition.number, consumer, entry.id, entry.delivery - 1);
      entry.uncounted = true;
    } catch (error) {
      this.#report(error);
    }
  }

  /** What is handled should not be handled again just because the store is away for a while. */
  async #untilDone(partition: Partition, work: () => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        this.#report(error);
        if (this.#stopping || partition.leaving || partition.lost) return;
      }
      await new Promise<void>((resolve) => {
        this.#clock.setTimeout(resolve, backoffMs(attempt, { firstMs: 100, maxMs: 2000 }));
      });
    }
  }

  #retryIn(partition: Partition, line: Line, ms: number): void {
    if (partition.leaving || partition.lost) return;
    line.retry = this.#clock.setTimeout(
      () => {
        line.retry = undefined;
        partition.ready.push(line);
        this.#advance(partition);
      },
      Math.max(0, ms),
    );
  }

  #report(error: unknown): void {
    this.#logger.warn(
      { err: error, consumer: this.#options.consumer },
      'call events cannot be processed and are waiting',
    );
    this.#options.onError?.(error);
  }
}

function leaseName(partition: number): string {
  return `events:${partition}`;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
