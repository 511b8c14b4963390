import type { PhaseOfCall } from './call-phase.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';

/** How many texts may wait; further ones are refused. */
const MAX_WAITING = 8;

/** Texts that the agent is to say, in order, as soon as nobody has the floor. */
export class WaitingTexts {
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #turns: CallerTurns;
  readonly #texts: string[] = [];

  constructor(deps: { phase: PhaseOfCall; speech: AgentSpeech; turns: CallerTurns }) {
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#turns = deps.turns;
  }

  /** @returns false when too many wait */
  add(text: string): boolean {
    if (this.#texts.length >= MAX_WAITING) return false;
    this.#texts.push(text);
    this.sayNext();
    return true;
  }

  /** Says the next one, unless somebody has the floor: the agent, or a caller whose words await an answer. */
  sayNext(): void {
    if (this.#texts.length === 0 || this.#phase.on('waiting_text') !== 'say') return;
    if (this.#speech.busy || this.#turns.openText !== '') return;
    this.#speech.say(this.#texts.shift()!, 'say', { interruptible: true });
  }
}
