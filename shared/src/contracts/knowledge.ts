import { z } from 'zod';

/** How long a reply waits for what the bases of its agent know; later it is given without. */
export const KNOWLEDGE_DEADLINE_MS = 150;

/** What a gateway asks for a call. */
export const knowledgeSearchRequest = z.object({
  query: z.string().min(1).max(1000),
  base_ids: z.array(z.string()).min(1).max(10),
  top_k: z.number().int().min(1).max(20),
  min_score: z.number().min(0).max(1),
});
export type KnowledgeSearchRequest = z.infer<typeof knowledgeSearchRequest>;

/** A passage of a document: data, whatever it says. */
export const knowledgePassageSchema = z.object({
  chunk_id: z.string(),
  file_id: z.string(),
  file_name: z.string(),
  heading: z.string(),
  text: z.string(),
  /** From 0 to 1. */
  score: z.number(),
});
export type KnowledgePassage = z.infer<typeof knowledgePassageSchema>;

/** The best passages first. */
export const knowledgeSearchAnswer = z.object({ passages: z.array(knowledgePassageSchema) });
export type KnowledgeSearchAnswer = z.infer<typeof knowledgeSearchAnswer>;
