import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { SampleRing } from './sample-ring.ts';
import { MODEL_SAMPLE_RATE } from './silero-model.ts';
import { HEADER, headerOf, Slot, VERDICTS, wake } from './slots.ts';
import { LEAD_SAMPLES, type VoiceModel, type VoiceModelStream } from './voice-model.ts';

const SAMPLES_PER_MS = MODEL_SAMPLE_RATE / 1000;

/**
 * The voice model as the thread of the calls sees it, while a `SlotJudge` in another thread judges. Audio and verdicts
 * go through shared memory, a slot a stream: nobody sends a message, and nobody waits. Where the judge is late, the
 * oldest audio is not judged.
 */
export class SlotVoiceModel implements VoiceModel {
  readonly #memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #maxStreams: number;
  readonly #worker: { readonly gone: boolean };
  /** Slots that were ever in use, from the first on. */
  readonly #slots: Slot[] = [];
  readonly #free: Slot[] = [];

  /** @param memory of `maxStreams` slots */
  constructor(memory: SharedArrayBuffer, maxStreams: number, worker: { readonly gone: boolean }) {
    this.#memory = memory;
    this.#header = headerOf(memory);
    this.#maxStreams = maxStreams;
    this.#worker = worker;
  }

  open(format: AudioFormat): VoiceModelStream | undefined {
    if (this.#worker.gone) return undefined;
    const slot = this.#free.pop() ?? this.#newSlot();
    return slot && new SlotStream(format, slot, this.#header, () => this.#free.push(slot));
  }

  #newSlot(): Slot | undefined {
    if (this.#slots.length === this.#maxStreams) return undefined;
    const slot = new Slot(this.#memory, this.#slots.length);
    this.#slots.push(slot);
    Atomics.store(this.#header, HEADER.used, this.#slots.length);
    return slot;
  }
}

class SlotStream implements VoiceModelStream {
  readonly #slot: Slot;
  readonly #header: Int32Array;
  readonly #ring: SampleRing;
  /** The number by which the slot knows this stream. */
  readonly #stream: number;
  #release: (() => void) | undefined;
  #judging = false;
  /** Where judging began, samples. */
  #from = 0;
  /** Verdicts of the slot that were read, or are none of ours. */
  #read: number;

  constructor(format: AudioFormat, slot: Slot, header: Int32Array, release: () => void) {
    this.#ring = new SampleRing(format, slot.samples);
    this.#slot = slot;
    this.#header = header;
    this.#release = release;
    this.#stream = slot.begin();
    this.#read = slot.verdicts;
  }

  push(bytes: Uint8Array): void {
    if (!this.#release) return;
    this.#ring.push(bytes);
    this.#slot.written = this.#ring.written;
  }

  get judging(): boolean {
    return this.#judging;
  }

  set judging(judging: boolean) {
    if (judging === this.#judging || !this.#release) return;
    this.#judging = judging;
    if (!judging) {
      this.#slot.stop();
      return;
    }
    this.#from = Math.max(0, this.#ring.written - LEAD_SAMPLES);
    this.#slot.judge(this.#from);
    wake(this.#header);
  }

  read(each: (probability: number, endMs: number) => void): void {
    if (!this.#release) return;
    const slot = this.#slot;
    const { verdicts } = slot;
    // The oldest one kept may be written over at this moment, so it is left out.
    if (((verdicts - this.#read) | 0) >= VERDICTS) this.#read = (verdicts - VERDICTS + 1) | 0;
    for (; this.#read !== verdicts; this.#read = (this.#read + 1) | 0) {
      if (slot.streamOf(this.#read) !== this.#stream) continue;
      each(slot.probabilityOf(this.#read), this.#endOf(this.#read) / SAMPLES_PER_MS);
    }
  }

  get behindMs(): number {
    if (!this.#judging) return 0;
    const last = (this.#slot.verdicts - 1) | 0;
    const judged =
      this.#slot.streamOf(last) === this.#stream ? Math.max(this.#from, this.#endOf(last)) : this.#from;
    return (this.#ring.written - judged) / SAMPLES_PER_MS;
  }

  close(): void {
    if (!this.#release) return;
    this.judging = false;
    this.#release();
    this.#release = undefined;
  }

  /** Where a verdict's window ends, samples of this stream. */
  #endOf(verdict: number): number {
    return this.#ring.written + ((this.#slot.endOf(verdict) - this.#ring.written) | 0);
  }
}
