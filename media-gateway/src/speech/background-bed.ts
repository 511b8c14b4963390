import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { mixerFor, type Loop, type Mixer } from '@parley/shared/audio/mixer';
import type { Participant } from '../participants/participant.ts';
import type { ListenerClock } from './listener-clock.ts';

/** How far ahead a loop is while nothing is said, and what goes out at a time. */
const IDLE_LEAD_MS = 200;
const IDLE_CHUNK_MS = 100;
/** The same while a voice is late in the middle of a speech: what comes of it must not wait. */
const GAP_LEAD_MS = 40;
const GAP_CHUNK_MS = 20;
/** A loop that is no further ahead may stay before a speech. */
const HARMLESS_LEAD_MS = 20;

/**
 * A sound that goes on under what the agent says and while nothing is said: a background, or hold audio. It is mixed
 * into the chunks that go out; the speech itself, its times and its recording know nothing of it.
 */
export class BackgroundBed {
  readonly #participant: Participant;
  readonly #listener: ListenerClock;
  readonly #mixer: Mixer;
  readonly #bytesPerMs: number;
  readonly #sampleBytes: number;
  #loop: Loop | undefined;
  /** The sample of the loop that goes out next. */
  #at = 0;

  constructor(deps: { participant: Participant; listener: ListenerClock; format: AudioFormat }) {
    this.#participant = deps.participant;
    this.#listener = deps.listener;
    this.#mixer = mixerFor(deps.format);
    this.#bytesPerMs = bytesPerMs(deps.format);
    this.#sampleBytes = deps.format.encoding === 'pcm16' ? 2 : 1;
  }

  /** Plays a loop from its beginning, in place of the one before; undefined: none. */
  play(loop: Loop | undefined): void {
    this.#loop = loop && loop.samples.length > 0 ? loop : undefined;
    this.#at = 0;
  }

  /** @returns the audio with the loop under it, good until the next call; without a loop the very audio */
  under(audio: Uint8Array): Uint8Array {
    if (!this.#loop) return audio;
    const mixed = this.#mixer.under(audio, this.#loop, this.#at);
    this.#pass(audio.length);
    return mixed;
  }

  /** The far end drops what it has not played: the loop goes on from there. */
  cleared(now: number): void {
    const loop = this.#loop;
    if (!loop) return;
    const bytes = this.#listener.wholeSamples(Math.max(0, this.#listener.lead(now)) * this.#bytesPerMs);
    const { length } = loop.samples;
    this.#at = (((this.#at - bytes / this.#sampleBytes) % length) + length) % length;
  }

  /** A speech is about to begin: it does not wait behind a loop that has gone out ahead of its time. */
  makeWay(now: number): void {
    if (!this.#loop || this.#listener.speechPending || this.#listener.lead(now) <= HARMLESS_LEAD_MS) return;
    this.cleared(now);
    this.#participant.clear();
    this.#listener.clear();
  }

  /** Keeps the loop going where no speech does. @param inSpeech more of a speech may come at any time */
  fill(now: number, inSpeech: boolean): void {
    const loop = this.#loop;
    if (!loop) return;
    const chunkMs = inSpeech ? GAP_CHUNK_MS : IDLE_CHUNK_MS;
    const most = (inSpeech ? GAP_LEAD_MS : IDLE_LEAD_MS) - chunkMs;
    while (this.#listener.lead(now) <= most) {
      const bytes = chunkMs * this.#bytesPerMs;
      this.#listener.sendOther(bytes, now);
      this.#participant.play(this.#mixer.alone(bytes, loop, this.#at), 0);
      this.#pass(bytes);
    }
  }

  #pass(bytes: number): void {
    this.#at = (this.#at + bytes / this.#sampleBytes) % this.#loop!.samples.length;
  }
}
