import { defineCollection } from '../../storage/collection.ts';
import type { StoredRecord } from '../../storage/collection.ts';

export const FILE_TYPES = ['file', 'url', 'text'] as const;
export const FILE_STATUSES = ['queued', 'processing', 'ready', 'failed'] as const;

/** A document of a knowledge base, and what is to be done with it. */
export interface KnowledgeFileRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  knowledge_base_id: string;
  type: (typeof FILE_TYPES)[number];
  name: string;
  /** Null: an address that was not fetched yet. */
  mime_type: string | null;
  size_bytes: number | null;
  sha256: string | null;
  url: string | null;
  refresh_hours: number | null;
  /** What no other file of the base is: the digest of its content, or its address. */
  content_key: string;
  /** Where its content is stored; null: it was not fetched yet. */
  storage_key: string | null;
  status: (typeof FILE_STATUSES)[number];
  error: string | null;
  chunk_count: number;
  processed_at: Date | null;
  /** The chunks that answer; null: none. */
  generation: string | null;
  /** Chunks that wait for the index. */
  next_generation: string | null;
  next_chunk_count: number;
  /** When it is to be processed; null: nothing is to be done. */
  run_at: Date | null;
  lease_until: Date;
  /** Counts claims: whoever processes it settles only what is still theirs. */
  attempts: number;
  /** How often it has failed in a row for reasons of our own. */
  failures: number;
}

const OF_BASE = { org_id: 1, project_id: 1, knowledge_base_id: 1 } as const;
const NEWEST = { created_at: -1, _id: -1 } as const;

export const knowledgeFileCollection = defineCollection<KnowledgeFileRecord, 'project'>({
  name: 'knowledge_files',
  tenancy: 'project',
  fields: {
    knowledge_base_id: { type: String, required: true },
    type: { type: String, enum: FILE_TYPES, required: true },
    name: { type: String, required: true },
    mime_type: { type: String, default: null },
    size_bytes: { type: Number, default: null },
    sha256: { type: String, default: null },
    url: { type: String, default: null },
    refresh_hours: { type: Number, default: null },
    content_key: { type: String, required: true },
    storage_key: { type: String, default: null },
    status: { type: String, enum: FILE_STATUSES, required: true },
    error: { type: String, default: null },
    chunk_count: { type: Number, required: true, default: 0 },
    processed_at: { type: Date, default: null },
    generation: { type: String, default: null },
    next_generation: { type: String, default: null },
    next_chunk_count: { type: Number, required: true, default: 0 },
    run_at: { type: Date, default: null },
    lease_until: { type: Date, required: true, default: new Date(0) },
    attempts: { type: Number, required: true, default: 0 },
    failures: { type: Number, required: true, default: 0 },
  },
  indexes: [
    [{ knowledge_base_id: 1, content_key: 1 }, { unique: true }],
    [{ ...OF_BASE, ...NEWEST }],
    [{ ...OF_BASE, updated_at: -1, _id: -1 }],
    [{ ...OF_BASE, name: 1, _id: 1 }],
    [{ ...OF_BASE, status: 1, ...NEWEST }],
    [{ ...OF_BASE, type: 1, ...NEWEST }],
    [{ run_at: 1 }],
  ],
});

/** A passage of a document: what a search finds. */
export interface KnowledgeChunkRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  knowledge_base_id: string;
  file_id: string;
  file_name: string;
  generation: string;
  /** From 0, in the order of the document. */
  position: number;
  /** The headings that it stands under, outermost first; empty: none. */
  heading: string;
  text: string;
  /** Its direction, as `vectorToText` makes it; null in a base that is searched by words alone. */
  vector: string | null;
}

export const knowledgeChunkCollection = defineCollection<KnowledgeChunkRecord, 'project'>({
  name: 'knowledge_chunks',
  tenancy: 'project',
  fields: {
    knowledge_base_id: { type: String, required: true },
    file_id: { type: String, required: true },
    file_name: { type: String, required: true },
    generation: { type: String, required: true },
    position: { type: Number, required: true },
    heading: { type: String, default: '' },
    text: { type: String, required: true },
    vector: { type: String, default: null },
  },
  indexes: [
    [{ file_id: 1, generation: 1, position: 1 }],
    [{ org_id: 1, project_id: 1, file_id: 1, generation: 1, position: 1, _id: 1 }],
    [{ knowledge_base_id: 1 }],
  ],
});
