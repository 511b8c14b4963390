import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';

/** How long a goodbye may take before the call ends without it. */
const LIMIT_MS = 30_000;

/** Ends a call after the agent's last utterance. */
export class Goodbye {
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #clock: CallClock;
  readonly #end: (reason: CallEndReason) => void;
  #goodbye: { reason: CallEndReason; until: number } | undefined;

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

  /**
   * Ends the call once the present utterance, or else the message, was heard. A later reason does not replace the
   * first.
   * @param limitMs how long it may take
   */
  say(reason: CallEndReason, message: string | undefined, limitMs = LIMIT_MS): void {
    const answer = this.#phase.on('goodbye');
    if (answer === 'end') this.#end(reason);
    if (answer !== 'say') return;
    this.#goodbye = { reason, until: this.#clock.monotonic() + limitMs };
    this.#speech.protect();
    const { current } = this.#speech;
    // The model has said goodbye itself, or is about to: the message would be a second goodbye.
    if (current && (this.#speech.audible || current.hasWords || message === undefined)) return;
    if (message !== undefined) this.#speech.say(message, 'goodbye', { interruptible: false });
    else queueMicrotask(() => this.#end(reason));
  }

  /** As `say`, but the message replaces the present utterance, unless that is a goodbye. */
  sayAtOnce(reason: CallEndReason, message: string): void {
    if (this.#phase.answerTo('goodbye') === 'say') this.#speech.cancel();
    this.say(reason, message);
  }

  /** Ends the call: the goodbye was heard, or cannot be said. */
  finish(): void {
    if (this.#goodbye) this.#end(this.#goodbye.reason);
  }

  /** Ends the call when nothing is left to be heard, or the goodbye takes too long. */
  tick(now: number): void {
    if (!this.#goodbye || this.#phase.on('goodbye_check') !== 'check') return;
    if (!this.#speech.current || now >= this.#goodbye.until) this.finish();
  }
}
