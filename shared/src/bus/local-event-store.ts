import { Worker } from 'node:worker_threads';
import { TimeoutError } from '../async/timeout.ts';
import type { CallEvent } from '../contracts/call-events.ts';
import type { Logger } from '../logging/logger.ts';
import type { Clock } from '../time/clock.ts';
import type { LetterStore } from './dead-letters.ts';
import type { EventStore, PendingEvent, StoredEvent } from './event-store.ts';
import { LocalLetters } from './local-letters.ts';
import type {
  LocalLogReply,
  LocalLogRequest,
  LocalLogRow,
  LocalLogWorkerData,
} from './local-event-worker.ts';

interface Waiting {
  request: LocalLogRequest;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

/** Requests that wait for the thread: beyond, new ones are refused. */
const MAX_WAITING = 20_000;
/** A disk that takes longer for one commit counts as gone. */
const REPLY_TIMEOUT_MS = 10_000;

/**
 * The event log in a SQLite file, which a thread of its own reads and writes: a commit waits for the disk, and the
 * loop that plays audio can't. What is asked for while one commit is under way shares the next.
 */
export class LocalEventStore implements EventStore {
  readonly partitions: number;
  readonly letters: LetterStore;
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #waiting: Waiting[] = [];
  /** In the hands of the thread; at first that is opening the file. */
  #sent: Waiting[] | undefined = [];
  #scheduled = false;
  #replyTimer: NodeJS.Timeout | undefined;
  /** Why the thread has ended. */
  #ended: Error | undefined;
  #lastFailed = false;
  #closing: Promise<void> | undefined;
  readonly #exited: Promise<void>;
  #appends = 0;
  readonly #onAppended = new Set<() => void>();
  /** Name of each living consumer and until when. */
  readonly #consumers = new Map<string, number>();

  /** @throws when the file can't be used, or another process uses it */
  static async open(options: {
    path: string;
    partitions: number;
    logger: Logger;
    clock: Clock;
  }): Promise<LocalEventStore> {
    const store = new LocalEventStore(options);
    try {
      await store.ping();
      return store;
    } catch (error) {
      await store.#worker.terminate();
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`The event log ${options.path} cannot be opened: ${reason}`, { cause: error });
    }
  }

