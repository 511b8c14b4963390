import { parentPort } from 'node:worker_threads';
import { readIndex, writeIndex } from './index-file.ts';
import { KeywordIndex, KeywordIndexBuilder } from './keyword-index.ts';
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
}

export interface SearchOrder {
  /** Of the index. */
  path: string;
  query: string;
  limit: number;
}

export interface FoundChunk {
  id: string;
  score: number;
}

export interface BuildChunk {
  id: string;
  heading: string;
  text: string;
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
  bytes: number;
}

const loaded = new Map<string, LoadedIndex>();
const builds = new Map<
  string,
  { ids: string[]; languages: readonly string[]; keywords: KeywordIndexBuilder }
>();

async function indexAt(path: string): Promise<LoadedIndex> {
  const known = loaded.get(path);
  if (known) {
    loaded.delete(path);
    loaded.set(path, known);
    return known;
  }
  const { ids, languages, keywords, bytes } = await readIndex(path);
  const index = {
    ids,
    keywords: new KeywordIndex(await Words.of(languages), keywords),
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
  async search({ path, query, limit }) {
    const index = await indexAt(path);
    return index.keywords.search(query, limit).map(({ doc, score }) => ({ id: index.ids[doc]!, score }));
  },
  async beginBuild({ build, languages }) {
    const words = await Words.of(languages);
    builds.set(build, { ids: [], languages, keywords: new KeywordIndexBuilder(words) });
    return null;
  },
  addToBuild({ build, chunks }) {
    const { ids, keywords } = buildOf(build);
    for (const { id, heading, text } of chunks) {
      ids.push(id);
      keywords.add({ heading, text });
    }
    return Promise.resolve(null);
  },
  async finishBuild({ build, path }) {
    const { ids, languages, keywords } = buildOf(build);
    builds.delete(build);
    await writeIndex(path, { ids, languages, keywords: keywords.finish() });
    return null;
  },
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
