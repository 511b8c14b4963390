import { callEventSchema, type CallEvent } from '../contracts/call-events.ts';

/** An event as the log keeps it. */
export interface StoredEvent {
  partition: number;
  /** Rises within a partition: one whole number, or two joined by `-`. */
  id: string;
  sessionId: string;
  /** JSON of the event, as it was appended. */
  body: string;
}

/** Given to a consumer and not acknowledged yet. */
export interface PendingEvent {
  id: string;
  sessionId: string;
  /** Since it was last given to a consumer. */
  idleMs: number;
}

/** Where an `EventReader` finds events and what it tells about them: one group of consumers, without any order. */
export interface EventStore {
  readonly partitions: number;
  /**
   * Events nobody was given yet, oldest first within a partition; waits for some when there are none. They are
   * pending from now on.
   * @returns an empty array when `signal` aborts or the store's own waiting time is over
   */
  read(options: {
    partitions: readonly number[];
    consumer: string;
    limit: number;
    signal: AbortSignal;
  }): Promise<StoredEvent[]>;
  /** All pending events of a partition that were idle for `minIdleMs`, whoever was given them, oldest first. */
  pending(partition: number, minIdleMs: number): Promise<PendingEvent[]>;
  /**
   * Takes a pending event that was idle for `minIdleMs` and counts one more delivery.
   * @returns null when it is pending no more, `idleMs` when it was not idle for long enough
   */
  claim(
    partition: number,
    consumer: string,
    id: string,
    minIdleMs: number,
  ): Promise<{ body: string; delivery: number } | { idleMs: number } | null>;
  /** Says how often a pending event was delivered: a delivery that came to nothing through no fault of it is taken back. */
  countDeliveries(partition: number, consumer: string, id: string, deliveries: number): Promise<void>;
  acknowledge(partition: number, id: string): Promise<void>;
  /** Moves an event to the dead letters and acknowledges it. */
  bury(event: StoredEvent, reason: string): Promise<void>;
  /** Frees what is acknowledged, where acknowledging does not. */
  trim(partition: number): Promise<void>;
  /** Counts `consumer` among the living for `ttlMs`. @returns how many live now */
  join(consumer: string, ttlMs: number): Promise<number>;
  leave(consumer: string): Promise<void>;
}

/** Order of ids within a partition. */
export function compareEventIds(a: string, b: string): number {
  const [aHigh = 0, aLow = 0] = a.split('-').map(Number);
  const [bHigh = 0, bLow = 0] = b.split('-').map(Number);
  return aHigh - bHigh || aLow - bLow;
}

/** @returns why it is not an event, when it is none */
export function parseEvent(body: string): CallEvent | string {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    return 'malformed: not JSON';
  }
  const result = callEventSchema.safeParse(json);
  if (result.success) return result.data;
  const where = result.error.issues.map((issue) => issue.path.join('.') || 'event');
  return `malformed: ${[...new Set(where)].join(', ')}`;
}
