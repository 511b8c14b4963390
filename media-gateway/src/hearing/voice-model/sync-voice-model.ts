import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { SampleRing } from './sample-ring.ts';
import { MODEL_SAMPLE_RATE, SileroModel, SileroStream, WINDOW_SAMPLES } from './silero-model.ts';
import { LEAD_SAMPLES, type VoiceModel, type VoiceModelStream } from './voice-model.ts';

const RING_SAMPLES = 4096;
/** Taken at a time, so that nothing is overwritten before it is judged. */
const PIECE_BYTES = 2048;
/** Verdicts that nobody reads, half an hour: the oldest go first. */
const MAX_VERDICTS = 65_536;
const SAMPLES_PER_MS = MODEL_SAMPLE_RATE / 1000;

/**
 * The voice model in the caller's own thread: what is pushed is judged when `push` returns. For tests and for work on
 * recordings; a gateway has better things to do than 30 microseconds of arithmetic a window.
 */
export class SyncVoiceModel implements VoiceModel {
  readonly #model = new SileroModel();

  open(format: AudioFormat): VoiceModelStream {
    return new SyncVoiceModelStream(this.#model, format);
  }
}

class SyncVoiceModelStream implements VoiceModelStream {
  readonly #model: SileroModel;
  readonly #samples = new Int16Array(RING_SAMPLES);
  readonly #ring: SampleRing;
  readonly #stream = new SileroStream();
  readonly #judged: readonly SileroStream[] = [this.#stream];
  #verdicts: { probability: number; endMs: number }[] = [];
  #judging = false;
  #closed = false;
  /** Where the next window begins. */
  #next = 0;

  constructor(model: SileroModel, format: AudioFormat) {
    this.#model = model;
    this.#ring = new SampleRing(format, this.#samples);
  }

  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      this.#ring.push(bytes.subarray(at, at + PIECE_BYTES));
      if (this.#judging) this.#judge();
    }
  }

  get judging(): boolean {
    return this.#judging;
  }

  set judging(judging: boolean) {
    if (judging === this.#judging || this.#closed) return;
    this.#judging = judging;
    if (!judging) return;
    const lead = Math.max(0, this.#ring.written - LEAD_SAMPLES);
    // After a shorter pause judging goes on where it stopped.
    if (lead > this.#next) {
      this.#next = lead;
      this.#stream.reset();
    }
    this.#judge();
  }

  read(each: (probability: number, endMs: number) => void): void {
    const verdicts = this.#verdicts;
    if (verdicts.length === 0) return;
    this.#verdicts = [];
    for (const { probability, endMs } of verdicts) each(probability, endMs);
  }

  get behindMs(): number {
    return this.#judging ? (this.#ring.written - this.#next) / SAMPLES_PER_MS : 0;
  }

  close(): void {
    this.#closed = true;
    this.#judging = false;
    this.#verdicts = [];
  }

  #judge(): void {
    for (; this.#ring.written - this.#next >= WINDOW_SAMPLES; this.#next += WINDOW_SAMPLES) {
      this.#stream.take(this.#samples, this.#next);
      this.#model.judge(this.#judged);
      const endMs = (this.#next + WINDOW_SAMPLES) / SAMPLES_PER_MS;
      if (this.#verdicts.length === MAX_VERDICTS) this.#verdicts.shift();
      this.#verdicts.push({ probability: this.#stream.probability, endMs });
    }
  }
}
