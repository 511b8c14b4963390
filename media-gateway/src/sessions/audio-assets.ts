import { ASSET_RATES } from '@parley/shared/contracts/audio-assets';
import type { AssetRate, PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { RecordedSpeech } from '../speech/recorded-speech.ts';

/** Memory for the audio of all calls: the longest asset at the highest rate has room. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** Where the samples are: the control plane. */
export interface SampleSource {
  /** PCM16, one channel. @throws whatever the request met, and for more than `maxBytes` */
  audioSamples(assetId: string, rate: AssetRate, maxBytes: number): Promise<Uint8Array>;
}

interface Kept {
  samples: Promise<Uint8Array>;
  bytes: number;
  loaded: boolean;
}

/** Audio that was uploaded for agents, in memory while there is room: what was played longest ago goes first. */
export class AudioAssets {
  readonly #source: SampleSource;
  readonly #maxBytes: number;
  /** By content and rate, the one played last at the end. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor(deps: { source: SampleSource; maxBytes?: number }) {
    this.#source = deps.source;
    this.#maxBytes = deps.maxBytes ?? MAX_KEPT_BYTES;
  }

  /**
   * The audio for a far end that plays at `sampleRate`: at the lowest rate there is that loses nothing.
   * @throws whatever the request met; Error while too much is being loaded
   */
  async load(assetId: string, asset: PlanAsset, sampleRate: number): Promise<RecordedSpeech> {
    const rate = ASSET_RATES.find((one) => one >= sampleRate) ?? ASSET_RATES.at(-1)!;
    const key = `${asset.sha256}:${rate}`;
    const kept = this.#kept.get(key) ?? this.#begin(key, assetId, asset, rate);
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    return { samples: await kept.samples, sampleRate: rate };
  }

  #begin(key: string, assetId: string, { duration_ms }: PlanAsset, rate: AssetRate): Kept {
    // The duration is rounded to a millisecond.
    const bytes = Math.ceil(((duration_ms + 1) * rate) / 1000) * 2;
    this.#makeRoom(bytes);
    const kept: Kept = {
      samples: this.#source.audioSamples(assetId, rate, bytes),
      bytes,
      loaded: false,
    };
    this.#bytes += bytes;
    kept.samples.then(
      () => (kept.loaded = true),
      () => this.#drop(key, kept),
    );
    return kept;
  }

  #makeRoom(bytes: number): void {
    for (const [key, kept] of this.#kept) {
      if (this.#bytes + bytes <= this.#maxBytes) return;
      if (kept.loaded) this.#drop(key, kept);
    }
    if (this.#bytes + bytes > this.#maxBytes) throw new Error('Too much audio is being loaded.');
  }

  #drop(key: string, kept: Kept): void {
    if (this.#kept.get(key) !== kept) return;
    this.#kept.delete(key);
    this.#bytes -= kept.bytes;
  }
}
