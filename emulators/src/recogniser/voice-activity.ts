import { LevelMeter } from './level-meter.ts';
import type { RawFormat } from './level-meter.ts';
import { carriesMarks, MarkedMeter } from './voice-mark.ts';

export interface VoiceActivityOptions {
  /** Root mean square, of 32768, above which a block is voiced. */
  threshold?: number;
  /** How many of the last five blocks of 10 ms must be voiced: 1 reacts at once, 3 ignores clicks. */
  needed?: number;
  /** Follow the level of steady noise, and ask for speech 10 dB above it. */
  adaptive?: boolean;
  /** Believe the marks in the audio rather than its energy, in a format that carries them; see voice-mark.ts. */
  marked?: boolean;
}

const FLOOR_RISE_PER_BLOCK = 10 ** (2 / 10 / 100); // 2 dB a second, in power
const LOWEST_FLOOR = 20 ** 2;
const ABOVE_FLOOR = 10;
/** Blocks further apart than this belong to two stretches of speech. */
const SAME_STRETCH_MS = 150;
const VOICED_OF_LAST_FIVE = Uint8Array.from({ length: 32 }, (_, bits) => {
  let count = 0;
  for (let rest = bits; rest; rest >>= 1) count += rest & 1;
  return count;
});

/** Tells speech from silence by energy, on the clock of the audio itself. */
export class VoiceActivity {
  /** How much audio has come, in milliseconds. */
  atMs = 0;
  /** The end of the latest voiced block; far in the past before the first. */
  lastVoicedMs = -Infinity;
  /** Where the latest stretch of speech began. */
  onsetMs = -Infinity;
  readonly #meter: LevelMeter | MarkedMeter;
  readonly #threshold: number;
  readonly #needed: number;
  readonly #adaptive: boolean;
  #floor = Infinity;
  #history = 0;

  /** @param onBlock runs after each 10 ms of audio, when the fields are up to date */
  constructor(format: RawFormat, options: VoiceActivityOptions, onBlock: () => void) {
    const { threshold = 300, needed = 1, adaptive = false, marked = false } = options;
    this.#threshold = threshold * threshold;
    this.#needed = needed;
    this.#adaptive = adaptive;
    this.#meter = new (marked && carriesMarks(format) ? MarkedMeter : LevelMeter)(format, (meanSquare) => {
      this.#take(meanSquare);
      onBlock();
    });
  }

  push(bytes: Uint8Array): void {
    this.#meter.push(bytes);
  }

  #take(meanSquare: number): void {
    const startedMs = this.atMs;
    this.atMs += this.#meter.blockMs;
    let threshold = this.#threshold;
    if (this.#adaptive) {
      this.#floor = Math.max(LOWEST_FLOOR, Math.min(this.#floor * FLOOR_RISE_PER_BLOCK, meanSquare));
      threshold = Math.max(threshold, this.#floor * ABOVE_FLOOR);
    }
    const voiced = meanSquare > threshold;
    this.#history = ((this.#history << 1) | (voiced ? 1 : 0)) & 0x1f;
    if (!voiced || VOICED_OF_LAST_FIVE[this.#history]! < this.#needed) return;
    if (startedMs - this.lastVoicedMs > SAME_STRETCH_MS) {
      this.onsetMs = Math.max(0, startedMs - (this.#needed - 1) * this.#meter.blockMs);
    }
    this.lastVoicedMs = this.atMs;
  }
}
