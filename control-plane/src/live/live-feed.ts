import type { Bus } from '@parley/shared/bus/bus';
import { parseLiveEvent, type LiveEntry, type LiveEvent } from '@parley/shared/contracts/live-events';
import { UnavailableError } from '@parley/shared/errors/app-error';

/** Whose events: one session's, or those of all sessions of a project. */
export type LiveTopic = { sessionId: string } | { projectId: string };

export interface LiveReader {
  /** Must neither throw nor wait. */
  entry(event: LiveEvent, sessionId: string): void;
  /** Something may have been lost: what is stored is to be read again. */
  missed(): void;
}

/** The live events of all sessions, read once for all who follow some of them in this process, and only while somebody does. */
export class LiveFeed implements AsyncDisposable {
  readonly #live: Bus['live'];
  readonly #readers = new Map<string, Set<LiveReader>>();
  #subscription: Promise<AsyncDisposable> | undefined;

  constructor({ bus }: { bus: Pick<Bus, 'live'> }) {
    this.#live = bus.live;
  }

  /**
   * Nothing that is published after it resolves is missed.
   * @returns ends it
   * @throws UnavailableError when the bus can't be reached
   */
  async follow(topic: LiveTopic, reader: LiveReader): Promise<() => void> {
    const key = 'sessionId' in topic ? topic.sessionId : topic.projectId;
    const readers = this.#readers.get(key) ?? new Set();
    this.#readers.set(key, readers.add(reader));
    const stop = () => {
      readers.delete(reader);
      if (readers.size === 0 && this.#readers.get(key) === readers) this.#readers.delete(key);
      if (this.#readers.size === 0) void this.#unsubscribe();
    };
    try {
      await (this.#subscription ??= this.#subscribe());
    } catch (cause) {
      this.#subscription = undefined;
      stop();
      throw new UnavailableError('Live events cannot be read at present. Retry in a few seconds.', { cause });
    }
    return stop;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#readers.clear();
    await this.#unsubscribe();
  }

  #subscribe(): Promise<AsyncDisposable> {
    const subscription: Promise<AsyncDisposable> = this.#live.subscribe({
      entry: (entry) => {
        // One that is being closed may still deliver.
        if (this.#subscription === subscription) this.#deliver(entry);
      },
      missed: () => {
        for (const readers of this.#readers.values()) for (const reader of readers) reader.missed();
      },
    });
    return subscription;
  }

  async #unsubscribe(): Promise<void> {
    const subscription = this.#subscription;
    this.#subscription = undefined;
    await (await subscription?.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  #deliver({ session_id: sessionId, project_id: projectId, event: text }: LiveEntry): void {
    const ofSession = this.#readers.get(sessionId);
    const ofProject = this.#readers.get(projectId);
    if (!ofSession && !ofProject) return;
    const event = parseLiveEvent(text);
    if (!event) return;
    for (const readers of [ofSession, ofProject])
      for (const reader of readers ?? []) reader.entry(event, sessionId);
  }
}
