import type { Readable } from 'node:stream';
import type { LiveEvent } from '@parley/shared/contracts/live-events';
import { AppError } from '@parley/shared/errors/app-error';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { textStream } from '../exports/text-stream.ts';
import type { LiveReader, LiveTopic } from './live-feed.ts';

/** Between two comments, by which both sides and all between them know that the connection stands. */
export const COMMENT_MS = 15_000;
/** How often it is looked whether the reader may still read. */
export const CHECK_MS = 5000;
/** How long a reader has for what was sent before the end. */
const LAST_WORDS_MS = 1000;
/** Events that wait for a slow reader; one that needs more is closed. */
export const MAX_WAITING = 1000;
/** Beyond so many waiting ones, what is not stored is dropped. */
const MAX_BEFORE_PASSING = 50;
const MAX_BATCH = 50;
/** Ids of events that were sent, by which a second telling is known. */
const MAX_REMEMBERED = 4000;
/** When a client that was cut off tries again. */
const RETRY_MS = 2000;

/** An event as it is sent. */
export interface LiveItem {
  /** Where a client that was cut off goes on; null of what is not stored. */
  id: string | null;
  data: object;
}

/** What a stream is made from. */
export interface LiveSource {
  readonly topic: LiveTopic;
  /** What is stored and not told yet, in pages: asked at the beginning, and when something may have been missed. */
  stored(): AsyncIterable<readonly LiveItem[]>;
  /** It begins. @returns what is to be done at its end */
  opened?(): () => void;
  /** @returns null for what this reader is not told */
  item(event: LiveEvent, sessionId: string): Promise<LiveItem | null>;
}

/** One client that follows events: a body that goes on until the client leaves, may no longer read, or is too slow. */
export class LiveStream implements LiveReader {
  readonly body: Readable;
  readonly #source: LiveSource;
  readonly #clock: Clock;
  readonly #mayRead: () => Promise<void>;
  readonly #sent = new Set<string>();
  #waiting: { event: LiveEvent; sessionId: string }[] = [];
  #isBehind = true;
  #isOver = false;
  #wake: (() => void) | undefined;
  #timer: Timer | undefined;

  /** @param deps.mayRead throws an `AppError` once the client may not */
  constructor(deps: {
    source: LiveSource;
    clock: Clock;
    mayRead: () => Promise<void>;
    signal: AbortSignal;
    onClosed: () => void;
  }) {
    this.#source = deps.source;
    this.#clock = deps.clock;
    this.#mayRead = deps.mayRead;
    // First of all: a generator that waits cannot be ended.
    deps.signal.addEventListener('abort', () => this.#end(), { once: true });
    this.body = textStream(this.#texts(), deps.signal);
    this.body.once('close', () => {
      this.#timer?.cancel();
      this.#end();
      deps.onClosed();
    });
    this.#checkLater();
  }

  entry(event: LiveEvent, sessionId: string): void {
    if (this.#isOver) return;
    if (event.index === null && this.#waiting.length >= MAX_BEFORE_PASSING) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#end();
      this.body.destroy();
      return;
    }
    this.#waiting.push({ event, sessionId });
    this.#wake?.();
  }

  missed(): void {
    this.#isBehind = true;
    this.#wake?.();
  }

  /** Ends the answer: the client may come back, here or elsewhere. */
  close(): void {
    if (this.#isOver) return;
    this.#end();
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimeout(() => this.body.destroy(), LAST_WORDS_MS);
  }

  #end(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#wake?.();
  }

  #checkLater(): void {
    this.#timer = this.#clock.setTimeout(() => void this.#check(), CHECK_MS);
  }

  async #check(): Promise<void> {
    try {
      await this.#mayRead();
    } catch (error) {
      // What cannot be looked up at present says nothing.
      if (error instanceof AppError && error.status < 500 && error.status !== 429) this.close();
    }
    if (!this.#isOver) this.#checkLater();
  }

  async *#texts(): AsyncGenerator<string> {
    yield `retry: ${RETRY_MS}\n\n`;
    while (!this.#isOver) {
      if (this.#isBehind) {
        this.#isBehind = false;
        for await (const page of this.#source.stored()) {
          if (this.#isOver) return;
          yield page.map((item) => this.#text(item)).join('');
        }
        continue;
      }
      const batch = this.#waiting.splice(0, MAX_BATCH);
      if (batch.length === 0) {
        if (!(await this.#something())) yield ':\n\n';
        continue;
      }
      let text = '';
      for (const { event, sessionId } of batch) {
        const item = await this.#source.item(event, sessionId);
        if (item) text += this.#text(item);
      }
      if (this.#isOver) return;
      yield text;
    }
  }

  /** @returns false when nothing has come for a while */
  #something(): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (came: boolean) => {
        this.#wake = undefined;
        timer.cancel();
        resolve(came);
      };
      const timer = this.#clock.setTimeout(() => settle(false), COMMENT_MS);
      this.#wake = () => settle(true);
    });
  }

  /** As server-sent events have it; nothing for what was sent before. */
  #text({ id, data }: LiveItem): string {
    const text = `data: ${JSON.stringify(data)}\n\n`;
    if (id === null) return text;
    if (this.#sent.has(id)) return '';
    this.#sent.add(id);
    if (this.#sent.size > MAX_REMEMBERED) {
      const [oldest] = this.#sent;
      this.#sent.delete(oldest!);
    }
    return `id: ${id}\n${text}`;
  }
}
