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
  status: 'empty' | 'processing' | 'ready' | 'error';
  file_count: number;
  chunk_count: number;
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
  },
  indexes: [[{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }]],
});
