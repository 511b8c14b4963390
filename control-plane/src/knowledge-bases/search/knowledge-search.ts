import type { Model } from 'mongoose';
import type { Database } from '../../storage/database.ts';
import { knowledgeChunkCollection } from '../files/knowledge-file-model.ts';
import type { KnowledgeChunkRecord } from '../files/knowledge-file-model.ts';
import type { KnowledgeStorage } from '../files/knowledge-storage.ts';
import { knowledgeBaseCollection } from '../knowledge-base-model.ts';
import type { KnowledgeBaseRecord } from '../knowledge-base-model.ts';
import { IndexGoneError } from './search-thread.ts';
import type { SearchThread } from './search-thread.ts';

export interface KnowledgeQuery {
  query: string;
  topK: number;
  minScore: number;
}

/** A passage that answers, best first. */
export interface FoundPassage {
  chunk: KnowledgeChunkRecord;
  /** From 0 to 1. */
  score: number;
}

/** How many more are looked up than asked for: documents may have been deleted since the index was made. */
const SPARE = 10;

/** Finds passages in the documents of knowledge bases. */
export class KnowledgeSearch {
  readonly #bases: Model<KnowledgeBaseRecord>;
  readonly #chunks: Model<KnowledgeChunkRecord>;
  readonly #storage: KnowledgeStorage;
  readonly #thread: Pick<SearchThread, 'ask'>;

  constructor(deps: { database: Database; storage: KnowledgeStorage; thread: Pick<SearchThread, 'ask'> }) {
    this.#bases = deps.database.model(knowledgeBaseCollection);
    this.#chunks = deps.database.model(knowledgeChunkCollection);
    this.#storage = deps.storage;
    this.#thread = deps.thread;
  }

  /** @throws UnavailableError */
  async search(
    bases: readonly KnowledgeBaseRecord[],
    { query, topK, minScore }: KnowledgeQuery,
  ): Promise<FoundPassage[]> {
    const found = await Promise.all(bases.map((base) => this.#ofBase(base, query, topK + SPARE)));
    const hits = found
      .flat()
      .filter(({ score }) => score > 0 && score >= minScore)
      .sort((a, b) => b.score - a.score)
      .slice(0, topK + SPARE);
    if (hits.length === 0) return [];
    const chunks = await this.#chunks
      .find({ _id: { $in: hits.map(({ id }) => id) } })
      .lean<KnowledgeChunkRecord[]>();
    const byId = new Map(chunks.map((chunk) => [chunk._id, chunk]));
    return hits
      .flatMap(({ id, score }) => {
        const chunk = byId.get(id);
        return chunk ? [{ chunk, score }] : [];
      })
      .slice(0, topK);
  }

  async #ofBase(base: KnowledgeBaseRecord, query: string, limit: number) {
    if (base.index_key === null) return [];
    const ask = (key: string) => this.#thread.ask('search', { path: this.#storage.path(key), query, limit });
    try {
      return await ask(base.index_key);
    } catch (error) {
      if (!(error instanceof IndexGoneError)) throw error;
      // Replaced since the record was read.
      const now = await this.#bases.findOne({ _id: base._id }).lean<KnowledgeBaseRecord>();
      return now?.index_key ? ask(now.index_key) : [];
    }
  }
}
