import type { PhaseOfCall } from './call-phase.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';

/** How many texts may wait; further ones are refused. */
const MAX_WAITING = 8;

/** What the agent is to say as soon as nobody has the floor: texts, in order, then what tools have brought since. */
export class WaitingTexts {
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #turns: CallerTurns;
  readonly #tools: { readonly news: boolean };
  readonly #mustListen: () => boolean;
  readonly #texts: string[] = [];
  #urgent: (() => string) | undefined;

  constructor(deps: {
    phase: PhaseOfCall;
    speech: AgentSpeech;
    turns: CallerTurns;
    tools: { readonly news: boolean };
    /** The agent listens to who has answered, and says nothing of its own accord. */
    mustListen: () => boolean;
  }) {
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#turns = deps.turns;
    this.#tools = deps.tools;
    this.#mustListen = deps.mustListen;
  }

  /** @returns false when too many wait */
  add(text: string): boolean {
    if (this.#texts.length >= MAX_WAITING) return false;
    this.#texts.push(text);
    this.sayNext();
    return true;
  }

  /** Says a text before all others. @param text is made when it is said, since that may be a while from now */
  addUrgent(text: () => string): void {
    this.#urgent = text;
    this.sayNext();
  }

  /** Says the next one, unless somebody has the floor: the agent, or a caller whose words await an answer. */
  sayNext(): void {
    // Where the far end decides when the agent speaks, results wait for its next request.
    const news = this.#tools.news && this.#turns.expected;
    if ((this.#texts.length === 0 && !this.#urgent && !news) || this.#phase.on('waiting_text') !== 'say')
      return;
    if (this.#speech.busy || this.#turns.openText !== '' || this.#mustListen()) return;
    const text = this.#urgent?.() ?? this.#texts.shift();
    this.#urgent = undefined;
    if (text === undefined) this.#speech.answer();
    else this.#speech.say(text, 'say', { interruptible: true });
  }
}
