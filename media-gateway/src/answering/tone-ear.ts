import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { ALAW_TO_PCM16, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';

const WINDOW_MS = 20;
/** Where recorders' tones lie. Below it are the fundamentals of voices, above it nothing that a telephone passes well. */
const LOWEST_HZ = 350;
const HIGHEST_HZ = 2600;
/** Root mean square of a tone that can be heard, of 32,768. */
const AUDIBLE = 250;
/** Part of a window's power that its one tone must hold. */
const PURITY = 0.88;
/** How far its pitch may wander, and how much its power may change from one window to the next. */
const PITCH_TOLERANCE = 0.03;
const POWER_FACTOR = 4;
/** What is shorter is a click, what is longer the tone of an exchange or of a fax machine. */
const SHORTEST_WINDOWS = 7;
const LONGEST_WINDOWS = 150;
/** Part of the tone's power that may be heard right before it and after it: a vowel has speech around it. */
const AROUND = 0.1;
const BEFORE_WINDOWS = 2;
const AFTER_WINDOWS = 8;

/**
 * Makes out the beep of a recorder: one steady tone between two silences. The pitch of each window of 20 ms is
 * estimated by linear prediction and tested by Goertzel's filter: about two microseconds for 20 ms, no allocation.
 */
export class ToneEar {
  readonly #encoding: AudioFormat['encoding'];
  readonly #table: Int16Array;
  readonly #rate: number;
  readonly #window: Float64Array;
  #filled = 0;
  /** Power of the windows before the present one. */
  readonly #before = new Float64Array(BEFORE_WINDOWS);
  #windows = 0;
  #power = 0;
  #stillFor = 0;

  /** Pitch of the tone that goes on, or of the last one. */
  hz = 0;
  /** How long the last tone that was made out lasted. */
  toneMs = 0;

  constructor({ encoding, sampleRate }: AudioFormat) {
    this.#encoding = encoding;
    this.#table = encoding === 'pcma' ? ALAW_TO_PCM16 : MULAW_TO_PCM16;
    this.#rate = sampleRate;
    this.#window = new Float64Array((sampleRate * WINDOW_MS) / 1000);
  }

  /** How long after its end a tone is made out, ms: it is known by the silence that follows. */
  static readonly delayMs = AFTER_WINDOWS * WINDOW_MS;

  /** @returns true when a beep has been made out: it ended `delayMs` ago */
  push(bytes: Uint8Array): boolean {
    let found = false;
    if (this.#encoding === 'pcm16') {
      for (let i = 0; i + 1 < bytes.length; i += 2)
        if (this.#sample(((bytes[i]! | (bytes[i + 1]! << 8)) << 16) >> 16)) found = true;
      return found;
    }
    for (let i = 0; i < bytes.length; i++) if (this.#sample(this.#table[bytes[i]!]!)) found = true;
    return found;
  }

  #sample(value: number): boolean {
    this.#window[this.#filled++] = value;
    if (this.#filled < this.#window.length) return false;
    this.#filled = 0;
    return this.#judge();
  }

  /** Takes one whole window. */
  #judge(): boolean {
    const window = this.#window;
    let energy = 0;
    for (let i = 0; i < window.length; i++) energy += window[i]! * window[i]!;
    const power = energy / window.length;
    const hz = power < AUDIBLE * AUDIBLE ? 0 : this.#pitch(energy);
    const goesOn =
      hz !== 0 &&
      this.#windows > 0 &&
      this.#stillFor === 0 &&
      Math.abs(hz - this.hz) <= this.hz * PITCH_TOLERANCE &&
      power < this.#power * POWER_FACTOR &&
      power * POWER_FACTOR > this.#power;
    let found = false;
    if (goesOn) {
      this.#windows++;
      this.hz += (hz - this.hz) / this.#windows;
      this.#power += (power - this.#power) / this.#windows;
    } else if (this.#windows > 0) found = this.#afterTone(power);
    if (this.#windows === 0 && hz !== 0 && this.#isQuietBefore(power)) {
      this.#windows = 1;
      this.#stillFor = 0;
      this.hz = hz;
      this.#power = power;
    }
    this.#before.copyWithin(0, 1);
    this.#before[BEFORE_WINDOWS - 1] = power;
    return found;
  }

  /** Takes a window behind a tone. @returns true when it makes the tone a beep */
  #afterTone(power: number): boolean {
    // The window in which the tone ends holds some of it.
    const quiet = power <= this.#power * AROUND || this.#stillFor === 0;
    if (!quiet || this.#windows < SHORTEST_WINDOWS || this.#windows > LONGEST_WINDOWS) {
      this.#windows = 0;
      this.#stillFor = 0;
      return false;
    }
    this.#stillFor++;
    if (this.#stillFor <= AFTER_WINDOWS) return false;
    this.toneMs = this.#windows * WINDOW_MS;
    this.#windows = 0;
    this.#stillFor = 0;
    return true;
  }

  #isQuietBefore(power: number): boolean {
    // The window in which the tone begins may hold some of it.
    return this.#before[0]! <= power * AROUND;
  }

  /** @returns the pitch of the window's one tone, Hz; 0 when it holds anything else */
  #pitch(energy: number): number {
    const window = this.#window;
    const { length } = window;
    let cross = 0;
    let middle = 0;
    for (let i = 2; i < length; i++) {
      const one = window[i - 1]!;
      cross += one * (window[i]! + window[i - 2]!);
      middle += one * one;
    }
    // A tone obeys x[i] + x[i-2] = 2 cos(w) x[i-1].
    const coefficient = middle === 0 ? 2 : cross / middle;
    if (coefficient <= -2 || coefficient >= 2) return 0;
    const hz = (Math.acos(coefficient / 2) * this.#rate) / (2 * Math.PI);
    if (hz < LOWEST_HZ || hz > HIGHEST_HZ) return 0;
    let previous = 0;
    let beforeThat = 0;
    for (let i = 0; i < length; i++) {
      const next = window[i]! + coefficient * previous - beforeThat;
      beforeThat = previous;
      previous = next;
    }
    const found = previous * previous + beforeThat * beforeThat - coefficient * previous * beforeThat;
    return (2 * found) / (length * energy) >= PURITY ? hz : 0;
  }
}
