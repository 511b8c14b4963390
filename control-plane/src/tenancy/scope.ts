import type { QueryFilter, UpdateQuery } from 'mongoose';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import type { Collection, StoredRecord, Tenancy } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import type { ListPage, ListQuery } from '../storage/list.ts';
import { listPage } from '../storage/list.ts';
import type { Role } from './roles.ts';

export interface ScopeOptions {
  orgId: string;
  /** Null: the org as a whole. */
  projectId: string | null;
  /** Projects whose records may be seen; null: all of the org. */
  projects: readonly string[] | null;
  role: Role;
}

/**
 * The data of one tenant, as a request's handler gets it: every query through it carries the tenant's filter,
 * whatever the caller of `collection` asks for. Work without a caller (call events, jobs, carriers' callbacks) and
 * what is looked up by a secret or a number reads `Database.model` instead, by ids that it was given.
 */
export class Scope {
  readonly orgId: string;
  readonly #projectId: string | null;
  /** Null: every project of the org. */
  readonly projects: readonly string[] | null;
  /** The caller's role in this org. */
  readonly role: Role;
  readonly #database: Database;

  constructor(database: Database, options: ScopeOptions) {
    this.#database = database;
    this.orgId = options.orgId;
    this.#projectId = options.projectId;
    this.projects = options.projects;
    this.role = options.role;
  }

  /** The project, in a scope of one. @throws Error in a scope of a whole org: a mistake of the program */
  get projectId(): string {
    if (this.#projectId === null) throw new Error('This scope has no single project.');
    return this.#projectId;
  }

  get projectIdOrNull(): string | null {
    return this.#projectId;
  }

  /** Whether records of this project may be seen. */
  sees(projectId: string): boolean {
    return this.projects === null || this.projects.includes(projectId);
  }

  /** The same tenant, one project of it. The caller has made sure that it belongs to the org. */
  inProject(projectId: string): Scope {
    return new Scope(this.#database, {
      orgId: this.orgId,
      projectId,
      projects: [projectId],
      role: this.role,
    });
  }

  collection<T extends StoredRecord>(collection: Collection<T>): ScopedCollection<T> {
    return new ScopedCollection<T>(this.#database, collection, this);
  }

  /** What a query on records of this kind of tenancy is always narrowed by. */
  filter(tenancy: Tenancy): Record<string, unknown> {
    switch (tenancy) {
      case 'none':
        throw new Error('Records without a tenant cannot be reached through a scope.');
      case 'org':
        return { org_id: this.orgId };
      case 'project':
        return { org_id: this.orgId, ...(this.projects && { project_id: oneOf(this.projects) }) };
      case 'shared':
        return {
          org_id: this.orgId,
          ...(this.projects && { project_id: { $in: [null, ...this.projects] } }),
        };
      case 'projects':
        return {
          org_id: this.orgId,
          ...(this.projects && { project_ids: { $in: [null, ...this.projects] } }),
        };
    }
  }
}

function oneOf(values: readonly string[]): unknown {
  return values.length === 1 ? values[0] : { $in: values };
}

/**
 * How often a change that lost a race is tried again. Each loss is another request's success, so this many must have
 * been made meanwhile: more than the request limit lets through at once.
 */
export const MAX_CHANGE_ATTEMPTS = 100;

type Managed = 'org_id' | 'created_at' | 'updated_at';
type WithOptionalProject<T> = T extends { project_id: string } ? Omit<T, 'project_id'> : T;
/** A new record without what the scope fills in. */
export type NewRecord<T> = WithOptionalProject<Omit<T, Managed>> & { created_at?: Date };

export type Filter<T> = QueryFilter<T>;

/** A collection seen by one tenant. Records come back lean. */
export class ScopedCollection<T extends StoredRecord> {
  readonly #collection: Collection<T>;
  readonly #database: Database;
  readonly #scope: Scope;

  constructor(database: Database, collection: Collection<T>, scope: Scope) {
    this.#database = database;
    this.#collection = collection;
    this.#scope = scope;
  }

