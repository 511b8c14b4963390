import { ALAW_TO_PCM16, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';

/** Voiced audio that counts as the beginning of speech: 60 ms within 80 ms. */
export const SPEECH_START_MS = 60;
const TOLERATED_GAP_MS = 20;

const MULAW_LOUDNESS = Uint16Array.from(MULAW_TO_PCM16, (sample) => Math.abs(sample));
const ALAW_LOUDNESS = Uint16Array.from(ALAW_TO_PCM16, (sample) => Math.abs(sample));

/**
 * Mean absolute amplitude of a frame, 0 to 32,768. G.711 is looked up byte by byte, never decoded.
 */
export function loudness(bytes: Uint8Array, format: AudioFormat): number {
  let sum = 0;
  if (format.encoding === 'pcm16') {
    const samples = bytes.length >> 1;
    for (let i = 0; i + 1 < bytes.length; i += 2) {
      const sample = ((bytes[i]! | (bytes[i + 1]! << 8)) << 16) >> 16;
      sum += sample < 0 ? -sample : sample;
    }
    return samples === 0 ? 0 : sum / samples;
  }
  const table = format.encoding === 'pcmu' ? MULAW_LOUDNESS : ALAW_LOUDNESS;
  for (let i = 0; i < bytes.length; i++) sum += table[bytes[i]!]!;
  return bytes.length === 0 ? 0 : sum / bytes.length;
}

/**
 * Tells voiced frames from the rest by loudness over an adapting noise floor. It does not tell speech from other
 * sounds: words do that, later. Costs about a microsecond for 20 ms of G.711.
 */
export class VoiceActivity {
  readonly #format: AudioFormat;
  readonly #minimum: number;
  readonly #factor: number;
  #floor = 100;
  #voicedRunMs = 0;
  #gapMs = 0;
  /** The run that is going on was already told of. */
  #told = false;

  /** Voiced ms of the current run of speech; back to 0 by `reset`. */
  voicedMs = 0;
  /** When the last voiced frame arrived, on the caller's clock; -Infinity before the first. */
  lastVoicedAt = -Infinity;
  /** How much audio had arrived by then, ms. */
  lastVoicedAudioMs = 0;
  /** How much audio has arrived, ms. */
  audioMs = 0;

  /** @param threshold 0.1 (hears everything) to 0.95 (only loud voices) */
  constructor(format: AudioFormat, threshold: number) {
    this.#format = format;
    this.#minimum = 100 + 400 * threshold;
    this.#factor = 1.5 + 3 * threshold;
  }

  /** @returns true with the frame that makes speech begin: 60 ms voiced within 80 ms */
  push(bytes: Uint8Array, durationMs: number, nowMs: number): boolean {
    this.audioMs += durationMs;
    const level = loudness(bytes, this.#format);
    const voiced = level > this.#minimum && level > this.#floor * this.#factor;
    // The floor follows falling levels at once and rising ones slowly (about 4 s for a factor of two), so that it
    // settles on the pauses between words.
    this.#floor = level < this.#floor ? Math.max(20, level) : this.#floor * (1 + 0.00018 * durationMs);
    if (!voiced) {
      this.#gapMs += durationMs;
      if (this.#gapMs > TOLERATED_GAP_MS) {
        this.#voicedRunMs = 0;
        this.#told = false;
      }
      return false;
    }
    this.#gapMs = 0;
    this.#voicedRunMs += durationMs;
    this.voicedMs += durationMs;
    this.lastVoicedAt = nowMs;
    this.lastVoicedAudioMs = this.audioMs;
    if (this.#told || this.#voicedRunMs < SPEECH_START_MS) return false;
    this.#told = true;
    return true;
  }

  /** A turn is over: the next one counts from zero. */
  resetVoiced(): void {
    this.voicedMs = 0;
  }
}
