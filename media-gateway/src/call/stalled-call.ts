import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CallTiming } from './call-timing.ts';
import type { CallTools } from './call-tools.ts';
import type { Dialogue } from './dialogue.ts';
import type { Failures } from './failures.ts';
import type { CallSigns, Recovery, WatchedCall } from './watchdog.ts';

/** Reads of the parts of a call who is due to act, and gets them on again. */
export class StalledCall implements WatchedCall {
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #turns: CallerTurns;
  readonly #tools: CallTools;
  readonly #dialogue: Dialogue;
  readonly #timing: CallTiming;
  readonly #carrier: { giveUp(): void };
  readonly #failures: Failures;

  constructor(deps: {
    phase: PhaseOfCall;
    speech: AgentSpeech;
    turns: CallerTurns;
    tools: CallTools;
    dialogue: Dialogue;
    timing: CallTiming;
    /** Waits for carriers. */
    carrier: { giveUp(): void };
    failures: Failures;
  }) {
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#turns = deps.turns;
    this.#tools = deps.tools;
    this.#dialogue = deps.dialogue;
    this.#timing = deps.timing;
    this.#carrier = deps.carrier;
    this.#failures = deps.failures;
  }

  signs(): CallSigns {
    const toolRuns = this.#tools.busy;
    const agent = this.#speech.activity;
    return {
      phase: this.#phase.phase,
      agent,
      prepared: agent === 'idle' && this.#speech.busy && !toolRuns,
      progress: this.#speech.progress,
      toolRuns,
      words: this.#turns.openText,
      sound: this.#turns.speaking,
      unanswered: this.#dialogue.unansweredTurn,
      expected: this.#turns.expected,
    };
  }

  recover(recovery: Recovery): void {
    switch (recovery) {
      case 'resume':
        this.#speech.resume();
        break;
      case 'close_turn':
        this.#speech.discardPrepared();
        this.#turns.closeTurn();
        break;
      case 'answer_again':
        this.#speech.answer({ note: 'Nothing was said to the caller yet. Answer now.' });
        break;
      case 'give_up_tool':
        this.#tools.giveUp();
        break;
      case 'count_silence':
        this.#timing.ignoreSound();
        break;
      case 'go_on':
        this.#speech.cancel();
        break;
      case 'fail_transfer':
        this.#carrier.giveUp();
        break;
      case 'say_goodbye':
        this.#failures.giveUp();
        break;
      case 'end':
        this.#failures.end();
        break;
    }
  }
}
