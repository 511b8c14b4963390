import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { Clock, Timer } from '@parley/shared/time/clock';

/** Collects the caller's keys into entries. The terminator, a pause, or the longest length ends an entry. */
export class DtmfCollector {
  #config: AgentConfig['dtmf'];
  readonly #clock: Clock;
  readonly #onEntry: (digits: string) => void;
  #digits = '';
  #timer: Timer | undefined;

  constructor(config: AgentConfig['dtmf'], clock: Clock, onEntry: (digits: string) => void) {
    this.#config = config;
    this.#clock = clock;
    this.#onEntry = onEntry;
  }

  /** From now on another agent's settings hold. An entry that was begun goes on. */
  configure(config: AgentConfig['dtmf']): void {
    this.#config = config;
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

  /** Drops the keys of an unfinished entry. */
  close(): void {
    this.#timer?.cancel();
    this.#digits = '';
  }

  #finish(digits: string): void {
    this.#digits = '';
    this.#onEntry(digits);
  }
}
