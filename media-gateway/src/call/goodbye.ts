import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';

/** A goodbye that could not be heard by then is not waited for. */
const LIMIT_MS = 30_000;

/** The end that waits until the agent has said what it has to say. */
export class Goodbye {
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #clock: CallClock;
  readonly #end: (reason: CallEndReason) => void;
  #goodbye: { reason: CallEndReason; since: number } | undefined;

  constructor(deps: {
    phase: PhaseOfCall;
    speech: AgentSpeech;
    clock: CallClock;
    end: (reason: CallEndReason) => void;
  }) {
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#clock = deps.clock;
    this.#end = deps.end;
  }

  /** Ends the call when what is being said was heard; a message is said first. The first reason holds. */
  say(reason: CallEndReason, message: string | undefined): void {
    const answer = this.#phase.on('goodbye');
    if (answer === 'end') this.#end(reason);
    if (answer !== 'say') return;
    this.#goodbye = { reason, since: this.#clock.monotonic() };
    this.#speech.protect();
    const { current } = this.#speech;
    // The model said goodbye itself, or is about to: another goodbye on top would be one too many.
    if (current && (this.#speech.audible || current.hasWords || message === undefined)) return;
    if (message !== undefined) this.#speech.say(message, 'goodbye', { interruptible: false });
    else queueMicrotask(() => this.#end(reason));
  }

  /** As `say`, instead of what is being said, unless that is a goodbye. */
  sayAtOnce(reason: CallEndReason, message: string): void {
    if (this.#phase.answerTo('goodbye') === 'say') this.#speech.cancel();
    this.say(reason, message);
  }

  /** It was heard, or cannot be said. */
  finish(): void {
    if (this.#goodbye) this.#end(this.#goodbye.reason);
  }

  /** Time passes: nothing is left to be heard, or it takes too long. */
  tick(now: number): void {
    if (!this.#goodbye || this.#phase.on('goodbye_check') !== 'check') return;
    if (!this.#speech.current || now - this.#goodbye.since >= LIMIT_MS) this.finish();
  }
}
