import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { listPage } from '../storage/list.ts';
import type { ListPage } from '../storage/list.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';

const KEPT_MS = 400 * 24 * 3_600_000;

export interface AuditRecord extends StoredRecord {
  org_id: string | null;
  project_id: string | null;
  /** `usr_…`, `key_…`, `cli` or `anonymous`. */
  actor: string;
  address: string;
  /** `<thing>.<what happened>`, such as `api_key.revoked`. */
  action: string;
  /** Id of what it happened to. */
  target: string;
  expires_at: Date;
}

/** Append-only: nothing in the program changes or deletes an entry; MongoDB drops it after 400 days. */
export const auditCollection = defineCollection<AuditRecord, 'none'>({
  name: 'audit_entries',
  tenancy: 'none',
  fields: {
    org_id: { type: String, default: null },
    project_id: { type: String, default: null },
    actor: { type: String, required: true },
    address: { type: String, default: '' },
    action: { type: String, required: true },
    target: { type: String, required: true },
    expires_at: { type: Date, required: true },
  },
  indexes: [
    [{ expires_at: 1 }, { expireAfterSeconds: 0 }],
    [{ org_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, actor: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, action: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, target: 1, created_at: -1, _id: -1 }],
  ],
});

export interface AuditEntry<Action extends string> {
  /** The tenant, when there is one. */
  scope?: Scope;
  orgId?: string;
  /** A principal, or `cli`, or `anonymous` for sign-ins that failed. */
  caller: Principal | string;
  address: string;
  action: Action;
  target: string;
}

/** The trail as a feature sees it, with the actions that are its own. */
export interface AuditLog<Action extends string> {
  record(entry: AuditEntry<Action>): Promise<void>;
}

/** Who did what to what, from where, when: for what touches credentials, access and people's data. */
export class AuditTrail implements AuditLog<string> {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  async record(entry: AuditEntry<string>): Promise<void> {
    const now = this.#clock.now();
    await this.#database.model(auditCollection).create({
      _id: newId('adt', now),
      org_id: entry.scope?.orgId ?? entry.orgId ?? null,
      project_id: entry.scope?.projectIdOrNull ?? null,
      actor: typeof entry.caller === 'string' ? entry.caller : principalId(entry.caller),
      address: entry.address,
      action: entry.action,
      target: entry.target,
      expires_at: new Date(now + KEPT_MS),
    });
  }

  /** What was done in an org. */
  list(
    { orgId }: Scope,
    list: ListInput & AnyOf<AuditRecord, 'actor' | 'action' | 'target'>,
  ): Promise<ListPage<AuditRecord>> {
    const { actor, action, target } = list;
    return listPage(
      this.#database.model(auditCollection),
      { ...commonFilter(list), ...equalities({ actor, action, target }), org_id: orgId },
      list,
    );
  }
}