  private constructor(options: { path: string; partitions: number; logger: Logger; clock: Clock }) {
    this.partitions = options.partitions;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.letters = new LocalLetters({
      ask: (request) => this.#ask(request),
      onReturned: () => this.#notifyReaders(),
    });
    const workerData: LocalLogWorkerData = { path: options.path, partitions: options.partitions };
    this.#worker = new Worker(new URL('local-event-worker.ts', import.meta.url), {
      name: 'event-log',
      workerData,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#worker.on('message', (reply: LocalLogReply) => this.#onReply(reply));
    this.#worker.on('error', (error: Error) => this.#onEnd(error));
    this.#exited = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.#onEnd(new Error('The thread of the event log has ended.'));
        resolve();
      });
    });
    this.#watchReply();
  }

  healthy(): boolean {
    return !this.#ended && !this.#lastFailed && !this.#closing;
  }

  async ping(): Promise<void> {
    await this.#ask({ type: 'ping' });
  }

  async append(events: readonly CallEvent[]): Promise<void> {
    if (events.length === 0) return;
    await this.#ask({
      type: 'append',
      events: events.map((event) => ({ sessionId: event.session_id, body: JSON.stringify(event) })),
    });
    this.#notifyReaders();
  }

  async read(options: {
    partitions: readonly number[];
    limit: number;
    signal: AbortSignal;
  }): Promise<StoredEvent[]> {
    const { partitions, limit, signal } = options;
    while (!signal.aborted) {
      const seen = this.#appends;
      const rows = (await this.#ask({
        type: 'read',
        partitions,
        limit,
        now: this.#clock.now(),
      })) as LocalLogRow[];
      if (rows.length > 0) {
        return rows.map(({ partition, seq, session, body }) => ({
          partition,
          id: String(seq),
          sessionId: session,
          body,
        }));
      }
      if (seen === this.#appends) await this.#untilAppended(signal);
    }
    return [];
  }

  async pending(partition: number, minIdleMs: number): Promise<PendingEvent[]> {
    const now = this.#clock.now();
    const rows = (await this.#ask({ type: 'pending', partition, idleSince: now - minIdleMs })) as {
      seq: number;
      session: string;
      taken_at: number;
    }[];
    return rows.map((row) => ({ id: String(row.seq), sessionId: row.session, idleMs: now - row.taken_at }));
  }

  async claim(
    _partition: number,
    _consumer: string,
    id: string,
    minIdleMs: number,
  ): Promise<{ body: string; delivery: number } | { idleMs: number } | null> {
    const now = this.#clock.now();
    const claimed = (await this.#ask({ type: 'claim', seq: Number(id), idleSince: now - minIdleMs, now })) as
      { body: string; delivery: number } | { takenAt: number } | null;
    return claimed && 'takenAt' in claimed ? { idleMs: now - claimed.takenAt } : claimed;
  }

  async countDeliveries(
    _partition: number,
    _consumer: string,
    id: string,
    deliveries: number,
  ): Promise<void> {
    await this.#ask({ type: 'count', seq: Number(id), deliveries });
  }

  async acknowledge(_partition: number, id: string): Promise<void> {
    await this.#ask({ type: 'acknowledge', seq: Number(id) });
  }

  async bury(event: StoredEvent, reason: string): Promise<void> {
    const { id, body } = event;
    await this.#ask({ type: 'bury', seq: Number(id), body, reason, now: this.#clock.now() });
  }

  async trim(): Promise<void> {
    // Acknowledging has already deleted it.
  }

  join(consumer: string, ttlMs: number): Promise<number> {
    const now = this.#clock.now();
    this.#consumers.set(consumer, now + ttlMs);
    for (const [name, until] of this.#consumers) if (until <= now) this.#consumers.delete(name);
    return Promise.resolve(this.#consumers.size);
  }

  leave(consumer: string): Promise<void> {
    this.#consumers.delete(consumer);
    return Promise.resolve();
  }

  /** Commits what was asked for until now and closes the file. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const last = this.#ask({ type: 'ping' }, true).catch(() => undefined);
    await last;
    this.#worker.postMessage('close');
    const timer = setTimeout(() => void this.#worker.terminate(), REPLY_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  #ask(request: LocalLogRequest, closing = false): Promise<unknown> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (this.#closing && !closing) return Promise.reject(new Error('The event log is closed.'));
    if (this.#waiting.length >= MAX_WAITING)
      return Promise.reject(new Error('The event log is overloaded: too many writes are waiting.'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#sent || this.#waiting.length === 0) return;
    this.#scheduled = true;
    // After all callbacks of this turn, so that what they ask for shares a commit.
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#ended) return;
      this.#sent = this.#waiting;
      this.#waiting = [];
      this.#worker.postMessage(this.#sent.map(({ request }) => request));
      this.#watchReply();
    });
  }

  #watchReply(): void {
    this.#replyTimer = setTimeout(() => {
      const error = new TimeoutError('The event log', REPLY_TIMEOUT_MS);
      this.#lastFailed = true;
      this.#logger.error({ waiting: this.#waiting.length }, 'the event log does not respond');
      // The thread may still do what it was sent; its answer then finds nobody waiting.
      for (const { reject } of [...this.#sent!.splice(0), ...this.#waiting.splice(0)]) reject(error);
    }, REPLY_TIMEOUT_MS);
  }

  #onReply(reply: LocalLogReply): void {
    clearTimeout(this.#replyTimer);
    const sent = this.#sent ?? [];
    this.#sent = undefined;
    const hadFailed = this.#lastFailed;
    this.#lastFailed = 'error' in reply;
    // Once for each outage: a full disk fails every request.
    if ('error' in reply && !hadFailed)
      this.#logger.error({ reason: reply.error }, 'the event log could not be written');
    if (!this.#lastFailed && hadFailed) this.#logger.warn('the event log can be written again');
    if ('error' in reply) {
      for (const { reject } of sent) reject(new Error(`The event log failed: ${reply.error}`));
    } else {
      sent.forEach(({ resolve }, i) => resolve(reply.results[i]));
    }
    this.#schedule();
  }

  #onEnd(error: Error): void {
    if (this.#ended) return;
    this.#ended = error;
    clearTimeout(this.#replyTimer);
    if (!this.#closing) this.#logger.error({ err: error }, 'the thread of the event log has ended');
    for (const { reject } of [...(this.#sent ?? []), ...this.#waiting.splice(0)]) reject(error);
    this.#sent = undefined;
    for (const wake of [...this.#onAppended]) wake();
  }

  #notifyReaders(): void {
    this.#appends++;
    for (const wake of [...this.#onAppended]) wake();
  }

  #untilAppended(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#onAppended.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#onAppended.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
