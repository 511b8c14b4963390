import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { Speech } from './speech.ts';

/** How far the listener at the far end is: proven by marks, else by the clock. All times monotonic ms. */
export class ListenerClock {
  readonly #bytesPerMs: number;
  readonly #wholeBytes: number;
  /** When the far end will have played all it was sent. */
  #dryAt = -Infinity;
  /** How much later than by the clock the far end plays, learnt from marks. */
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

  /** More goes out. @returns whether the far end had run dry (or begins): what follows is heard from now on */
  send(bytes: number, now: number): boolean {
    const dry = this.#dryAt < now;
    if (dry) this.#dryAt = now;
    this.#dryAt += bytes / this.#bytesPerMs;
    return dry;
  }

  /** The far end has dropped what it had not played. */
  clear(): void {
    this.#dryAt = -Infinity;
  }

  /** How much of a speech was heard, never more than was sent. */
  heardBytes(speech: Speech, now: number): number {
    return Math.max(speech.provenBytes, this.#bytesByClock(speech, now, this.#lagMs));
  }

  /** A mark proves that so much was heard by now. */
  learn(speech: Speech, bytes: number, now: number): void {
    const byClock = this.#bytesByClock(speech, now, 0);
    const lag = Math.max(0, (byClock - bytes) / this.#bytesPerMs);
    this.#lagMs = this.#lagMs === 0 ? lag : this.#lagMs * 0.8 + lag * 0.2;
  }

  /** So many bytes without half a sample at their end. */
  wholeSamples(bytes: number): number {
    const whole = Math.floor(bytes);
    return whole - (whole % this.#wholeBytes);
  }

  #bytesByClock(speech: Speech, now: number, lagMs: number): number {
    const unheardMs = Math.max(0, this.#dryAt + lagMs - now);
    return this.wholeSamples(Math.max(0, speech.sentBytes - unheardMs * this.#bytesPerMs));
  }
}
