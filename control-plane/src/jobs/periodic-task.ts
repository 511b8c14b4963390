import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';

/** Runs one piece of work again and again, never two at a time, until disposed of. A failure is logged and no end. */
export class PeriodicTask {
  readonly #work: (signal: AbortSignal) => Promise<void>;
  readonly #everyMs: number;
  readonly #name: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #again = false;

  constructor(options: {
    name: string;
    everyMs: number;
    work: (signal: AbortSignal) => Promise<void>;
    clock: Clock;
    logger: Logger;
  }) {
    this.#work = options.work;
    this.#everyMs = options.everyMs;
    this.#name = options.name;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#timer = this.#clock.setTimeout(this.#due, this.#everyMs);
  }

  /** Runs soon: now, or right after the run under way. Resolves when that run is over. */
  async runNow(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    if (this.#running) {
      this.#again = true;
      await this.#running;
      return;
    }
    this.#timer?.cancel();
    this.#running = this.#run();
    await this.#running;
  }

  /** Stops; waits for the run under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    await this.#running;
  }

  readonly #due = (): void => {
    void this.runNow();
  };

  async #run(): Promise<void> {
    do {
      this.#again = false;
      try {
        await this.#work(this.#stop.signal);
      } catch (error) {
        if (!this.#stop.signal.aborted) this.#logger.error({ err: error, task: this.#name }, 'task failed');
      }
    } while (this.#again && !this.#stop.signal.aborted);
    this.#running = undefined;
    if (!this.#stop.signal.aborted) this.#timer = this.#clock.setTimeout(this.#due, this.#everyMs);
  }
}
