import { ALAW_TO_PCM16, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';

/** Loud audio that counts as the beginning of a sound: 60 ms within 80 ms. */
const SOUND_START_MS = 60;
const TOLERATED_GAP_MS = 20;
/** Up to this, or a little over the floor, is silence: the begin of a soft word is more. */
const SILENT_LEVEL = 40;
const SILENT_FACTOR = 1.3;

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

/** Decibels below full scale of a loudness; -91 for silence. */
export function decibels(level: number): number {
  return level < 1 ? -91 : 20 * Math.log10(level / 32_768);
}

/**
 * Tells loud frames from the rest, over a floor that adapts. It does not tell speech from other sounds: the voice
 * model and words do that. Costs about a microsecond for 20 ms of G.711.
 */
export class SoundMeter {
  readonly #format: AudioFormat;
  #minimum = 0;
  #factor = 0;
  #floor = 100;
  #runMs = 0;
  #gapMs = 0;

  /** Mean absolute amplitude of the newest frame. */
  level = 0;
  /** Whether the newest frame is loud. */
  loud = false;
  /** Whether the newest frame is silence, as far as the line knows any. */
  silent = true;
  /** The present sound: 60 ms loud within 80 ms, or going on. */
  begun = false;

  /** @param threshold 0.1 (hears everything) to 0.95 (only loud voices) */
  constructor(format: AudioFormat, threshold: number) {
    this.#format = format;
    this.setThreshold(threshold);
  }

  setThreshold(threshold: number): void {
    this.#minimum = 100 + 400 * threshold;
    this.#factor = 1.5 + 3 * threshold;
  }

  /** @returns true with the frame that makes a sound begin: 60 ms loud within 80 ms */
  push(bytes: Uint8Array, durationMs: number): boolean {
    const level = loudness(bytes, this.#format);
    this.level = level;
    this.loud = level > this.#minimum && level > this.#floor * this.#factor;
    this.silent = level <= Math.max(SILENT_LEVEL, this.#floor * SILENT_FACTOR);
    // The floor follows falling levels at once and rising ones slowly (about 4 s for a factor of two), so that it
    // settles on the pauses between words.
    this.#floor = level < this.#floor ? Math.max(20, level) : this.#floor * (1 + 0.00018 * durationMs);
    if (!this.loud) {
      this.#gapMs += durationMs;
      if (this.#gapMs > TOLERATED_GAP_MS) {
        this.#runMs = 0;
        this.begun = false;
      }
      return false;
    }
    this.#gapMs = 0;
    this.#runMs += durationMs;
    if (this.begun || this.#runMs < SOUND_START_MS) return false;
    this.begun = true;
    return true;
  }
}
