/** Filter length per output sample, in samples of the lower of the two rates. */
const TAPS_PER_PHASE = 32;
/**
 * Kaiser window and cutoff as a part of the lower Nyquist frequency. With this many taps: flat to about 0.75 of
 * it, and 60 dB down from where aliases begin.
 */
const KAISER_BETA = 6;
const CUTOFF = 0.88;
/** Input samples worked on at a time; bounds the state of a stream. */
const BLOCK_SAMPLES = 512;
const MAX_RATE_HZ = 384_000;
const MAX_BANKS = 64;
const MAX_COEFFICIENTS = 1_000_000;

interface FilterBank {
  /** The ratio in lowest terms: `up` output samples for `down` input samples. */
  up: number;
  down: number;
  /** Coefficients per phase; even. */
  taps: number;
  /** `up` phases one after the other, each in the order of the input. */
  coefficients: Float32Array;
}

/** Shared by all streams of the process: telephony has a handful of rate pairs. */
const banks = new Map<string, FilterBank>();

/**
 * Changes the sample rate of one stream by a polyphase FIR filter. Chunks may be of any size: cut however, the stream
 * gives the same samples. What comes out is aligned with what went in and, once flushed, just as long; until then
 * the last 16 samples at the lower rate are held back (2 ms at 8 kHz).
 */
export class Resampler {
  readonly #bank: FilterBank | undefined;
  readonly #window: Float32Array;
  /** Samples in `#window`; the next output needs `taps` of them from `#start` on. */
  #length = 0;
  #start = 0;
  #phase = 0;

  /** @throws RangeError when a rate is no whole number of Hz, or the ratio needs an absurdly long filter */
  constructor(fromHz: number, toHz: number) {
    for (const rate of [fromHz, toHz]) {
      if (!Number.isInteger(rate) || rate < 1 || rate > MAX_RATE_HZ) {
        throw new RangeError(
          `A sample rate must be a whole number of Hz from 1 to ${MAX_RATE_HZ}, not ${rate}.`,
        );
      }
    }
    this.#bank = fromHz === toHz ? undefined : filterBank(fromHz, toHz);
    this.#window = new Float32Array(this.#bank ? this.#bank.taps + BLOCK_SAMPLES : 0);
    this.#reset();
  }

  /** @returns the samples that are complete so far, possibly none */
  process(samples: Int16Array): Int16Array {
    if (!this.#bank) return samples;
    const output = new Int16Array(this.#outputLength(this.#bank, samples.length));
    let written = 0;
    for (let from = 0; from < samples.length; from += BLOCK_SAMPLES) {
      const block = samples.subarray(from, from + BLOCK_SAMPLES);
      written = this.#filter(this.#bank, block, output, written);
    }
    return output;
  }

  /** Ends the stream: gives what was held back, and starts anew. */
  flush(): Int16Array {
    if (!this.#bank) return new Int16Array(0);
    const tail = this.process(new Int16Array(this.#bank.taps / 2));
    this.#reset();
    return tail;
  }

  #reset(): void {
    // Silence before the first sample, so that the first output is centred on it.
    this.#window.fill(0);
    this.#length = this.#bank ? this.#bank.taps / 2 - 1 : 0;
    this.#start = 0;
    this.#phase = 0;
  }

  #outputLength({ up, down, taps }: FilterBank, incoming: number): number {
    const spare = this.#length + incoming - taps - this.#start;
    return Math.max(0, Math.ceil(((spare + 1) * up - this.#phase) / down));
  }

  #filter(bank: FilterBank, block: Int16Array, output: Int16Array, written: number): number {
    const { up, down, taps, coefficients } = bank;
    const window = this.#window;
    window.set(block, this.#length);
    const length = this.#length + block.length;
    let start = this.#start;
    let phase = this.#phase;
    while (start + taps <= length) {
      const first = phase * taps;
      let sum = 0;
      for (let i = 0; i < taps; i++) sum += coefficients[first + i]! * window[start + i]!;
      output[written++] = sum > 32_767 ? 32_767 : sum < -32_768 ? -32_768 : Math.round(sum);
      phase += down;
      start += Math.floor(phase / up);
      phase %= up;
    }
    // Going down steeply, the next output may begin past everything received so far.
    const used = Math.min(start, length);
    window.copyWithin(0, used, length);
    this.#length = length - used;
    this.#start = start - used;
    this.#phase = phase;
    return written;
  }
}

export function filterBank(fromHz: number, toHz: number): FilterBank {
  const divisor = greatestCommonDivisor(fromHz, toHz);
  const up = toHz / divisor;
  const down = fromHz / divisor;
  const key = `${up}/${down}`;
  const known = banks.get(key);
  if (known) return known;
  const bank = designBank(up, down);
  if (banks.size >= MAX_BANKS) banks.delete(banks.keys().next().value!);
  banks.set(key, bank);
  return bank;
}

function designBank(up: number, down: number): FilterBank {
  const taps = 2 * Math.ceil((TAPS_PER_PHASE / 2) * Math.max(1, down / up));
  const length = taps * up;
  if (length > MAX_COEFFICIENTS) {
    throw new RangeError(`Resampling by ${up}/${down} would need a filter of ${length} coefficients.`);
  }
  // Of the rate at which both signals have all their samples, in cycles per sample.
  const cutoff = (CUTOFF * Math.min(1, up / down)) / (2 * up);
  const centre = length / 2;
  const coefficients = new Float32Array(length);
  for (let phase = 0; phase < up; phase++) {
    const values = Array.from({ length: taps }, (_, tap) => {
      const x = phase + (taps - 1 - tap) * up - centre;
      const angle = 2 * Math.PI * cutoff * x;
      const sinc = x === 0 ? 1 : Math.sin(angle) / angle;
      return sinc * besselI0(KAISER_BETA * Math.sqrt(Math.max(0, 1 - (x / centre) ** 2)));
    });
    // Every phase passes a constant unchanged, so that silence with an offset does not hum.
    const sum = values.reduce((total, value) => total + value, 0);
    coefficients.set(
      values.map((value) => value / sum),
      phase * taps,
    );
  }
  return { up, down, taps, coefficients };
}

/** Modified Bessel function of the first kind, order 0: the Kaiser window is made of it. */
function besselI0(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
