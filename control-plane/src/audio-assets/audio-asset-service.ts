import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Model } from 'mongoose';
import type { AssetRate, PlanAsset } from '@parley/shared/contracts/audio-assets';
import { AppError, NotFoundError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { z } from 'zod';
import type { ServedFile } from '../http/file-response.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import { readUploadWithFields } from '../http/read-upload.ts';
import { parseInput } from '../http/validation.ts';
import type { Database } from '../storage/database.ts';
import type { ListPage } from '../storage/list.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Scope } from '../tenancy/scope.ts';
import { audioAssetCollection } from './audio-asset-model.ts';
import type { AudioAssetRecord } from './audio-asset-model.ts';
import { ASSET_FIELDS, assetFields } from './audio-asset-schema.ts';
import type { assetQuery, patchAssetRequest } from './audio-asset-schema.ts';
import { AUDIO_ENDINGS, AUDIO_FORMATS, audioFormatOf } from './audio-format.ts';
import type { AudioPreparation } from './audio-preparation.ts';
import { MAX_UPLOAD_BYTES } from './audio-storage.ts';
import type { AudioStorage } from './audio-storage.ts';

/** Agents, as far as they are asked for here: `StoredAgents`. */
export interface NamingAgents {
  /** Live agents of the org that name one of the ids, at most 20. */
  naming(orgId: string, ids: readonly string[]): Promise<ErrorRef[]>;
}

/** Audio that agents may play. */
export class AudioAssetService {
  readonly #assets: Model<AudioAssetRecord>;
  readonly #storage: AudioStorage;
  readonly #preparation: Pick<AudioPreparation, 'wake'>;
  readonly #agents: NamingAgents;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    storage: AudioStorage;
    preparation: Pick<AudioPreparation, 'wake'>;
    agents: NamingAgents;
    clock: Clock;
  }) {
    this.#assets = deps.database.model(audioAssetCollection);
    this.#storage = deps.storage;
    this.#preparation = deps.preparation;
    this.#agents = deps.agents;
    this.#clock = deps.clock;
  }

  list(scope: Scope, list: z.output<typeof assetQuery>): Promise<ListPage<AudioAssetRecord>> {
    const { kind, status } = list;
    return scope
      .collection(audioAssetCollection)
      .page({ ...equalities({ kind, status }), ...commonFilter(list) }, list);
  }

  /**
   * Takes audio from a multipart body.
   * @throws AppError 400, 413 and 415; ConflictError `limit_reached`; ValidationError
   */
  async upload(scope: Scope, request: IncomingMessage): Promise<AudioAssetRecord> {
    const assets = scope.collection(audioAssetCollection);
    await checkRoom(assets);
    const owned = { _id: newId('aud', this.#clock.now()), org_id: scope.orgId };
    try {
      const { taken, fields } = await readUploadWithFields(
        request,
        { maxBytes: MAX_UPLOAD_BYTES, fields: ASSET_FIELDS },
        ({ content }) =>
          this.#storage.write(
            this.#storage.uploadKey(owned),
            content as AsyncIterable<Uint8Array>,
            MAX_UPLOAD_BYTES,
          ),
      );
      const format = audioFormatOf(await this.#storage.head(owned));
      if (!format)
        throw new AppError(
          415,
          'unsupported_media_type',
          'Unsupported kind of audio. Send WAV, MP3, or Ogg with Opus or Vorbis.',
        );
      const asset = await assets.insert({
        _id: owned._id,
        ...parseInput(assetFields, fields, 'body'),
        ...{ format, size_bytes: taken.sizeBytes, sha256: taken.sha256 },
        ...{ duration_ms: null, sample_rate_hz: null, status: 'processing', error: null },
        ...{ run_at: new Date(this.#clock.now()), lease_until: new Date(0), attempts: 0, failures: 0 },
      });
      this.#preparation.wake();
      return asset;
    } catch (error) {
      await this.#storage.delete(owned);
      throw error;
    }
  }

  update(
    scope: Scope,
    asset: AudioAssetRecord,
    request: z.output<typeof patchAssetRequest>,
  ): Promise<AudioAssetRecord> {
    return scope.collection(audioAssetCollection).patch(asset._id, request);
  }

  /** @throws AppError 409 `resource_in_use` while live agents name it */
  async delete(scope: Scope, asset: AudioAssetRecord): Promise<void> {
    const refs = await this.#agents.naming(scope.orgId, [asset._id]);
    if (refs.length > 0)
      throw new AppError(409, 'resource_in_use', 'The audio asset is in use: see refs.', { refs });
    await scope.collection(audioAssetCollection).delete({ _id: asset._id });
    await this.#storage.delete(asset);
  }

  /** Whatever its tenant: the caller has a signed link, or is a gateway. */
  find(assetId: string): Promise<AudioAssetRecord | null> {
    return this.#assets.findOne({ _id: assetId }).lean<AudioAssetRecord>();
  }

  /** The upload, as it was sent. @throws NotFoundError */
  async content(asset: AudioAssetRecord): Promise<ServedFile> {
    const key = this.#storage.uploadKey(asset);
    const size = await this.#storage.size(key);
    if (size === null) throw new NotFoundError();
    return {
      size,
      contentType: AUDIO_FORMATS[asset.format],
      name: `${asset._id}.${AUDIO_ENDINGS[asset.format]}`,
      read: (range) => this.#storage.read(key, range),
    };
  }

  /** What of these a call of the project may play, by id: those that are ready. */
  async forPlan(projectId: string, ids: readonly string[]): Promise<Record<string, PlanAsset>> {
    if (ids.length === 0) return {};
    const ready = await this.#assets
      .find({ _id: { $in: ids }, project_id: projectId, status: 'ready' })
      .lean<AudioAssetRecord[]>();
    return Object.fromEntries(
      ready.map(({ _id, sha256, duration_ms, transcript }) => [
        _id,
        { sha256, duration_ms: duration_ms!, transcript },
      ]),
    );
  }

  /** What a call plays of it. @throws NotFoundError unless it is ready */
  async samples(assetId: string, rate: AssetRate): Promise<{ size: number; content: Readable }> {
    const asset = await this.find(assetId);
    const key = asset?.status === 'ready' ? this.#storage.samplesKey(asset, rate) : undefined;
    const size = key === undefined ? null : await this.#storage.size(key);
    if (key === undefined || size === null) throw new NotFoundError();
    return { size, content: this.#storage.read(key) };
  }
}
