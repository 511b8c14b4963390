import type { SpeechPiece, SpeechText, SpokenWord } from './heard-text.ts';

/** A word that was heard, and when; monotonic ms. */
export interface HeardWord {
  text: string;
  startedAt: number;
  endedAt: number;
}

/** What was heard of one speech. */
export interface HeardSpeech {
  /** The text that was heard, cut at a word. */
  text: string;
  /** Whether the speech was heard to its end. */
  complete: boolean;
  heardMs: number;
  /**
   * When its first sample was sent, and when its last heard one was heard; monotonic ms, undefined when nothing
   * was.
   */
  startedAt: number | undefined;
  endedAt: number | undefined;
  /** Words of the text whose times the voice has told. */
  words?: readonly HeardWord[];
}

export interface PlayoutEvents {
  /** The first audio of the speech has gone out. */
  onStarted(atMs: number): void;
  /** All audio has gone out. Called again when the speech was held after that and resumed. */
  onSent?(): void;
  /** Everything was heard. Not called for a speech that was cancelled. */
  onFinished(heard: HeardSpeech): void;
}

/** Scratch memory of all calls: audio read across chunks is sent before the next read. */
let scratch = new Uint8Array(8192);

/** One speech of the agent, with the audio that was not heard yet. */
export class Speech implements SpeechText {
  readonly events: PlayoutEvents;
  readonly chunks: Uint8Array[] = [];
  /** Byte position of `chunks[0]`. */
  #firstByte = 0;
  availableBytes = 0;
  sentBytes = 0;
  markedBytes = 0;
  provenBytes = 0;
  recordedBytes = 0;
  /** The far end's limit: nothing beyond counts as heard. */
  limitBytes = Infinity;
  complete = false;
  /** When the next chunk goes out, while the lead is full; monotonic ms. */
  dueAt: number | undefined;
  /** Whether `onSent` was called for the present end of the audio. */
  sentTold = false;
  startedAt: number | undefined;
  /** Stretches that the far end played without a pause. */
  readonly runs: { startByte: number; at: number }[] = [];
  /** Those that were heard to their end. */
  readonly pastRuns: { startByte: number; at: number }[] = [];
  readonly pieces: SpeechPiece[] = [];
  readonly words: SpokenWord[] = [];

  constructor(events: PlayoutEvents) {
    this.events = events;
  }

  /** `length` bytes in one piece: a view where they lie in one chunk, else a copy that the next call overwrites. */
  read(fromByte: number, length: number): Uint8Array {
    let whole: Uint8Array | undefined;
    let filled = 0;
    this.forEachPart(fromByte, length, (part) => {
      if (part.length === length) {
        whole = part;
        return;
      }
      if (scratch.length < length) scratch = new Uint8Array(length);
      scratch.set(part, filled);
      filled += part.length;
    });
    return whole ?? scratch.subarray(0, filled);
  }

  forEachPart(fromByte: number, length: number, visit: (part: Uint8Array) => void): void {
    let chunkStart = this.#firstByte;
    let from = fromByte;
    const end = fromByte + length;
    for (const chunk of this.chunks) {
      const chunkEnd = chunkStart + chunk.length;
      if (chunkEnd > from) {
        visit(chunk.subarray(from - chunkStart, Math.min(end, chunkEnd) - chunkStart));
        from = Math.min(end, chunkEnd);
        if (from === end) return;
      }
      chunkStart = chunkEnd;
    }
  }

  /** Releases audio before `byte`. */
  forget(byte: number): void {
    while (this.chunks.length > 0 && this.#firstByte + this.chunks[0]!.length <= byte)
      this.#firstByte += this.chunks.shift()!.length;
  }
}
