import type { Clock, Timer } from '@parley/shared/time/clock';
import type { SttTranscript, SttWord } from '../providers/stt/stt-provider.ts';

/** Less audio than this is no utterance. */
const MIN_AUDIO_MS = 100;
/** What the STT has not said by then is not waited for. */
const ANSWER_MS = 3000;

/** An utterance that a far end pushed. */
export interface PushedUtterance {
  text: string;
  /** Of its last piece. */
  confidence: number | undefined;
  language: string | undefined;
  words: readonly SttWord[];
  /** The far end asked for an answer meanwhile: with these options. */
  thenRespond: { textOnly?: boolean } | undefined;
}

/** Audio and words of a caller whose turns the far end commits, since the last commit. */
export class PushToTalk {
  readonly #clock: Clock;
  readonly #finalize: () => void;
  readonly #onUtterance: (utterance: PushedUtterance) => void;
  #audioMs = 0;
  #said: SttTranscript[] = [];
  #interim: SttTranscript | undefined;
  #committing = false;
  #timer: Timer | undefined;
  #thenRespond: { textOnly?: boolean } | undefined;
  /** The STT's next words belong to audio that was cleared. */
  #dropNext = false;

  /** @param deps.finalize asks the STT for the rest of what it heard */
  constructor(deps: {
    clock: Clock;
    finalize: () => void;
    onUtterance: (utterance: PushedUtterance) => void;
  }) {
    this.#clock = deps.clock;
    this.#finalize = deps.finalize;
    this.#onUtterance = deps.onUtterance;
  }

  /** The STT was asked for the rest of an utterance. */
  get committing(): boolean {
    return this.#committing;
  }

  audio(ms: number): void {
    this.#audioMs += ms;
  }

  interim(transcript: SttTranscript): void {
    this.#interim = transcript;
  }

  /** Words that are final. */
  text(transcript: SttTranscript): void {
    if (this.#dropNext) this.#dropNext = false;
    else if (this.#committing) this.#complete(transcript);
    else {
      this.#said.push(transcript);
      this.#interim = undefined;
    }
  }

  /** @returns false when there was too little audio, or a commit is under way */
  commit(): boolean {
    if (this.#audioMs < MIN_AUDIO_MS || this.#committing) return false;
    this.#audioMs = 0;
    this.#committing = true;
    this.#timer = this.#clock.setTimeout(() => this.#complete(undefined), ANSWER_MS);
    this.#finalize();
    return true;
  }

  /** To be answered as soon as the utterance that is being committed is known. */
  respondThen(options: { textOnly?: boolean }): void {
    this.#thenRespond = options;
  }

  /** Forgets what was said since the last commit; what the STT still has of it comes as its answer. */
  clear(): void {
    if (this.#committing) return;
    const unheard = this.#audioMs > 0;
    this.reset();
    if (!unheard) return;
    this.#dropNext = true;
    this.#finalize();
  }

  /** Everything is forgotten, also a commit under way. */
  reset(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#audioMs = 0;
    this.#said = [];
    this.#interim = undefined;
    this.#committing = false;
    this.#thenRespond = undefined;
    this.#dropNext = false;
  }

  /** @param last undefined: the STT did not answer */
  #complete(last: SttTranscript | undefined): void {
    const rest = last && last.text !== '' ? last : this.#interim;
    const pieces = rest ? [...this.#said, rest] : this.#said;
    const thenRespond = this.#thenRespond;
    this.reset();
    this.#onUtterance({
      text: pieces
        .map((piece) => piece.text)
        .join(' ')
        .trim(),
      confidence: pieces.at(-1)?.confidence,
      language: pieces.at(-1)?.language,
      words: pieces.flatMap(({ words = [] }) => words),
      thenRespond,
    });
  }
}
