import { z } from 'zod';
import { ROLES } from '../tenancy/roles.ts';
import { maybeTime, recordFields, time, toTimes } from '../http/record-schema.ts';
import type { ApiKeyRecord } from './api-key-model.ts';

export const createApiKeyRequest = z
  .strictObject({
    name: z.string().trim().min(1).max(80).meta({ example: 'CRM integration' }),
    role: z.enum(['viewer', 'editor', 'admin']).default('editor'),
    expires_at: z.iso.datetime({ offset: true }).nullable().default(null),
  })
  .meta({ id: 'CreateApiKeyRequest' });

const apiKeyShape = {
  id: z.string().meta({ example: 'key_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
  org_id: z.string(),
  project_id: z.string(),
  name: z.string(),
  role: z.enum(ROLES),
  key_start: z.string().meta({ description: 'The first 12 characters of the key.', example: 'sk-svc-4fQ2k' }),
  last_four: z.string(),
  status: z.enum(['active', 'expired', 'revoked']),
  created_by: z.string(),
  expires_at: maybeTime,
  last_used_at: maybeTime,
  revoked_at: maybeTime,
  ...recordFields,
};

export const apiKeyResponse = z.object(apiKeyShape).meta({ id: 'ApiKey' });
export const createdApiKeyResponse = z
  .object({
    ...apiKeyShape,
    key: z
      .string()
      .nullable()
      .meta({ description: 'The key, shown once; null in a repeated response (Idempotency-Key).' }),
  })
  .meta({ id: 'CreatedApiKey' });

export function apiKeyStatus(record: ApiKeyRecord, now: number): 'active' | 'expired' | 'revoked' {
  if (record.revoked_at) return 'revoked';
  return record.expires_at && record.expires_at.getTime() <= now ? 'expired' : 'active';
}

export function toApiKeyResponse(record: ApiKeyRecord, now: number): z.infer<typeof apiKeyResponse> {
  return {
    id: record._id,
    org_id: record.org_id,
    project_id: record.project_id,
    name: record.name,
    role: record.role,
    key_start: record.key_start,
    last_four: record.last_four,
    status: apiKeyStatus(record, now),
    created_by: record.created_by,
    expires_at: time(record.expires_at),
    last_used_at: time(record.last_used_at),
    revoked_at: time(record.revoked_at),
    ...toTimes(record),
  };
}
