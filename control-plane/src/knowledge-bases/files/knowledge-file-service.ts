import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { ConflictError } from '@parley/shared/errors/app-error';
import { OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities } from '../../http/list-query.ts';
import { readUpload } from '../../http/read-upload.ts';
import type { UploadedFile } from '../../http/read-upload.ts';
import { invalid } from '../../http/validation.ts';
import { orDuplicate } from '../../storage/duplicate.ts';
import type { ListPage, ListQuery } from '../../storage/list.ts';
import type { Scope } from '../../tenancy/scope.ts';
import type { KnowledgeBaseRecord } from '../knowledge-base-model.ts';
import { DOCUMENT_FORMATS, formatOf } from './document-format.ts';
import type { FetchedPages } from './fetched-pages.ts';
import { knowledgeChunkCollection, knowledgeFileCollection } from './knowledge-file-model.ts';
import type { KnowledgeChunkRecord, KnowledgeFileRecord } from './knowledge-file-model.ts';
import type { addFileRequest, fileQuery } from './knowledge-file-schema.ts';
import type { KnowledgeIndexer } from './knowledge-indexer.ts';
import type { KnowledgeJobs } from './knowledge-jobs.ts';
import { MAX_DOCUMENT_BYTES } from './knowledge-storage.ts';
import type { KnowledgeStorage } from './knowledge-storage.ts';

export const FILES_PER_BASE = 500;

type Source = Pick<KnowledgeFileRecord, '_id' | 'type' | 'name' | 'content_key'> &
  Partial<
    Pick<KnowledgeFileRecord, 'mime_type' | 'size_bytes' | 'sha256' | 'url' | 'refresh_hours' | 'storage_key'>
  >;

/** The documents of knowledge bases. */
export class KnowledgeFileService {
  readonly #storage: KnowledgeStorage;
  readonly #pages: Pick<FetchedPages, 'check'>;
  readonly #jobs: Pick<KnowledgeJobs, 'wake'>;
  readonly #indexer: Pick<KnowledgeIndexer, 'due' | 'recount'>;
  readonly #clock: Clock;

  constructor(deps: {
    storage: KnowledgeStorage;
    pages: Pick<FetchedPages, 'check'>;
    jobs: Pick<KnowledgeJobs, 'wake'>;
    indexer: Pick<KnowledgeIndexer, 'due' | 'recount'>;
    clock: Clock;
  }) {
    this.#storage = deps.storage;
    this.#pages = deps.pages;
    this.#jobs = deps.jobs;
    this.#indexer = deps.indexer;
    this.#clock = deps.clock;
  }

  list(
    scope: Scope,
    base: KnowledgeBaseRecord,
    list: z.output<typeof fileQuery>,
  ): Promise<ListPage<KnowledgeFileRecord>> {
    const { status, type } = list;
    return scope
      .collection(knowledgeFileCollection)
      .page({ knowledge_base_id: base._id, ...equalities({ status, type }), ...commonFilter(list) }, list);
  }

  chunks(
    scope: Scope,
    file: KnowledgeFileRecord,
    list: Omit<ListQuery, 'sort'>,
  ): Promise<ListPage<KnowledgeChunkRecord>> {
    const filter = { file_id: file._id, generation: file.generation ?? '' };
    return scope.collection(knowledgeChunkCollection).page(filter, { ...list, sort: 'position' }, ['vector']);
  }

