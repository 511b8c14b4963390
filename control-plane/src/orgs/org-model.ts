import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export interface OrgRecord extends StoredRecord {
  name: string;
  slug: string;
  status: 'active' | 'suspended' | 'deleting';
  timezone: string;
  language: string;
  currency: string;
  retention_days: number | null;
  media_link_days: number;
  /** Only those that were ever switched; the rest have their default. */
  feature_flags: Record<string, boolean>;
  deleting_since: Date | null;
}

export const orgCollection = defineCollection<OrgRecord, 'none'>({
  name: 'orgs',
  tenancy: 'none',
  fields: {
    name: { type: String, required: true },
    slug: { type: String, required: true },
    status: { type: String, required: true, default: 'active' },
    timezone: { type: String, required: true, default: 'UTC' },
    language: { type: String, required: true, default: 'en-US' },
    currency: { type: String, required: true, default: 'USD' },
    retention_days: { type: Number, default: null },
    media_link_days: { type: Number, required: true, default: 7 },
    feature_flags: { type: Object, default: {} },
    deleting_since: { type: Date, default: null },
  },
  indexes: [[{ slug: 1 }, { unique: true }], [{ retention_days: 1, _id: 1 }]],
});
