import type { AudioFormat } from '@parley/shared/audio/audio-frame';

/** Audio from before judging began that is judged too: 96 ms, three windows at 8 kHz. */
export const LEAD_SAMPLES = 768;

/** Neural voice activity for many streams of caller audio. */
export interface VoiceModel {
  /** @returns undefined when there is no place left or the model is gone: loudness alone decides then */
  open(format: AudioFormat): VoiceModelStream | undefined;
}

/** One stream. It is judged in windows of 32 ms, each `endMs` 32 ms behind the one before while judging goes on. */
export interface VoiceModelStream {
  /**
   * Takes caller audio of any length: G.711 at 8 kHz, or PCM16 at any rate, which is resampled to 8 kHz. Never blocks.
   * Audio that is no longer of use is dropped, the oldest first.
   */
  push(bytes: Uint8Array): void;
  /**
   * Whether windows are judged. While false, the last 96 ms are kept, which costs nearly nothing: judging begins with
   * them, and with a model that remembers nothing. After a pause shorter than that it goes on where it stopped. False
   * at first.
   */
  judging: boolean;
  /**
   * Calls `each` for every verdict since the last call, oldest first.
   * @param each is told the probability of a voice, 0 to 1, and where the window ends in this stream's audio, ms
   */
  read(each: (probability: number, endMs: number) => void): void;
  /** ms of audio pushed and not judged yet; 0 while not judging. At best it stays below the 32 ms of a window. */
  readonly behindMs: number;
  /** Gives the place back; verdicts that were not read are lost. Idempotent. */
  close(): void;
}
