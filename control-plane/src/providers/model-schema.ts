import { z } from 'zod';
import { providerSchema } from '@parley/shared/contracts/session-values';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { maybeTime, READ_ONLY_FIELDS, time } from '../http/record-schema.ts';
import { languageTag } from '../http/value-schemas.ts';
import type { CatalogModel } from './model-catalog.ts';
import { baseUrlField } from './provider-address.ts';
import { voicesOf } from './provider-voices.ts';
import { CATALOG } from './providers.ts';

export const modelKind = z.enum(['llm', 'stt', 'tts']);
export const modelStatus = z.enum(['available', 'needs_credentials', 'disabled']);

export const MODEL_READ_ONLY = [...READ_ONLY_FIELDS, 'capabilities', 'self_hosted', 'emulated'] as const;
/** What never changes once it is there. */
export const MODEL_FIXED = [...MODEL_READ_ONLY, 'kind', 'provider'] as const;

const price = z.strictObject({
  unit: z.enum(['minute', '1k_characters', '1m_input_tokens', '1m_output_tokens']),
  amount: z
    .string()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, 'must be a decimal with up to 6 places')
    .meta({ example: '0.15' }),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code')
    .meta({ example: 'USD' }),
});

const fields = {
  name: z.string().trim().min(1).max(120),
  base_url: baseUrlField.nullable().default(null),
  model: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII')
    .meta({ example: 'qwen3-32b' }),
  languages: z
    .array(z.union([z.literal('*'), languageTag]))
    .min(1)
    .max(100)
    .default(['*']),
  credential_id: idSchema('prv').nullable().default(null),
  prices: z.array(price).max(10).default([]),
};

export const createModelRequest = z
  .strictObject({
    kind: modelKind,
    provider: providerSchema,
    ...fields,
  })
  .meta({ id: 'CreateModelRequest' });

export const patchModelRequest = patchOf({
  ...fields,
  status: z.enum(['available', 'disabled']).default('available'),
}).meta({ id: 'PatchModelRequest' });

export const modelResponse = z
  .object({
    id: z.string().meta({ example: CATALOG.find(({ kind }) => kind === 'llm')!.id }),
    org_id: z.string().nullable().meta({ description: 'Null: that of the installation.' }),
    kind: modelKind,
    provider: z.string(),
    model: z.string(),
    name: z.string(),
    languages: z.array(z.string()).meta({ description: 'BCP 47 tags, or `*` for any.' }),
    capabilities: z.array(z.string()).meta({
      description: 'Values may be added. `voice_cloning`: `POST /v1/voices/clone` takes it.',
    }),
    self_hosted: z.boolean(),
    status: modelStatus,
    emulated: z.boolean().meta({ description: 'An emulator answers in place of the provider.' }),
    base_url: z.string().nullable().optional().meta({ description: 'Set for the org’s own models only.' }),
    credential_id: z.string().nullable().optional(),
    prices: z.array(price).optional(),
    created_at: maybeTime.meta({ description: 'Null for models of the installation.' }),
    updated_at: maybeTime,
  })
  .meta({ id: 'Model' });

export function toModelResponse(model: CatalogModel): z.infer<typeof modelResponse> {
  const { own } = model;
  return {
    id: model.id,
    org_id: model.orgId,
    kind: model.kind,
    provider: model.provider,
    model: model.model,
    name: model.name,
    languages: model.languages,
    capabilities: [
      ...model.capabilities,
      ...(model.kind === 'tts' && voicesOf(model.provider)?.clones ? ['voice_cloning'] : []),
    ],
    self_hosted: model.selfHosted,
    status: model.status,
    emulated: model.emulated,
    ...(own && { base_url: own.base_url, credential_id: own.credential_id, prices: own.prices }),
    created_at: time(own?.created_at),
    updated_at: time(own?.updated_at),
  };
}
