import { readFileSync } from 'node:fs';

const BYTES = new URL('silero-kernel.wasm', import.meta.url);

/** Streams that are computed together. */
export const LANES = 4;
/** So few lanes are computed one by one, which takes less than all of them together. */
const ONE_BY_ONE = 2;
/** Rows of a packed matrix that are stored together. */
const BLOCK_ROWS = 8;
const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** The exports of silero-kernel.wat, which tells what they do. Addresses and strides are in bytes. */
interface Exports {
  memory: WebAssembly.Memory;
  multiply(
    weights: number,
    blocks: number,
    columns: number,
    floor: number,
    x: number,
    y: number,
    lane: number,
    positions: number,
    xStep: number,
    yStep: number,
  ): void;
  multiplyOne(
    weights: number,
    blocks: number,
    columns: number,
    floor: number,
    x: number,
    y: number,
    positions: number,
    xStep: number,
    yStep: number,
  ): void;
  magnitudes(re: number, im: number, y: number, fours: number): void;
  step(gates: number, hidden: number, cell: number, y: number): void;
}

/** A matrix with biases, packed into the kernel's memory. */
export interface Matrix {
  readonly address: number;
  readonly blocks: number;
  readonly columns: number;
  /** The least value of a product: 0 for ReLU, -Infinity for none. */
  readonly floor: number;
}

/**
 * The WebAssembly kernel and its memory: four lanes of working numbers, all of one layout, and matrices behind them.
 */
export class SileroKernel {
  readonly #exports: Exports;
  readonly #memory: Float32Array;
  readonly #laneFloats: number;
  /** Floats in use. */
  #used: number;

  /** @param laneFloats working numbers of a lane, a multiple of 4 */
  constructor(laneFloats: number) {
    const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(BYTES)));
    this.#exports = instance.exports as unknown as Exports;
    const { buffer } = this.#exports.memory;
    this.#memory = new Float32Array(buffer, 0, buffer.byteLength / FLOAT_BYTES);
    this.#laneFloats = laneFloats;
    this.#used = LANES * laneFloats;
  }

  /** A part of a lane's working numbers; the kernel's own memory. */
  lane(lane: number, from: number, length: number): Float32Array {
    const start = lane * this.#laneFloats + from;
    return this.#memory.subarray(start, start + length);
  }

  /**
   * Packs a matrix: rows in blocks of eight, rounded up with zeros; of a block its biases, then the weights column by
   * column.
   * @throws RangeError when the memory is full
   */
  pack(
    { rows, columns, floor }: { rows: number; columns: number; floor: number },
    weight: (row: number, column: number) => number,
    bias: (row: number) => number,
  ): Matrix {
    const blocks = Math.ceil(rows / BLOCK_ROWS);
    const start = this.#used;
    this.#used += blocks * BLOCK_ROWS * (1 + columns);
    if (this.#used > this.#memory.length) throw new RangeError('The weights are larger than the memory.');
    for (let row = 0; row < rows; row++) {
      const block = start + Math.floor(row / BLOCK_ROWS) * BLOCK_ROWS * (1 + columns) + (row % BLOCK_ROWS);
      this.#memory[block] = bias(row);
      for (let column = 0; column < columns; column++)
        this.#memory[block + BLOCK_ROWS * (1 + column)] = weight(row, column);
    }
    return { address: start * FLOAT_BYTES, blocks, columns, floor };
  }

  /**
   * Multiplies vectors of the first lanes; floats, counted from a lane's beginning. A result is rounded up to whole blocks
   * of eight numbers.
   * @param lanes how many; of those behind, what they hold may be computed as well
   * @param from where the first vector begins
   * @param to where its result goes
   * @param positions how many vectors of a lane there are
   * @param fromStep how far each begins behind the one before, and `toStep` its result
   */
  multiply(
    lanes: number,
    matrix: Matrix,
    from: number,
    to: number,
    positions = 1,
    fromStep = 0,
    toStep = 0,
  ): void {
    const { address, blocks, columns, floor } = matrix;
    const laneBytes = this.#laneFloats * FLOAT_BYTES;
    const x = from * FLOAT_BYTES;
    const y = to * FLOAT_BYTES;
    const xStep = fromStep * FLOAT_BYTES;
    const yStep = toStep * FLOAT_BYTES;
    const kernel = this.#exports;
    if (lanes > ONE_BY_ONE)
      kernel.multiply(address, blocks, columns, floor, x, y, laneBytes, positions, xStep, yStep);
    else
      for (let at = 0; at < lanes * laneBytes; at += laneBytes)
        kernel.multiplyOne(address, blocks, columns, floor, x + at, y + at, positions, xStep, yStep);
  }

  /** Lengths of complex numbers in one lane. @param count a multiple of 4 */
  magnitudes(lane: number, re: number, im: number, to: number, count: number): void {
    const base = lane * this.#laneFloats;
    this.#exports.magnitudes(
      (base + re) * FLOAT_BYTES,
      (base + im) * FLOAT_BYTES,
      (base + to) * FLOAT_BYTES,
      count / 4,
    );
  }

  /** A step of the LSTM in one lane: replaces the hidden values and the cells, writes max(hidden, 0) to `to`. */
  step(lane: number, gates: number, hidden: number, cells: number, to: number): void {
    const base = lane * this.#laneFloats;
    this.#exports.step(
      (base + gates) * FLOAT_BYTES,
      (base + hidden) * FLOAT_BYTES,
      (base + cells) * FLOAT_BYTES,
      (base + to) * FLOAT_BYTES,
    );
  }
}
