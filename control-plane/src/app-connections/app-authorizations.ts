import type { Model } from 'mongoose';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { Database } from '../storage/database.ts';
import type { Directory } from '../tenancy/directory.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { AppAuthorizationStates, TakenAuthorization } from './app-authorization-states.ts';
import { appConnectionCollection } from './app-connection-model.ts';
import type { AppConnectionRecord } from './app-connection-model.ts';
import type { AppCredentials } from './app-credentials.ts';
import type { AppRevocations } from './app-revocations.ts';
import { AppVendorError } from './app-vendor-error.ts';
import type { AppTokens, AppVendors } from './app-vendors.ts';

/** Where vendors send users back to. */
export const CALLBACK_PATH = '/auth/v1/apps/callback';

/** More than all that vendors are asked for may take. */
const COMPLETE_MS = 60_000;

/** What it writes to the audit trail. */
export const AUTHORIZATION_AUDIT = ['app_connection.connected'] as const;

/** What became of a user's way to a vendor and back. */
export interface AuthorizationOutcome {
  connected: boolean;
  /** Null: nobody knows which one it was. */
  connectionId: string | null;
  /** For the user. */
  message: string;
}

const UNKNOWN: AuthorizationOutcome = {
  connected: false,
  connectionId: null,
  message: 'This authorization has expired, was used before, or is unknown. Start the connection again.',
};

/** Users' ways to vendors and back: begun by an admin, completed once, in time. */
export class AppAuthorizations {
  readonly #connections: Model<AppConnectionRecord>;
  readonly #states: AppAuthorizationStates;
  readonly #vendors: AppVendors;
  readonly #credentials: Pick<AppCredentials, 'seal' | 'expiry'>;
  readonly #revocations: Pick<AppRevocations, 'add'>;
  readonly #directory: Pick<Directory, 'membership' | 'org'>;
  readonly #audit: AuditLog<(typeof AUTHORIZATION_AUDIT)[number]>;
  readonly #redirectUri: string;

  constructor(deps: {
    database: Database;
    states: AppAuthorizationStates;
    vendors: AppVendors;
    credentials: Pick<AppCredentials, 'seal' | 'expiry'>;
    revocations: Pick<AppRevocations, 'add'>;
    directory: Pick<Directory, 'membership' | 'org'>;
    audit: AuditLog<(typeof AUTHORIZATION_AUDIT)[number]>;
    publicUrl: string;
  }) {
    this.#connections = deps.database.model(appConnectionCollection);
    this.#states = deps.states;
    this.#vendors = deps.vendors;
    this.#credentials = deps.credentials;
    this.#revocations = deps.revocations;
    this.#directory = deps.directory;
    this.#audit = deps.audit;
    this.#redirectUri = deps.publicUrl + CALLBACK_PATH;
  }

  /** @returns its id, which the connection is to hold, and where the user has to go */
  async begin(
    connection: Pick<AppConnectionRecord, '_id' | 'org_id' | 'app'>,
    userId: string,
  ): Promise<{ id: string; url: string }> {
    const verifier = this.#vendors.newVerifier();
    const { id, state } = await this.#states.make(connection, userId, verifier);
    const attempt = { redirectUri: this.#redirectUri, state, verifier };
    return { id, url: await this.#vendors.authorizeUrl(connection.app, attempt) };
  }

  /**
   * A user may leave before it is done: tokens that were given are kept all the same.
   * @param returned the query of the vendor's redirect
   */
  async complete(returned: URLSearchParams, { address }: { address: string }): Promise<AuthorizationOutcome> {
    const origin = { address, signal: AbortSignal.timeout(COMPLETE_MS) };
    const states = returned.getAll('state');
    const taken = states.length === 1 ? await this.#states.take(states[0]!) : null;
    if (!taken || !(await this.#mayConnect(taken))) return UNKNOWN;
    const connection = await this.#connections.findOne(underWay(taken)).lean<AppConnectionRecord>();
    // Deleted meanwhile, or begun again.
    if (!connection) return UNKNOWN;
    try {
      const attempt = { ...taken, redirectUri: this.#redirectUri };
      const tokens = await this.#vendors.exchange(connection.app, returned, attempt, origin.signal);
      return await this.#connected(connection, taken, tokens, origin);
    } catch (error) {
      if (!(error instanceof AppVendorError)) throw error;
      return this.#failed(taken, error.message);
    }
  }

  async #connected(
    connection: AppConnectionRecord,
    taken: TakenAuthorization,
    { accessToken, refreshToken, expiresInSeconds, scopes }: AppTokens,
    { address, signal }: { address: string; signal: AbortSignal },
  ): Promise<AuthorizationOutcome> {
    const { app } = connection;
    const { name, oauth } = this.#vendors.get(app);
    const asked = oauth?.scopes ?? [];
    const granted = scopes ?? [...asked];
    const grant = { access_token: accessToken, refresh_token: refreshToken };
    const missing = asked.filter((scope) => !granted.includes(scope));
    if (missing.length > 0) {
      await this.#revocations.add(connection, this.#vendors.revocable(app, grant), signal);
      return this.#failed(taken, `${name} was not given all permissions: ${missing.join(', ')}.`);
    }
    const changed = await this.#connections.findOneAndUpdate(underWay(taken), {
      $set: {
        status: 'connected',
        authorization: null,
        account_label: await this.#label(connection, accessToken, signal),
        scopes: granted,
        expires_at: this.#credentials.expiry(expiresInSeconds),
        last_error: null,
        renewing_until: null,
        secrets: this.#credentials.seal({ type: 'oauth2', ...grant }),
      },
    });
    if (!changed) {
      await this.#revocations.add(connection, this.#vendors.revocable(app, grant), signal);
      return UNKNOWN;
    }
    await this.#audit.record({
      orgId: taken.orgId,
      caller: taken.userId,
      address,
      action: 'app_connection.connected',
      target: taken.connectionId,
    });
    const message = `${name} is connected. You may close this page.`;
    return { connected: true, connectionId: taken.connectionId, message };
  }

  /** Whoever began it must still be one who may. */
  async #mayConnect({ userId, orgId }: TakenAuthorization): Promise<boolean> {
    const [member, org] = await Promise.all([
      this.#directory.membership(userId, orgId),
      this.#directory.org(orgId),
    ]);
    return member !== null && roleAtLeast(member.role, 'admin') && org?.status === 'active';
  }

  /** Nothing depends on it. */
  async #label(
    { app, org_id: orgId }: AppConnectionRecord,
    token: string,
    signal: AbortSignal,
  ): Promise<string | null> {
    try {
      return await this.#vendors.account(app, token, { orgId, signal });
    } catch (error) {
      if (error instanceof AppVendorError) return null;
      throw error;
    }
  }

  async #failed(taken: TakenAuthorization, why: string): Promise<AuthorizationOutcome> {
    const message = `${why} Start the connection again.`;
    await this.#connections.updateOne(underWay(taken), {
      $set: { authorization: null, last_error: message },
    });
    return { connected: false, connectionId: taken.connectionId, message };
  }
}

/** The connection that an authorization may complete, as long as it may. */
function underWay({ id, connectionId, orgId }: TakenAuthorization) {
  return { _id: connectionId, org_id: orgId, status: 'pending', authorization: id } as const;
}
