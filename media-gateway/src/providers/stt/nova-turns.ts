import { z } from 'zod';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { TranscriptBuilder } from './listen-turns.ts';
import type { ListenTurns } from './listen-turns.ts';
import type { SttListener, SttTranscript, SttWord } from './stt-provider.ts';

const wordSchema = z.object({
  word: z.string(),
  punctuated_word: z.string().optional(),
  start: z.number(),
  end: z.number(),
});
const resultsSchema = z.object({
  start: z.number(),
  duration: z.number(),
  is_final: z.boolean().default(false),
  speech_final: z.boolean().default(false),
  from_finalize: z.boolean().default(false),
  channel: z.object({
    alternatives: z
      .array(
        z.object({
          transcript: z.string(),
          confidence: z.number().default(0),
          words: z.array(wordSchema).default([]),
          languages: z.array(z.string()).optional(),
        }),
      )
      .default([]),
  }),
});
const utteranceEndSchema = z.object({ last_word_end: z.number() });
const speechStartedSchema = z.object({ timestamp: z.number() });

/** `Finalize` is usually answered within 250 ms, and not at all when little audio was buffered. */
const FINALIZE_ANSWER_MS = 400;
/** Times of one word differ by this much from result to result. */
const WORD_TOLERANCE_MS = 20;

interface Piece extends SttTranscript {
  words: readonly SttWord[];
}

/**
 * Turns of Deepgram's `/v1/listen`: the concatenation of all finals up to `speech_final`, `UtteranceEnd` or the
 * answer to `Finalize`, whichever comes first. Each of the three may be missing.
 */
export class NovaTurns implements ListenTurns {
  readonly #listener: SttListener;
  readonly #clock: Clock;
  readonly #said = new TranscriptBuilder();
  #interim: Piece | undefined;
  #speechTold = false;
  #turnStartMs = 0;
  /** Finals reach up to here. */
  #settledMs = 0;
  /** Words up to here were told from an interim: their final must not tell them again. */
  #consumedMs = 0;
  #finalizeTimer: Timer | undefined;

  constructor(listener: SttListener, clock: Clock) {
    this.#listener = listener;
    this.#clock = clock;
  }

  get open(): boolean {
    return this.#speechTold || this.#interim !== undefined || !this.#said.isEmpty;
  }

  restart(earliestMs: number): number {
    const fromMs = Math.max(earliestMs, this.#settledMs);
    if (this.#interim && fromMs > this.#settledMs) {
      // These words are in audio that cannot be sent again.
      const lost = this.#interim.words.filter(({ endMs }) => endMs <= fromMs);
      this.#said.add({ ...this.#interim, text: join(lost), endMs: lost.at(-1)?.endMs, words: lost });
    }
    this.#interim = undefined;
    this.#settledMs = fromMs;
    return fromMs;
  }

  read(message: unknown, offsetMs: number): void {
    switch ((message as { type?: unknown }).type) {
      case 'Results':
        this.#onResults(resultsSchema.parse(message), offsetMs);
        break;
      case 'SpeechStarted':
        this.#onSpeech(speechStartedSchema.parse(message).timestamp * 1000 + offsetMs);
        break;
      case 'UtteranceEnd': {
        const lastWordEndMs = utteranceEndSchema.parse(message).last_word_end * 1000 + offsetMs;
        // It may come late, when the next turn has already begun.
        if (this.open && lastWordEndMs > this.#turnStartMs) this.#endTurn();
        break;
      }
      default:
        // `Metadata`, and whatever they add.
        break;
    }
  }

  finalize(send: (message: object) => void): void {
    if (this.#finalizeTimer) return;
    send({ type: 'Finalize' });
    this.#finalizeTimer = this.#clock.setTimeout(() => this.#endTurn(), FINALIZE_ANSWER_MS);
  }

  dispose(): void {
    this.#finalizeTimer?.cancel();
  }

  #onResults(results: z.output<typeof resultsSchema>, offsetMs: number): void {
    const piece = this.#toPiece(results, offsetMs);
    if (piece.text !== '') this.#onSpeech(piece.words[0]?.startMs ?? offsetMs + results.start * 1000);
    if (!results.is_final && !results.speech_final) {
      // An interim without words takes nothing back: what was heard comes again, or the final decides.
      if (piece.text === '') return;
      this.#interim = piece;
      this.#listener.onInterim(this.#said.with(piece));
      return;
    }
    this.#interim = undefined;
    this.#said.add(piece);
    this.#settledMs = Math.max(this.#settledMs, offsetMs + (results.start + results.duration) * 1000);
    if (results.speech_final || results.from_finalize) {
      if (!this.#said.isEmpty || (results.from_finalize && this.#finalizeTimer)) this.#endTurn();
      else this.#speechTold = false;
    } else if (piece.text !== '') {
      this.#listener.onInterim(this.#said.with(undefined));
    }
  }

  #toPiece(results: z.output<typeof resultsSchema>, offsetMs: number): Piece {
    const alternative = results.channel.alternatives[0];
    if (!alternative) return { text: '', confidence: 0, endMs: undefined, language: undefined, words: [] };
    let words = alternative.words.map((word) => ({
      text: word.punctuated_word ?? word.word,
      startMs: offsetMs + word.start * 1000,
      endMs: offsetMs + word.end * 1000,
    }));
    let text = alternative.transcript.trim();
    if (this.#consumedMs > offsetMs + results.start * 1000) {
      words = words.filter(({ endMs }) => endMs > this.#consumedMs + WORD_TOLERANCE_MS);
      text = join(words);
    }
    const { confidence, languages } = alternative;
    return { text, confidence, endMs: words.at(-1)?.endMs, language: languages?.[0], words };
  }

  #onSpeech(atMs: number): void {
    if (this.#speechTold) return;
    this.#speechTold = true;
    this.#turnStartMs = Math.max(0, atMs);
    this.#listener.onSpeechStarted(Math.max(0, Math.round(atMs)));
  }

  /** Tells all that is known, the words of an interim included, which are then not told again. */
  #endTurn(): void {
    const asked = this.#finalizeTimer !== undefined;
    this.#finalizeTimer?.cancel();
    this.#finalizeTimer = undefined;
    const transcript = this.#said.with(this.#interim);
    if (this.#interim) {
      this.#consumedMs = this.#interim.endMs ?? this.#consumedMs;
      this.#settledMs = Math.max(this.#settledMs, this.#consumedMs);
    }
    this.#interim = undefined;
    this.#said.clear();
    this.#speechTold = false;
    if (transcript.text !== '' || asked) this.#listener.onTurnEnd(transcript);
  }
}

function join(words: readonly SttWord[]): string {
  return words.map(({ text }) => text).join(' ');
}
