/** Hz of everything in this folder. */
export const NOISE_RATE = 8000;

export type Random = () => number;

export const samplesOf = (seconds: number): number => Math.round(seconds * NOISE_RATE);

/** Evenly between two bounds. */
export const between = (random: Random, low: number, high: number): number => low + (high - low) * random();

export function pick<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)]!;
}

export function white(samples: number, random: Random): Float32Array {
  return Float32Array.from({ length: samples }, () => 2 * random() - 1);
}

/** Noise that falls by 3 dB an octave (the economy filter of Paul Kellet, public domain). */
export function pink(samples: number, random: Random): Float32Array {
  let low = 0;
  let middle = 0;
  let high = 0;
  return Float32Array.from({ length: samples }, () => {
    const one = 2 * random() - 1;
    low = 0.99765 * low + one * 0.099046;
    middle = 0.963 * middle + one * 0.2965164;
    high = 0.57 * high + one * 1.0526913;
    return (low + middle + high + one * 0.1848) / 4;
  });
}

type FilterKind = 'lowpass' | 'highpass' | 'bandpass';

/**
 * A second-order filter, in place.
 * @returns the same samples
 * @see Audio EQ Cookbook, Robert Bristow-Johnson, W3C note
 */
export function filter(samples: Float32Array, kind: FilterKind, hz: number, q = Math.SQRT1_2): Float32Array {
  const w = (2 * Math.PI * hz) / NOISE_RATE;
  const alpha = Math.sin(w) / (2 * q);
  const cos = Math.cos(w);
  const b1 = kind === 'lowpass' ? 1 - cos : kind === 'highpass' ? -(1 + cos) : 0;
  const b0 = kind === 'bandpass' ? alpha : Math.abs(b1) / 2;
  const b2 = kind === 'bandpass' ? -alpha : b0;
  const a0 = 1 + alpha;
  let x1 = 0;
  let x2 = 0;
  let y1 = 0;
  let y2 = 0;
  for (let i = 0; i < samples.length; i++) {
    const x = samples[i]!;
    const y = (b0 * x + b1 * x1 + b2 * x2 + 2 * cos * y1 - (1 - alpha) * y2) / a0;
    x2 = x1;
    x1 = x;
    y2 = y1;
    y1 = y;
    samples[i] = y;
  }
  return samples;
}

/** Adds `part` to `whole` from sample `at` on; what goes past its end comes in again at its start. */
export function addAround(whole: Float32Array, part: ArrayLike<number>, at: number, gain = 1): void {
  for (let i = 0; i < part.length; i++) whole[(at + i) % whole.length]! += part[i]! * gain;
}

/** In place: the mean power becomes 1. @returns the same samples */
export function toUnitPower(samples: Float32Array): Float32Array {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  const gain = sum === 0 ? 0 : Math.sqrt(samples.length / sum);
  for (let i = 0; i < samples.length; i++) samples[i]! *= gain;
  return samples;
}

/** A small hard room: echoes that come ever later and fainter. */
export function inRoom(samples: Float32Array, random: Random, amount: number): Float32Array {
  const heard = samples.slice();
  for (let echo = 1; echo <= 6; echo++) {
    const delay = samplesOf(between(random, 0.006, 0.014) * echo);
    addAround(heard, samples, delay, amount * 0.7 ** echo * (random() < 0.5 ? -1 : 1));
  }
  return heard;
}

/** Its end is blended into its beginning, so that it goes on for ever without a seam. */
export function toLoop(samples: Float32Array, length: number): Float32Array {
  const loop = samples.slice(0, length);
  const blended = samples.length - length;
  for (let i = 0; i < blended; i++) {
    const part = i / blended;
    loop[i] = samples[i]! * Math.sqrt(part) + samples[length + i]! * Math.sqrt(1 - part);
  }
  return loop;
}
