import { z } from 'zod';
import { providerSchema } from '@parley/shared/contracts/session-values';
import { anyOf, listQuery, queryBoolean } from '../http/list-query.ts';
import { idSchema } from '../http/operation.ts';
import { maybeTime, time } from '../http/record-schema.ts';
import { languageTag } from '../http/value-schemas.ts';
import { tenantQuery } from '../tenancy/query-scope.ts';
import type { CatalogVoice } from '../providers/provider-voices.ts';
import type { VoiceRecord } from './voice-model.ts';

export const MAX_CLONE_FILES = 5;
export const MAX_CLONE_FILE_BYTES = 10 * 1024 * 1024;

const name = z.string().trim().min(1).max(120);
const source = z.enum(['catalog', 'clone']);

export const voiceQuery = listQuery({
  sortable: ['name'],
  q: true,
  filters: {
    tts_id: anyOf(z.string().min(1).max(120)).optional(),
    provider: anyOf(providerSchema).optional(),
    language: anyOf(languageTag).optional(),
    gender: anyOf(z.string().min(1).max(40)).optional(),
    source: anyOf(source).optional(),
    is_public: queryBoolean.optional(),
    ...tenantQuery,
  },
});
export type VoiceQuery = z.output<typeof voiceQuery>;

/** A value given once counts as a list of one. */
const asList = (value: unknown) => (value === undefined || Array.isArray(value) ? value : [value]);

export const cloneVoiceRequest = z
  .strictObject({
    name,
    tts_id: z.string().min(1).max(120),
    language: languageTag,
    files: z
      .preprocess(
        asList,
        z
          .array(
            z
              .file()
              .min(1)
              .max(MAX_CLONE_FILE_BYTES)
              .refine(
                (file) => /^(audio\/|application\/octet-stream|$)/.test(file.type),
                'must be a recording (audio/*)',
              ),
          )
          .min(1)
          .max(MAX_CLONE_FILES),
      )
      .meta({ description: 'One to five recordings of one speaker, at most 10 MiB each.' }),
    consent: z.literal('true').meta({ description: 'Confirms that the speaker agrees to the clone.' }),
    org_id: idSchema('org'),
  })
  .meta({ id: 'CloneVoiceRequest' });

export const patchVoiceRequest = z
  .strictObject({ name, is_public: queryBoolean })
  .partial()
  .meta({ id: 'PatchVoiceRequest' });

export const speakRequest = z
  .strictObject({
    text: z
      .string()
      .max(1000)
      .refine((text) => text.trim() !== '', 'must not be empty'),
    language: languageTag.optional(),
    speed: z.number().min(0.5).max(2).optional(),
    format: z.enum(['mp3', 'wav', 'pcm16_16000']).default('wav'),
  })
  .meta({ id: 'SpeakRequest', example: { text: 'Good morning.', format: 'wav' } });
export type SpeakRequest = z.output<typeof speakRequest>;

export const voiceResponse = z
  .object({
    id: z.string().meta({ example: 'voc_flite_slt' }),
    org_id: z.string().nullable().meta({ description: 'Null for catalogue voices.' }),
    name: z.string(),
    provider: z.string(),
    tts_id: z.string(),
    provider_voice_id: z.string().nullable(),
    source,
    languages: z.array(z.string()).meta({ description: 'BCP 47 tags, or `*` for any.' }),
    gender: z.string().nullable(),
    description: z.string(),
    tags: z.array(z.string()),
    is_public: z.boolean(),
    owner_user_id: z.string().nullable(),
    status: z.enum(['processing', 'ready', 'failed']),
    error: z.string().nullable(),
    preview_url: z.string().nullable().meta({ description: 'The preview of the provider, if it has one.' }),
    created_at: maybeTime,
    updated_at: maybeTime,
  })
  .meta({ id: 'Voice' });

export type Voice = CatalogVoice | VoiceRecord;

export function isClone(voice: Voice): voice is VoiceRecord {
  return '_id' in voice;
}

export function toVoiceResponse(voice: Voice): z.infer<typeof voiceResponse> {
  if (!isClone(voice)) {
    return {
      id: voice.id,
      org_id: null,
      name: voice.name,
      provider: voice.provider,
      tts_id: voice.ttsId,
      provider_voice_id: voice.providerVoiceId,
      source: 'catalog',
      languages: voice.languages,
      gender: voice.gender,
      description: voice.description,
      tags: voice.tags,
      is_public: voice.isPublic,
      owner_user_id: null,
      status: 'ready',
      error: null,
      preview_url: voice.previewUrl,
      created_at: time(voice.createdAt),
      updated_at: time(voice.createdAt),
    };
  }
  return {
    id: voice._id,
    org_id: voice.org_id,
    name: voice.name,
    provider: voice.provider,
    tts_id: voice.tts_id,
    provider_voice_id: voice.provider_voice_id,
    source: 'clone',
    languages: voice.languages,
    gender: null,
    description: voice.description,
    tags: voice.tags,
    is_public: voice.is_public,
    owner_user_id: voice.owner_user_id,
    status: voice.status,
    error: voice.error,
    preview_url: null,
    created_at: time(voice.created_at),
    updated_at: time(voice.updated_at),
  };
}
