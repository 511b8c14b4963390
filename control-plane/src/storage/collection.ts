import { Schema } from 'mongoose';
import type { IndexDefinition, IndexOptions, SchemaDefinition } from 'mongoose';

/** What every stored record has. Field names are those of the wire. */
export interface StoredRecord {
  _id: string;
  created_at: Date;
  updated_at: Date;
}

/**
 * Which tenant fields a record carries, and so what a `Scope` adds to every query:
 * - `project`: `org_id` and `project_id`
 * - `shared`: `org_id` and a nullable `project_id` (null: open to every project of the org)
 * - `projects`: `org_id` and a nullable list `project_ids`
 * - `org`: `org_id` alone
 * - `none`: no tenant; never reachable through a `Scope`
 */
export type Tenancy = 'project' | 'shared' | 'projects' | 'org' | 'none';

/** One MongoDB collection: its record's shape, tenancy and indexes. */
export interface Collection<T extends StoredRecord> {
  readonly name: string;
  readonly tenancy: Tenancy;
  readonly schema: Schema;
  /** Indexes of earlier versions that would refuse what is allowed now, or that others replace, by the database's names for them. */
  readonly droppedIndexes: readonly string[];
  /** Only for the type. */
  readonly record?: T;
}

type TenantFields = {
  project: { org_id: string; project_id: string };
  shared: { org_id: string; project_id: string | null };
  projects: { org_id: string; project_ids: string[] | null };
  org: { org_id: string };
  none: object;
};

const TENANT_PATHS = {
  project: { org_id: { type: String, required: true }, project_id: { type: String, required: true } },
  shared: { org_id: { type: String, required: true }, project_id: { type: String, default: null } },
  projects: { org_id: { type: String, required: true }, project_ids: { type: [String], default: null } },
  org: { org_id: { type: String, required: true } },
  none: {},
} as const;

/**
 * Describes a collection. Ids are strings given by us; `created_at` and `updated_at` are kept by Mongoose; the
 * tenant fields come with `tenancy`. Every list query needs an index here: tests explain them.
 */
export function defineCollection<
  T extends StoredRecord & TenantFields[K],
  K extends Tenancy = Tenancy,
>(definition: {
  name: string;
  tenancy: K;
  fields: SchemaDefinition;
  indexes?: readonly [IndexDefinition, IndexOptions?][];
  droppedIndexes?: readonly string[];
}): Collection<T> {
  const schema = new Schema(
    { _id: { type: String, required: true }, ...TENANT_PATHS[definition.tenancy], ...definition.fields },
    {
      collection: definition.name,
      timestamps: { createdAt: 'created_at', updatedAt: 'updated_at' },
      versionKey: false,
      minimize: false,
      id: false,
      autoIndex: false,
      autoCreate: false,
      strict: 'throw',
      strictQuery: false,
    },
  );
  for (const [keys, options] of definition.indexes ?? []) schema.index(keys, options ?? {});
  const { name, tenancy, droppedIndexes = [] } = definition;
  return { name, tenancy, schema, droppedIndexes };
}
