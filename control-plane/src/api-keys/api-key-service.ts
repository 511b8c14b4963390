import { createHash, randomInt } from 'node:crypto';
import type { z } from 'zod';
import { ForbiddenError, NotFoundError, UnauthorizedError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import type { Database } from '../storage/database.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { ListPage } from '../storage/list.ts';
import type { Directory } from '../tenancy/directory.ts';
import { DIRECTORY_TTL_MS } from '../tenancy/directory.ts';
import { principalId } from '../tenancy/principal.ts';
import type { KeyPrincipal, Principal } from '../tenancy/principal.ts';
import { checkRoom, RECORDS_PER_PROJECT } from '../tenancy/record-limit.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { Scope, ScopedCollection } from '../tenancy/scope.ts';
import { apiKeyCollection } from './api-key-model.ts';
import type { ApiKeyRecord } from './api-key-model.ts';
import { apiKeyStatus } from './api-key-schema.ts';
import type { createApiKeyRequest } from './api-key-schema.ts';

/** What it writes to the audit trail. */
export const API_KEY_AUDIT = ['api_key.created', 'api_key.revoked'] as const;

/** How every project API key begins. */
export const API_KEY_START = 'sk-svc-';
const API_KEY = /^sk-svc-[0-9A-Za-z]{40}$/;
const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const USED_EVERY_MS = 60_000;
/** So many of a project's revoked keys are still known by name. */
export const REVOKED_KEYS_KEPT = RECORDS_PER_PROJECT;

/** 40 characters of base62: 238 random bits. */
export function newApiKey(): string {
  let key = API_KEY_START;
  for (let i = 0; i < 40; i++) key += BASE62[randomInt(62)]!;
  return key;
}

/** How a key is stored. */
export function apiKeyDigest(key: string): string {
  return createHash('sha256').update(key, 'utf8').digest('hex');
}

/** Project API keys: made, listed, revoked and checked. */
export class ApiKeyService {
  readonly #database: Database;
  readonly #directory: Directory;
  readonly #audit: AuditLog<(typeof API_KEY_AUDIT)[number]>;
  readonly #background: BackgroundWork;
  readonly #clock: Clock;
  readonly #known: ExpiringCache<ApiKeyRecord | null>;

  constructor(deps: {
    database: Database;
    directory: Directory;
    audit: AuditLog<(typeof API_KEY_AUDIT)[number]>;
    background: BackgroundWork;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#directory = deps.directory;
    this.#audit = deps.audit;
    this.#background = deps.background;
    this.#clock = deps.clock;
    this.#known = new ExpiringCache({ clock: deps.clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 10_000 });
  }

  /** A key never makes its equal: only viewer or editor keys that expire no later than itself. */
  async create(
    scope: Scope,
    caller: Principal,
    request: z.output<typeof createApiKeyRequest>,
    origin: { address: string },
  ): Promise<{ record: ApiKeyRecord; key: string }> {
    const now = this.#clock.now();
    let expiresAt = request.expires_at === null ? null : new Date(request.expires_at);
    if (expiresAt && expiresAt.getTime() <= now)
      throw invalid(['body', 'expires_at'], 'must be in the future');
    if (!roleAtLeast(scope.role, request.role)) {
      throw new ForbiddenError('role_too_low', 'An API key cannot have a higher role than its creator.');
    }
    if (caller.auth === 'api_key') {
      if (request.role === 'admin')
        throw new ForbiddenError('role_too_low', 'An API key can create only viewer and editor keys.');
      expiresAt ??= caller.expires_at;
      if (caller.expires_at && expiresAt && expiresAt > caller.expires_at) {
        throw invalid(['body', 'expires_at'], 'must not be later than the expiry of the key that creates it');
      }
    }
    const made = await this.insert(scope, {
      name: request.name,
      role: request.role,
      expiresAt,
      createdBy: principalId(caller),
    });
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'api_key.created',
      target: made.record._id,
    });
    return made;
  }

  /** For the command line and the first start: no caller, no limit of role. */
  async insert(
    scope: Scope,
    key: {
      name: string;
      role: KeyPrincipal['role'];
      expiresAt: Date | null;
      createdBy: string;
      key?: string;
    },
  ): Promise<{ record: ApiKeyRecord; key: string }> {
    const secret = key.key ?? newApiKey();
    await checkRoom(scope.collection(apiKeyCollection), { revoked_at: null });
    const record = await scope.collection(apiKeyCollection).insert({
      _id: newId('key', this.#clock.now()),
      name: key.name,
      role: key.role,
      digest: apiKeyDigest(secret),
      key_start: secret.slice(0, 12),
      last_four: secret.slice(-4),
      created_by: key.createdBy,
      expires_at: key.expiresAt,
      last_used_at: null,
      revoked_at: null,
    });
    return { record, key: secret };
  }

  list(
    scope: Scope,
    list: ListInput & { status?: readonly string[] | undefined },
  ): Promise<ListPage<ApiKeyRecord>> {
    const now = new Date(this.#clock.now());
    const byStatus: Record<string, object> = {
      revoked: { revoked_at: { $ne: null } },
      expired: { revoked_at: null, expires_at: { $ne: null, $lte: now } },
      active: { revoked_at: null, $or: [{ expires_at: null }, { expires_at: { $gt: now } }] },
    };
    const chosen = list.status?.map((word) => byStatus[word]!);
    const status = chosen?.length === 1 ? chosen[0] : chosen && { $or: chosen };
    return scope.collection(apiKeyCollection).page({ ...commonFilter(list), ...status }, list);
  }

  /** Revokes a key and those it made; twice is harmless. @throws NotFoundError */
  async revoke(scope: Scope, caller: Principal, keyId: string, origin: { address: string }): Promise<void> {
    const keys = scope.collection(apiKeyCollection);
    const known = await keys.findOne({ _id: keyId });
    if (!known) throw new NotFoundError();
    const now = new Date(this.#clock.now());
    const gone = await keys.find(
      { $or: [{ _id: keyId }, { created_by: keyId }], revoked_at: null },
      { limit: 10_000 },
    );
    await keys.updateMany(
      { $or: [{ _id: keyId }, { created_by: keyId }], revoked_at: null },
      { $set: { revoked_at: now } },
    );
    for (const record of gone) this.#known.forget(record.digest);
    if (gone.length === 0) return;
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'api_key.revoked',
      target: keyId,
    });
    await this.#forgetOldest(keys);
  }

  /** A project that changes its keys daily would pile them up; what became of the oldest stands in the audit trail. */
  async #forgetOldest(keys: ScopedCollection<ApiKeyRecord>): Promise<void> {
    const oldest = await keys.find(
      { revoked_at: { $ne: null } },
      { sort: { revoked_at: -1 }, skip: REVOKED_KEYS_KEPT, limit: REVOKED_KEYS_KEPT },
    );
    if (oldest.length > 0) await keys.deleteMany({ _id: { $in: oldest.map(({ _id }) => _id) } });
  }

  /**
   * Who a key stands for. A revocation made by another process is seen at most five seconds late.
   * @throws UnauthorizedError `unauthenticated`, `key_revoked`, `token_expired`
   */
  async authenticate(key: string): Promise<KeyPrincipal> {
    if (!API_KEY.test(key)) throw new UnauthorizedError('unauthenticated', 'Invalid API key.');
    const digest = apiKeyDigest(key);
    const record = await this.#known.get(digest, () =>
      this.#database.model(apiKeyCollection).findOne({ digest }).lean<ApiKeyRecord>(),
    );
    if (!record) throw new UnauthorizedError('unauthenticated', 'Invalid API key.');
    const now = this.#clock.now();
    const status = apiKeyStatus(record, now);
    if (status === 'revoked') throw new UnauthorizedError('key_revoked', 'The API key has been revoked.');
    if (status === 'expired') throw new UnauthorizedError('token_expired', 'The API key has expired.');
    const project = await this.#directory.project(record.project_id);
    if (!project || project.archived_at) throw new UnauthorizedError('unauthenticated', 'Invalid API key.');
    this.#markUsed(record, now);
    return {
      auth: 'api_key',
      api_key_id: record._id,
      org_id: record.org_id,
      project_id: record.project_id,
      role: record.role,
      expires_at: record.expires_at,
    };
  }

  #markUsed(record: ApiKeyRecord, now: number): void {
    if (record.last_used_at && now - record.last_used_at.getTime() < USED_EVERY_MS) return;
    const minute = new Date(now - (now % USED_EVERY_MS));
    record.last_used_at = minute;
    this.#background.run('the last use of an API key could not be recorded', () =>
      this.#database
        .model(apiKeyCollection)
        .updateOne({ _id: record._id }, { $set: { last_used_at: minute } }, { timestamps: false }),
    );
  }
}
