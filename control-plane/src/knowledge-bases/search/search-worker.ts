import { parentPort } from 'node:worker_threads';
import { readIndex, writeIndex } from './index-file.ts';
import { embedByBuiltIn } from './built-in-model.ts';
import { KeywordIndex, KeywordIndexBuilder } from './keyword-index.ts';
import { searchIndex } from './search-index.ts';
import { joinVectors, vectorFromText, VectorIndex } from './vectors.ts';
import { Words } from './words.ts';

/** What a thread of the search can be asked, by method: arguments and answer. */
export interface SearchMethods {
  /** Ids of the passages that fit, best first. */
  search(order: SearchOrder): Promise<FoundChunk[]>;
  beginBuild(order: { build: string; languages: readonly string[] }): Promise<null>;
  addToBuild(order: { build: string; chunks: readonly BuildChunk[] }): Promise<null>;
  /** Writes what was added to a file. */
  finishBuild(order: { build: string; path: string }): Promise<null>;
  abandonBuild(order: { build: string }): Promise<null>;
  /** By the built-in model. */
  embed(order: { texts: readonly string[] }): Promise<Int8Array[]>;
}

export interface SearchOrder {
  /** Of the index. */
  path: string;
  query: string;
  limit: number;
  mode: SearchMode;
  /** Direction of the query; `built-in`: the model here is asked for it. */
  vector: Int8Array | 'built-in' | undefined;
}

/** By the words that are shared, by what is meant, or by both. */
export type SearchMode = 'keyword' | 'vector' | 'hybrid';

export interface FoundChunk {
  id: string;
  /** From 0 to 1. */
  score: number;
  /** What passages of several bases are ordered by. */
  rank: number;
}

export interface BuildChunk {
  id: string;
  /** Id of the document that it is of. */
  document: string;
  heading: string;
  text: string;
  /** As `vectorToText` makes it. */
  vector: string | null;
}

export interface ThreadRequest {
  number: number;
  method: keyof SearchMethods;
  argument: unknown;
}

export type ThreadAnswer =
  { number: number; result: unknown } | { number: number; error: string; code: string | undefined };

/** Indexes in memory, those that were used last. */
const MAX_LOADED_BYTES = 512 * 1024 * 1024;
/** An index takes more memory than its file: maps and texts. */
const MEMORY_PER_BYTE = 2;

interface LoadedIndex {
  ids: readonly string[];
  keywords: KeywordIndex;
  vectors: VectorIndex;
  bytes: number;
}

interface Build {
  ids: string[];
  languages: readonly string[];
  keywords: KeywordIndexBuilder;
  vectors: Int8Array[];
}

const loaded = new Map<string, LoadedIndex>();
const builds = new Map<string, Build>();

async function indexAt(path: string): Promise<LoadedIndex> {
  const known = loaded.get(path);
  if (known) {
    loaded.delete(path);
    loaded.set(path, known);
    return known;
  }
  const { ids, languages, keywords, vectors, dimensions, bytes } = await readIndex(path);
  const index = {
    ids,
    keywords: new KeywordIndex(await Words.of(languages), keywords),
    vectors: new VectorIndex(vectors, dimensions),
    bytes: bytes * MEMORY_PER_BYTE,
  };
  loaded.set(path, index);
  let total = 0;
  for (const one of loaded.values()) total += one.bytes;
  for (const [oldest, { bytes: freed }] of loaded) {
    if (total <= MAX_LOADED_BYTES || oldest === path) break;
    loaded.delete(oldest);
    total -= freed;
  }
  return index;
}

function buildOf(build: string) {
  const found = builds.get(build);
  if (!found) throw new Error('No such index is being built.');
  return found;
}

const methods: SearchMethods = {
  async search({ path, query, limit, mode, vector }) {
    const index = await indexAt(path);
    const hits = await searchIndex(index, { query, limit, mode, vector });
    return hits.map(({ doc, score, rank }) => ({ id: index.ids[doc]!, score, rank }));
  },
  async beginBuild({ build, languages }) {
    const words = await Words.of(languages);
    builds.set(build, { ids: [], languages, keywords: new KeywordIndexBuilder(words), vectors: [] });
    return null;
  },
  addToBuild({ build, chunks }) {
    const { ids, keywords, vectors } = buildOf(build);
    for (const { id, document, heading, text, vector } of chunks) {
      ids.push(id);
      vectors.push(vector === null ? new Int8Array() : vectorFromText(vector));
      keywords.add({ document, heading, text });
    }
    return Promise.resolve(null);
  },
  async finishBuild({ build, path }) {
    const { ids, languages, keywords, vectors } = buildOf(build);
    builds.delete(build);
    await writeIndex(path, { ids, languages, keywords: keywords.finish(), ...joinVectors(vectors) });
    return null;
  },
  embed: ({ texts }) => embedByBuiltIn(texts),
  abandonBuild({ build }) {
    builds.delete(build);
    return Promise.resolve(null);
  },
};

async function answer({ number, method, argument }: ThreadRequest): Promise<ThreadAnswer> {
  try {
    return { number, result: await methods[method](argument as never) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    return { number, error: error instanceof Error ? error.message : 'unknown', code };
  }
}

parentPort!.on('message', (request: ThreadRequest) => {
  void answer(request).then((told) => parentPort!.postMessage(told));
});
