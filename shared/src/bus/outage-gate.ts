import { backoffMs } from '../async/backoff.ts';
import type { Logger } from '../logging/logger.ts';
import type { Clock, Timer } from '../time/clock.ts';

/** Lets one try at a time through, with growing pauses, from the first that could not reach storage to the next that did. */
export class OutageGate {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #pauses: { firstMs: number; maxMs: number };
  readonly #onOpen: () => void;
  #shut = false;
  #failures = 0;
  /** Runs until the next try. */
  #pause: Timer | undefined;

  /** @param deps.onOpen told whenever something may be tried again */
  constructor(deps: {
    clock: Clock;
    logger: Logger;
    pauses: { firstMs: number; maxMs: number };
    onOpen: () => void;
  }) {
    this.#pauses = deps.pauses;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#onOpen = deps.onOpen;
  }

  get isShut(): boolean {
    return this.#shut;
  }

  /** @param running how many tries are under way */
  mayTry(running: number): boolean {
    return !this.#shut || (running === 0 && !this.#pause);
  }

  /** A try could not reach storage. */
  failed(): void {
    if (!this.#shut) this.#logger.warn('the database cannot be reached: call events are waiting');
    this.#shut = true;
    // Several were under way when it began: they share one pause.
    this.#pause ??= this.#clock.setTimeout(
      () => {
        this.#pause = undefined;
        this.#onOpen();
      },
      backoffMs(this.#failures++, this.#pauses),
    );
  }

  /** A try reached storage. */
  reached(): void {
    if (!this.#shut) return;
    this.#logger.info('the database can be reached again: call events are processed');
    this.close();
    this.#shut = false;
    this.#failures = 0;
    this.#onOpen();
  }

  /** Starts no try any more. */
  close(): void {
    this.#pause?.cancel();
    this.#pause = undefined;
  }
}
