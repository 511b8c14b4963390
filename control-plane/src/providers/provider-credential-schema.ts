import { z } from 'zod';
import { providerSchema } from '@parley/shared/contracts/session-values';
import { idSchema } from '../http/operation.ts';
import { maybeTime, READ_ONLY_FIELDS, recordFields, time, toTimes } from '../http/record-schema.ts';
import { baseUrlField } from './provider-address.ts';
import type { ProviderCredentialRecord } from './provider-credential-model.ts';

export const CREDENTIAL_READ_ONLY = [...READ_ONLY_FIELDS, 'status', 'last_verified_at'] as const;
export const CREDENTIAL_FIXED = [...CREDENTIAL_READ_ONLY, 'provider'] as const;

const secretValue = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[\x21-\x7e]+$/, 'must be visible ASCII')
  .meta({ writeOnly: true });
/** As it was read; keeps what is stored. */
const kept = z.strictObject({ set: z.boolean(), last_four: z.string() });

const fields = {
  name: z.string().trim().min(1).max(120),
  base_url: baseUrlField.nullable(),
  project_ids: z.array(idSchema('prj')).min(1).max(100).nullable(),
};

export const createCredentialRequest = z
  .strictObject({
    provider: providerSchema,
    name: fields.name,
    values: z.record(z.string().max(60), secretValue).meta({
      description: 'The fields that `credential_fields` of the provider lists.',
      example: { api_key: 'sk-0123456789abcdef' },
    }),
    base_url: fields.base_url.default(null),
    project_ids: fields.project_ids.default(null),
  })
  .meta({ id: 'CreateProviderCredentialRequest' });

export const patchCredentialRequest = z
  .strictObject({
    name: fields.name,
    values: z.record(z.string().max(60), z.union([secretValue, kept])),
    base_url: fields.base_url,
    project_ids: fields.project_ids,
  })
  .partial()
  .meta({ id: 'PatchProviderCredentialRequest' });

export const credentialResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    provider: z.string(),
    name: z.string(),
    values: z.record(z.string(), z.object({ set: z.boolean(), last_four: z.string() })),
    base_url: z.string().nullable(),
    project_ids: z.array(z.string()).nullable().meta({ description: 'Null: all projects of the org.' }),
    status: z.enum(['unverified', 'valid', 'invalid']),
    last_verified_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'ProviderCredential' });

export function toCredentialResponse(record: ProviderCredentialRecord): z.infer<typeof credentialResponse> {
  return {
    id: record._id,
    org_id: record.org_id,
    provider: record.provider,
    name: record.name,
    values: record.masked,
    base_url: record.base_url,
    project_ids: record.project_ids,
    status: record.status,
    last_verified_at: time(record.last_verified_at),
    ...toTimes(record),
  };
}
