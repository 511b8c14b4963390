import type { Model } from 'mongoose';
import type { Database } from '../../storage/database.ts';
import { knowledgeChunkCollection } from '../files/knowledge-file-model.ts';
import type { KnowledgeChunkRecord } from '../files/knowledge-file-model.ts';
import type { KnowledgeStorage } from '../files/knowledge-storage.ts';
import { knowledgeBaseCollection } from '../knowledge-base-model.ts';
import type { KnowledgeBaseRecord } from '../knowledge-base-model.ts';
import { BUILT_IN_EMBEDDING } from './embedders.ts';
import type { Embedders } from './embedders.ts';
import type { SearchMode, SearchOrder } from './search-worker.ts';
import { IndexGoneError } from './search-thread.ts';
import type { SearchThread } from './search-thread.ts';

export interface KnowledgeQuery {
  query: string;
  topK: number;
  /** Where a base has no embedding model, `hybrid` is `keyword`. */
  mode: SearchMode;
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
  readonly #embedders: Embedders;

  constructor(deps: {
    database: Database;
    storage: KnowledgeStorage;
    thread: Pick<SearchThread, 'ask'>;
    embedders: Embedders;
  }) {
    this.#embedders = deps.embedders;
    this.#bases = deps.database.model(knowledgeBaseCollection);
    this.#chunks = deps.database.model(knowledgeChunkCollection);
    this.#storage = deps.storage;
    this.#thread = deps.thread;
  }

  /** @throws UnavailableError */
  async search(
    bases: readonly KnowledgeBaseRecord[],
    { query, topK, minScore, mode }: KnowledgeQuery,
  ): Promise<FoundPassage[]> {
    const found = await Promise.all(bases.map((base) => this.#ofBase(base, query, mode, topK + SPARE)));
    const hits = found
      .flat()
      .filter(({ score }) => score > 0 && score >= minScore)
      .sort((a, b) => b.rank - a.rank)
      .slice(0, topK + SPARE);
    if (hits.length === 0) return [];
    const chunks = await this.#chunks
      .find({ _id: { $in: hits.map(({ id }) => id) } }, { vector: 0 })
      .lean<KnowledgeChunkRecord[]>();
    const byId = new Map(chunks.map((chunk) => [chunk._id, chunk]));
    return hits
      .flatMap(({ id, score }) => {
        const chunk = byId.get(id);
        return chunk ? [{ chunk, score }] : [];
      })
      .slice(0, topK);
  }

  async #ofBase(base: KnowledgeBaseRecord, query: string, wanted: SearchMode, limit: number) {
    if (base.index_key === null) return [];
    const vector = wanted === 'keyword' ? undefined : await this.#direction(base, query, wanted);
    const mode = wanted === 'vector' && vector === undefined ? 'keyword' : wanted;
    const ask = (key: string) =>
      this.#thread.ask('search', { path: this.#storage.path(key), query, limit, mode, vector });
    try {
      return await ask(base.index_key);
    } catch (error) {
      if (!(error instanceof IndexGoneError)) throw error;
      // Replaced since the record was read.
      const now = await this.#bases.findOne({ _id: base._id }).lean<KnowledgeBaseRecord>();
      return now?.index_key ? ask(now.index_key) : [];
    }
  }

  /** Where the query points; undefined where words must do. @throws UnavailableError where they may not */
  async #direction(
    base: KnowledgeBaseRecord,
    query: string,
    mode: 'vector' | 'hybrid',
  ): Promise<SearchOrder['vector']> {
    if (base.embedding === BUILT_IN_EMBEDDING) return 'built-in';
    try {
      const made = await this.#embedders.of(base)?.embed([query], { signal: undefined, query: true });
      return made?.[0];
    } catch (error) {
      if (mode === 'vector') throw error;
      return undefined;
    }
  }
}
