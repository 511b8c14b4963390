import type { Clock, Timer } from '@parley/shared/time/clock';

/** How long a line may be silent before it is pinged. */
const PING_AFTER_MS = 4000;
/** How long a far end may send nothing, not even a pong, before it counts as gone. */
const LOST_AFTER_MS = 12_000;

/** Watches a line for signs of life: pings it while it is silent, and finds that it is lost. */
export class LineWatch {
  readonly #clock: Clock;
  readonly #ping: () => void;
  readonly #onLost: () => void;
  // A number from the beginning: a field that was ever undefined takes a new object for each time it is set.
  #lastSignAt = -1;
  #timer: Timer | undefined;

  /** @param deps `onLost` is called once, and nothing after it */
  constructor(deps: { clock: Clock; ping: () => void; onLost: () => void }) {
    this.#clock = deps.clock;
    this.#ping = deps.ping;
    this.#onLost = deps.onLost;
    this.#lastSignAt = deps.clock.monotonic();
  }

  /** Watches from now on, until it is closed. */
  start(): void {
    this.#lookAfter(PING_AFTER_MS);
  }

  /** Notes that something was received, if only a pong. */
  sign(): void {
    this.#lastSignAt = this.#clock.monotonic();
  }

  close(): void {
    this.#timer?.cancel();
  }

  #lookAfter(ms: number): void {
    this.#timer = this.#clock.setTimeout(() => this.#look(), ms);
  }

  #look(): void {
    const silentMs = this.#clock.monotonic() - this.#lastSignAt;
    if (silentMs >= LOST_AFTER_MS) {
      this.#onLost();
      return;
    }
    const isSilent = silentMs >= PING_AFTER_MS;
    if (isSilent) this.#ping();
    this.#lookAfter(isSilent ? PING_AFTER_MS / 2 : PING_AFTER_MS - silentMs);
  }
}
