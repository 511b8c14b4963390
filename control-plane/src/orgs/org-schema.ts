import { z } from 'zod';
import { languageTag, timezoneName } from '../http/value-schemas.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import type { OrgRecord } from './org-model.ts';

const writable = {
  name: z.string().trim().min(1).max(120).meta({ example: 'Acme' }),
  timezone: timezoneName,
  language: languageTag,
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code'),
  retention_days: z.number().int().min(1).max(3650).nullable(),
  media_link_days: z.number().int().min(1).max(30),
};

export const createOrgRequest = z
  .strictObject(writable)
  .partial()
  .required({ name: true })
  .meta({ id: 'CreateOrgRequest' });
export const patchOrgRequest = patchOf({
  ...writable,
  timezone: writable.timezone.default('UTC'),
  language: writable.language.default('en-US'),
  currency: writable.currency.default('USD'),
  media_link_days: writable.media_link_days.default(7),
}).meta({ id: 'PatchOrgRequest' });

export const ORG_READ_ONLY = ['id', 'slug', 'status', 'created_at', 'updated_at'] as const;

export const orgResponse = z
  .object({
    id: z.string().meta({ example: 'org_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    name: z.string(),
    slug: z.string(),
    status: z.enum(['active', 'suspended', 'deleting']),
    timezone: z.string(),
    language: z.string(),
    currency: z.string(),
    retention_days: z.number().int().nullable(),
    media_link_days: z.number().int(),
    ...recordFields,
  })
  .meta({ id: 'Org' });

export function toOrgResponse(org: OrgRecord): z.infer<typeof orgResponse> {
  return {
    id: org._id,
    name: org.name,
    slug: org.slug,
    status: org.status,
    timezone: org.timezone,
    language: org.language,
    currency: org.currency,
    retention_days: org.retention_days,
    media_link_days: org.media_link_days,
    ...toTimes(org),
  };
}
