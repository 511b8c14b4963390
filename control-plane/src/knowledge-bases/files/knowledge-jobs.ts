import type { Model } from 'mongoose';
import { AppError } from '@parley/shared/errors/app-error';
import { newId, sortableId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { LeasedJobs } from '../../jobs/leased-jobs.ts';
import type { Retry } from '../../jobs/leased-jobs.ts';
import type { PeriodicTask } from '../../jobs/periodic-task.ts';
import { WorkLanes } from '../../jobs/work-lanes.ts';
import type { Database } from '../../storage/database.ts';
import { newRecord } from '../../storage/new-record.ts';
import type { TextChunk } from '../extraction/chunk-text.ts';
import { DocumentError } from '../extraction/document-error.ts';
import type { ExtractOrder } from '../extraction/extract-child.ts';
import { knowledgeBaseCollection } from '../knowledge-base-model.ts';
import type { KnowledgeBaseRecord } from '../knowledge-base-model.ts';
import type { Embedders } from '../search/embedders.ts';
import { vectorToText } from '../search/vectors.ts';
import { formatOfMime } from './document-format.ts';
import { knowledgeChunkCollection, knowledgeFileCollection } from './knowledge-file-model.ts';
import type { KnowledgeChunkRecord, KnowledgeFileRecord } from './knowledge-file-model.ts';
import type { KnowledgeIndexer } from './knowledge-indexer.ts';
import type { KnowledgeStorage } from './knowledge-storage.ts';
import type { FetchedPages } from './fetched-pages.ts';

/** Documents that are read at a time: each is a process. */
const PARALLEL = 2;
const BATCH = 200;
/** A file whose index was not made by then is processed again. */
const INDEX_OVERDUE_MS = 600_000;
const HOUR_MS = 3_600_000;

type Extract = (order: ExtractOrder, signal: AbortSignal) => AsyncIterable<TextChunk>;

/** Turns documents into passages that are found. */
export class KnowledgeJobs {
  readonly #jobs: LeasedJobs<KnowledgeFileRecord>;
  readonly #chunks: Model<KnowledgeChunkRecord>;
  readonly #bases: Model<KnowledgeBaseRecord>;
  readonly #storage: KnowledgeStorage;
  readonly #pages: Pick<FetchedPages, 'fetch'>;
  readonly #indexer: KnowledgeIndexer;
  readonly #extract: Extract;
  readonly #embedders: Embedders;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #lanes = new WorkLanes();

  constructor(deps: {
    database: Database;
    storage: KnowledgeStorage;
    pages: Pick<FetchedPages, 'fetch'>;
    indexer: KnowledgeIndexer;
    extract: Extract;
    embedders: Embedders;
    clock: Clock;
    logger: Logger;
  }) {
    const files = deps.database.model(knowledgeFileCollection);
    this.#jobs = new LeasedJobs({ ...deps, records: files });
    this.#chunks = deps.database.model(knowledgeChunkCollection);
    this.#bases = deps.database.model(knowledgeBaseCollection);
    this.#storage = deps.storage;
    this.#pages = deps.pages;
    this.#indexer = deps.indexer;
    this.#extract = deps.extract;
    this.#embedders = deps.embedders;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** The task that runs `work`, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#lanes.wakeWith(task);
  }

  /** There is something new. */
  wake(): void {
    this.#lanes.wake();
  }

  /** Processes every file that is due, and makes every index that is. */
  work(signal: AbortSignal): Promise<void> {
    const readers = Array.from({ length: PARALLEL }, () => () => this.#next(signal));
    return this.#lanes.run([...readers, () => this.#indexer.work(signal)], signal);
  }

  #next(stop: AbortSignal): Promise<boolean> {
    return this.#jobs.next(stop, {
      started: { status: 'processing' },
      work: async (file, signal) => {
        await this.#indexer.recount(file.knowledge_base_id);
        await this.#process(file, signal);
        await this.#indexer.recount(file.knowledge_base_id);
      },
      failed: async (file, error, retry) => {
        await this.#failed(file, error, retry);
        await this.#indexer.recount(file.knowledge_base_id);
      },
    });
  }

  async #process(claimed: KnowledgeFileRecord, signal: AbortSignal): Promise<void> {
    const base = await this.#bases.findOne({ _id: claimed.knowledge_base_id }).lean<KnowledgeBaseRecord>();
    if (!base) return;
    const page = claimed.url === null ? undefined : await this.#pages.fetch(base, claimed, signal);
    const file = { ...claimed, ...page };
    if (page && page.sha256 === claimed.sha256 && claimed.generation !== null) {
      await this.#jobs.settle(claimed, {
        status: 'ready',
        error: null,
        failures: 0,
        processed_at: new Date(this.#clock.now()),
        ...this.#nextRefresh(file),
      });
      return;
    }
    const generation = sortableId(this.#clock.now());
    let count = 0;
    try {
      let batch: KnowledgeChunkRecord[] = [];
      const store = async (): Promise<void> => {
        signal.throwIfAborted();
        await this.#embed(base, batch, signal);
        if (batch.length > 0) await this.#chunks.insertMany(batch, { ordered: false, lean: true });
        batch = [];
      };
      const order = {
        path: this.#storage.path(file.storage_key!),
        format: formatOfMime(file.mime_type!),
        chunking: base.chunking,
      };
      for await (const { heading, text } of this.#extract(order, signal)) {
        batch.push(
          newRecord(knowledgeChunkCollection, {
            _id: newId('kch', this.#clock.now()),
            org_id: file.org_id,
            project_id: file.project_id,
            knowledge_base_id: base._id,
            file_id: file._id,
            file_name: file.name,
            generation,
            position: count++,
            heading,
            text,
            vector: null,
          }),
        );
        if (batch.length >= BATCH) await store();
      }
      await store();
      const ours = await this.#jobs.settle(claimed, {
        ...page,
        next_generation: generation,
        next_chunk_count: count,
        lease_until: new Date(0),
        run_at: new Date(this.#clock.now() + INDEX_OVERDUE_MS),
      });
      if (!ours) throw new Error('Another process has taken this document over, or it was deleted.');
    } catch (error) {
      await this.#chunks.deleteMany({ file_id: file._id, generation });
      throw error;
    }
    await this.#indexer.due(base._id);
  }

  /** Gives passages their directions, where the base has a model for them. */
  async #embed(
    base: KnowledgeBaseRecord,
    chunks: KnowledgeChunkRecord[],
    signal: AbortSignal,
  ): Promise<void> {
    const embedder = this.#embedders.of(base);
    if (!embedder) return;
    for (let from = 0; from < chunks.length; from += embedder.batch) {
      signal.throwIfAborted();
      const some = chunks.slice(from, from + embedder.batch);
      const texts = some.map(({ heading, text }) => (heading === '' ? text : `${heading}\n${text}`));
      const vectors = await embedder.embed(texts, { signal, query: false });
      for (const [at, chunk] of some.entries()) chunk.vector = vectorToText(vectors[at]!);
    }
  }

  async #failed(file: KnowledgeFileRecord, error: unknown, { interrupted, again }: Retry): Promise<void> {
    const details = { err: error, fileId: file._id };
    if (error instanceof DocumentError) {
      await this.#jobs.settle(file, { status: 'failed', error: error.message, ...this.#nextRefresh(file) });
      return;
    }
    if (interrupted) this.#logger.info(details, 'a document was interrupted');
    else if (again) this.#logger.warn(details, 'a document could not be processed and will be retried');
    else this.#logger.error(details, 'a document could not be processed');
    const reason =
      error instanceof AppError ? error.message : 'The document could not be processed. Try again.';
    await this.#jobs.settle(
      file,
      again
        ? { status: 'queued', error: interrupted ? null : reason, ...again }
        : { status: 'failed', error: reason, ...this.#nextRefresh(file) },
    );
  }

  #nextRefresh({
    refresh_hours: hours,
  }: KnowledgeFileRecord): Pick<KnowledgeFileRecord, 'run_at' | 'lease_until'> {
    return {
      run_at: hours === null ? null : new Date(this.#clock.now() + hours * HOUR_MS),
      lease_until: new Date(0),
    };
  }
}
