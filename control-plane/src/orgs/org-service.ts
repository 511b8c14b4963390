import type { z } from 'zod';
import { ConflictError, ForbiddenError, NotFoundError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { slugOf } from '../http/slug.ts';
import { invalid } from '../http/validation.ts';
import type { MemberRecord } from '../members/member-record.ts';
import type { Collection } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { listPage } from '../storage/list.ts';
import type { ListPage } from '../storage/list.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { orgCollection } from './org-model.ts';
import type { OrgRecord } from './org-model.ts';
import type { createOrgRequest, patchOrgRequest } from './org-schema.ts';

/** What it writes to the audit trail. */
export const ORG_AUDIT = ['org.created', 'org.changed', 'org.deleted', 'feature_flag.changed'] as const;

/** Tells whether an org, or one project of it, has calls that are not over. */
export interface LiveSessions {
  (tenant: { org_id: string; project_id?: string }): Promise<boolean>;
}

type OrgFields = Partial<Omit<z.output<typeof createOrgRequest>, 'name'>> & { name: string };

/** Orgs: the tenants of the installation. */
export class OrgService {
  readonly #database: Database;
  readonly #directory: Directory;
  readonly #audit: AuditLog<(typeof ORG_AUDIT)[number]>;
  readonly #clock: Clock;
  readonly #liveSessions: LiveSessions;
  readonly #members: Collection<MemberRecord>;

  constructor(deps: {
    database: Database;
    directory: Directory;
    audit: AuditLog<(typeof ORG_AUDIT)[number]>;
    clock: Clock;
    liveSessions: LiveSessions;
    /** Where an org's first owner is noted. */
    members: Collection<MemberRecord>;
  }) {
    this.#database = deps.database;
    this.#directory = deps.directory;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#liveSessions = deps.liveSessions;
    this.#members = deps.members;
  }

  list(orgIds: readonly string[], list: ListInput): Promise<ListPage<OrgRecord>> {
    return listPage(
      this.#database.model(orgCollection),
      { ...commonFilter(list), _id: { $in: orgIds } },
      list,
    );
  }

  /** @throws NotFoundError */
  async get(orgId: string): Promise<OrgRecord> {
    const org = await this.#database.model(orgCollection).findOne({ _id: orgId }).lean<OrgRecord>();
    if (!org) throw new NotFoundError();
    return org;
  }

  /** The oldest org: the one made at the first start. */
  first(): Promise<OrgRecord | null> {
    return this.#database.model(orgCollection).findOne().sort({ _id: 1 }).lean<OrgRecord>();
  }

  /** A new org with this user as its owner. */
  async create(fields: OrgFields, ownerId: string, origin: { address: string }): Promise<OrgRecord> {
    const org = await this.#insert(fields);
    await this.addOwner(org._id, ownerId);
    await this.#audit.record({
      orgId: org._id,
      caller: ownerId,
      address: origin.address,
      action: 'org.created',
      target: org._id,
    });
    return org;
  }

  /** A new org without members: for the server's command line and first starts. */
  async #insert(fields: OrgFields): Promise<OrgRecord> {
    const sent = defined(fields);
    for (let attempt = 0; ; attempt++) {
      const id = newId('org', this.#clock.now());
      const slug = attempt === 0 ? slugOf(fields.name) : `${slugOf(fields.name)}-${id.slice(-6)}`;
      try {
        const org = await this.#database
          .model(orgCollection)
          .create({ _id: id, ...sent, slug, feature_flags: {} });
        return org.toObject();
      } catch (error) {
        if (!isDuplicateKey(error) || attempt > 3) throw error;
      }
    }
  }

  createWithoutOwner(name: string): Promise<OrgRecord> {
    return this.#insert({ name });
  }

  async addOwner(orgId: string, userId: string): Promise<void> {
    await this.#database.model(this.#members).create({
      _id: newId('mbr', this.#clock.now()),
      org_id: orgId,
      user_id: userId,
      role: 'owner',
      project_ids: null,
      status: 'active',
    });
    this.#directory.forget(userId);
  }

  async update(
    orgId: string,
    caller: Principal,
    change: z.output<typeof patchOrgRequest>,
    origin: { address: string },
  ): Promise<OrgRecord> {
    const sent = defined(change);
    const org = await this.#database
      .model(orgCollection)
      .findOneAndUpdate({ _id: orgId }, { $set: sent }, { returnDocument: 'after' })
      .lean<OrgRecord>();
    if (!org) throw new NotFoundError();
    this.#directory.forget(orgId);
    await this.#audit.record({
      orgId,
      caller,
      address: origin.address,
      action: 'org.changed',
      target: orgId,
    });
    return org;
  }

  /**
   * Marks the org for deletion. @param confirm its slug: nobody deletes an org by a slip
   * @throws ConflictError `invalid_state` while calls are live
   */
  async delete(
    scope: Scope,
    caller: Principal,
    confirm: string,
    origin: { address: string },
  ): Promise<OrgRecord> {
    const org = await this.get(scope.orgId);
    if (confirm !== org.slug) throw invalid(['query', 'confirm'], 'must be the slug of the org');
    if (org.status === 'deleting') return org;
    if (org.status === 'suspended')
      throw new ForbiddenError(
        'org_suspended',
        'This org is suspended. Contact the operator of this installation.',
      );
    if (await this.#liveSessions({ org_id: org._id })) {
      throw new ConflictError('invalid_state', 'The org has live sessions. End them first.');
    }
    const since = new Date(this.#clock.now());
    const deleted = await this.#database
      .model(orgCollection)
      .findOneAndUpdate(
        { _id: org._id },
        { $set: { status: 'deleting', deleting_since: since } },
        { returnDocument: 'after' },
      )
      .lean<OrgRecord>();
    this.#directory.forget(org._id);
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'org.deleted',
      target: org._id,
    });
    return deleted ?? org;
  }

  /** On or off, for the operator. */
  async setSuspended(orgId: string, suspended: boolean): Promise<void> {
    const org = await this.get(orgId);
    if (org.status === 'deleting')
      throw new ConflictError('invalid_state', 'The org is already being deleted.');
    await this.#database
      .model(orgCollection)
      .updateOne({ _id: orgId }, { $set: { status: suspended ? 'suspended' : 'active' } });
    this.#directory.forget(orgId);
  }

  // Feature flags

  async setFlag(
    scope: Scope,
    caller: Principal,
    key: string,
    enabled: boolean,
    origin: { address: string },
  ): Promise<void> {
    await this.#database
      .model(orgCollection)
      .updateOne({ _id: scope.orgId }, { $set: { [`feature_flags.${key}`]: enabled } });
    this.#directory.forget(scope.orgId);
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'feature_flag.changed',
      target: key,
    });
  }
}
