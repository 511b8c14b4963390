import { useSyncExternalStore } from 'react';

/**
 * Where in a call one listens. With a recording it is where the sound is; without one it is only a place that is marked.
 * Times are milliseconds from the answer of the call.
 */
export class Playback {
  readonly audio = new Audio();
  readonly durationMs: number;
  #timeMs: number;
  #frame = 0;
  #hasSound = false;
  #closed = false;
  readonly #listeners = new Set<() => void>();

  constructor({ durationMs, atMs }: { durationMs: number; atMs: number }) {
    this.durationMs = durationMs;
    this.#timeMs = this.#within(atMs);
    this.audio.preload = 'auto';
    for (const type of ['play', 'pause', 'ended', 'seeked', 'ratechange'])
      this.audio.addEventListener(type, this.#follow);
    // A place that was asked for before the sound was there.
    this.audio.addEventListener('loadedmetadata', () => (this.audio.currentTime = this.#timeMs / 1000));
  }

  get timeMs(): number {
    return this.#timeMs;
  }

  get playing(): boolean {
    return !this.audio.paused && !this.audio.ended;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get hasSound(): boolean {
    return this.#hasSound;
  }

  get rate(): number {
    return this.audio.playbackRate;
  }

  set rate(rate: number) {
    this.audio.playbackRate = rate;
  }

  setSource(url: string): void {
    this.#hasSound = true;
    this.audio.src = url;
    this.#tell();
  }

  seek(ms: number): void {
    this.#timeMs = this.#within(ms);
    if (this.audio.readyState > 0) this.audio.currentTime = this.#timeMs / 1000;
    this.#tell();
  }

  /** Goes there, and plays if there is sound. */
  playFrom(ms: number): void {
    this.seek(ms);
    if (this.#hasSound && !this.playing) this.toggle();
  }

  toggle(): void {
    if (!this.#hasSound) return;
    if (this.playing) this.audio.pause();
    else void this.audio.play().catch(() => this.#tell());
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  close(): void {
    this.#closed = true;
    cancelAnimationFrame(this.#frame);
    this.audio.pause();
    this.audio.removeAttribute('src');
    this.audio.load();
    this.#listeners.clear();
  }

  /** Tells of the time with each picture while it runs. */
  readonly #follow = (): void => {
    cancelAnimationFrame(this.#frame);
    this.#timeMs = this.#within(this.audio.currentTime * 1000);
    this.#tell();
    if (this.playing) this.#frame = requestAnimationFrame(this.#follow);
  };

  #within(ms: number): number {
    return Math.max(0, Math.min(this.durationMs, Number.isFinite(ms) ? ms : 0));
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Something of the playback; the component is drawn again only when that changes. */
export function usePlayback<T>(playback: Playback, of: (playback: Playback) => T): T {
  return useSyncExternalStore(playback.subscribe, () => of(playback));
}
