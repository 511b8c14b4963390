import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';

/** How much caller audio is kept until the call listens; the oldest is dropped beyond that. */
const MAX_AUDIO_MS = 1000;
const MAX_DIGITS = 32;

type EarlyItem =
  | { type: 'audio'; bytes: Uint8Array; durationMs: number; timestampMs: number | undefined }
  | { type: 'dtmf'; digit: string };

/** What a far end sends before its call listens: the newest second of audio and the first keys, in order. */
export class EarlyMedia {
  #items: EarlyItem[] = [];
  #audioMs = 0;
  #digits = 0;

  /** Copies `bytes`. @param timestampMs the far end's media time, where it gives one */
  keepAudio(bytes: Uint8Array, format: AudioFormat, timestampMs: number | undefined): void {
    const most = MAX_AUDIO_MS * bytesPerMs(format);
    const newest = bytes.length > most ? bytes.subarray(bytes.length - most) : bytes;
    const durationMs = newest.length / bytesPerMs(format);
    this.#items.push({ type: 'audio', bytes: newest.slice(), durationMs, timestampMs });
    this.#audioMs += durationMs;
    while (this.#audioMs > MAX_AUDIO_MS) this.#dropOldest();
  }

  keepDigit(digit: string): void {
    if (this.#digits++ < MAX_DIGITS) this.#items.push({ type: 'dtmf', digit });
  }

  /** Takes everything, in order. */
  take(): EarlyItem[] {
    this.#audioMs = 0;
    return this.#items.splice(0);
  }

  #dropOldest(): void {
    const at = this.#items.findIndex(({ type }) => type === 'audio');
    const [dropped] = this.#items.splice(at, 1);
    if (dropped?.type === 'audio') this.#audioMs -= dropped.durationMs;
  }
}
