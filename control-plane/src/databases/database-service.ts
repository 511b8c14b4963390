import type { z } from 'zod';
import { AppError, ConflictError, NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import { defined } from '../storage/defined.ts';
import type { ListPage } from '../storage/list.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { checkReferences, referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { Column } from './database-columns.ts';
import { databaseCollection } from './database-model.ts';
import type { DatabaseRecord } from './database-model.ts';
import type { createDatabaseRequest, patchDatabaseRequest } from './database-schema.ts';
import { withColumns } from './known-keys.ts';
import type { RowRemoval } from './row-removal.ts';

/** An agent, as far as its databases are concerned. */
export type DatabaseAgent = StoredRecord & {
  name: string;
  archived_at: Date | null;
  auto_database_id: string | null;
};

/** Tables that sessions and clients write rows to. */
export class DatabaseService {
  readonly #agents: Collection<DatabaseAgent>;
  readonly #analyses: Collection<StoredRecord>;
  readonly #removal: RowRemoval;
  readonly #clock: Clock;

  constructor(deps: {
    agents: Collection<DatabaseAgent>;
    analyses: Collection<StoredRecord>;
    removal: RowRemoval;
    clock: Clock;
  }) {
    this.#agents = deps.agents;
    this.#analyses = deps.analyses;
    this.#removal = deps.removal;
    this.#clock = deps.clock;
  }

  list(scope: Scope, list: ListInput & AnyOf<DatabaseRecord, 'kind'>): Promise<ListPage<DatabaseRecord>> {
    const filter = { ...commonFilter(list), ...equalities({ kind: list.kind }) };
    return scope.collection(databaseCollection).page(filter, list);
  }

  /** @throws ConflictError `limit_reached`; ValidationError `reference_not_found` for an analysis */
  async create(scope: Scope, request: z.output<typeof createDatabaseRequest>): Promise<DatabaseRecord> {
    await this.#checkSources(scope, request.columns);
    await checkRoom(scope.collection(databaseCollection));
    const now = this.#clock.now();
    return scope.collection(databaseCollection).insert({
      _id: newId('dbs', now),
      ...request,
      kind: 'custom',
      known_keys: withColumns(null, request.columns, now),
      agent_ids: [],
      owner_agent_id: null,
      row_count: 0,
    });
  }

  /** @throws ValidationError for a column whose key had another type */
  async update(
    scope: Scope,
    database: DatabaseRecord,
    request: z.output<typeof patchDatabaseRequest>,
  ): Promise<DatabaseRecord> {
    const { name, columns } = defined(request) as { name?: string; columns?: Column[] };
    if (!columns) return scope.collection(databaseCollection).patch(database._id, { name });
    await this.#checkSources(scope, columns);
    return scope.collection(databaseCollection).change(database, ['columns', 'known_keys'], (current) =>
      Promise.resolve({
        name,
        columns,
        known_keys: withColumns(current.known_keys, columns, this.#clock.now()),
      }),
    );
  }

  /** Its rows go after it. @throws AppError 409 `resource_in_use` for the auto database of a live agent */
  async delete(scope: Scope, database: DatabaseRecord): Promise<void> {
    const owner = await this.#owner(scope, database);
    if (owner && owner.archived_at === null)
      throw new AppError(
        409,
        'resource_in_use',
        'The database was made for an agent that is in use. Archive the agent first.',
        { refs: [{ type: 'agent', id: owner._id, name: owner.name }] },
      );
    await this.#removal.begin(database._id);
    await scope.collection(databaseCollection).delete({ _id: database._id });
    // An archived agent that is brought back gets another one.
    await scope
      .collection(this.#agents)
      .updateMany({ auto_database_id: database._id }, { $set: { auto_database_id: null } });
    await this.#removal.remove(database._id);
  }

  /** Attaches, or finds attached. @throws ValidationError `reference_not_found` */
  async attach(scope: Scope, database: DatabaseRecord, agentId: string): Promise<void> {
    const loc = ['body', 'agent_id'];
    await checkReferences(scope, [{ collection: this.#agents, id: agentId, loc }]);
    const changed = await scope
      .collection(databaseCollection)
      .update({ _id: database._id }, { $addToSet: { agent_ids: agentId } });
    if (!changed) throw new NotFoundError();
    // It may have been purged meanwhile: then its purge saw nothing to detach.
    if (await scope.collection(this.#agents).findOne({ _id: agentId })) return;
    await this.#pull(scope, { _id: database._id }, agentId);
    throw new ValidationError([referenceNotFound(loc)]);
  }

  /** @throws NotFoundError when it is not attached; ConflictError for an auto database's own agent */
  async detach(scope: Scope, database: DatabaseRecord, agentId: string): Promise<void> {
    if (!database.agent_ids.includes(agentId)) throw new NotFoundError();
    if (database.owner_agent_id === agentId)
      throw new ConflictError(
        'invalid_state',
        'The database was made for this agent. Switch off `auto_database` in its config instead.',
      );
    await this.#pull(scope, { _id: database._id }, agentId);
  }

  /** An agent is purged: what its sessions have left stays. */
  async forgetAgent(scope: Scope, agentId: string): Promise<void> {
    await scope
      .collection(databaseCollection)
      .updateMany({ owner_agent_id: agentId }, { $set: { owner_agent_id: null } });
    await this.#pull(scope, {}, agentId);
  }

  async #pull(scope: Scope, which: { _id?: string }, agentId: string): Promise<void> {
    await scope
      .collection(databaseCollection)
      .updateMany({ ...which, agent_ids: agentId }, { $pull: { agent_ids: agentId } });
  }

  async #owner(scope: Scope, database: DatabaseRecord): Promise<DatabaseAgent | null> {
    if (database.owner_agent_id === null) return null;
    return scope.collection(this.#agents).findOne({ _id: database.owner_agent_id });
  }

  #checkSources(scope: Scope, columns: readonly Column[]): Promise<void> {
    const references = columns.flatMap(({ source }, index) =>
      source.from === 'analysis'
        ? [
            {
              collection: this.#analyses,
              id: source.analysis_id,
              loc: ['body', 'columns', index, 'source', 'analysis_id'],
            },
          ]
        : [],
    );
    return checkReferences(scope, references);
  }
}
