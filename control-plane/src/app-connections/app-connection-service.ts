import { AppError, NotFoundError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { ListPage } from '../storage/list.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkProjects } from '../tenancy/project-references.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { AppAuthorizations } from './app-authorizations.ts';
import type { AppName } from './app-catalog.ts';
import { appConnectionCollection } from './app-connection-model.ts';
import type { AppConnectionRecord } from './app-connection-model.ts';
import type { CreateAppConnection, ReconnectApp } from './app-connection-schema.ts';
import type { AppCredentials } from './app-credentials.ts';
import type { AppRevocations } from './app-revocations.ts';
import { AppVendorError } from './app-vendor-error.ts';
import type { AppVendors } from './app-vendors.ts';

/** What it writes to the audit trail. */
export const CONNECTION_AUDIT = [
  'app_connection.created',
  'app_connection.reconnected',
  'app_connection.deleted',
] as const;

/** What a tool says of the connection that it uses. */
export interface UsingTool extends StoredRecord {
  name: string;
  app: { connection_id: string } | null;
}

/** A connection, and where a person has to agree to it. */
export interface StartedConnection {
  connection: AppConnectionRecord;
  authorizeUrl: string | null;
}

/** Who asks, from where. */
export interface ConnectionOrigin {
  caller: Principal;
  address: string;
  signal: AbortSignal;
}

/** Accounts of orgs at apps. */
export class AppConnectionService {
  readonly #vendors: AppVendors;
  readonly #authorizations: AppAuthorizations;
  readonly #credentials: Pick<AppCredentials, 'seal' | 'unseal'>;
  readonly #revocations: Pick<AppRevocations, 'add'>;
  readonly #tools: Collection<UsingTool>;
  readonly #audit: AuditLog<(typeof CONNECTION_AUDIT)[number]>;
  readonly #clock: Clock;

  constructor(deps: {
    vendors: AppVendors;
    authorizations: AppAuthorizations;
    credentials: Pick<AppCredentials, 'seal' | 'unseal'>;
    revocations: Pick<AppRevocations, 'add'>;
    tools: Collection<UsingTool>;
    audit: AuditLog<(typeof CONNECTION_AUDIT)[number]>;
    clock: Clock;
  }) {
    this.#vendors = deps.vendors;
    this.#authorizations = deps.authorizations;
    this.#credentials = deps.credentials;
    this.#revocations = deps.revocations;
    this.#tools = deps.tools;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
  }

  list(scope: Scope, list: ListInput): Promise<ListPage<AppConnectionRecord>> {
    return scope.collection(appConnectionCollection).page(commonFilter(list), list);
  }

  /** @throws ValidationError, ConflictError `limit_reached`, AppError 502 `provider_error` */
  async create(
    scope: Scope,
    { app, name, project_id, credentials }: CreateAppConnection,
    origin: ConnectionOrigin,
  ): Promise<StartedConnection> {
    if (project_id !== null) await checkProjects(scope, [{ id: project_id, loc: ['body', 'project_id'] }]);
    await checkRoom(scope.collection(appConnectionCollection), { project_id });
    const _id = newId('apc', this.#clock.now());
    const started = await this.#start({ _id, org_id: scope.orgId, app }, credentials, origin);
    const connection = await scope.collection(appConnectionCollection).insert({
      _id,
      project_id,
      app,
      name,
      auth_type: this.#vendors.get(app).descriptor.auth.type,
      scopes: [],
      expires_at: null,
      last_error: null,
      renewing_until: null,
      ...started.fields,
    });
    await this.#written(scope, origin, 'app_connection.created', _id);
    return { connection, authorizeUrl: started.url };
  }

  rename(scope: Scope, { _id }: AppConnectionRecord, name: string | undefined): Promise<AppConnectionRecord> {
    return scope.collection(appConnectionCollection).patch(_id, { name });
  }

  /**
   * Begins an authorization again, or takes another key. What it had of an authorization before is gone.
   * @throws AppError 409 `invalid_state` for an authorization that is good, 502 `provider_error`; ValidationError
   */
  async reconnect(
    scope: Scope,
    connection: AppConnectionRecord,
    { credentials }: ReconnectApp,
    origin: ConnectionOrigin,
  ): Promise<StartedConnection> {
    if (connection.auth_type === 'oauth2' && connection.status === 'connected')
      throw new AppError(409, 'invalid_state', 'The app is connected: there is nothing to reconnect.');
    const started = await this.#start(connection, credentials, origin);
    const changed = await scope
      .collection(appConnectionCollection)
      .update(
        { _id: connection._id, status: connection.status, secrets: connection.secrets },
        { $set: { expires_at: null, last_error: null, renewing_until: null, ...started.fields } },
      );
    if (!changed) {
      await scope.collection(appConnectionCollection).get(connection._id);
      throw new AppError(
        409,
        'version_conflict',
        'The connection was changed by another request at the same time. Retry the request.',
      );
    }
    await this.#revoke(connection, origin.signal);
    await this.#written(scope, origin, 'app_connection.reconnected', connection._id);
    return { connection: changed, authorizeUrl: started.url };
  }

  /** Revokes its tokens at the vendor. @throws AppError 409 `resource_in_use` while tools use it */
  async delete(scope: Scope, { _id }: AppConnectionRecord, origin: ConnectionOrigin): Promise<void> {
    const refs = await this.#usedBy(scope, _id);
    if (refs.length > 0)
      throw new AppError(409, 'resource_in_use', 'Tools use the connection. Delete them first.', { refs });
    const deleted = await scope.collection(appConnectionCollection).delete({ _id });
    if (!deleted) throw new NotFoundError();
    await this.#revoke(deleted, origin.signal);
    await this.#written(scope, origin, 'app_connection.deleted', _id);
  }

  /** Revokes the tokens of all connections of an org that goes. */
  async revokeAll(scope: Scope): Promise<void> {
    const connections = scope.collection(appConnectionCollection);
    for (;;) {
      const some = await connections.find({ secrets: { $ne: null } }, { limit: 100 });
      if (some.length === 0) return;
      for (const connection of some) {
        await this.#revoke(connection, new AbortController().signal);
        await connections.update({ _id: connection._id }, { $set: { secrets: null } });
      }
    }
  }

  async #usedBy(scope: Scope, id: string): Promise<ErrorRef[]> {
    const tools = await scope.collection(this.#tools).find({ 'app.connection_id': id }, { limit: 20 });
    return tools.map(({ _id, name }) => ({ type: 'tool', id: _id, name }));
  }

  /** What a connection holds that is begun now, and where a person has to agree to it. */
  async #start(
    connection: Pick<AppConnectionRecord, '_id' | 'org_id' | 'app'>,
    credentials: CreateAppConnection['credentials'],
    origin: ConnectionOrigin,
  ): Promise<{
    fields: Pick<AppConnectionRecord, 'status' | 'secrets' | 'account_label' | 'authorization'>;
    url: string | null;
  }> {
    const { app, org_id: orgId } = connection;
    const { descriptor, oauth, name } = this.#vendors.get(app);
    if (descriptor.auth.type === 'api_key') {
      if (!credentials) throw invalid(['body', 'credentials'], 'Field required', 'missing');
      const { api_key } = credentials;
      const account_label = await this.#try(app, api_key, { orgId, signal: origin.signal });
      const secrets = this.#credentials.seal({ type: 'api_key', api_key });
      return { fields: { status: 'connected', secrets, account_label, authorization: null }, url: null };
    }
    if (credentials)
      throw invalid(
        ['body', 'credentials'],
        `${name} takes no API key: a person agrees there`,
        'extra_forbidden',
      );
    if (!oauth)
      throw invalid(['body', 'app'], `this installation has no OAuth client for ${name}`, 'not_available');
    const { id, url } = await this.#authorizations.begin(connection, principalId(origin.caller));
    return { fields: { status: 'pending', secrets: null, account_label: null, authorization: id }, url };
  }

  /** @returns whose key it is @throws ValidationError for a key that the app refuses, AppError 502 */
  async #try(app: AppName, key: string, at: { orgId: string; signal: AbortSignal }): Promise<string | null> {
    try {
      return await this.#vendors.account(app, key, at);
    } catch (error) {
      if (!(error instanceof AppVendorError)) throw error;
      if (error.fault === 'refused')
        throw invalid(['body', 'credentials', 'api_key'], error.message, 'credential_refused');
      throw new AppError(502, 'provider_error', error.message, { cause: error });
    }
  }

  async #revoke(connection: AppConnectionRecord, signal: AbortSignal): Promise<void> {
    if (connection.secrets === null) return;
    const secrets = this.#credentials.unseal(connection.secrets);
    if (secrets.type !== 'oauth2') return;
    await this.#revocations.add(connection, this.#vendors.revocable(connection.app, secrets), signal);
  }

  async #written(
    scope: Scope,
    { caller, address }: ConnectionOrigin,
    action: (typeof CONNECTION_AUDIT)[number],
    target: string,
  ): Promise<void> {
    await this.#audit.record({ scope, caller, address, action, target });
  }
}
