import type { Model } from 'mongoose';
import { ASSET_RATES, MAX_ASSET_SECONDS } from '@parley/shared/contracts/audio-assets';
import type { AssetRate } from '@parley/shared/contracts/audio-assets';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { LeasedJobs } from '../jobs/leased-jobs.ts';
import type { Retry } from '../jobs/leased-jobs.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import { WorkLanes } from '../jobs/work-lanes.ts';
import type { Database } from '../storage/database.ts';
import { audioAssetCollection } from './audio-asset-model.ts';
import type { AudioAssetRecord } from './audio-asset-model.ts';
import type { AudioStorage } from './audio-storage.ts';
import { AudioError } from './decoding/audio-error.ts';
import type { DecodedAudio } from './decoding/decode-audio.ts';
import type { DecodeOrder } from './decoding/decode-child.ts';

/** Files that are decoded at a time: each is a process. */
const PARALLEL = 2;
/** Of the samples of one rate: what resampling adds is less than a second. */
const MAX_SAMPLES_BYTES = (MAX_ASSET_SECONDS + 1) * Math.max(...ASSET_RATES) * 2;

type Decode = (
  order: DecodeOrder,
  signal: AbortSignal,
  store: (rate: AssetRate, samples: AsyncIterable<Uint8Array>) => Promise<unknown>,
) => Promise<DecodedAudio>;

/** Makes uploads ready for calls. */
export class AudioPreparation {
  readonly #assets: Model<AudioAssetRecord>;
  readonly #jobs: LeasedJobs<AudioAssetRecord>;
  readonly #storage: AudioStorage;
  readonly #decode: Decode;
  readonly #logger: Logger;
  readonly #lanes = new WorkLanes();

  constructor(deps: {
    database: Database;
    storage: AudioStorage;
    decode: Decode;
    clock: Clock;
    logger: Logger;
  }) {
    this.#assets = deps.database.model(audioAssetCollection);
    this.#jobs = new LeasedJobs({ ...deps, records: this.#assets });
    this.#storage = deps.storage;
    this.#decode = deps.decode;
    this.#logger = deps.logger;
  }

  /** The task that runs `work`, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#lanes.wakeWith(task);
  }

  /** There is something new. */
  wake(): void {
    this.#lanes.wake();
  }

  /** Makes every asset ready that is due. */
  work(signal: AbortSignal): Promise<void> {
    return this.#lanes.run(
      Array.from({ length: PARALLEL }, () => () => this.#jobs.next(signal, this.#job)),
      signal,
    );
  }

  readonly #job = {
    work: (asset: AudioAssetRecord, signal: AbortSignal) => this.#prepare(asset, signal),
    failed: (asset: AudioAssetRecord, error: unknown, retry: Retry) => this.#failed(asset, error, retry),
  };

  async #prepare(asset: AudioAssetRecord, signal: AbortSignal): Promise<void> {
    const order = { path: this.#storage.path(this.#storage.uploadKey(asset)), format: asset.format };
    const { sampleRateHz, durationMs } = await this.#decode(order, signal, (rate, samples) =>
      this.#storage.write(this.#storage.samplesKey(asset, rate), samples, MAX_SAMPLES_BYTES),
    );
    await this.#jobs.settle(asset, {
      ...{ status: 'ready', error: null, run_at: null, lease_until: new Date(0) },
      ...{ sample_rate_hz: sampleRateHz, duration_ms: durationMs },
    });
    await this.#dropDeleted(asset);
  }

  async #failed(
    asset: AudioAssetRecord,
    error: unknown,
    { interrupted, again, failures }: Retry,
  ): Promise<void> {
    const details = { err: error, assetId: asset._id };
    if (error instanceof AudioError || !again) {
      if (!(error instanceof AudioError))
        this.#logger.error(details, 'an audio asset could not be made ready');
      await this.#jobs.settle(asset, {
        ...{ status: 'failed', run_at: null, lease_until: new Date(0), failures },
        error:
          error instanceof AudioError ? error.message : 'The audio could not be made ready. Upload it again.',
      });
    } else {
      if (!interrupted) this.#logger.warn(details, 'an audio asset will be made ready later');
      await this.#jobs.settle(asset, again);
    }
    await this.#dropDeleted(asset);
  }

  /** Whoever deletes an asset deletes its files after the record: what was written since goes here. */
  async #dropDeleted(asset: AudioAssetRecord): Promise<void> {
    if ((await this.#assets.exists({ _id: asset._id })) === null) await this.#storage.delete(asset);
  }
}
