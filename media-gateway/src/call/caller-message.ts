import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallerWords } from '../turns/caller-turns.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { Transcript } from './transcript.ts';

/** So much silence ends a message. */
const SILENCE_MS = 3000;
const LIMIT_MS = 120_000;
const TAKEN: CallEndReason = { ended_by: 'agent', hangup_reason: 'voicemail' };

/** Takes a message of a caller whom nobody can speak to: all they say is one turn, and then the call ends. */
export class CallerMessage {
  readonly #phase: PhaseOfCall;
  readonly #clock: CallClock;
  readonly #speech: AgentSpeech;
  readonly #hearing: { readonly lastSpeechAt: number };
  readonly #transcript: Transcript;
  readonly #variables: Record<string, string>;
  readonly #emit: Emit;
  readonly #end: (reason: CallEndReason) => void;
  /** When the caller was asked for it, monotonic ms. */
  #since: number | undefined;
  readonly #said: CallerWords[] = [];

  constructor(deps: {
    phase: PhaseOfCall;
    clock: CallClock;
    speech: AgentSpeech;
    hearing: { readonly lastSpeechAt: number };
    transcript: Transcript;
    /** Those of the call itself, not a copy: `outcome` is set. */
    variables: Record<string, string>;
    emit: Emit;
    end: (reason: CallEndReason) => void;
  }) {
    this.#phase = deps.phase;
    this.#clock = deps.clock;
    this.#speech = deps.speech;
    this.#hearing = deps.hearing;
    this.#transcript = deps.transcript;
    this.#variables = deps.variables;
    this.#emit = deps.emit;
    this.#end = deps.end;
  }

  /** Asks for a message, and listens. @param request what is said before; undefined: nothing */
  async begin(request: string | undefined): Promise<void> {
    if (this.#phase.on('message_wanted') !== 'take') return;
    if (request !== undefined) await this.#speech.say(request, 'say', { interruptible: false }).done;
    if (this.#phase.phase === 'taking_message') this.#since = this.#clock.monotonic();
  }

  /** Takes words of the caller. @returns whether they belong to a message */
  take(words: CallerWords): boolean {
    if (this.#since === undefined) return false;
    this.#said.push(words);
    return true;
  }

  /** Ends the call when the caller is silent, or has said enough. */
  tick(now: number): void {
    if (this.#since === undefined) return;
    const silentSince = Math.max(this.#since, this.#hearing.lastSpeechAt);
    if (now - silentSince >= SILENCE_MS || now - this.#since >= LIMIT_MS) this.#end(TAKEN);
  }

  /** The call is over: what was said is written down. */
  close(): void {
    const since = this.#since;
    this.#since = undefined;
    if (since === undefined) return;
    const heardMs = Math.max(0, Math.round(this.#hearing.lastSpeechAt - since));
    const [first] = this.#said;
    if (heardMs === 0 && !first) return;
    const last = this.#said.at(-1);
    if (first && last) {
      const text = this.#said.map((words) => words.text).join(' ');
      this.#transcript.callerTurn({ ...last, text, startMs: first.startMs });
    }
    this.#variables['outcome'] = 'voicemail';
    this.#emit('voicemail', {
      ...(first ? { turn_index: this.#transcript.lastCallerTurn } : {}),
      duration_ms: heardMs,
    });
  }
}
