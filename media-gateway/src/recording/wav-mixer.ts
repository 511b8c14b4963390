import { bytesFromPcm16, pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import { ALAW_TO_PCM16, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import type { PartFile } from './part-file.ts';

/** Audio less than this away from where the last piece ended follows it without a seam. */
const SEAM_MS = 40;
/** Blocks of a second that stay open for audio that comes late: what was played is known only afterwards. */
const OPEN_BLOCKS = 3;
/** No call is this long; a place beyond is a mistake. */
const MAX_SECONDS = 24 * 60 * 60;
const LEFT = 0;
const RIGHT = 1;

/** One of the two sides of a call. */
interface Side {
  channel: number;
  format: AudioFormat;
  /** G.711 at the recording's own rate, the usual case: a table look-up per sample. */
  table: Int16Array | undefined;
  converter: AudioConverter | undefined;
  /** The sample after the last one; undefined before the first. */
  next: number | undefined;
}

/** Lays both sides of a call on one clock, a second at a time. Pure but for the file it writes to. */
export class WavMixer {
  readonly sampleRate: number;
  readonly channels: number;
  readonly #file: PartFile;
  readonly #left: Side;
  readonly #right: Side;
  readonly #blocks = new Map<number, Int16Array>();
  readonly #free: Int16Array[] = [];
  /** The block that was asked for last: nearly every frame belongs into the one of the frame before. */
  #lastIndex = -1;
  #lastBlock: Int16Array = new Int16Array(0);
  /** Blocks below are with the file. */
  #firstOpen = 0;
  #end = 0;
  #gapSamples = 0;
  #closed = false;
  readonly #onGap: () => void;

  constructor(options: {
    file: PartFile;
    sampleRate: number;
    /** `dual`: caller left, agent right; `mono`: both on one. */
    channels: 'dual' | 'mono';
    caller: AudioFormat;
    agent: AudioFormat;
    /** Audio could not be kept; called each time. */
    onGap: () => void;
  }) {
    this.#file = options.file;
    this.sampleRate = options.sampleRate;
    this.channels = options.channels === 'dual' ? 2 : 1;
    this.#onGap = options.onGap;
    this.#left = this.#side(LEFT, options.caller);
    this.#right = this.#side(options.channels === 'dual' ? RIGHT : LEFT, options.agent);
  }

  /** Audio that was given and is not in the file. */
  get gapMs(): number {
    return Math.round((this.#gapSamples * 1000) / this.sampleRate);
  }

  caller(bytes: Uint8Array, atMs: number): void {
    this.#add(this.#left, bytes, atMs);
  }

  agent(bytes: Uint8Array, atMs: number): void {
    this.#add(this.#right, bytes, atMs);
  }

  /**
   * Hands everything to the file and ends it there.
   * @throws what kept the file from being written
   */
  async finish(endMs: number): Promise<{ durationMs: number; dataBytes: number }> {
    this.#drain(this.#left);
    this.#drain(this.#right);
    this.#closed = true;
    const samples = Math.min(this.#sampleAt(Math.max(0, endMs)), MAX_SECONDS * this.sampleRate);
    for (const index of [...this.#blocks.keys()].sort((a, b) => a - b)) await this.#flushLast(index);
    const dataBytes = samples * this.channels * 2;
    await this.#file.finish(dataBytes);
    return { durationMs: Math.round((samples * 1000) / this.sampleRate), dataBytes };
  }

  #side(channel: number, format: AudioFormat): Side {
    const sameRate = format.sampleRate === this.sampleRate;
    const table =
      sameRate && format.encoding === 'pcmu'
        ? MULAW_TO_PCM16
        : sameRate && format.encoding === 'pcma'
          ? ALAW_TO_PCM16
          : undefined;
    const converter = table
      ? undefined
      : new AudioConverter(format, { encoding: 'pcm16', sampleRate: this.sampleRate });
    return { channel, format, table, converter, next: undefined };
  }

  #sampleAt(ms: number): number {
    return Math.round((ms * this.sampleRate) / 1000);
  }

  #add(side: Side, bytes: Uint8Array, atMs: number): void {
    if (this.#closed || this.#file.failure) return;
    let at = this.#sampleAt(atMs);
    if (side.next === undefined) side.next = at;
    else if (Math.abs(at - side.next) <= (SEAM_MS * this.sampleRate) / 1000) at = side.next;
    else this.#drain(side);
    if (side.table) {
      this.#place(side.channel, bytes, side.table, at);
      side.next = at + bytes.length;
    } else {
      const samples = pcm16FromBytes(side.converter!.convert(bytes));
      this.#place(side.channel, samples, undefined, at);
      side.next = at + samples.length;
    }
  }

  /** What the resampler of a side still holds belongs to the piece that has ended. */
  #drain(side: Side): void {
    if (!side.converter || side.next === undefined) return;
    const samples = pcm16FromBytes(side.converter.flush());
    this.#place(side.channel, samples, undefined, side.next);
    side.next += samples.length;
  }

  #place(
    channel: number,
    source: Uint8Array | Int16Array,
    table: Int16Array | undefined,
    start: number,
  ): void {
    const rate = this.sampleRate;
    const openFrom = this.#firstOpen * rate;
    const end = Math.min(start + source.length, MAX_SECONDS * rate);
    let at = Math.max(start, openFrom);
    const lost = Math.min(at, end) - Math.max(start, 0);
    if (lost > 0) {
      this.#gapSamples += lost;
      this.#onGap();
    }
    while (at < end) {
      const index = Math.floor(at / rate);
      const block = this.#block(index);
      const stop = Math.min(end, (index + 1) * rate);
      this.#fill(block, channel, source, table, at - start, at - index * rate, stop - at);
      at = stop;
    }
    if (end > this.#end) {
      this.#end = end;
      this.#flush();
    }
  }

  #fill(
    block: Int16Array,
    channel: number,
    source: Uint8Array | Int16Array,
    table: Int16Array | undefined,
    from: number,
    to: number,
    count: number,
  ): void {
    if (this.channels === 2) {
      for (let i = 0, at = to * 2 + channel; i < count; i++, at += 2) {
        const value = source[from + i]!;
        block[at] = table ? table[value]! : value;
      }
      return;
    }
    for (let i = 0; i < count; i++) {
      const value = source[from + i]!;
      const sum = block[to + i]! + (table ? table[value]! : value);
      block[to + i] = sum > 32_767 ? 32_767 : sum < -32_768 ? -32_768 : sum;
    }
  }

  #block(index: number): Int16Array {
    if (index === this.#lastIndex) return this.#lastBlock;
    let block = this.#blocks.get(index);
    if (!block) {
      block = this.#free.pop() ?? newBlock(this.sampleRate * this.channels);
      this.#blocks.set(index, block);
    }
    this.#lastIndex = index;
    this.#lastBlock = block;
    return block;
  }

  /** Blocks that hardly anything will be added to go to the file; seconds without audio need no writing. */
  #flush(): void {
    const keepFrom = Math.floor((this.#end - 1) / this.sampleRate) - OPEN_BLOCKS;
    if (keepFrom <= this.#firstOpen) return;
    this.#firstOpen = keepFrom;
    for (const [index, block] of this.#blocks) {
      if (index >= keepFrom) continue;
      this.#blocks.delete(index);
      const offset = index * this.sampleRate * this.channels * 2;
      if (!this.#file.write(bytesFromPcm16(block), offset, () => this.#reuse(block))) {
        if (!this.#file.failure) {
          this.#gapSamples += this.sampleRate;
          this.#onGap();
        }
        this.#reuse(block);
      }
    }
  }

  /** At the end nothing is given up: each block waits for the disk. */
  async #flushLast(index: number): Promise<void> {
    const block = this.#blocks.get(index)!;
    this.#blocks.delete(index);
    const offset = index * this.sampleRate * this.channels * 2;
    while (!this.#file.failure) {
      if (this.#file.write(bytesFromPcm16(block), offset, () => {})) return;
      await this.#file.settled();
    }
  }

  #reuse(block: Int16Array): void {
    if (this.#closed || this.#free.length > 0) return;
    block.fill(0);
    this.#free.push(block);
  }
}

/** In shared memory: the thread that writes it to the file needs no copy. */
function newBlock(samples: number): Int16Array {
  return new Int16Array(new SharedArrayBuffer(samples * Int16Array.BYTES_PER_ELEMENT));
}
