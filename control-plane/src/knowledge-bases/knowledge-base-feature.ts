import { systemClock } from '@parley/shared/time/clock';
import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import { knowledgeSearchAnswer, knowledgeSearchRequest } from '@parley/shared/contracts/knowledge';
import { INTERNAL_PATHS } from '@parley/shared/contracts/addresses';
import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { defineOperation, idSchema, jsonBody } from '../http/operation.ts';
import type { Collection } from '../storage/collection.ts';
import { extractDocument } from './extraction/extract-document.ts';
import { FetchedPages } from './files/fetched-pages.ts';
import { knowledgeChunkCollection, knowledgeFileCollection } from './files/knowledge-file-model.ts';
import { KNOWLEDGE_FILE_AUDIT, knowledgeFileRoutes } from './files/knowledge-file-routes.ts';
import { KnowledgeFileService } from './files/knowledge-file-service.ts';
import { KnowledgeIndexer } from './files/knowledge-indexer.ts';
import { KnowledgeJobs } from './files/knowledge-jobs.ts';
import { KnowledgeStorage, MAX_DOCUMENT_BYTES } from './files/knowledge-storage.ts';
import { knowledgeBaseCollection } from './knowledge-base-model.ts';
import { KNOWLEDGE_BASE_AUDIT, knowledgeBaseRoutes } from './knowledge-base-routes.ts';
import { knowledgeBaseSample } from './knowledge-base-sample.ts';
import { KnowledgeBaseService } from './knowledge-base-service.ts';
import type { BaseLinks } from './knowledge-base-service.ts';
import type { ProviderAccounts } from '../providers/provider-accounts.ts';
import { Embedders } from './search/embedders.ts';
import { KnowledgeSearch } from './search/knowledge-search.ts';
import { SearchThread } from './search/search-thread.ts';
import type { KnowingSession } from './session-knowledge.ts';
import { SessionKnowledge } from './session-knowledge.ts';

/** How often documents are looked for that are due; a new one wakes the task. */
const JOB_INTERVAL_MS = 5000;

export function createFeature({
  links,
  sessions,
  accounts,
  providerFetch,
  ...deps
}: Pick<Platform, 'audit' | 'clock' | 'config' | 'database' | 'logger' | 'providerFetch'> & {
  accounts: ProviderAccounts;
  links: BaseLinks;
  sessions: Collection<KnowingSession>;
}) {
  const { config, database } = deps;
  const storage = new KnowledgeStorage(config.STORAGE_DIR);
  // A search never waits behind an index that is being made.
  const [searching, indexing] = [new SearchThread(deps), new SearchThread(deps)];
  const fetch = createSafeFetch({ allow: config.OUTBOUND_ALLOW, maxResponseBytes: MAX_DOCUMENT_BYTES });
  const embedders = new Embedders({ thread: indexing, accounts, fetch: providerFetch });
  const search = new KnowledgeSearch({ database, storage, thread: searching, embedders });
  const pages = new FetchedPages({ fetch, storage });
  const indexer = new KnowledgeIndexer({ ...deps, storage, thread: indexing });
  const jobs = new KnowledgeJobs({
    ...{ ...deps, storage, pages, indexer, embedders },
    // A process takes real time, whatever the clock says.
    extract: (order, signal) => extractDocument(order, { clock: systemClock, signal }),
  });
  const knowledgeFiles = new KnowledgeFileService({ ...deps, storage, pages, jobs, indexer });
  const knowledgeBases = new KnowledgeBaseService({ ...deps, links, files: knowledgeFiles, embedders });
  const sessionKnowledge = new SessionKnowledge({ database, sessions, search });
  return {
    owns: [fetch, searching, indexing],
    collections: [knowledgeBaseCollection, knowledgeFileCollection, knowledgeChunkCollection],
    searches: [
      namedRecords('knowledge_base', knowledgeBaseCollection, { list: 'listKnowledgeBases' }),
      namedRecords('knowledge_file', knowledgeFileCollection, {
        list: 'listKnowledgeFiles',
        parent: 'knowledge_base_id',
      }),
    ],
    routes: [
      ...knowledgeBaseRoutes({ ...deps, knowledgeBases }),
      ...knowledgeFileRoutes({ ...deps, knowledgeFiles, search }),
    ],
    audit: [...KNOWLEDGE_BASE_AUDIT, ...KNOWLEDGE_FILE_AUDIT],
    internalRoutes: [
      defineOperation({
        ...{ tag: 'internal', access: 'internal', described: false, rateLimited: false },
        id: 'searchSessionKnowledge',
        method: 'POST',
        path: INTERNAL_PATHS.knowledgeSearch(
          '{session_id}',
        ) as '/internal/v1/sessions/{session_id}/knowledge-search',
        summary: 'Search the knowledge bases of a call',
        body: jsonBody(knowledgeSearchRequest),
        responses: { 200: { description: 'The passages', schema: knowledgeSearchAnswer } },
        handle: ({ params, body }) => sessionKnowledge.find(params.session_id, body),
      }),
    ],
    // Where it is attached to an agent, the path calls it by its whole name.
    parameters: {
      kb_id: idSchema('kbs'),
      knowledge_base_id: idSchema('kbs'),
      file_id: idSchema('kfl'),
    },
    flags: [{ key: 'knowledge_bases', description: 'Knowledge bases' }],
    workers: [
      {
        name: 'documents of knowledge bases',
        everyMs: JOB_INTERVAL_MS,
        work: (signal) => jobs.work(signal),
        wakeWith: (task) => jobs.wakeWith(task),
      },
    ],
    samples: [knowledgeBaseSample],
  } satisfies Feature;
}
