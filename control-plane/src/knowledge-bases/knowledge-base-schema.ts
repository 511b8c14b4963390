import { z } from 'zod';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import type { KnowledgeBaseRecord } from './knowledge-base-model.ts';
import { EMBEDDING_FORMS, EMBEDDING_PATTERN, NO_EMBEDDING } from './search/embedders.ts';
import { KNOWLEDGE_LANGUAGES } from './search/languages.ts';

const name = z.string().trim().min(1).max(120).meta({ example: 'Product manuals' });
const writable = { name, description: z.string().max(1000).default('') };

const chunking = z
  .strictObject({
    max_characters: z.number().int().min(200).max(8000).default(1500),
    overlap_characters: z.number().int().min(0).max(1000).default(150),
  })
  .refine((chunks) => chunks.overlap_characters < chunks.max_characters / 2, {
    path: ['overlap_characters'],
    message: 'must be less than half of max_characters',
  });

export const createKnowledgeBaseRequest = z
  .strictObject({
    ...writable,
    embedding: z
      .string()
      .regex(EMBEDDING_PATTERN, `must be ${EMBEDDING_FORMS.join(', ')}`)
      .default(NO_EMBEDDING)
      .meta({
        description:
          'Model that finds what is meant, whatever the words; fixed. `none`: by words alone. `built-in-en`: within the installation, for English only. Otherwise `<provider>:<model>`, with the account of the org at the provider.',
        example: 'built-in-en',
      }),
    languages: z
      .array(z.enum(KNOWLEDGE_LANGUAGES))
      .min(1)
      .max(5)
      .default(['en'])
      .meta({ description: 'Languages of its files: words are found in all their forms in these.' }),
    chunking: chunking.prefault({}),
  })
  .meta({ id: 'CreateKnowledgeBaseRequest' });

export const patchKnowledgeBaseRequest = patchOf(writable).meta({ id: 'PatchKnowledgeBaseRequest' });

export const KNOWLEDGE_BASE_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'status',
  'file_count',
  'chunk_count',
  'created_at',
  'updated_at',
] as const;

export const knowledgeBaseResponse = z
  .object({
    id: z.string().meta({ example: 'kbs_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    description: z.string(),
    embedding: z.string(),
    languages: z.array(z.string()).meta({ description: 'Languages of its files.' }),
    chunking: z.object({ max_characters: z.number().int(), overlap_characters: z.number().int() }),
    status: z.enum(['empty', 'processing', 'ready', 'error']),
    file_count: z.number().int(),
    chunk_count: z.number().int(),
    ...recordFields,
  })
  .meta({ id: 'KnowledgeBase' });

export function toKnowledgeBaseResponse(base: KnowledgeBaseRecord): z.infer<typeof knowledgeBaseResponse> {
  return {
    id: base._id,
    org_id: base.org_id,
    project_id: base.project_id,
    name: base.name,
    description: base.description,
    embedding: base.embedding,
    languages: base.languages,
    chunking: base.chunking,
    status: base.status,
    file_count: base.file_count,
    chunk_count: base.chunk_count,
    ...toTimes(base),
  };
}
