import { randomUUID } from 'node:crypto';
import type { Model } from 'mongoose';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../../storage/database.ts';
import { knowledgeBaseCollection } from '../knowledge-base-model.ts';
import type { KnowledgeBaseRecord } from '../knowledge-base-model.ts';
import type { SearchThread } from '../search/search-thread.ts';
import { keepLease, LEASE_MS } from '../../jobs/keep-lease.ts';
import { knowledgeChunkCollection, knowledgeFileCollection } from './knowledge-file-model.ts';
import type { KnowledgeChunkRecord, KnowledgeFileRecord } from './knowledge-file-model.ts';
import type { KnowledgeStorage } from './knowledge-storage.ts';

/** Passages that go to the thread at a time. */
const BATCH = 500;
/** How long a search that has begun may still read an index that was replaced. */
const KEPT_INDEX_MS = 60_000;
const RETRY_MS = 30_000;
const HOUR_MS = 3_600_000;

/** Makes the indexes of bases whose documents have changed, and has new documents answer with them. */
export class KnowledgeIndexer {
  readonly #bases: Model<KnowledgeBaseRecord>;
  readonly #files: Model<KnowledgeFileRecord>;
  readonly #chunks: Model<KnowledgeChunkRecord>;
  readonly #storage: KnowledgeStorage;
  readonly #thread: Pick<SearchThread, 'ask'>;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    storage: KnowledgeStorage;
    thread: Pick<SearchThread, 'ask'>;
    clock: Clock;
  }) {
    this.#bases = deps.database.model(knowledgeBaseCollection);
    this.#files = deps.database.model(knowledgeFileCollection);
    this.#chunks = deps.database.model(knowledgeChunkCollection);
    this.#storage = deps.storage;
    this.#thread = deps.thread;
    this.#clock = deps.clock;
  }

  /** The documents of a base have changed: its index is due. */
  async due(baseId: string): Promise<void> {
    await this.#bases.updateOne(
      { _id: baseId },
      { $inc: { content_version: 1 }, $set: { index_due: new Date(this.#clock.now()) } },
    );
  }

  /** Makes one index that is due. @returns whether there was one */
  async work(stop: AbortSignal): Promise<boolean> {
    const now = new Date(this.#clock.now());
    const base = await this.#bases
      .findOneAndUpdate(
        { index_due: { $lte: now }, index_lease_until: { $lte: now } },
        { $set: { index_lease_until: new Date(now.getTime() + LEASE_MS) }, $inc: { index_attempts: 1 } },
        { sort: { index_due: 1 }, returnDocument: 'after' },
      )
      .lean<KnowledgeBaseRecord>();
    if (!base) return false;
    const lease = keepLease({
      clock: this.#clock,
      stop,
      renew: () => this.#settle(base, { index_lease_until: new Date(this.#clock.now() + LEASE_MS) }),
    });
    try {
      await this.#make(base, lease.signal);
    } catch (error) {
      const wait = lease.signal.aborted ? 0 : RETRY_MS;
      await this.#settle(base, {
        index_due: new Date(this.#clock.now() + wait),
        index_lease_until: new Date(0),
      });
      if (!lease.signal.aborted) throw error;
    } finally {
      lease.stop();
    }
    return true;
  }

  /** Counts the files of a base, and sums them up in its status. */
  async recount(baseId: string): Promise<void> {
    const files = await this.#files
      .find({ knowledge_base_id: baseId }, { status: 1, chunk_count: 1 })
      .lean<Pick<KnowledgeFileRecord, '_id' | 'status' | 'chunk_count'>[]>();
    const some = (...statuses: KnowledgeFileRecord['status'][]) =>
      files.some(({ status }) => statuses.includes(status));
    const status =
      files.length === 0
        ? 'empty'
        : some('queued', 'processing')
          ? 'processing'
          : some('ready')
            ? 'ready'
            : 'error';
    const chunk_count = files.reduce((sum, file) => sum + file.chunk_count, 0);
    await this.#bases.updateOne({ _id: baseId }, { $set: { status, file_count: files.length, chunk_count } });
  }

  async #make(base: KnowledgeBaseRecord, signal: AbortSignal): Promise<void> {
    const files = await this.#files.find({ knowledge_base_id: base._id }).lean<KnowledgeFileRecord[]>();
    const build = randomUUID();
    const key = this.#storage.keyOf(base, `${base.content_version}-${build}.index`);
    await this.#thread.ask('beginBuild', { build, languages: base.languages });
    try {
      for (const file of files) await this.#add(build, file, signal);
      await this.#thread.ask('finishBuild', { build, path: this.#storage.path(key) });
    } catch (error) {
      await this.#thread.ask('abandonBuild', { build }).catch(() => {});
      throw error;
    }
    signal.throwIfAborted();
    // From here on searches read it; until the files say so too, it stays due.
    if (!(await this.#settle(base, { index_key: key }))) {
      await this.#storage.delete(key);
      return;
    }
    for (const file of files)
      if (file.next_generation !== null) await this.#publish(file, file.next_generation);
    await this.#bases.updateOne(
      { _id: base._id, index_attempts: base.index_attempts, content_version: base.content_version },
      { $set: { index_due: null } },
    );
    await this.#settle(base, { index_lease_until: new Date(0) });
    await this.recount(base._id);
    await this.#storage.deleteOldIndexes(base, { keep: key, before: Date.now() - KEPT_INDEX_MS });
  }

  async #add(build: string, file: KnowledgeFileRecord, signal: AbortSignal): Promise<void> {
    const generation = file.next_generation ?? file.generation;
    if (generation === null) return;
    for (let from = 0; ; from += BATCH) {
      signal.throwIfAborted();
      const chunks = await this.#chunks
        .find({ file_id: file._id, generation, position: { $gte: from, $lt: from + BATCH } })
        .sort({ position: 1 })
        .lean<KnowledgeChunkRecord[]>();
      if (chunks.length === 0) return;
      await this.#thread.ask('addToBuild', {
        build,
        chunks: chunks.map(({ _id, heading, text, file_name, vector }) => ({
          id: _id,
          document: file._id,
          heading: `${file_name} ${heading}`,
          text,
          vector,
        })),
      });
    }
  }

  /** The new chunks of a file answer, and the old ones go. */
  async #publish(file: KnowledgeFileRecord, generation: string): Promise<void> {
    const now = this.#clock.now();
    const { matchedCount } = await this.#files.updateOne(
      { _id: file._id, next_generation: generation },
      {
        $set: {
          generation,
          next_generation: null,
          chunk_count: file.next_chunk_count,
          status: 'ready',
          error: null,
          failures: 0,
          processed_at: new Date(now),
          run_at: file.refresh_hours === null ? null : new Date(now + file.refresh_hours * HOUR_MS),
        },
      },
    );
    if (matchedCount > 0)
      await this.#chunks.deleteMany({ file_id: file._id, generation: { $ne: generation } });
  }

  /** Changes a base while its index is ours to make. @returns whether it was */
  async #settle(base: KnowledgeBaseRecord, set: Partial<KnowledgeBaseRecord>): Promise<boolean> {
    const { matchedCount } = await this.#bases.updateOne(
      { _id: base._id, index_attempts: base.index_attempts },
      { $set: set },
    );
    return matchedCount > 0;
  }
}