  #narrow(filter: Filter<T>): QueryFilter<T> {
    return { $and: [this.#scope.filter(this.#collection.tenancy), filter] } as unknown as QueryFilter<T>;
  }

  async find(
    filter: Filter<T>,
    options: { sort?: Record<string, 1 | -1>; skip?: number; limit: number },
  ): Promise<T[]> {
    const query = this.#database.model(this.#collection).find(this.#narrow(filter));
    if (options.sort) query.sort(options.sort);
    if (options.skip) query.skip(options.skip);
    return (await query.limit(options.limit).lean()) as unknown as T[];
  }

  async findOne(filter: Filter<T>, options: { sort?: Record<string, 1 | -1> } = {}): Promise<T | null> {
    const query = this.#database.model(this.#collection).findOne(this.#narrow(filter));
    if (options.sort) query.sort(options.sort);
    return (await query.lean()) as unknown as T | null;
  }

  /** @throws NotFoundError */
  async get(id: string): Promise<T> {
    const found = await this.findOne({ _id: id } as Filter<T>);
    if (!found) throw new NotFoundError();
    return found;
  }

  count(filter: Filter<T>, options: { limit?: number } = {}): Promise<number> {
    return this.#database.model(this.#collection).countDocuments(this.#narrow(filter), options);
  }

  /** One page of a list route, with the total of 1.5. */
  page(
    filter: Filter<T>,
    list: ListQuery,
    without: readonly (keyof T & string)[] = [],
  ): Promise<ListPage<T>> {
    return listPage(this.#database.model(this.#collection), this.#narrow(filter), list, without);
  }

  /**
   * Figures over all that matches, one for each value of `by._id`.
   * @param by the operand of MongoDB's `$group`
   * @returns what it gives; whole numbers of 64 bits are bigints
   */
  async group<R extends object>(
    filter: Filter<T>,
    by: { _id: unknown } & Record<string, unknown>,
  ): Promise<R[]> {
    return (await this.#database
      .model(this.#collection)
      .collection.aggregate([{ $match: this.#narrow(filter) }, { $group: by }], { useBigInt64: true })
      .toArray()) as R[];
  }

  /** Fills in the tenant. @throws MongoServerError 11000 when a unique index refuses it: see `orDuplicate` */
  async insert(record: NewRecord<T>): Promise<T> {
    const tenant: Record<string, unknown> = { org_id: this.#scope.orgId };
    if (this.#collection.tenancy === 'project') tenant['project_id'] = this.#scope.projectId;
    const Model = this.#database.model(this.#collection);
    const document = new Model({ ...record, ...tenant });
    await document.save();
    return document.toObject() as unknown as T;
  }

  /** Changes the first match in one atomic step. @returns it as it is now, or null when nothing matched */
  async update(filter: Filter<T>, update: UpdateQuery<T>): Promise<T | null> {
    return (await this.#database
      .model(this.#collection)
      .findOneAndUpdate(this.#narrow(filter), update, { returnDocument: 'after' })
      .lean()) as unknown as T | null;
  }

  /** Sets the given fields of a record; those that are `undefined` stay as they are. @throws NotFoundError */
  async patch(id: string, change: { readonly [K in keyof T]?: T[K] | undefined }): Promise<T> {
    const changed = await this.update({ _id: id } as Filter<T>, { $set: defined(change) } as UpdateQuery<T>);
    if (!changed) throw new NotFoundError();
    return changed;
  }

  /**
   * Changes a record by what it holds: reads, computes, and writes only if `basis` still is as it was read. The loser
   * of a race computes again from what is there now, so that no change is lost.
   * @param record as it was read
   * @param basis the fields that `compute` looks at
   * @param compute the fields to set; `undefined` ones stay as they are
   * @throws NotFoundError; ConflictError `version_conflict` when others were faster all the time
   */
  async change<K extends keyof T & string>(
    record: T,
    basis: readonly K[],
    compute: (current: T) => Promise<{ readonly [F in keyof T]?: T[F] | undefined }>,
  ): Promise<T> {
    let current = record;
    for (let attempt = 0; attempt < MAX_CHANGE_ATTEMPTS; attempt++) {
      if (attempt > 0) current = await this.get(record._id);
      const set = defined(await compute(current));
      const unchanged = Object.fromEntries(basis.map((field) => [field, current[field]]));
      const changed = await this.update(
        { _id: record._id, ...unchanged } as unknown as Filter<T>,
        { $set: set } as UpdateQuery<T>,
      );
      if (changed) return changed;
    }
    throw new ConflictError(
      'version_conflict',
      'The record was changed by other requests at the same time. Retry the request.',
    );
  }

  /** @returns how many were changed */
  async updateMany(filter: Filter<T>, update: UpdateQuery<T>): Promise<number> {
    return (await this.#database.model(this.#collection).updateMany(this.#narrow(filter), update))
      .modifiedCount;
  }

  /** @returns what was deleted, or null */
  async delete(filter: Filter<T>): Promise<T | null> {
    return (await this.#database
      .model(this.#collection)
      .findOneAndDelete(this.#narrow(filter))
      .lean()) as unknown as T | null;
  }

  /** @returns how many were deleted */
  async deleteMany(filter: Filter<T>): Promise<number> {
    return (await this.#database.model(this.#collection).deleteMany(this.#narrow(filter))).deletedCount;
  }
}
