import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { Clock, Timer } from '@parley/shared/time/clock';

/** Gathers the keys a caller presses into entries: ended by the terminator, by a pause, or by being long enough. */
export class DtmfCollector {
  readonly #config: AgentConfig['dtmf'];
  readonly #clock: Clock;
  readonly #onEntry: (digits: string) => void;
  #digits = '';
  #timer: Timer | undefined;

  constructor(config: AgentConfig['dtmf'], clock: Clock, onEntry: (digits: string) => void) {
    this.#config = config;
    this.#clock = clock;
    this.#onEntry = onEntry;
  }

  press(digit: string): void {
    this.#timer?.cancel();
    if (digit === this.#config.terminator) {
      // The terminator alone is an entry too: "press # to go on".
      this.#finish(this.#digits === '' ? digit : this.#digits);
      return;
    }
    this.#digits += digit;
    if (this.#digits.length >= this.#config.max_digits) this.#finish(this.#digits);
    else
      this.#timer = this.#clock.setTimeout(
        () => this.#finish(this.#digits),
        this.#config.inter_digit_timeout_ms,
      );
  }

  /** Keys of an entry that is not finished are dropped. */
  close(): void {
    this.#timer?.cancel();
    this.#digits = '';
  }

  #finish(digits: string): void {
    this.#digits = '';
    this.#onEntry(digits);
  }
}
