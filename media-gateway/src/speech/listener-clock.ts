import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { Speech } from './speech.ts';

/** How far playback at the far end is, by marks and, between them, by the clock. All times are monotonic ms. */
export class ListenerClock {
  readonly #bytesPerMs: number;
  readonly #wholeBytes: number;
  /** When the far end will have played all it was sent. */
  #dryAt = -Infinity;
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

  /**
   * Notes audio that goes out.
   * @returns whether the far end had nothing left to play, so that this is heard at once
   */
  send(bytes: number, now: number): boolean {
    const dry = this.#dryAt < now;
    if (dry) this.#dryAt = now;
    this.#dryAt += bytes / this.#bytesPerMs;
    return dry;
  }

  /** Notes that the far end has dropped the audio it had not played. */
  clear(): void {
    this.#dryAt = -Infinity;
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
    const unheardMs = Math.max(0, this.#dryAt + lagMs - now);
    return this.wholeSamples(Math.max(0, speech.sentBytes - unheardMs * this.#bytesPerMs));
  }
}
