import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Column, ColumnType } from './database-columns.ts';

/** What a key means for as long as the database lives, also while no column has it. */
export interface KnownKey {
  type: ColumnType;
  /** Which of the ordered fields of rows holds its values; null: the database had given all away. */
  slot: number | null;
  /** Rows made earlier may say nothing of it. */
  since: Date;
}

export interface DatabaseRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  name: string;
  kind: 'auto' | 'custom';
  columns: Column[];
  /** By the key of a column. Changed only together with `columns`. */
  known_keys: Record<string, KnownKey>;
  agent_ids: string[];
  /** The agent that an auto database was made for; null when that one is gone. */
  owner_agent_id: string | null;
  row_count: number;
  /** When rows are to be counted, since some may have come or gone uncounted. */
  recount_at?: Date;
  /** What was found then, until it is certain. */
  recounted?: { rows: number; row_count: number };
}

export interface DatabaseRowRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  database_id: string;
  session_id: string | null;
  agent_id: string | null;
  source: 'session' | 'api';
  /** By the key of a column. */
  values: Record<string, unknown>;
  /** What it is found by: see cells.ts. */
  cells: string[];
  /** What it is sorted by: `c<slot>` holds the column's value in its order, and the row's id. */
  order: Record<string, string>;
  /** Whom it is about: phone numbers and `user_identifier`s, for their erasure. */
  subjects: string[];
}

/** Columns of a database that rows are sorted by with an index. A collection of MongoDB has at most 64 indexes. */
export const SORT_SLOTS = 32;

const OF_PROJECT = { org_id: 1, project_id: 1 } as const;
const NEWEST = { created_at: -1, _id: -1 } as const;
const OF_DATABASE = { ...OF_PROJECT, database_id: 1 } as const;

export const databaseCollection = defineCollection<DatabaseRecord, 'project'>({
  name: 'databases',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    kind: { type: String, enum: ['auto', 'custom'], required: true },
    columns: { type: [Object], default: [] },
    known_keys: { type: Object, default: {} },
    agent_ids: { type: [String], default: [] },
    owner_agent_id: { type: String, default: null },
    row_count: { type: Number, required: true, default: 0 },
    recount_at: { type: Date },
    recounted: { type: Object },
  },
  indexes: [
    [{ ...OF_PROJECT, ...NEWEST }],
    [{ agent_ids: 1 }],
    [{ recount_at: 1 }, { sparse: true }],
    // An agent has one.
    [
      { owner_agent_id: 1 },
      { unique: true, partialFilterExpression: { owner_agent_id: { $type: 'string' } } },
    ],
  ],
});

export const databaseRowCollection = defineCollection<DatabaseRowRecord, 'project'>({
  name: 'database_rows',
  tenancy: 'project',
  fields: {
    database_id: { type: String, required: true },
    session_id: { type: String, default: null },
    agent_id: { type: String, default: null },
    source: { type: String, enum: ['session', 'api'], required: true },
    values: { type: Object, default: {} },
    cells: { type: [String], default: [] },
    order: { type: Object, default: {} },
    subjects: { type: [String], default: [] },
  },
  indexes: [
    [{ ...OF_DATABASE, ...NEWEST }],
    [{ ...OF_DATABASE, updated_at: -1, _id: -1 }],
    [{ ...OF_DATABASE, agent_id: 1, ...NEWEST }],
    [{ ...OF_DATABASE, session_id: 1 }],
    // A session, and a person, is forgotten.
    [{ session_id: 1 }, { partialFilterExpression: { session_id: { $type: 'string' } } }],
    [{ ...OF_PROJECT, subjects: 1 }],
    [{ ...OF_DATABASE, cells: 1, ...NEWEST }],
    // The database alone says whose they are.
    ...Array.from(
      { length: SORT_SLOTS },
      (_, slot): [Record<string, 1 | -1>, { partialFilterExpression: object }] => [
        { database_id: 1, [`order.c${slot}`]: 1, ...NEWEST },
        { partialFilterExpression: { [`order.c${slot}`]: { $exists: true } } },
      ],
    ),
  ],
});
