import type { Delay } from '../../server/delays.ts';
import type { Ears, HeardWord } from '../../recogniser/ears.ts';
import type { NovaQuery } from './listen-query.ts';
import type { WireMessage } from './send-queue.ts';

/** Where the messages of a session go: a socket's send queue, or a list for a whole file. */
export interface NovaSink {
  send(message: WireMessage, delay: Delay): void;
  startUtterance(): void;
  readonly withholdsEnd: boolean;
}

export interface NovaTiming {
  /** Audio between two interims. */
  interimEveryMs: number;
  interim: Delay;
  speechStarted: Delay;
  speechFinal: Delay;
  finalize: Delay;
  utteranceEnd: Delay;
  /** Speech without a pause is finalised in parts of about this length. */
  maxSegmentMs: number;
  /** `Finalize` is not answered when less audio than this has come since the last final. */
  finalizeMinMs: number;
}

/** Voicing flickers within words: no pause is called an endpoint before this, however short `endpointing` is. */
const SHORTEST_PAUSE_MS = 60;
/** Interims come about once a second at the vendor's, so a shorter `utterance_end_ms` brings nothing. */
const SHORTEST_WORD_GAP_MS = 1000;
/** Silence is reported in empty finals of this length. */
const EMPTY_SEGMENT_MS = 5000;
/** Without endpointing, speech is finalised after this much silence, with no word of an endpoint. */
const UNENDED_SILENCE_MS = 1000;
/** How long `smart_format` waits for the rest of a number. */
const ENTITY_HOLD_MS = 3000;
const NUMBER_WORD =
  /^(\d.*|zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(thir|four|fif|six|seven|eigh|nine)teen|(twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million)$/;

/** One channel of `/v1/listen`: turns what the ears hear into `Results`, `SpeechStarted` and `UtteranceEnd`. */
export class NovaSession {
  readonly #ears: Ears;
  readonly #query: NovaQuery;
  readonly #timing: NovaTiming;
  readonly #sink: NovaSink;
  readonly #channelIndex: readonly [number, number];
  readonly #metadata: object;
  readonly #endpointMs: number;
  readonly #wordGapMs: number;
  #segmentStartMs = 0;
  #speaking = false;
  #lastInterimMs = 0;
  #utterance = 0;
  /** Words of the utterance that earlier finals have already told. */
  #sentWords = 0;
  #utteranceEndedMs = -1;

  constructor(options: {
    ears: Ears;
    query: NovaQuery;
    timing: NovaTiming;
    sink: NovaSink;
    channel: number;
    /** `metadata` of every result. */
    metadata: object;
  }) {
    this.#ears = options.ears;
    this.#query = options.query;
    this.#timing = options.timing;
    this.#sink = options.sink;
    this.#channelIndex = [options.channel, options.query.channels];
    this.#metadata = options.metadata;
    this.#endpointMs = Math.max(SHORTEST_PAUSE_MS, options.query.endpointingMs ?? Infinity);
    // Word gaps are read off the interims, so without them there are none.
    this.#wordGapMs = options.query.interimResults
      ? Math.max(SHORTEST_WORD_GAP_MS, options.query.utteranceEndMs ?? Infinity)
      : Infinity;
    this.#ears.onTick = () => this.#tick();
  }

  /** Answers `Finalize`. Everything sent before has been heard. */
  finalize(): void {
    if (this.#ears.atMs - this.#segmentStartMs < this.#timing.finalizeMinMs) return;
    const paused = this.#speaking && this.#silenceMs >= this.#endpointMs;
    this.#final({ speechFinal: paused, fromFinalize: true, delay: this.#timing.finalize });
    this.#speaking = false;
  }

  /** Tells what is left before the connection closes. */
  finish(): void {
    if (this.#ears.atMs <= this.#segmentStartMs) return;
    this.#final({ speechFinal: this.#speaking, fromFinalize: false, delay: 0 });
    this.#speaking = false;
  }

  get #silenceMs(): number {
    return this.#ears.atMs - this.#ears.lastVoicedMs;
  }

  #tick(): void {
    const ears = this.#ears;
    const { atMs } = ears;
    if (ears.lastVoicedMs === atMs && !this.#speaking) this.#startSpeech();
    if (this.#speaking) this.#hearSpeech(atMs);
    else if (atMs - this.#segmentStartMs >= EMPTY_SEGMENT_MS) {
      this.#final({ speechFinal: false, fromFinalize: false, delay: this.#timing.speechFinal });
    }
    const { lastWordEndMs } = ears;
    if (lastWordEndMs > this.#utteranceEndedMs && atMs - lastWordEndMs >= this.#wordGapMs) {
      this.#utteranceEndedMs = lastWordEndMs;
      const message = {
        type: 'UtteranceEnd',
        channel: this.#channelIndex,
        last_word_end: seconds(lastWordEndMs),
      };
      this.#sink.send(message, this.#timing.utteranceEnd);
    }
  }

  #startSpeech(): void {
    this.#speaking = true;
    this.#lastInterimMs = this.#ears.onsetMs;
    this.#sink.startUtterance();
    if (!this.#query.vadEvents) return;
    const message = {
      type: 'SpeechStarted',
      channel: this.#channelIndex,
      timestamp: seconds(this.#ears.onsetMs),
    };
    this.#sink.send(message, this.#timing.speechStarted);
  }

  #hearSpeech(atMs: number): void {
    if (this.#silenceMs >= this.#endpointMs && !this.#holdsFinal()) {
      this.#final({ speechFinal: true, fromFinalize: false, delay: this.#timing.speechFinal });
      this.#speaking = false;
      return;
    }
    if (this.#endpointMs === Infinity && this.#silenceMs >= UNENDED_SILENCE_MS) {
      this.#final({ speechFinal: false, fromFinalize: false, delay: this.#timing.speechFinal });
      this.#speaking = false;
      return;
    }
    const segmentMs = atMs - Math.max(this.#segmentStartMs, this.#ears.onsetMs);
    if (segmentMs >= this.#timing.maxSegmentMs && this.#finalPart()) return;
    if (this.#query.interimResults && atMs - this.#lastInterimMs >= this.#timing.interimEveryMs) {
      this.#lastInterimMs = atMs;
      const words = this.#unsentWords();
      this.#results(
        words,
        atMs,
        { isFinal: false, speechFinal: false, fromFinalize: false },
        this.#timing.interim,
      );
    }
  }

  /** `smart_format` holds a final back while the last word is a number that may go on. */
  #holdsFinal(): boolean {
    if (!this.#query.holdsEntities || this.#silenceMs >= ENTITY_HOLD_MS) return false;
    const last = this.#unsentWords().at(-1);
    return last !== undefined && NUMBER_WORD.test(plain(last.text));
  }

  /**
   * Finalises the words so far except the last, which may still change: it comes again in the next segment.
   * @returns false when there is nothing to finalise yet
   */
  #finalPart(): boolean {
    const words = this.#unsentWords().slice(0, -1);
    const last = words.at(-1);
    if (!last || last.endMs <= this.#segmentStartMs) return false;
    const flags = { isFinal: true, speechFinal: false, fromFinalize: false };
    this.#results(words, last.endMs, flags, this.#timing.interim);
    this.#sentWords += words.length;
    this.#segmentStartMs = last.endMs;
    return true;
  }

  #final(options: { speechFinal: boolean; fromFinalize: boolean; delay: Delay }): void {
    const { speechFinal, fromFinalize, delay } = options;
    this.#ears.endUtterance();
    const words = this.#unsentWords();
    const { atMs } = this.#ears;
    const flags = { isFinal: true, speechFinal: speechFinal && !this.#sink.withholdsEnd, fromFinalize };
    this.#results(words, atMs, flags, delay);
    this.#sentWords += words.length;
    this.#segmentStartMs = atMs;
  }

  #unsentWords(): readonly HeardWord[] {
    if (this.#ears.utterance !== this.#utterance) {
      this.#utterance = this.#ears.utterance;
      this.#sentWords = 0;
    }
    return this.#ears.words().slice(this.#sentWords);
  }

  #results(
    words: readonly HeardWord[],
    endMs: number,
    flags: { isFinal: boolean; speechFinal: boolean; fromFinalize: boolean },
    delay: Delay,
  ): void {
    const message = {
      type: 'Results',
      channel_index: this.#channelIndex,
      duration: seconds(endMs - this.#segmentStartMs),
      start: seconds(this.#segmentStartMs),
      is_final: flags.isFinal,
      speech_final: flags.speechFinal,
      from_finalize: flags.fromFinalize,
      channel: { alternatives: [alternative(words, this.#query.punctuate)] },
      metadata: this.#metadata,
    };
    this.#sink.send(message, delay);
  }
}

/** `alternatives[0]` as both the socket and the whole-file answer have it. */
export function alternative(words: readonly HeardWord[], punctuate: boolean) {
  return {
    transcript: words.map(({ text }) => (punctuate ? text : plain(text))).join(' '),
    confidence:
      words.length === 0 ? 0 : round(words.reduce((sum, word) => sum + word.confidence, 0) / words.length),
    words: words.map((word) => ({
      word: plain(word.text),
      start: seconds(word.startMs),
      end: seconds(word.endMs),
      confidence: round(word.confidence),
      ...(punctuate ? { punctuated_word: word.text } : {}),
    })),
  };
}

/** A word without case and punctuation, as transcripts have it unless `punctuate` is asked for. */
function plain(text: string): string {
  const bare = text.toLowerCase().replace(/^[^\p{L}\p{N}$€£]+|[^\p{L}\p{N}%]+$/gu, '');
  return bare === '' ? text : bare;
}

function seconds(ms: number): number {
  return round(ms / 1000);
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
