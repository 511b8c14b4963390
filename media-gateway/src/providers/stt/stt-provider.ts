import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { UsedModel } from '@parley/shared/contracts/call-prices';
import type { ProviderError } from '@parley/shared/errors/provider-error';

/** Speech to text. One provider object serves one call. */
export interface SttProvider {
  readonly name: string;
  /** As the plan of the call names it. */
  readonly model?: UsedModel | undefined;
  /**
   * Starts to listen. Audio written before the connection stands is kept (about a second, the oldest dropped).
   * The adapter reconnects by itself, replaying about the last 8 s, and gives up through `onFailed`.
   */
  open(options: SttOptions, listener: SttListener): SttStream;
}

export interface SttOptions {
  /** What `write` is given. Adapters pass it on unchanged where the provider takes it. */
  format: AudioFormat;
  language: string;
  /** Languages that the caller may speak, the one above among them: what was spoken is told with each transcript. */
  among?: readonly string[];
  keywords: readonly string[];
  /** Silence after which the provider should close a segment; null = the adapter's default. */
  endpointingMs: number | null;
}

export interface SttStream {
  /**
   * Never blocks and never throws; `bytes` are only valid during the call.
   * @param mayWait they may be sent together with those of the next call; without it, all that was written leaves now.
   *   What waits leaves within a second, or with `finalize`
   */
  write(bytes: Uint8Array, mayWait?: boolean): void;
  /** Asks for the final transcript of what was said so far: answered by `onTurnEnd`, where the provider can. */
  finalize(): void;
  /** Closes the connection; nothing is reported afterwards. Idempotent. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** All times are milliseconds of audio written to the stream, over reconnects. */
export interface SttListener {
  /** The provider heard a voice begin. */
  onSpeechStarted(atMs: number): void;
  /** What was said in this turn so far, final pieces and guess together. Replaces the one before. */
  onInterim(transcript: SttTranscript): void;
  /**
   * The provider holds the turn for over, with all its text: final transcript and end of turn are one event.
   * Never with an empty text, except as the answer to `finalize`.
   */
  onTurnEnd(transcript: SttTranscript): void;
  /** An earlier end of turn may come: the text is likely final (Flux: EagerEndOfTurn). */
  onEagerTurnEnd?(transcript: SttTranscript): void;
  /** The speaker went on after an eager end. */
  onTurnResumed?(): void;
  /** The stream cannot go on. Called at most once. */
  onFailed(error: ProviderError): void;
}

export interface SttTranscript {
  text: string;
  confidence: number | undefined;
  /** End of the last word where the provider says so. */
  endMs: number | undefined;
  language: string | undefined;
  /** Those words of the text whose times the provider tells, in order. */
  words?: readonly SttWord[] | undefined;
}

/** A word, and where it lies. */
export interface SttWord {
  text: string;
  startMs: number;
  endMs: number;
}
