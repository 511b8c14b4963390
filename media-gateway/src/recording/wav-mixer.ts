import { bytesFromPcm16, pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import { ALAW_TO_PCM16, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import type { PartFile } from './part-file.ts';
import { recordedSeconds, type RecordedSecond } from './recorded-second.ts';

/** Audio less than this away from where the last piece ended follows it without a seam. */
const SEAM_MS = 40;
/** Seconds that stay open for audio that comes late: what was played is known only afterwards. */
const OPEN_SECONDS = 3;
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
  readonly #newSecond: () => RecordedSecond;
  readonly #seconds = new Map<number, RecordedSecond>();
  readonly #free: RecordedSecond[] = [];
  /** The one that was asked for last: nearly every frame belongs into the one of the frame before. */
  #lastIndex = -1;
  #last: RecordedSecond | undefined;
  /** Seconds below are with the file. */
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
    this.#newSecond = recordedSeconds(this.sampleRate, this.channels, [options.caller, options.agent]);
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
    for (const index of [...this.#seconds.keys()].sort((a, b) => a - b)) await this.#flushLast(index);
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
      const stop = Math.min(end, (index + 1) * rate);
      this.#second(index).lay(channel, source, table, at - start, at - index * rate, stop - at);
      at = stop;
    }
    if (end > this.#end) {
      this.#end = end;
      this.#flush();
    }
  }

  #second(index: number): RecordedSecond {
    if (index === this.#lastIndex) return this.#last!;
    let second = this.#seconds.get(index);
    if (!second) {
      second = this.#free.pop() ?? this.#newSecond();
      this.#seconds.set(index, second);
    }
    this.#lastIndex = index;
    this.#last = second;
    return second;
  }

  /** Seconds that hardly anything will be added to go to the file; those without audio need no writing. */
  #flush(): void {
    const keepFrom = Math.floor((this.#end - 1) / this.sampleRate) - OPEN_SECONDS;
    if (keepFrom <= this.#firstOpen) return;
    this.#firstOpen = keepFrom;
    for (const [index, second] of this.#seconds) {
      if (index >= keepFrom) continue;
      this.#seconds.delete(index);
      if (!this.#write(index, second, () => this.#reuse(second))) {
        if (!this.#file.failure) {
          this.#gapSamples += this.sampleRate;
          this.#onGap();
        }
        this.#reuse(second);
      }
    }
  }

  /** At the end nothing is given up: each second waits for the disk. */
  async #flushLast(index: number): Promise<void> {
    const second = this.#seconds.get(index)!;
    this.#seconds.delete(index);
    while (!this.#file.failure) {
      if (this.#write(index, second, () => second.clear())) return;
      await this.#file.settled();
    }
  }

  /** @returns false when it was not queued */
  #write(index: number, second: RecordedSecond, done: () => void): boolean {
    const offset = index * this.sampleRate * this.channels * 2;
    return this.#file.write(bytesFromPcm16(second.samples()), offset, done);
  }

  #reuse(second: RecordedSecond): void {
    second.clear();
    if (!this.#closed && this.#free.length === 0) this.#free.push(second);
  }
}
