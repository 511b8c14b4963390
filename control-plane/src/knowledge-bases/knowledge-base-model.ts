import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export interface KnowledgeBaseRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  name: string;
  description: string;
  /** Slug of the embedding model; `none`: keyword search alone. */
  embedding: string;
  chunking: { max_characters: number; overlap_characters: number };
  /** Base languages (`en`, `de`), by which words are stemmed. */
  languages: string[];
  status: 'empty' | 'processing' | 'ready' | 'error';
  file_count: number;
  chunk_count: number;
  /** Rises with every change of what is to be found. */
  content_version: number;
  /** File of the index that answers; null: nothing is to be found yet. */
  index_key: string | null;
  /** When the index is to be made anew; null: it is up to date. */
  index_due: Date | null;
  index_lease_until: Date;
  /** Counts claims of the index: whoever makes it settles only what is still theirs. */
  index_attempts: number;
}

export const knowledgeBaseCollection = defineCollection<KnowledgeBaseRecord, 'project'>({
  name: 'knowledge_bases',
  tenancy: 'project',
  fields: {
    name: { type: String, required: true },
    description: { type: String, default: '' },
    embedding: { type: String, required: true },
    chunking: { type: Object, required: true },
    status: { type: String, required: true, default: 'empty' },
    file_count: { type: Number, required: true, default: 0 },
    chunk_count: { type: Number, required: true, default: 0 },
    languages: { type: [String], required: true, default: ['en'] },
    content_version: { type: Number, required: true, default: 0 },
    index_key: { type: String, default: null },
    index_due: { type: Date, default: null },
    index_lease_until: { type: Date, required: true, default: new Date(0) },
    index_attempts: { type: Number, required: true, default: 0 },
  },
  indexes: [[{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }], [{ index_due: 1 }]],
});
