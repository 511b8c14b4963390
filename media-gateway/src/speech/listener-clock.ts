import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { Speech } from './speech.ts';

/** How far playback at the far end is, by marks and, between them, by the clock. All times are monotonic ms. */
export class ListenerClock {
  readonly #bytesPerMs: number;
  readonly #wholeBytes: number;
  /** When the far end will have played all it was sent. */
  #dryAt = -Infinity;
  /** When it will have played what it was sent of the speech; -Infinity before the first of it. */
  #speechDryAt = -Infinity;
  /** How far the far end's playback is behind the clock, learnt from marks. */
  #lagMs = 0;

  constructor(format: AudioFormat) {
    this.#bytesPerMs = bytesPerMs(format);
    this.#wholeBytes = format.encoding === 'pcm16' ? 2 : 1;
  }

  /** How much the far end has yet to play, ms; negative when it has run dry. */
  lead(now: number): number {
    return this.#dryAt - now;
  }

  /** When the far end will have played everything. */
  get dryAt(): number {
    return this.#dryAt;
  }

  /** When the far end will have played what it was sent of the speech. */
  get speechDryAt(): number {
    return this.#speechDryAt;
  }

  /** Whether some of the present speech has gone out since it began, or since the far end dropped it. */
  get speechPending(): boolean {
    return this.#speechDryAt !== -Infinity;
  }

  /** A speech begins, or is over: what went out before is none of it. */
  newSpeech(): void {
    this.#speechDryAt = -Infinity;
  }

  /**
   * Notes audio of the speech that goes out.
   * @returns when its first sample is heard, unless it is heard right behind what went out of the speech before
   */
  send(bytes: number, now: number): number | undefined {
    const startsAt = Math.max(this.#dryAt, now);
    const apart = startsAt !== this.#speechDryAt;
    this.#dryAt = this.#speechDryAt = startsAt + bytes / this.#bytesPerMs;
    return apart ? startsAt : undefined;
  }

  /** Notes audio that goes out and is none of the speech. */
  sendOther(bytes: number, now: number): void {
    this.#dryAt = Math.max(this.#dryAt, now) + bytes / this.#bytesPerMs;
  }

  /** Notes that the far end has dropped the audio it had not played. */
  clear(): void {
    this.#dryAt = -Infinity;
    this.#speechDryAt = -Infinity;
  }

  /** How much of a speech was heard, never more than was sent. */
  heardBytes(speech: Speech, now: number): number {
    return Math.max(speech.provenBytes, this.#bytesByClock(speech, now, this.#lagMs));
  }

  /** Learns from a mark: the far end has played `bytes` of the speech by now. */
  learn(speech: Speech, bytes: number, now: number): void {
    const byClock = this.#bytesByClock(speech, now, 0);
    const lag = Math.max(0, (byClock - bytes) / this.#bytesPerMs);
    this.#lagMs = this.#lagMs === 0 ? lag : this.#lagMs * 0.8 + lag * 0.2;
  }

  /** `bytes` rounded down to whole samples. */
  wholeSamples(bytes: number): number {
    const whole = Math.floor(bytes);
    return whole - (whole % this.#wholeBytes);
  }

  #bytesByClock(speech: Speech, now: number, lagMs: number): number {
    const unheardMs = Math.max(0, this.#speechDryAt + lagMs - now);
    return this.wholeSamples(Math.max(0, speech.sentBytes - unheardMs * this.#bytesPerMs));
  }
}
