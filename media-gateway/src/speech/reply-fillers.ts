import type { Clock, Timer } from '@parley/shared/time/clock';

/** Has a model word a filler. */
export type WordFiller = (request: {
  said: readonly string[];
  withinMs: number;
  signal: AbortSignal;
}) => Promise<string | undefined>;

/** What is said when nothing is heard of a reply for a while. */
export interface FillerPlan {
  afterMs: number;
  /** In turns; also where no model has worded one in time. */
  messages: readonly string[];
  maxPerTurn: number;
  /**
   * Has a model word one that fits what the caller said; undefined: the messages alone. Never rejects.
   * @param said those that this reply had before
   * @returns undefined when there is none in time
   */
  word?: WordFiller;
}

/** A model has so long to word a filler; it is asked no earlier, since most answers come before. */
const WORDING_MS = 1200;

/** Fills the silence of one reply. */
export class ReplyFillers {
  readonly #plan: FillerPlan | undefined;
  readonly #clock: Clock;
  readonly #isSilent: () => boolean;
  readonly #say: (text: string) => void;
  readonly #said: string[] = [];
  #timer: Timer | undefined;
  #abort: AbortController | undefined;
  #worded: string | undefined;
  #over = false;

  constructor(deps: {
    plan: FillerPlan | undefined;
    clock: Clock;
    /** Whether nothing is heard of the reply, or about to be. */
    isSilent: () => boolean;
    say: (text: string) => void;
  }) {
    this.#plan = deps.plan;
    this.#clock = deps.clock;
    this.#isSilent = deps.isSilent;
    this.#say = deps.say;
  }

  /** Waits from now on. */
  arm(): void {
    const plan = this.#plan;
    this.cancel();
    if (!plan || this.#over || this.#said.length >= plan.maxPerTurn || plan.messages.length === 0) return;
    if (!plan.word) {
      this.#timer = this.#clock.setTimeout(() => this.#fill(plan), plan.afterMs);
      return;
    }
    const withinMs = Math.min(WORDING_MS, plan.afterMs);
    this.#timer = this.#clock.setTimeout(() => {
      if (!this.#isSilent()) return this.arm();
      this.#word(plan, withinMs);
      this.#timer = this.#clock.setTimeout(() => this.#fill(plan), withinMs);
    }, plan.afterMs - withinMs);
  }

  /** Nothing is to be filled: words are on their way. */
  cancel(): void {
    this.#timer?.cancel();
    this.#abort?.abort(new Error('No filler is needed.'));
    this.#abort = undefined;
    this.#worded = undefined;
  }

  /** The reply is whole: nothing is to be filled any more. */
  close(): void {
    this.#over = true;
    this.cancel();
  }

  #word(plan: FillerPlan, withinMs: number): void {
    const abort = (this.#abort = new AbortController());
    void plan.word?.({ said: this.#said, withinMs, signal: abort.signal }).then((text) => {
      if (this.#abort === abort) this.#worded = text;
    });
  }

  #fill({ messages }: FillerPlan): void {
    // Something is heard, or is about to be: from its end on it is silent again.
    if (!this.#isSilent()) return this.arm();
    const text = this.#worded ?? messages[this.#said.length % messages.length]!;
    this.#said.push(text);
    this.#say(text);
    this.arm();
  }
}
