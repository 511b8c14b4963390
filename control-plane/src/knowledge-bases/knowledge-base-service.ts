import type { z } from 'zod';
import { AppError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { KnowledgeFileService } from './files/knowledge-file-service.ts';
import type { Embedders } from './search/embedders.ts';
import { knowledgeBaseCollection } from './knowledge-base-model.ts';
import type { KnowledgeBaseRecord } from './knowledge-base-model.ts';
import type { createKnowledgeBaseRequest, patchKnowledgeBaseRequest } from './knowledge-base-schema.ts';

/** Agents that a base is attached to: `AgentLinks`. */
export interface BaseLinks {
  attachedTo(scope: Scope, kind: 'knowledge_bases', id: string): Promise<ErrorRef[]>;
  detachEverywhere(scope: Scope, caller: Principal, kind: 'knowledge_bases', id: string): Promise<void>;
}

/** What agents may look things up in. */
export class KnowledgeBaseService {
  readonly #links: BaseLinks;
  readonly #files: Pick<KnowledgeFileService, 'deleteAll'>;
  readonly #embedders: Pick<Embedders, 'has'>;
  readonly #clock: Clock;

  constructor(deps: {
    links: BaseLinks;
    files: Pick<KnowledgeFileService, 'deleteAll'>;
    embedders: Pick<Embedders, 'has'>;
    clock: Clock;
  }) {
    this.#links = deps.links;
    this.#files = deps.files;
    this.#embedders = deps.embedders;
    this.#clock = deps.clock;
  }

  list(scope: Scope, list: ListInput): Promise<ListPage<KnowledgeBaseRecord>> {
    return scope.collection(knowledgeBaseCollection).page(commonFilter(list), list);
  }

  async create(
    scope: Scope,
    request: z.output<typeof createKnowledgeBaseRequest>,
  ): Promise<KnowledgeBaseRecord> {
    const owner = { org_id: scope.orgId, project_id: scope.projectId, embedding: request.embedding };
    if (!(await this.#embedders.has(owner)))
      throw invalid(['body', 'embedding'], 'has no credentials: add them to the org first', 'not_available');
    await checkRoom(scope.collection(knowledgeBaseCollection));
    return scope.collection(knowledgeBaseCollection).insert({
      _id: newId('kbs', this.#clock.now()),
      ...request,
      status: 'empty',
      file_count: 0,
      chunk_count: 0,
      content_version: 0,
      index_key: null,
      index_due: null,
      index_lease_until: new Date(0),
      index_attempts: 0,
    });
  }

  update(
    scope: Scope,
    base: KnowledgeBaseRecord,
    request: z.output<typeof patchKnowledgeBaseRequest>,
  ): Promise<KnowledgeBaseRecord> {
    return scope.collection(knowledgeBaseCollection).patch(base._id, request);
  }

  /** @throws AppError 409 `resource_in_use` while attached to live agents */
  async delete(scope: Scope, caller: Principal, base: KnowledgeBaseRecord): Promise<void> {
    const refs = await this.#links.attachedTo(scope, 'knowledge_bases', base._id);
    if (refs.length > 0)
      throw new AppError(
        409,
        'resource_in_use',
        'The knowledge base is attached to agents. Detach it first.',
        { refs },
      );
    await scope.collection(knowledgeBaseCollection).delete({ _id: base._id });
    await this.#files.deleteAll(scope, base);
    // Archived agents may have it, and one that attached it just now.
    await this.#links.detachEverywhere(scope, caller, 'knowledge_bases', base._id);
  }
}
