import { z } from 'zod';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { TranscriptBuilder } from './listen-turns.ts';
import type { ListenTurns } from './listen-turns.ts';
import type { SttListener, SttTranscript } from './stt-provider.ts';

const turnInfoSchema = z.object({
  event: z.string(),
  turn_index: z.number(),
  audio_window_start: z.number(),
  audio_window_end: z.number(),
  transcript: z.string(),
  words: z
    .array(
      z.object({
        word: z.string(),
        confidence: z.number().default(1),
        start: z.number().optional(),
        end: z.number().optional(),
      }),
    )
    .default([]),
  languages: z.array(z.string()).optional(),
});
type TurnInfo = z.output<typeof turnInfoSchema>;

/** An `Update` comes every 250 ms of audio: after this, what was said before `finalize` has been told. */
const FINALIZE_ANSWER_MS = 300;

/** Turns of Deepgram's `/v2/listen` (Flux), which decides them itself. */
export class FluxTurns implements ListenTurns {
  readonly #listener: SttListener;
  readonly #clock: Clock;
  readonly #canForce: boolean;
  /** Of this turn, told on a connection that was lost. */
  readonly #before = new TranscriptBuilder();
  #turnIndex = -1;
  #open = false;
  #eager = false;
  #current: SttTranscript | undefined;
  /** Words of the current turn that were told as a turn of their own, because `finalize` asked for it. */
  #taken = 0;
  #words = 0;
  #turnStartMs = 0;
  #heardMs = 0;
  #finalizeTimer: Timer | undefined;

  /** @param canForce `ForceEndTurn` is enabled for the account; elsewhere it is answered with an error */
  constructor(listener: SttListener, clock: Clock, canForce: boolean) {
    this.#listener = listener;
    this.#clock = clock;
    this.#canForce = canForce;
  }

  get open(): boolean {
    return this.#open;
  }

  restart(earliestMs: number): number {
    const whole = !this.#open || this.#turnStartMs >= earliestMs;
    const fromMs = Math.max(earliestMs, this.#open && whole ? this.#turnStartMs : this.#heardMs);
    // The beginning of the turn cannot be sent again, so its words are kept and the rest is asked for anew.
    if (!whole && this.#current) this.#before.add(this.#current);
    if (this.#eager) this.#listener.onTurnResumed?.();
    this.#eager = false;
    this.#open = !this.#before.isEmpty;
    this.#current = undefined;
    this.#turnIndex = -1;
    this.#taken = 0;
    return fromMs;
  }

  read(message: unknown, offsetMs: number): void {
    if ((message as { type?: unknown }).type !== 'TurnInfo' || this.#isNothingNew(message, offsetMs)) return;
    const info = turnInfoSchema.parse(message);
    if (info.turn_index !== this.#turnIndex) {
      this.#turnIndex = info.turn_index;
      this.#taken = 0;
    }
    this.#heardMs = Math.max(this.#heardMs, offsetMs + info.audio_window_end * 1000);
    const transcript = this.#toTranscript(info, offsetMs);
    switch (info.event) {
      case 'StartOfTurn':
        this.#start(offsetMs + (info.words[0]?.start ?? info.audio_window_start) * 1000);
        this.#interim(transcript);
        break;
      case 'Update':
        this.#interim(transcript);
        break;
      case 'EagerEndOfTurn':
        this.#current = transcript;
        if (!this.#listener.onEagerTurnEnd || transcript.text === '') break;
        this.#eager = true;
        this.#listener.onEagerTurnEnd(this.#before.with(transcript));
        break;
      case 'TurnResumed':
        this.#resume();
        this.#interim(transcript);
        break;
      case 'EndOfTurn':
        this.#eager = false;
        this.#open = false;
        this.#current = transcript;
        this.#endTurn();
        break;
    }
  }

  /** Most updates come in silence and say nothing: they are spared the schema. */
  #isNothingNew(message: unknown, offsetMs: number): boolean {
    const { event, turn_index, transcript, audio_window_end } = message as Partial<TurnInfo>;
    if (event !== 'Update' || transcript !== '' || turn_index !== this.#turnIndex) return false;
    if (this.#open || typeof audio_window_end !== 'number') return false;
    this.#words = 0;
    this.#heardMs = Math.max(this.#heardMs, offsetMs + audio_window_end * 1000);
    return true;
  }

  finalize(send: (message: object) => void): void {
    if (this.#finalizeTimer) return;
    if (this.#canForce && this.#open) send({ type: 'ForceEndTurn' });
    this.#finalizeTimer = this.#clock.setTimeout(() => {
      // Flux goes on with this turn; only what comes after these words is new.
      this.#taken = this.#words;
      this.#endTurn();
    }, FINALIZE_ANSWER_MS);
  }

  dispose(): void {
    this.#finalizeTimer?.cancel();
  }

  #start(atMs: number): void {
    if (this.#open) return;
    this.#open = true;
    this.#turnStartMs = Math.max(0, atMs);
    this.#listener.onSpeechStarted(Math.max(0, Math.round(atMs)));
  }

  #resume(): void {
    if (!this.#eager) return;
    this.#eager = false;
    this.#listener.onTurnResumed?.();
  }

  #interim(transcript: SttTranscript): void {
    // Between turns updates go on without text; within one, many repeat the text.
    if (transcript.text === '' || transcript.text === this.#current?.text) return;
    if (!this.#open) this.#start(transcript.endMs ?? this.#heardMs);
    this.#current = transcript;
    this.#listener.onInterim(this.#before.with(transcript));
  }

  #endTurn(): void {
    const asked = this.#finalizeTimer !== undefined;
    this.#finalizeTimer?.cancel();
    this.#finalizeTimer = undefined;
    const transcript = this.#before.with(this.#current);
    this.#before.clear();
    this.#current = undefined;
    this.#open = false;
    this.#eager = false;
    if (transcript.text !== '' || asked) this.#listener.onTurnEnd(transcript);
  }

  #toTranscript(info: TurnInfo, offsetMs: number): SttTranscript {
    this.#words = info.words.length;
    const words = info.words.slice(this.#taken);
    const last = words.at(-1);
    return {
      text: this.#taken === 0 ? info.transcript.trim() : words.map(({ word }) => word).join(' '),
      confidence:
        words.length === 0 ? undefined : words.reduce((sum, one) => sum + one.confidence, 0) / words.length,
      endMs: last?.end === undefined ? undefined : offsetMs + last.end * 1000,
      language: info.languages?.[0],
      words: words.flatMap(({ word, start, end }) =>
        start === undefined || end === undefined
          ? []
          : [{ text: word, startMs: offsetMs + start * 1000, endMs: offsetMs + end * 1000 }],
      ),
    };
  }
}
