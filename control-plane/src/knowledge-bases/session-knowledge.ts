import type { Model } from 'mongoose';
import { NotFoundError } from '@parley/shared/errors/app-error';
import type { KnowledgeSearchAnswer, KnowledgeSearchRequest } from '@parley/shared/contracts/knowledge';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { knowledgeBaseCollection } from './knowledge-base-model.ts';
import type { KnowledgeBaseRecord } from './knowledge-base-model.ts';
import type { KnowledgeSearch } from './search/knowledge-search.ts';

/** A session, as far as it is asked for here. */
export interface KnowingSession extends StoredRecord {
  project_id: string;
}

/** What gateways look up for their calls. */
export class SessionKnowledge {
  readonly #sessions: Model<KnowingSession>;
  readonly #bases: Model<KnowledgeBaseRecord>;
  readonly #search: Pick<KnowledgeSearch, 'search'>;

  constructor(deps: {
    database: Database;
    sessions: Collection<KnowingSession>;
    search: Pick<KnowledgeSearch, 'search'>;
  }) {
    this.#sessions = deps.database.model(deps.sessions);
    this.#bases = deps.database.model(knowledgeBaseCollection);
    this.#search = deps.search;
  }

  /** @throws NotFoundError for an unknown session; UnavailableError */
  async find(sessionId: string, request: KnowledgeSearchRequest): Promise<KnowledgeSearchAnswer> {
    const [session, named] = await Promise.all([
      this.#sessions
        .findOne({ _id: sessionId }, { project_id: 1 })
        .lean<Pick<KnowingSession, '_id' | 'project_id'>>(),
      this.#bases.find({ _id: { $in: request.base_ids } }).lean<KnowledgeBaseRecord[]>(),
    ]);
    if (!session) throw new NotFoundError();
    const bases = named.filter((base) => base.project_id === session.project_id);
    const found = await this.#search.search(bases, {
      query: request.query,
      mode: 'hybrid',
      topK: request.top_k,
      minScore: request.min_score,
    });
    return {
      passages: found.map(({ chunk, score }) => ({
        chunk_id: chunk._id,
        file_id: chunk.file_id,
        file_name: chunk.file_name,
        heading: chunk.heading,
        text: chunk.text,
        score: Math.round(score * 1e4) / 1e4,
      })),
    };
  }
}
