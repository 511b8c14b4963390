import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { UsedModel } from '@parley/shared/contracts/call-prices';
import type { ProviderError } from '@parley/shared/errors/provider-error';

/** Text to speech. One provider object serves one call and owns its connection. */
export interface TtsProvider {
  readonly name: string;
  /** As the plan of the call names it. */
  readonly model?: UsedModel | undefined;
  /** What `onAudio` delivers: fixed when the provider is made, as near to the far end's format as it can. */
  readonly format: AudioFormat;
  /** Opens the connection ahead of the first text. Never throws. */
  warm(): void;
  /**
   * Begins one reply. Text is pushed in whole sentences or phrases. Aborting `signal` frees it at once: nothing is
   * delivered afterwards, late audio of the provider included.
   * @param options.keep it is one fixed text, which other calls say too: what was spoken once may be heard again
   */
  open(listener: TtsListener, signal: AbortSignal, options?: { keep: boolean }): TtsUtterance;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TtsUtterance {
  /** What was pushed was spoken before, and is heard from memory. */
  readonly isRemembered?: boolean;
  /** One sentence or phrase. */
  push(text: string): void;
  /** No more text: `onDone` follows when all audio was delivered. */
  end(): void;
}

export interface TtsListener {
  /**
   * Audio in `format`, in order, whole samples. The listener keeps `bytes`.
   */
  onAudio(bytes: Uint8Array): void;
  /**
   * Where words lie in the audio, when the provider tells. Called before or after the audio it speaks of.
   * @param text a stretch of what was pushed, in order
   * @param startMs, endMs from the start of this utterance's audio
   * @param estimated the times are reckoned, not the provider's
   */
  onWords?(words: readonly { text: string; startMs: number; endMs: number; estimated?: boolean }[]): void;
  /** All audio of everything pushed was delivered. Once, after `end`. */
  onDone(): void;
  /** No (more) audio will come: time-out, refusal, zero audio. Once, instead of `onDone`. */
  onFailed(error: ProviderError): void;
}
