import { readFileSync } from 'node:fs';
import { LANES, SileroKernel, type Matrix } from './silero-kernel.ts';
import { readWeights, type SileroTensor } from './silero-weights.ts';

/** Hz. */
export const MODEL_SAMPLE_RATE = 8000;
/** New samples of a window: 32 ms. */
export const WINDOW_SAMPLES = 256;
/** Samples just before a window, which the model is given too. */
export const CONTEXT_SAMPLES = 32;

const WEIGHTS = new URL('silero-v6-8khz.bin', import.meta.url);

/** Cells of the LSTM, and hidden values. */
const CELLS = 128;
const WINDOW_END = CONTEXT_SAMPLES + WINDOW_SAMPLES;
/** The Fourier transform: 128 samples at a time, four times in a window, whose end is mirrored for the last. */
const TRANSFORM_SAMPLES = 128;
const HOP_SAMPLES = 64;
const MIRRORED_SAMPLES = 32;
const POSITIONS = 4;
const BINS = 65;
/** Real and imaginary parts are computed in vectors of four, so each has three zeros behind it. */
const PADDED_BINS = 68;
/** Channels behind the convolutions; behind the fourth there are as many as the LSTM has cells. */
const FIRST = 128;
const SECOND = 64;
const THIRD = 64;

/**
 * Where a lane keeps what, in floats. Positions of a convolution's input stand one after the other, each with all its
 * channels, with zeros where the network pads: the inputs of all taps are then one vector.
 */
const LANE = layOut({
  samples: WINDOW_END + MIRRORED_SAMPLES,
  spectrum: POSITIONS * 2 * PADDED_BINS,
  // One position of zeros before and one behind; the last vector of four reaches three numbers into the latter.
  magnitudes: (1 + POSITIONS + 1) * BINS,
  // One position of zeros before.
  first: (1 + POSITIONS) * FIRST,
  second: 2 * SECOND,
  third: THIRD,
  features: CELLS,
  hidden: CELLS,
  cells: CELLS,
  gates: 4 * CELLS,
  rectified: CELLS,
  output: 8,
});

function layOut<Part extends string>(sizes: Record<Part, number>): Record<Part | 'end', number> {
  let at = 0;
  const parts: Record<string, number> = {};
  for (const [part, size] of Object.entries<number>(sizes)) {
    parts[part] = at;
    at += Math.ceil(size / 4) * 4;
  }
  parts['end'] = at;
  return parts as Record<Part | 'end', number>;
}

/** One stream's place in the model: the window to judge next, and what is remembered of those before. */
export class SileroStream {
  /** The 32 samples just before the window, then its 256; -1 to 1, 8 kHz. */
  readonly window = new Float32Array(WINDOW_END);
  /** Hidden values of the LSTM, then its cells. */
  readonly state = new Float32Array(2 * CELLS);
  /** That the window judged last holds a voice: 0 to 1, a 32-bit float. */
  probability = 0;

  /**
   * Takes a window, and the samples before it, out of a ring of PCM16.
   * @param ring a power of two of samples
   * @param from where the window begins, counted from any multiple of the ring's length
   */
  take(ring: Int16Array, from: number): void {
    const mask = ring.length - 1;
    const first = from - CONTEXT_SAMPLES;
    for (let i = 0; i < WINDOW_END; i++) this.window[i] = ring[(first + i) & mask]! / 32_768;
  }

  /** Forgets the windows before. */
  reset(): void {
    this.state.fill(0);
  }
}

interface Lane {
  readonly samples: Float32Array;
  /** Hidden values and cells, as in `SileroStream.state`. */
  readonly state: Float32Array;
  readonly output: Float32Array;
}

/**
 * Silero VAD v6 for 8 kHz: tells the probability that 32 ms of sound hold a voice. The network is the magnitudes of a
 * short-time Fourier transform, four convolutions with ReLU, an LSTM of 128 cells and one output. Four streams are
 * computed at a time, in about 17 microseconds each; one alone takes 29. Takes two megabytes of memory.
 * @see https://github.com/snakers4/silero-vad
 */
