import type { PeriodicTask } from './periodic-task.ts';

/**
 * Lanes of work beside each other. A lane takes one piece of work at a time, and rests while it finds none: what another
 * lane does may leave it something.
 */
export class WorkLanes {
  #task: PeriodicTask | undefined;
  #wake = Promise.withResolvers<void>();
  #busy = 0;

  /** The task that runs the lanes, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  /** There is something new. */
  wake(): void {
    this.#wakeAll();
    void this.#task?.runNow();
  }

  /**
   * Works until no lane finds anything to do, or `signal` aborts.
   * @param lanes each does one piece of work, and says whether there was one
   */
  async run(lanes: readonly (() => Promise<boolean>)[], signal: AbortSignal): Promise<void> {
    const onStop = (): void => this.#wake.resolve();
    signal.addEventListener('abort', onStop);
    try {
      await Promise.all(lanes.map((step) => this.#lane(step, signal)));
    } finally {
      signal.removeEventListener('abort', onStop);
    }
  }

  async #lane(step: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const woken = this.#wake.promise;
      this.#busy++;
      const found = await step().finally(() => this.#busy--);
      if (found) this.#wakeAll();
      else if (this.#busy === 0) return this.#wakeAll();
      else await woken;
    }
  }

  #wakeAll(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
