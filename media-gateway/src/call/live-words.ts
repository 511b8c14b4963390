import type { Emit } from '../reporting/call-reporter.ts';
import type { CallClock } from './call-clock.ts';
import type { UnderWay } from './call-report.ts';

/** At most five a second. */
const WORDS_MS = 200;

/** What is being said at this moment, for those who watch the call: told while somebody does, and kept nowhere. */
export class LiveWords {
  readonly #clock: Pick<CallClock, 'now'>;
  readonly #emit: Emit;
  /** Until when somebody watches, ms since the epoch. */
  #until = 0;
  /** Monotonic ms. */
  #dueAt = 0;
  /** As it was told last. */
  readonly #told = { caller: '', agent: '' };

  constructor(deps: { clock: Pick<CallClock, 'now'>; emit: Emit }) {
    this.#clock = deps.clock;
    this.#emit = deps.emit;
  }

  /** Somebody watches, until then at least. @param until ms since the epoch */
  watch(until: number): void {
    this.#until = Math.max(this.#until, until);
  }

  /** Tells what has changed. @param underWay what each side has said of its unfinished turn */
  tick(now: number, underWay: () => UnderWay): void {
    if (this.#until === 0 || now < this.#dueAt) return;
    if (this.#clock.now() >= this.#until) {
      this.#until = 0;
      return;
    }
    const { heard, caller } = underWay();
    // One at a time: the other side's turn is the next.
    if (caller !== this.#told.caller) this.#tell('caller', caller, now);
    else if (heard !== this.#told.agent) this.#tell('agent', heard, now);
  }

  #tell(role: 'caller' | 'agent', text: string, now: number): void {
    this.#dueAt = now + WORDS_MS;
    this.#told[role] = text;
    this.#emit('words', { role, text, final: false });
  }
}
