/** All features are of telephone speech. */
export const FEATURE_RATE = 8000;
export const FRAME_MS = 10;
/** Numbers per frame: 12 cepstra and the level, and how fast each changes. */
export const FEATURE_SIZE = 26;

const HOP = (FEATURE_RATE * FRAME_MS) / 1000;
const WINDOW = 200;
const FFT_SIZE = 256;
const FILTERS = 22;
export const CEPSTRA = 12;
const LOWEST_HZ = 150;
const HIGHEST_HZ = 3700;
const STATIC_SIZE = CEPSTRA + 1;
/** A frame's rate of change looks two frames ahead, which delays everything by them. */
const LOOK_AHEAD = 2;
/** Weight, in frames of speech, of the mean that is assumed before any was heard. */
const PRIOR_FRAMES = 60;
const LONGEST_MEMORY_FRAMES = 600;
/** The natural logarithm of a loud frame's mean square, at an ordinary level of speech. */
const USUAL_LEVEL = 16.5;
const LEVEL_DECAY_PER_FRAME = 0.003;
/** The level of steady noise is followed upwards this fast. */
const FLOOR_RISE_PER_FRAME = 0.005;
/** Above the noise by less than this, a frame is quiet. */
const QUIET_RANGE = 1.2;
/** Below the loudest so far by less than this is speech. */
const SPEECH_RANGE = 5;

const hamming = Float64Array.from(
  { length: WINDOW },
  (_, at) => 0.54 - 0.46 * Math.cos((2 * Math.PI * at) / (WINDOW - 1)),
);
const cosines = Float64Array.from({ length: FFT_SIZE / 2 }, (_, k) => Math.cos((2 * Math.PI * k) / FFT_SIZE));
const sines = Float64Array.from({ length: FFT_SIZE / 2 }, (_, k) => -Math.sin((2 * Math.PI * k) / FFT_SIZE));
const reversed = Uint16Array.from({ length: FFT_SIZE }, (_, at) => {
  let bits = 0;
  for (let bit = 0; bit < 8; bit++) bits |= ((at >> bit) & 1) << (7 - bit);
  return bits;
});

const mel = (hz: number) => 1127 * Math.log(1 + hz / 700);
const hz = (melValue: number) => 700 * (Math.exp(melValue / 1127) - 1);

/** Triangular filters on the mel scale, each with its first bin. */
const filters = Array.from({ length: FILTERS }, (_, index) => {
  const step = (mel(HIGHEST_HZ) - mel(LOWEST_HZ)) / (FILTERS + 1);
  const [left, centre, right] = [0, 1, 2].map((add) => hz(mel(LOWEST_HZ) + (index + add) * step)) as [
    number,
    number,
    number,
  ];
  const binHz = FEATURE_RATE / FFT_SIZE;
  const first = Math.ceil(left / binHz);
  const weights: number[] = [];
  for (let bin = first; bin * binHz < right; bin++) {
    const at = bin * binHz;
    weights.push(at < centre ? (at - left) / (centre - left) : (right - at) / (right - centre));
  }
  return { first, weights };
});

/** Cosine transform with a lifter that gives the higher cepstra about the weight of the lower. */
const transform = Array.from({ length: CEPSTRA }, (_, index) => {
  const order = index + 1;
  const lift = 1 + 11 * Math.sin((Math.PI * order) / 22);
  return Float64Array.from(
    { length: FILTERS },
    (_unused, filter) => (lift * Math.cos((Math.PI * order * (filter + 0.5)) / FILTERS)) / FILTERS,
  );
});

export interface SpeechFrame {
  features: Float32Array;
  /** Nothing rises above the noise, whatever the noise resembles. */
  quiet: boolean;
  /** From the noise to the loudest speech so far, in natural logarithms of power. */
  range: number;
}

/**
 * Mel-frequency cepstra, one frame per 10 ms, of which the mean of the speech so far is subtracted: that takes out
 * the line, and most of what is peculiar to a voice. Levels count from the loudest so far.
 */
export class FeatureStream {
  readonly #usualMean: Float32Array;
  readonly #onFrame: (frame: SpeechFrame) => void;
  /** The window before and after pre-emphasis. The level is of the first, where noise weighs less. */
  readonly #raw = new Float64Array(WINDOW);
  readonly #samples = new Float64Array(WINDOW);
  #filled = 0;
  #previous = 0;
  readonly #real = new Float64Array(FFT_SIZE);
  readonly #imaginary = new Float64Array(FFT_SIZE);
  readonly #bands = new Float64Array(FILTERS);
  /** The last five static frames, the oldest first. */
  readonly #history = Array.from({ length: 2 * LOOK_AHEAD + 1 }, () => new Float64Array(STATIC_SIZE));
  #seen = 0;
  readonly #sum = new Float64Array(CEPSTRA);
  #weight = 0;
  #loudest = USUAL_LEVEL;
  #floor = Infinity;
  readonly #frame: SpeechFrame = { features: new Float32Array(FEATURE_SIZE), quiet: false, range: 0 };

