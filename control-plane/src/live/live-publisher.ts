import type { Bus } from '@parley/shared/bus/bus';
import type { LiveEntry, LiveEvent } from '@parley/shared/contracts/live-events';
import type { Logger } from '@parley/shared/logging/logger';

/** Entries that wait for the bus; the oldest go first. */
const MAX_WAITING = 5000;
const MAX_BATCH = 500;

/**
 * Tells those who follow sessions what has been stored. Nobody waits for it: where the bus is away it is lost, and who
 * follows reads what is stored when the bus is back.
 */
export class LivePublisher {
  readonly #live: Bus['live'];
  readonly #logger: Logger;
  #waiting: LiveEntry[] = [];
  #sending = false;
  #failed = false;

  constructor({ bus, logger }: { bus: Pick<Bus, 'live'>; logger: Logger }) {
    this.#live = bus.live;
    this.#logger = logger;
  }

  /** Never throws. */
  publish(of: { session_id: string; project_id: string }, event: LiveEvent): void {
    const { session_id, project_id } = of;
    if (this.#waiting.length >= MAX_WAITING) this.#waiting.shift();
    this.#waiting.push({ session_id, project_id, event: JSON.stringify(event) });
    if (!this.#sending) void this.#sendAll();
  }

  async #sendAll(): Promise<void> {
    this.#sending = true;
    // What comes in the same turn goes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      try {
        await this.#live.append(this.#waiting.splice(0, MAX_BATCH));
        this.#failed = false;
      } catch (error) {
        if (!this.#failed) this.#logger.warn({ err: error }, 'live events cannot be sent');
        this.#failed = true;
      }
    }
    this.#sending = false;
  }
}