  /**
   * Takes a document from a multipart body.
   * @throws AppError 400, 413 and 415; ConflictError `duplicate`, `limit_reached`; ValidationError
   */
  async upload(
    scope: Scope,
    base: KnowledgeBaseRecord,
    request: IncomingMessage,
  ): Promise<KnowledgeFileRecord> {
    await this.#checkRoom(scope, base);
    const { id, storage_key } = this.#newKey(base);
    try {
      const take = async ({ name, contentType, content }: UploadedFile): Promise<Source> => {
        const { mime } = DOCUMENT_FORMATS[formatOf(name, contentType)];
        const { sizeBytes, sha256 } = await this.#storage.write(
          storage_key,
          content as AsyncIterable<Uint8Array>,
        );
        return {
          ...{ _id: id, type: 'file', name, mime_type: mime, storage_key },
          ...{ size_bytes: sizeBytes, sha256, content_key: `sha256:${sha256}` },
        };
      };
      const source = await readUpload(request, MAX_DOCUMENT_BYTES, take);
      return await this.#insert(scope, base, source);
    } catch (error) {
      await this.#storage.delete(storage_key);
      throw error;
    }
  }

  /** Takes a text, or the address of a document. @throws ConflictError `duplicate`, `limit_reached`; ValidationError */
  async add(
    scope: Scope,
    base: KnowledgeBaseRecord,
    request: z.output<typeof addFileRequest>,
  ): Promise<KnowledgeFileRecord> {
    await this.#checkRoom(scope, base);
    if ('text' in request) return this.#addText(scope, base, request);
    const { url, name = url.slice(0, 255), refresh_hours } = request;
    try {
      this.#pages.check(url, scope.orgId);
    } catch (error) {
      if (!(error instanceof OutboundRefusedError)) throw error;
      throw invalid(['body', 'url'], error.message, 'url_not_allowed');
    }
    const _id = newId('kfl', this.#clock.now());
    const { href } = new URL(url);
    return this.#insert(scope, base, {
      ...{ _id, type: 'url', name, url: href, refresh_hours, content_key: `url:${href}` },
    });
  }

  /** Reads a document anew. What is found in it so far is found until then. */
  async reprocess(scope: Scope, file: KnowledgeFileRecord): Promise<KnowledgeFileRecord> {
    const queued = await scope.collection(knowledgeFileCollection).patch(file._id, {
      status: 'queued',
      error: null,
      failures: 0,
      run_at: new Date(this.#clock.now()),
      lease_until: new Date(0),
      // An address whose content is the same is read into passages all the same.
      ...(file.url === null ? {} : { sha256: null }),
    });
    await this.#indexer.recount(file.knowledge_base_id);
    this.#jobs.wake();
    return queued;
  }

  async delete(scope: Scope, file: KnowledgeFileRecord): Promise<void> {
    await scope.collection(knowledgeFileCollection).delete({ _id: file._id });
    await scope.collection(knowledgeChunkCollection).deleteMany({ file_id: file._id });
    if (file.storage_key !== null) await this.#storage.delete(file.storage_key);
    await this.#indexer.recount(file.knowledge_base_id);
    await this.#indexer.due(file.knowledge_base_id);
    this.#jobs.wake();
  }

  /** Removes all that a base had. */
  async deleteAll(scope: Scope, base: KnowledgeBaseRecord): Promise<void> {
    await scope.collection(knowledgeFileCollection).deleteMany({ knowledge_base_id: base._id });
    await scope.collection(knowledgeChunkCollection).deleteMany({ knowledge_base_id: base._id });
    await this.#storage.deleteBase(base);
  }

  async #addText(
    scope: Scope,
    base: KnowledgeBaseRecord,
    { name, text }: { name: string; text: string },
  ): Promise<KnowledgeFileRecord> {
    const { id, storage_key } = this.#newKey(base);
    const bytes = Buffer.from(text);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    try {
      await this.#storage.write(storage_key, [bytes]);
      return await this.#insert(scope, base, {
        ...{ _id: id, type: 'text', name, mime_type: DOCUMENT_FORMATS.md.mime, size_bytes: bytes.length },
        ...{ sha256, content_key: `sha256:${sha256}`, storage_key },
      });
    } catch (error) {
      await this.#storage.delete(storage_key);
      throw error;
    }
  }

  #newKey(base: KnowledgeBaseRecord): { id: string; storage_key: string } {
    const id = newId('kfl', this.#clock.now());
    return { id, storage_key: this.#storage.keyOf(base, `${id}.document`) };
  }

  async #insert(scope: Scope, base: KnowledgeBaseRecord, source: Source): Promise<KnowledgeFileRecord> {
    const file = await orDuplicate(
      scope.collection(knowledgeFileCollection).insert({
        ...{
          mime_type: null,
          size_bytes: null,
          sha256: null,
          url: null,
          refresh_hours: null,
          storage_key: null,
        },
        ...source,
        ...{ knowledge_base_id: base._id, status: 'queued', error: null, processed_at: null, chunk_count: 0 },
        ...{ generation: null, next_generation: null, next_chunk_count: 0, attempts: 0, failures: 0 },
        ...{ run_at: new Date(this.#clock.now()), lease_until: new Date(0) },
      }),
      'The knowledge base has this document already.',
    );
    await this.#indexer.recount(base._id);
    this.#jobs.wake();
    return file;
  }

  async #checkRoom(scope: Scope, base: KnowledgeBaseRecord): Promise<void> {
    const filter = { knowledge_base_id: base._id };
    const count = await scope.collection(knowledgeFileCollection).count(filter, { limit: FILES_PER_BASE });
    if (count < FILES_PER_BASE) return;
    throw new ConflictError(
      'limit_reached',
      `The limit of ${FILES_PER_BASE} documents in a knowledge base is reached. Delete one first.`,
    );
  }
}
