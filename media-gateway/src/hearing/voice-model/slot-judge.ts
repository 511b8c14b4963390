import { SileroModel, SileroStream, WINDOW_SAMPLES, CONTEXT_SAMPLES } from './silero-model.ts';
import { HEADER, headerOf, RING_SAMPLES, Slot } from './slots.ts';
import { LEAD_SAMPLES } from './voice-model.ts';

/** Audio that waits longer, half a second, is worth nothing: only its end is judged. */
const MAX_BEHIND_SAMPLES = 4096;

/** What a round found. */
export interface Round {
  /** Windows that were judged. */
  judged: number;
  /** Streams that are to be judged, whether or not they had a window. */
  judging: number;
  /** Windows were left over: a stream had several. */
  more: boolean;
}

/** What the worker knows of a slot. */
interface Place {
  readonly slot: Slot;
  readonly model: SileroStream;
  /** The stream that is being judged. */
  stream: number;
  /** Where its next window begins, samples in 32 bits. */
  next: number;
}

/** Judges what streams have written into their slots: the worker's part of the shared memory. */
export class SlotJudge {
  readonly #memory: SharedArrayBuffer;
  readonly #header: Int32Array;
  readonly #model = new SileroModel();
  readonly #places: Place[] = [];
  /** Of this round, in the same order. */
  readonly #ready: Place[] = [];
  readonly #windows: SileroStream[] = [];
  readonly #round: Round = { judged: 0, judging: 0, more: false };

  constructor(memory: SharedArrayBuffer) {
    this.#memory = memory;
    this.#header = headerOf(memory);
  }

  /** Judges a window of every stream that has one. @returns the same object each time */
  round(): Readonly<Round> {
    const round = this.#round;
    round.judging = 0;
    round.more = false;
    this.#ready.length = 0;
    this.#windows.length = 0;
    const used = Atomics.load(this.#header, HEADER.used);
    for (let index = 0; index < used; index++) {
      const place = (this.#places[index] ??= this.#place(index));
      if (!place.slot.judging) continue;
      round.judging++;
      if (this.#take(place)) {
        this.#ready.push(place);
        this.#windows.push(place.model);
      }
    }
    round.judged = this.#ready.length;
    this.#model.judge(this.#windows);
    for (const place of this.#ready) {
      place.next = (place.next + WINDOW_SAMPLES) | 0;
      place.slot.give(place.stream, place.next, place.model.probability);
      if (((place.slot.written - place.next) | 0) >= WINDOW_SAMPLES) round.more = true;
    }
    return round;
  }

  #place(index: number): Place {
    return { slot: new Slot(this.#memory, index), model: new SileroStream(), stream: 0, next: 0 };
  }

  /** Where to begin with a stream that this thread has not judged yet: behind what an earlier thread judged. */
  #beginning(slot: Slot, stream: number, from: number): number {
    const last = (slot.verdicts - 1) | 0;
    if (slot.streamOf(last) !== stream) return from;
    const judged = slot.endOf(last);
    return ((judged - from) | 0) > 0 ? judged : from;
  }

  /** @returns whether there is a window to judge */
  #take(place: Place): boolean {
    const { slot, model } = place;
    const { stream, from } = slot;
    // After a short pause judging goes on where it stopped, see `VoiceModelStream.judging`.
    if (stream !== place.stream || ((from - place.next) | 0) > 0) {
      place.next = stream === place.stream ? from : this.#beginning(slot, stream, from);
      place.stream = stream;
      model.reset();
    }
    const { written } = slot;
    const behind = (written - place.next) | 0;
    if (behind < WINDOW_SAMPLES) return false;
    if (behind > MAX_BEHIND_SAMPLES) place.next = (written - LEAD_SAMPLES) | 0;
    model.take(slot.samples, place.next);
    // Some of it may have been overwritten meanwhile: the next round drops it as too old.
    return ((slot.written - place.next + CONTEXT_SAMPLES) | 0) <= RING_SAMPLES;
  }
}
