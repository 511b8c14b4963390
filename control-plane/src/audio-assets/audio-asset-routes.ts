import { INTERNAL_PATHS } from '@parley/shared/contracts/addresses';
import { ASSET_RATES } from '@parley/shared/contracts/audio-assets';
import type { AssetRate } from '@parley/shared/contracts/audio-assets';
import { ForbiddenError, NotFoundError } from '@parley/shared/errors/app-error';
import { z } from 'zod';
import { fileResponse } from '../http/file-response.ts';
import { listOf, queryInteger, toPage } from '../http/list-query.ts';
import { defineOperation, HttpResponse, patchBody, streamBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { MediaLinks } from '../recordings/media-links.ts';
import { inProject, item } from '../tenancy/target.ts';
import { audioAssetCollection } from './audio-asset-model.ts';
import {
  ASSET_READ_ONLY,
  assetMediaPath,
  assetQuery,
  assetResponse,
  patchAssetRequest,
  toAssetResponse,
  uploadAssetRequest,
} from './audio-asset-schema.ts';
import type { AudioAssetService } from './audio-asset-service.ts';

const tag = 'Audio assets';
const asset = item(audioAssetCollection, 'asset_id');
const viewer = { key: 'viewer', user: 'viewer' } as const;
const editor = { key: 'editor', user: 'editor' } as const;
const audio = {
  200: { description: 'The audio', contentType: 'audio/*' },
  206: { description: 'The requested range', contentType: 'audio/*' },
} as const;

export function audioAssetRoutes({
  assets,
  links,
}: {
  assets: AudioAssetService;
  links: MediaLinks;
}): Operation[] {
  return [
    defineOperation({
      id: 'listAudioAssets',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/audio-assets',
      tag,
      summary: 'List audio assets',
      access: viewer,
      target: inProject,
      query: assetQuery,
      responses: { 200: { description: 'A page of audio assets', schema: listOf(assetResponse) } },
      handle: async ({ scope, query }) =>
        toPage(await assets.list(scope, query), (one) => toAssetResponse(one, links)),
    }),
    defineOperation({
      id: 'createAudioAsset',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/audio-assets',
      tag,
      summary: 'Upload an audio asset',
      description:
        'A file of at most 20 MiB and 10 minutes: WAV, MP3, or Ogg with Opus or Vorbis. The answer comes before it is decoded: its `status` tells when calls can play it.',
      access: editor,
      target: inProject,
      body: streamBody({ contentTypes: ['multipart/form-data'], described: uploadAssetRequest }),
      responses: { 201: { description: 'The audio asset', schema: assetResponse } },
      errors: [400, 409, 413],
      handle: async ({ scope, body }) => toAssetResponse(await assets.upload(scope, body), links),
    }),
    defineOperation({
      id: 'getAudioAsset',
      method: 'GET',
      path: '/v1/audio-assets/{asset_id}',
      tag,
      summary: 'Get an audio asset',
      access: viewer,
      target: asset,
      responses: { 200: { description: 'The audio asset', schema: assetResponse } },
      handle: ({ item: found }) => toAssetResponse(found, links),
    }),
    defineOperation({
      id: 'updateAudioAsset',
      method: 'PATCH',
      path: '/v1/audio-assets/{asset_id}',
      tag,
      summary: 'Update an audio asset',
      access: editor,
      target: asset,
      body: patchBody(patchAssetRequest, { readOnly: ASSET_READ_ONLY }),
      responses: { 200: { description: 'The audio asset', schema: assetResponse } },
      handle: async ({ scope, item: found, body }) =>
        toAssetResponse(await assets.update(scope, found, body), links),
    }),
    defineOperation({
      id: 'deleteAudioAsset',
      method: 'DELETE',
      path: '/v1/audio-assets/{asset_id}',
      tag,
      summary: 'Delete an audio asset',
      access: editor,
      target: asset,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: ({ scope, item: found }) => assets.delete(scope, found),
    }),
    defineOperation({
      id: 'getAudioAssetContent',
      method: 'GET',
      path: '/v1/audio-assets/{asset_id}/content',
      tag,
      summary: 'Download an audio asset, as it was uploaded',
      description: 'Takes `Range`.',
      access: viewer,
      target: asset,
      responses: audio,
      errors: [416],
      handle: async ({ item: found, headers }) => fileResponse(await assets.content(found), headers.range),
    }),
    defineOperation({
      id: 'getAudioAssetMedia',
      method: 'GET',
      path: '/media/v1/audio-assets/{asset_id}',
      tag: 'Media',
      summary: 'Download an audio asset through a signed link',
      description: 'The signature in the query replaces a credential. Takes `Range`.',
      access: 'public',
      query: z.object({ expires: queryInteger(0, 99_999_999_999), signature: z.string().max(128) }),
      responses: audio,
      errors: [403, 416],
      handle: async ({ params, query, headers }) => {
        if (!links.verify(assetMediaPath(params.asset_id), query))
          throw new ForbiddenError('forbidden', 'The link is invalid or has expired.');
        const found = await assets.find(params.asset_id);
        if (!found) throw new NotFoundError();
        return fileResponse(await assets.content(found), headers.range);
      },
    }),
  ];
}

const rate = z.enum(ASSET_RATES.map(String) as [string, ...string[]]);

/** What gateways play. */
export function internalAudioAssetRoutes({ assets }: { assets: AudioAssetService }): Operation[] {
  return [
    defineOperation({
      ...{ tag: 'internal', access: 'internal', described: false, rateLimited: false },
      id: 'getAudioAssetSamples',
      method: 'GET',
      path: INTERNAL_PATHS.audioAsset(
        '{asset_id}',
        '{rate}',
      ) as '/internal/v1/audio-assets/{asset_id}/{rate}',
      summary: 'The samples of an audio asset at one rate: PCM16, one channel',
      params: { rate },
      responses: { 200: { description: 'The samples', contentType: 'application/octet-stream' } },
      handle: async ({ params }) => {
        const { size, content } = await assets.samples(params.asset_id, Number(params.rate) as AssetRate);
        return new HttpResponse(200, content, {
          'Content-Type': 'application/octet-stream',
          'Content-Length': String(size),
        });
      },
    }),
  ];
}