export class SileroModel {
  readonly #kernel = new SileroKernel(LANE.end);
  readonly #network = packNetwork(this.#kernel, readWeights(readFileSync(WEIGHTS)));
  readonly #lanes: readonly Lane[] = Array.from({ length: LANES }, (_, lane) => ({
    samples: this.#kernel.lane(lane, LANE.samples, WINDOW_END + MIRRORED_SAMPLES),
    state: this.#kernel.lane(lane, LANE.hidden, 2 * CELLS),
    output: this.#kernel.lane(lane, LANE.output, 1),
  }));

  /** Judges the window of each stream: sets its `probability` and carries its `state` on. No stream may be named twice. */
  judge(streams: readonly SileroStream[]): void {
    for (let first = 0; first < streams.length; first += LANES) {
      const count = Math.min(LANES, streams.length - first);
      for (let lane = 0; lane < count; lane++) load(this.#lanes[lane]!, streams[first + lane]!);
      this.#compute(count);
      for (let lane = 0; lane < count; lane++) store(this.#lanes[lane]!, streams[first + lane]!);
    }
  }

  /** Computes the first lanes. Those behind have what an earlier window left there, which harms nobody. */
  #compute(count: number): void {
    const kernel = this.#kernel;
    const { transform, first, second, third, fourth, gates, output } = this.#network;
    kernel.multiply(count, transform, LANE.samples, LANE.spectrum, POSITIONS, HOP_SAMPLES, 2 * PADDED_BINS);
    for (let lane = 0; lane < count; lane++) {
      // In this order, because the zeros behind a position's last frequency fall on the position behind it.
      for (let position = 0; position < POSITIONS; position++) {
        const real = LANE.spectrum + position * 2 * PADDED_BINS;
        kernel.magnitudes(
          lane,
          real,
          real + PADDED_BINS,
          LANE.magnitudes + (1 + position) * BINS,
          PADDED_BINS,
        );
      }
    }
    kernel.multiply(count, first, LANE.magnitudes, LANE.first + FIRST, POSITIONS, BINS, FIRST);
    kernel.multiply(count, second, LANE.first, LANE.second, 2, 2 * FIRST, SECOND);
    kernel.multiply(count, third, LANE.second, LANE.third);
    kernel.multiply(count, fourth, LANE.third, LANE.features);
    kernel.multiply(count, gates, LANE.features, LANE.gates);
    for (let lane = 0; lane < count; lane++)
      kernel.step(lane, LANE.gates, LANE.hidden, LANE.cells, LANE.rectified);
    kernel.multiply(count, output, LANE.rectified, LANE.output);
  }
}

function load({ samples, state }: Lane, stream: SileroStream): void {
  samples.set(stream.window);
  for (let i = 0; i < MIRRORED_SAMPLES; i++) samples[WINDOW_END + i] = samples[WINDOW_END - 2 - i]!;
  state.set(stream.state);
}

function store({ state, output }: Lane, stream: SileroStream): void {
  stream.state.set(state);
  stream.probability = Math.fround(1 / (1 + Math.exp(-output[0]!)));
}

/** Lays the weights out for the kernel, each layer as one matrix. */
function packNetwork(kernel: SileroKernel, tensors: Record<SileroTensor, Float32Array>) {
  const basis = tensors['stft.forward_basis_buffer'];
  const inputWeights = tensors['decoder.rnn.weight_ih'];
  const hiddenWeights = tensors['decoder.rnn.weight_hh'];
  const inputBias = tensors['decoder.rnn.bias_ih'];
  const hiddenBias = tensors['decoder.rnn.bias_hh'];
  const outputWeights = tensors['decoder.decoder.2.weight'];
  const outputBias = tensors['decoder.decoder.2.bias'];

  /** A convolution of three taps with ReLU, of which only some taps ever meet anything but padding. */
  const convolution = (
    layer: 0 | 1 | 2 | 3,
    outputs: number,
    inputs: number,
    firstTap = 0,
    lastTap = 2,
  ): Matrix => {
    const weights = tensors[`encoder.${layer}.reparam_conv.weight`];
    const bias = tensors[`encoder.${layer}.reparam_conv.bias`];
    return kernel.pack(
      { rows: outputs, columns: (lastTap - firstTap + 1) * inputs, floor: 0 },
      (row, column) =>
        weights[(row * inputs + (column % inputs)) * 3 + firstTap + Math.floor(column / inputs)]!,
      (row) => bias[row]!,
    );
  };

  return {
    transform: kernel.pack(
      { rows: 2 * PADDED_BINS, columns: TRANSFORM_SAMPLES, floor: -Infinity },
      (row, column) => {
        const bin = row % PADDED_BINS;
        if (bin >= BINS) return 0;
        return basis[(row < PADDED_BINS ? bin : BINS + bin) * TRANSFORM_SAMPLES + column]!;
      },
      () => 0,
    ),
    first: convolution(0, FIRST, BINS),
    second: convolution(1, SECOND, FIRST),
    // Two positions come in and one goes out: in front of it there is only padding.
    third: convolution(2, THIRD, SECOND, 1, 2),
    // One position comes in.
    fourth: convolution(3, CELLS, THIRD, 1, 1),
    gates: kernel.pack(
      { rows: 4 * CELLS, columns: 2 * CELLS, floor: -Infinity },
      (row, column) =>
        column < CELLS ? inputWeights[row * CELLS + column]! : hiddenWeights[row * CELLS + column - CELLS]!,
      (row) => inputBias[row]! + hiddenBias[row]!,
    ),
    output: kernel.pack(
      { rows: 1, columns: CELLS, floor: -Infinity },
      (_, column) => outputWeights[column]!,
      () => outputBias[0]!,
    ),
  };
}
