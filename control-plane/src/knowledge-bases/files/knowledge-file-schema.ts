import { z } from 'zod';
import { anyOf, listQuery, queryInteger } from '../../http/list-query.ts';
import { maybeTime, recordFields, time, timestamp, toTimes } from '../../http/record-schema.ts';
import type { FoundPassage } from '../search/knowledge-search.ts';
import { FILE_STATUSES, FILE_TYPES } from './knowledge-file-model.ts';
import type { KnowledgeChunkRecord, KnowledgeFileRecord } from './knowledge-file-model.ts';

export const MAX_TEXT_CHARACTERS = 1_000_000;
/** A text in any script, escaped as JSON may be. */
export const TEXT_LIMIT_BYTES = 8 * 1024 * 1024;

const name = z.string().trim().min(1).max(255).meta({ example: 'Opening hours' });
const refreshHours = z
  .number()
  .int()
  .min(1)
  .max(720)
  .nullable()
  .default(null)
  .meta({ description: 'The address is read anew after so many hours; null: never.' });

const urlSource = z.strictObject({
  url: z
    .string()
    .min(1)
    .max(2000)
    .meta({ description: 'Address of the document.', example: 'https://example.com/help' }),
  name: name.optional(),
  refresh_hours: refreshHours,
});
const textSource = z.strictObject({
  name,
  text: z
    .string()
    .trim()
    .min(1)
    .max(MAX_TEXT_CHARACTERS)
    .meta({ description: 'The text itself; Markdown is understood.' }),
});

export const addFileRequest = z.union([textSource, urlSource]).meta({ id: 'AddKnowledgeFileRequest' });

export const uploadFileRequest = z
  .strictObject({ file: z.file().meta({ description: 'The document, with its name.' }) })
  .meta({ id: 'UploadKnowledgeFileRequest' });

export const fileQuery = listQuery({
  sortable: ['name'],
  filters: { status: anyOf(z.enum(FILE_STATUSES)).optional(), type: anyOf(z.enum(FILE_TYPES)).optional() },
});

export const knowledgeFileResponse = z
  .object({
    id: z.string(),
    org_id: z.string(),
    project_id: z.string(),
    knowledge_base_id: z.string(),
    type: z.enum(FILE_TYPES),
    name: z.string(),
    mime_type: z.string().nullable().meta({ description: 'What it is; null: the address was not read yet.' }),
    size_bytes: z.number().int().nullable().meta({ description: 'Size of the document.' }),
    sha256: z.string().nullable().meta({ description: 'Digest of the document.' }),
    url: z.string().nullable(),
    refresh_hours: z
      .number()
      .int()
      .nullable()
      .meta({ description: 'Hours after which the address is read anew.' }),
    status: z
      .enum(FILE_STATUSES)
      .meta({ description: 'Passages that were found before answer until a document is `ready` again.' }),
    error: z.string().nullable(),
    chunk_count: z.number().int().meta({ description: 'Passages that answer.' }),
    processed_at: maybeTime.meta({ description: 'When it was read last.' }),
    ...recordFields,
  })
  .meta({ id: 'KnowledgeFile' });

export function toFileResponse(file: KnowledgeFileRecord): z.infer<typeof knowledgeFileResponse> {
  return {
    id: file._id,
    org_id: file.org_id,
    project_id: file.project_id,
    knowledge_base_id: file.knowledge_base_id,
    type: file.type,
    name: file.name,
    mime_type: file.mime_type,
    size_bytes: file.size_bytes,
    sha256: file.sha256,
    url: file.url,
    refresh_hours: file.refresh_hours,
    status: file.status,
    error: file.error,
    chunk_count: file.chunk_count,
    processed_at: time(file.processed_at),
    ...toTimes(file),
  };
}

export const chunkQuery = z.object({
  limit: queryInteger(1, 200).default(50).meta({ description: 'Records per page (default 50).' }),
  offset: queryInteger(0, 100_000).default(0).meta({ description: 'Records to skip (default 0).' }),
});

const position = z.number().int().meta({ description: 'Place in the document, from 0.' });
const heading = z.string().meta({ description: 'Headings that it stands under.' });

export const chunkResponse = z
  .object({
    id: z.string(),
    knowledge_base_id: z.string(),
    file_id: z.string(),
    position,
    heading,
    text: z.string().meta({ description: 'The passage.' }),
    created_at: timestamp,
  })
  .meta({ id: 'KnowledgeChunk' });

export function toChunkResponse(chunk: KnowledgeChunkRecord): z.infer<typeof chunkResponse> {
  return {
    id: chunk._id,
    knowledge_base_id: chunk.knowledge_base_id,
    file_id: chunk.file_id,
    position: chunk.position,
    heading: chunk.heading,
    text: chunk.text,
    created_at: time(chunk.created_at),
  };
}

export const searchRequest = z
  .strictObject({
    query: z
      .string()
      .trim()
      .min(1)
      .max(1000)
      .meta({ description: 'Question or words.', example: 'Are you open on Sundays?' }),
    top_k: z.number().int().min(1).max(20).default(5).meta({ description: 'Passages at most.' }),
    mode: z.enum(['hybrid', 'vector', 'keyword']).default('hybrid').meta({
      description:
        '`keyword`: by the words. `vector`: by what is meant, where the base has an embedding model. `hybrid`: by both, as far as the base can.',
    }),
    min_score: z
      .number()
      .min(0)
      .max(1)
      .default(0)
      .meta({ description: 'Passages that fit less are left out.' }),
  })
  .meta({ id: 'SearchKnowledgeRequest' });

export const searchResponse = z
  .object({
    items: z.array(
      z.object({
        chunk_id: z.string(),
        file_id: z.string(),
        file_name: z.string(),
        heading,
        text: z.string().meta({ description: 'The passage.' }),
        score: z.number(),
        position,
      }),
    ),
    total: z.number().int().meta({ description: 'Number of passages in the answer.' }),
  })
  .meta({ id: 'KnowledgeSearchResult' });

export function toSearchResponse(found: readonly FoundPassage[]): z.infer<typeof searchResponse> {
  const items = found.map(({ chunk, score }) => ({
    chunk_id: chunk._id,
    file_id: chunk.file_id,
    file_name: chunk.file_name,
    heading: chunk.heading,
    text: chunk.text,
    score: Math.round(score * 1e4) / 1e4,
    position: chunk.position,
  }));
  return { items, total: items.length };
}
