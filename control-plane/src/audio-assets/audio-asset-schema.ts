import { z } from 'zod';
import { anyOf, listQuery } from '../http/list-query.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, timestamp, toTimes } from '../http/record-schema.ts';
import type { MediaLinks } from '../recordings/media-links.ts';
import { ASSET_KINDS, ASSET_STATUSES } from './audio-asset-model.ts';
import type { AudioAssetRecord } from './audio-asset-model.ts';
import { AUDIO_FORMATS } from './audio-format.ts';

const kind = z
  .enum(ASSET_KINDS)
  .meta({ description: 'What it is meant for; any agent setting takes any kind.' });
const writable = {
  name: z.string().trim().min(1).max(120).meta({ example: 'Welcome' }),
  kind,
  transcript: z
    .string()
    .trim()
    .min(1)
    .max(5000)
    .nullable()
    .meta({ description: 'What is said in it: it stands in transcripts of calls that play it.' })
    .default(null),
};

/** The text fields beside the file. */
export const assetFields = z.strictObject(writable);
export const ASSET_FIELDS = ['name', 'kind', 'transcript'] as const satisfies (keyof typeof writable)[];

export const uploadAssetRequest = assetFields
  .extend({ file: z.file().meta({ description: 'The audio: WAV, MP3, or Ogg with Opus or Vorbis.' }) })
  .meta({ id: 'UploadAudioAssetRequest' });

export const patchAssetRequest = patchOf(writable).meta({ id: 'PatchAudioAssetRequest' });

export const ASSET_READ_ONLY = [
  ...['id', 'org_id', 'project_id', 'mime_type', 'duration_seconds', 'sample_rate_hz', 'size_bytes'],
  ...['status', 'error', 'url', 'url_expires_at', 'created_at', 'updated_at'],
] as const;

export const assetQuery = listQuery({
  sortable: ['name'],
  q: true,
  filters: {
    kind: anyOf(z.enum(ASSET_KINDS)).optional(),
    status: anyOf(z.enum(ASSET_STATUSES)).optional(),
  },
});

export const assetResponse = z
  .object({
    id: z.string().meta({ example: 'aud_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    kind,
    mime_type: z.string().meta({ description: 'What was uploaded.', example: 'audio/mpeg' }),
    duration_seconds: z
      .number()
      .nullable()
      .meta({ description: 'How long it plays; null until it is ready.' }),
    sample_rate_hz: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Samples a second of the upload; null until it is ready.' }),
    size_bytes: z.number().int().meta({ description: 'Size of the upload.' }),
    transcript: z.string().nullable().meta({ description: 'What is said in it; null: not known.' }),
    status: z
      .enum(ASSET_STATUSES)
      .meta({ description: '`processing` until it is ready for calls at 8, 16 and 48 kHz.' }),
    error: z.string().nullable(),
    url: z.string().meta({ description: 'Plays the upload without a credential.' }),
    url_expires_at: timestamp.meta({ description: 'When `url` ends to be valid.' }),
    ...recordFields,
  })
  .meta({ id: 'AudioAsset' });

/** Path of an asset's audio outside `/v1`. */
export function assetMediaPath(assetId: string): string {
  return `/media/v1/audio-assets/${assetId}`;
}

export function toAssetResponse(
  asset: AudioAssetRecord,
  links: Pick<MediaLinks, 'sign'>,
): z.infer<typeof assetResponse> {
  const { url, expiresAt } = links.sign(assetMediaPath(asset._id));
  return {
    id: asset._id,
    org_id: asset.org_id,
    project_id: asset.project_id,
    name: asset.name,
    kind: asset.kind,
    mime_type: AUDIO_FORMATS[asset.format],
    duration_seconds: asset.duration_ms === null ? null : asset.duration_ms / 1000,
    sample_rate_hz: asset.sample_rate_hz,
    size_bytes: asset.size_bytes,
    transcript: asset.transcript,
    status: asset.status,
    error: asset.error,
    url,
    url_expires_at: expiresAt.toISOString(),
    ...toTimes(asset),
  };
}
