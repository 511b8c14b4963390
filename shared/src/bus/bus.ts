import type { CallEvent } from '../contracts/call-events.ts';
import type { GatewayCommand } from '../contracts/commands.ts';
import type { LiveEntry } from '../contracts/live-events.ts';

/**
 * What control planes and gateways share besides HTTP. Two implementations pass one suite: Redis
 * (`openRedisBus`) and in-process over a SQLite file (`openLocalBus`).
 */
export interface Bus {
  readonly events: EventLog;
  readonly commands: CommandBus;
  readonly leases: Leases;
  readonly slots: Slots;
  readonly rates: RateCounter;
  readonly presence: Presence;
  readonly dispatch: Wakeup;
  readonly live: LiveLog;
  /** Whether the bus can be reached now; a false lasts until it can. */
  healthy(): boolean;
  /** One round trip. @throws when it does not come back in time */
  ping(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Call events: at-least-once, in order within a session, read by one consumer per partition at a time. */
export interface EventLog {
  /** Resolves once all are accepted by the log, in the order given. @throws when it can't be reached */
  append(events: readonly CallEvent[]): Promise<void>;
  /**
   * Reads as the group `control-plane` under the name `consumer` until disposed of. An event is acknowledged when
   * `handle` resolves; when it throws, the event stays pending and comes again after `claimAfterMs`; after
   * `maxDeliveries` it goes to the dead letters and `onDead` is told. Pending events of a consumer that died are
   * claimed in the same way. Takes turns per partition through leases.
   */
  consume(options: ConsumeOptions): EventConsumer;
  readonly deadLetters: DeadLetters;
}

/** An event that was given up. */
export interface DeadLetter {
  id: string;
  /** As it was appended, or the text it is where that is no JSON. */
  event: unknown;
  reason: string;
  /** When it was given up. */
  at: Date;
}

/** Events that were given up: kept until somebody plays them again, the newest 10,000 of them. */
export interface DeadLetters {
  count(): Promise<number>;
  /** Oldest first, at most `limit`, behind the letter with the id `after`. */
  list(options: { limit: number; after?: string }): Promise<DeadLetter[]>;
  /**
   * Puts a letter back into the log in one step: it is delivered as a new event, once, whoever else replays it.
   * @returns false when it is there no more, or no event and would only be given up again
   */
  replay(letter: DeadLetter): Promise<boolean>;
  remove(id: string): Promise<void>;
}

export interface ConsumeOptions {
  consumer: string;
  handle: (event: CallEvent, delivery: number) => Promise<void>;
  /**
   * Whether an error of `handle` only says that its storage can't be reached. Such a try is no delivery: the event is
   * tried until storage is back, meanwhile one event at a time and with growing pauses. Default: no error says so.
   */
  isOutage?: (error: unknown) => boolean;
  onDead?: (event: unknown, reason: string) => void;
  onError?: (error: unknown) => void;
  /** Default 30,000. What a consumer that died had in hand is taken up sooner: once its lease is over. */
  claimAfterMs?: number;
  /** Default 5. */
  maxDeliveries?: number;
  /** Default 15,000. */
  leaseMs?: number;
  /** Entries taken at once, default 64. Events of different sessions in one batch may be handled side by side; those of one session never. */
  batch?: number;
}

export interface EventConsumer {
  /** Stops reading, waits for what is being handled, gives its leases back. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Control plane to one gateway. */
export interface CommandBus {
  send(gatewayId: string, command: GatewayCommand): Promise<void>;
  /** Delivers every command in order, from the oldest kept. Expired and repeated ones are the handler's to refuse. */
  subscribe(
    gatewayId: string,
    handle: (command: GatewayCommand) => void,
    onError?: (error: unknown) => void,
  ): Promise<{ [Symbol.asyncDispose](): Promise<void> }>;
}

/** Locks that end by themselves. */
export interface Leases {
  /** @returns whether `owner` holds `name` now (renews it when it already did) */
  acquire(name: string, owner: string, ttlMs: number): Promise<boolean>;
  release(name: string, owner: string): Promise<void>;
}

/** Counted slots, each a lease of its own (dials, calls of an org, …). */
export interface Slots {
  /** Takes a slot in every bucket or in none. @returns the first bucket that is full, or null when all were taken */
  take(
    sessionId: string,
    buckets: readonly { bucket: string; limit: number }[],
    ttlMs: number,
  ): Promise<string | null>;
  /**
   * Takes a slot in every bucket and a turn of every pace, or nothing.
   * @returns the first that refused, slots before paces; null when all were taken
   */
  takeAtPace(sessionId: string, wish: PacedSlots, ttlMs: number): Promise<Refusal | null>;
  renew(sessionId: string, buckets: readonly string[], ttlMs: number): Promise<void>;
  release(sessionId: string, buckets: readonly string[]): Promise<void>;
  count(bucket: string): Promise<number>;
}

/**
 * How often something may begin. `perSecond` may be a fraction: 0.1 is once in ten seconds. Turns are that far apart (the
 * generic cell rate algorithm); who comes up to `PACE_CATCH_UP_MS` late loses nothing by it.
 */
export interface Pace {
  scope: string;
  perSecond: number;
}

export interface PacedSlots {
  slots: readonly { bucket: string; limit: number }[];
  paces: readonly Pace[];
}

export interface Refusal {
  /** The bucket or the scope. */
  by: string;
  kind: 'slot' | 'pace';
  /** When it can be free at the latest, if nobody gives a slot back before; null: nobody knows. */
  inMs: number | null;
}

/** Tells every process that there may be something to do. What is told while nobody listens is lost. */
export interface Wakeup {
  /** @param urgent what there is goes before what waits */
  publish(urgent?: boolean): Promise<void>;
  /** @param listener also told when something may have been missed, which may be urgent @returns ends the subscription */
  subscribe(listener: (urgent: boolean) => void): () => void;
}

/** Tells every process that listens what happens in sessions. What is told while nobody listens is lost. */
export interface LiveLog {
  /** Resolves once all are on their way, in the order given. @throws when the bus can't be reached */
  append(entries: readonly LiveEntry[]): Promise<void>;
  /**
   * Delivers all that is appended from now on, in order within a session.
   * @returns once nothing that is appended later is missed @throws when the bus can't be reached
   */
  subscribe(listener: LiveListener): Promise<AsyncDisposable>;
}

export interface LiveListener {
  /** Must not throw. */
  entry(entry: LiveEntry): void;
  /** The bus was away: entries may have been lost. */
  missed(): void;
}

/** Fixed windows: how many in `bucket` in the window that holds `now`. */
export interface RateCounter {
  /** Counts one (or `cost`; 0: only reads) more. @returns the count and when the window ends (ms since the epoch) */
  hit(bucket: string, windowSeconds: number, cost?: number): Promise<{ count: number; resetAt: number }>;
}

export interface GatewayBeat {
  gateway_id: string;
  url: string;
  capacity: number;
  calls: number;
  loop_delay_p99_ms: number;
  draining: boolean;
  version: string;
}

/** Which gateways live, and which gateway holds which call. */
export interface Presence {
  /** Every 5 s; known for 15 s. */
  beat(gateway: GatewayBeat): Promise<void>;
  /** The gateway has stopped on purpose. */
  leave(gatewayId: string): Promise<void>;
  gateways(): Promise<GatewayBeat[]>;
  /** One pipeline for all calls of a gateway, every 10 s; known for 30 s. */
  holdCalls(gatewayId: string, sessionIds: readonly string[]): Promise<void>;
  dropCall(sessionId: string): Promise<void>;
  /** For each session the gateway that holds it, or null. */
  callHolders(sessionIds: readonly string[]): Promise<(string | null)[]>;
}
