import type { GatewayCommand } from '../contracts/commands.ts';
import type { LiveEntry } from '../contracts/live-events.ts';
import type { Clock } from '../time/clock.ts';
import type {
  CommandBus,
  GatewayBeat,
  Leases,
  LiveListener,
  LiveLog,
  Pace,
  PacedSlots,
  Presence,
  RateCounter,
  Refusal,
  Slots,
  Wakeup,
} from './bus.ts';
import {
  CALL_TTL_MS,
  COMMANDS_TTL_MS,
  GATEWAY_TTL_MS,
  MAX_COMMANDS,
  PACE_CATCH_UP_MS,
} from './bus-limits.ts';

/** Values that end by themselves. */
class ExpiringMap<T> {
  readonly #clock: Clock;
  readonly #entries = new Map<string, { value: T; until: number }>();
  #sweepAt = 1000;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    this.#sweep();
    return this.#entries.size;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    return entry && entry.until > this.#clock.now() ? entry.value : undefined;
  }

  set(key: string, value: T, ttlMs: number): void {
    this.#entries.set(key, { value, until: this.#clock.now() + ttlMs });
    // Amortised: what has ended is forgotten whenever the map has doubled.
    if (this.#entries.size < this.#sweepAt) return;
    this.#sweep();
    this.#sweepAt = Math.max(1000, this.#entries.size * 2);
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** When the first of them ends, ms since the epoch. */
  get firstEnd(): number {
    this.#sweep();
    let first = Infinity;
    for (const { until } of this.#entries.values()) first = Math.min(first, until);
    return first;
  }

  values(): T[] {
    this.#sweep();
    return [...this.#entries.values()].map((entry) => entry.value);
  }

  #sweep(): void {
    const now = this.#clock.now();
    for (const [key, { until }] of this.#entries) if (until <= now) this.#entries.delete(key);
  }
}

export class LocalLeases implements Leases {
  readonly #owners: ExpiringMap<string>;

  constructor(clock: Clock) {
    this.#owners = new ExpiringMap(clock);
  }

  acquire(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const holder = this.#owners.get(name);
    if (holder !== undefined && holder !== owner) return Promise.resolve(false);
    this.#owners.set(name, owner, ttlMs);
    return Promise.resolve(true);
  }

  release(name: string, owner: string): Promise<void> {
    if (this.#owners.get(name) === owner) this.#owners.delete(name);
    return Promise.resolve();
  }
}

export class LocalSlots implements Slots {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, ExpiringMap<true>>();
  /** When the next turn of each pace is, ms since the epoch. */
  readonly #turns: ExpiringMap<number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#turns = new ExpiringMap(clock);
  }

  take(
    sessionId: string,
    buckets: readonly { bucket: string; limit: number }[],
    ttlMs: number,
  ): Promise<string | null> {
    const full = this.#full(sessionId, buckets);
    if (full !== null) return Promise.resolve(full);
    this.#fill(sessionId, buckets, ttlMs);
    return Promise.resolve(null);
  }

  takeAtPace(sessionId: string, { slots, paces }: PacedSlots, ttlMs: number): Promise<Refusal | null> {
    const now = this.#clock.now();
    const full = this.#full(sessionId, slots);
    if (full !== null) {
      const end = this.#buckets.get(full)?.firstEnd ?? Infinity;
      return Promise.resolve({ by: full, kind: 'slot', inMs: end === Infinity ? null : end - now });
    }
    for (const { scope } of paces) {
      const next = this.#turns.get(scope) ?? now;
      if (next > now) return Promise.resolve({ by: scope, kind: 'pace', inMs: next - now });
    }
    this.#fill(sessionId, slots, ttlMs);
    for (const pace of paces) this.#takeTurn(pace, now);
    return Promise.resolve(null);
  }

  #takeTurn({ scope, perSecond }: Pace, now: number): void {
    const due = Math.max(this.#turns.get(scope) ?? now, now - PACE_CATCH_UP_MS);
    const next = due + 1000 / perSecond;
    this.#turns.set(scope, next, next - now + PACE_CATCH_UP_MS);
  }

  #full(sessionId: string, buckets: readonly { bucket: string; limit: number }[]): string | null {
    for (const { bucket, limit } of buckets) {
      const taken = this.#buckets.get(bucket);
      const used = taken?.size ?? 0;
      if (used >= limit && !taken?.get(sessionId)) return bucket;
    }
    return null;
  }

  #fill(sessionId: string, buckets: readonly { bucket: string }[], ttlMs: number): void {
    for (const { bucket } of buckets) {
      let taken = this.#buckets.get(bucket);
      if (!taken) this.#buckets.set(bucket, (taken = new ExpiringMap(this.#clock)));
      taken.set(sessionId, true, ttlMs);
    }
  }

  renew(sessionId: string, buckets: readonly string[], ttlMs: number): Promise<void> {
    for (const bucket of buckets) {
      const taken = this.#buckets.get(bucket);
      if (taken?.get(sessionId)) taken.set(sessionId, true, ttlMs);
    }
    return Promise.resolve();
  }

  release(sessionId: string, buckets: readonly string[]): Promise<void> {
    for (const bucket of buckets) {
      const taken = this.#buckets.get(bucket);
      taken?.delete(sessionId);
      if (taken?.size === 0) this.#buckets.delete(bucket);
    }
    return Promise.resolve();
  }

  count(bucket: string): Promise<number> {
    return Promise.resolve(this.#buckets.get(bucket)?.size ?? 0);
  }
}

export class LocalRates implements RateCounter {
  readonly #clock: Clock;
  readonly #counts: ExpiringMap<number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#counts = new ExpiringMap(clock);
  }

  hit(bucket: string, windowSeconds: number, cost = 1): Promise<{ count: number; resetAt: number }> {
    const now = this.#clock.now();
    const windowMs = windowSeconds * 1000;
    const resetAt = (Math.floor(now / windowMs) + 1) * windowMs;
    const key = `${windowSeconds}:${resetAt}:${bucket}`;
    const count = (this.#counts.get(key) ?? 0) + cost;
    this.#counts.set(key, count, resetAt - now);
    return Promise.resolve({ count, resetAt });
  }
}

export class LocalWakeup implements Wakeup {
  readonly #listeners = new Set<(urgent: boolean) => void>();

  publish(urgent = false): Promise<void> {
    for (const listener of [...this.#listeners]) listener(urgent);
    return Promise.resolve();
  }

  subscribe(listener: (urgent: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

export class LocalLive implements LiveLog {
  readonly #listeners = new Set<LiveListener>();

  append(entries: readonly LiveEntry[]): Promise<void> {
    // Later, so that whoever appends is not in the middle of it.
    for (const listener of this.#listeners)
      setImmediate(() => {
        if (this.#listeners.has(listener)) for (const entry of entries) listener.entry(entry);
      });
    return Promise.resolve();
  }

  subscribe(listener: LiveListener): Promise<AsyncDisposable> {
    this.#listeners.add(listener);
    return Promise.resolve({
      [Symbol.asyncDispose]: () => Promise.resolve(void this.#listeners.delete(listener)),
    });
  }
}

export class LocalPresence implements Presence {
  readonly #gateways: ExpiringMap<GatewayBeat>;
  readonly #calls: ExpiringMap<string>;

  constructor(clock: Clock) {
    this.#gateways = new ExpiringMap(clock);
    this.#calls = new ExpiringMap(clock);
  }

  beat(gateway: GatewayBeat): Promise<void> {
    this.#gateways.set(gateway.gateway_id, { ...gateway }, GATEWAY_TTL_MS);
    return Promise.resolve();
  }

  leave(gatewayId: string): Promise<void> {
    this.#gateways.delete(gatewayId);
    return Promise.resolve();
  }

  gateways(): Promise<GatewayBeat[]> {
    return Promise.resolve(this.#gateways.values().map((gateway) => ({ ...gateway })));
  }

  holdCalls(gatewayId: string, sessionIds: readonly string[]): Promise<void> {
    for (const sessionId of sessionIds) this.#calls.set(sessionId, gatewayId, CALL_TTL_MS);
    return Promise.resolve();
  }

  dropCall(sessionId: string): Promise<void> {
    this.#calls.delete(sessionId);
    return Promise.resolve();
  }

  callHolders(sessionIds: readonly string[]): Promise<(string | null)[]> {
    return Promise.resolve(sessionIds.map((sessionId) => this.#calls.get(sessionId) ?? null));
  }
}

interface CommandStream {
  /** Oldest first, at most `MAX_COMMANDS`. */
  kept: GatewayCommand[];
  /** How many were sent before `kept[0]`. */
  before: number;
  /** Forgotten after this, if nobody listens. */
  until: number;
  listeners: Set<() => void>;
}

export class LocalCommands implements CommandBus {
  readonly #clock: Clock;
  readonly #streams = new Map<string, CommandStream>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  send(gatewayId: string, command: GatewayCommand): Promise<void> {
    const now = this.#clock.now();
    for (const [id, { until, listeners }] of this.#streams) {
      if (until <= now && listeners.size === 0) this.#streams.delete(id);
    }
    const stream = this.#stream(gatewayId);
    stream.until = now + COMMANDS_TTL_MS;
    stream.kept.push(structuredClone(command));
    if (stream.kept.length > MAX_COMMANDS) {
      stream.kept.shift();
      stream.before++;
    }
    for (const wake of stream.listeners) wake();
    return Promise.resolve();
  }

  subscribe(
    gatewayId: string,
    handle: (command: GatewayCommand) => void,
    onError?: (error: unknown) => void,
  ): Promise<{ [Symbol.asyncDispose](): Promise<void> }> {
    const stream = this.#stream(gatewayId);
    let next = stream.before;
    let scheduled = false;
    let stopped = false;
    const deliver = () => {
      scheduled = false;
      next = Math.max(next, stream.before);
      while (!stopped && next < stream.before + stream.kept.length) {
        const command = stream.kept[next++ - stream.before]!;
        try {
          handle(structuredClone(command));
        } catch (error) {
          onError?.(error);
        }
      }
    };
    // Later, so that whoever sends is not in the middle of it.
    const wake = () => {
      if (scheduled) return;
      scheduled = true;
      setImmediate(deliver);
    };
    stream.listeners.add(wake);
    wake();
    return Promise.resolve({
      [Symbol.asyncDispose]() {
        stopped = true;
        stream.listeners.delete(wake);
        return Promise.resolve();
      },
    });
  }

  #stream(gatewayId: string): CommandStream {
    let stream = this.#streams.get(gatewayId);
    if (!stream) {
      stream = {
        kept: [],
        before: 0,
        until: this.#clock.now() + COMMANDS_TTL_MS,
        listeners: new Set(),
      };
      this.#streams.set(gatewayId, stream);
    }
    return stream;
  }
}