  /**
   * @param usualMean what the cepstra of speech are on average, assumed until some was heard
   * @param onFrame gets the same object each time, two frames after its audio
   */
  constructor(usualMean: Float32Array, onFrame: (frame: SpeechFrame) => void) {
    this.#usualMean = usualMean;
    this.#onFrame = onFrame;
  }

  /** The mean of the cepstra of the speech heard so far. */
  get speechMean(): Float32Array {
    return Float32Array.from(this.#sum, (sum) => sum / Math.max(1, this.#weight));
  }

  /** Takes samples at 8 kHz. */
  push(samples: Int16Array): void {
    for (const sample of samples) {
      this.#raw[this.#filled] = sample;
      this.#samples[this.#filled++] = sample - 0.97 * this.#previous;
      this.#previous = sample;
      if (this.#filled < WINDOW) continue;
      this.#analyse();
      this.#samples.copyWithin(0, HOP);
      this.#raw.copyWithin(0, HOP);
      this.#filled = WINDOW - HOP;
    }
  }

  #analyse(): void {
    const statics = this.#history.shift()!;
    this.#history.push(statics);
    this.#spectrum();
    for (const [index, { first, weights }] of filters.entries()) {
      let sum = 0;
      for (let at = 0; at < weights.length; at++) {
        const bin = first + at;
        sum += weights[at]! * (this.#real[bin]! ** 2 + this.#imaginary[bin]! ** 2);
      }
      this.#bands[index] = Math.log(sum + 4e4);
    }
    for (const [index, row] of transform.entries()) {
      let sum = 0;
      for (let filter = 0; filter < FILTERS; filter++) sum += row[filter]! * this.#bands[filter]!;
      statics[index] = sum;
    }
    let power = 0;
    for (const sample of this.#raw) power += sample * sample;
    statics[CEPSTRA] = Math.log(power / WINDOW + 30);
    this.#seen += 1;
    if (this.#seen > LOOK_AHEAD) this.#emit();
  }

  #spectrum(): void {
    const real = this.#real;
    const imaginary = this.#imaginary;
    imaginary.fill(0);
    for (let at = 0; at < FFT_SIZE; at++) {
      real[reversed[at]!] = at < WINDOW ? this.#samples[at]! * hamming[at]! : 0;
    }
    for (let half = 1; half < FFT_SIZE; half *= 2) {
      const stride = FFT_SIZE / (2 * half);
      for (let start = 0; start < FFT_SIZE; start += 2 * half) {
        for (let k = 0; k < half; k++) {
          const upper = start + k;
          const lower = upper + half;
          const c = cosines[k * stride]!;
          const s = sines[k * stride]!;
          const re = real[lower]! * c - imaginary[lower]! * s;
          const im = real[lower]! * s + imaginary[lower]! * c;
          real[lower] = real[upper]! - re;
          imaginary[lower] = imaginary[upper]! - im;
          real[upper]! += re;
          imaginary[upper]! += im;
        }
      }
    }
  }

  #emit(): void {
    const [before2, before1, now, after1, after2] = this.#history as [
      Float64Array,
      Float64Array,
      Float64Array,
      Float64Array,
      Float64Array,
    ];
    const level = now[CEPSTRA]!;
    this.#loudest = Math.max(level, this.#loudest - LEVEL_DECAY_PER_FRAME);
    this.#floor = Math.min(level, this.#floor + FLOOR_RISE_PER_FRAME);
    if (level > this.#loudest - SPEECH_RANGE) {
      const keep = this.#weight >= LONGEST_MEMORY_FRAMES ? 1 - 1 / LONGEST_MEMORY_FRAMES : 1;
      this.#weight = this.#weight * keep + 1;
      for (let index = 0; index < CEPSTRA; index++) {
        this.#sum[index] = this.#sum[index]! * keep + now[index]!;
      }
    }
    const frame = this.#frame;
    const { features } = frame;
    for (let index = 0; index < CEPSTRA; index++) {
      const prior = this.#usualMean[index]! * PRIOR_FRAMES;
      features[index] = now[index]! - (this.#sum[index]! + prior) / (this.#weight + PRIOR_FRAMES);
    }
    features[CEPSTRA] = level - this.#loudest;
    for (let index = 0; index < STATIC_SIZE; index++) {
      features[STATIC_SIZE + index] =
        (after1[index]! - before1[index]! + 2 * (after2[index]! - before2[index]!)) / 10;
    }
    frame.quiet = level < this.#floor + QUIET_RANGE;
    frame.range = this.#loudest - this.#floor;
    this.#onFrame(frame);
  }
}
