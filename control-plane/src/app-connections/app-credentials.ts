import { sleep, withTimeout } from '@parley/shared/async/timeout';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { Model } from 'mongoose';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Database } from '../storage/database.ts';
import { appConnectionCollection } from './app-connection-model.ts';
import type { AppConnectionRecord, AppSecrets } from './app-connection-model.ts';
import { AppVendorError } from './app-vendor-error.ts';
import type { AppVendors } from './app-vendors.ts';

/** An access token that ends so soon is renewed before it is used. */
const MARGIN_MS = 60_000;
/** How long one process may take to renew a token; longer than the vendor may take to answer. */
const LEASE_MS = 20_000;
const POLL_MS = 100;

/** A connection cannot be used. The message may be told to a language model. */
export class AppConnectionError extends Error {
  readonly code: 'not_connected' | 'unreachable';

  constructor(code: AppConnectionError['code'], message: string) {
    super(message);
    this.name = 'AppConnectionError';
    this.code = code;
  }
}

/** What a request is made with. */
export interface OpenCredential {
  /** As it was when the token was read. */
  connection: AppConnectionRecord;
  /** A bearer token. */
  token: string;
}

/** Credentials of connections: good when they are handed out, renewed by one process at a time. */
export class AppCredentials implements AsyncDisposable {
  readonly #connections: Model<AppConnectionRecord>;
  readonly #box: SecretBox;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #vendors: AppVendors;
  /** By connection. */
  readonly #renewing = new Map<string, Promise<AppConnectionRecord | null>>();

  constructor(deps: {
    database: Database;
    box: SecretBox;
    clock: Clock;
    logger: Logger;
    vendors: AppVendors;
  }) {
    this.#connections = deps.database.model(appConnectionCollection);
    this.#box = deps.box;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#vendors = deps.vendors;
  }

  /** @throws AppConnectionError; the reason of `signal` */
  async open(connection: AppConnectionRecord, signal: AbortSignal): Promise<OpenCredential> {
    const leftMs = (connection.expires_at?.getTime() ?? Infinity) - this.#clock.now();
    if (connection.status !== 'connected' || leftMs > MARGIN_MS) return this.#opened(connection);
    try {
      return this.#opened((await this.#renew(connection, 'expired', signal)) ?? connection);
    } catch (error) {
      // It has not ended yet.
      if (error instanceof AppConnectionError && error.code === 'unreachable' && leftMs > 0)
        return this.#opened(connection);
      throw error;
    }
  }

  /**
   * The app has refused a token that should be good.
   * @returns another one to try, or null: the connection is to be made again, and its record says so
   * @throws AppConnectionError `unreachable`; the reason of `signal`
   */
  async afterRefusal({ connection }: OpenCredential, signal: AbortSignal): Promise<OpenCredential | null> {
    if (connection.auth_type === 'api_key') {
      await this.#end(connection, 'error', `${this.#nameOf(connection)} refuses the API key.`);
      return null;
    }
    const renewed = await this.#renew(connection, 'revoked', signal);
    return renewed?.status === 'connected' ? this.#opened(renewed) : null;
  }

  /** A new token is refused as well. */
  async giveUp({ connection }: OpenCredential): Promise<void> {
    await this.#end(
      connection,
      'error',
      `${this.#nameOf(connection)} refuses a token that it has just given.`,
    );
  }

  /** What is stored of a connection, encrypted. */
  seal(secrets: AppSecrets): string {
    return this.#box.encryptSecret(JSON.stringify(secrets));
  }

  unseal(stored: string): AppSecrets {
    return JSON.parse(this.#box.decryptSecret(stored)) as AppSecrets;
  }

  /** Waits for what is being renewed: a token that was given and not stored is lost. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.#renewing.values());
  }

  #nameOf({ app }: AppConnectionRecord): string {
    return this.#vendors.get(app).name;
  }

  /** @throws AppConnectionError `not_connected` */
  #opened(connection: AppConnectionRecord): OpenCredential {
    const { status, secrets } = connection;
    if (status !== 'connected' || secrets === null) {
      const name = this.#nameOf(connection);
      throw new AppConnectionError(
        'not_connected',
        `The connection to ${name} cannot be used (${status}). An admin of the org must reconnect it.`,
      );
    }
    const open = this.unseal(secrets);
    return { connection, token: open.type === 'api_key' ? open.api_key : open.access_token };
  }

  async #renew(
    connection: AppConnectionRecord,
    otherwise: 'expired' | 'revoked',
    signal: AbortSignal,
  ): Promise<AppConnectionRecord | null> {
    let running = this.#renewing.get(connection._id);
    if (!running) {
      running = this.#renewOnce(connection, otherwise).finally(() => this.#renewing.delete(connection._id));
      this.#renewing.set(connection._id, running);
    }
    return withTimeout(running, 2 * LEASE_MS, 'The renewal of an access token', signal);
  }

  /** @returns the connection as it is then: renewed by whomever, ended, or gone (null) */
  async #renewOnce(
    { _id, secrets }: AppConnectionRecord,
    otherwise: 'expired' | 'revoked',
  ): Promise<AppConnectionRecord | null> {
    for (let waitedMs = 0; waitedMs <= LEASE_MS; waitedMs += POLL_MS) {
      const now = this.#clock.now();
      const claimed = await this.#connections
        .findOneAndUpdate(
          {
            _id,
            secrets,
            status: 'connected',
            $or: [{ renewing_until: null }, { renewing_until: { $lte: new Date(now) } }],
          },
          { $set: { renewing_until: new Date(now + LEASE_MS) } },
          { returnDocument: 'after' },
        )
        .lean<AppConnectionRecord>();
      if (claimed) return this.#ask(claimed, otherwise);
      const current = await this.#connections.findOne({ _id }).lean<AppConnectionRecord>();
      if (current?.status !== 'connected' || current.secrets !== secrets) return current;
      await sleep(POLL_MS);
    }
    throw new AppConnectionError('unreachable', 'The access token could not be renewed in time.');
  }

  async #ask(
    connection: AppConnectionRecord,
    otherwise: 'expired' | 'revoked',
  ): Promise<AppConnectionRecord | null> {
    const { app } = connection;
    const known = this.unseal(connection.secrets!);
    if (known.type !== 'oauth2' || known.refresh_token === null) {
      return this.#end(
        connection,
        otherwise,
        `${this.#nameOf(connection)} gave no token to renew the access with.`,
      );
    }
    try {
      const tokens = await this.#vendors.renew(app, known.refresh_token, NEVER);
      const secrets = this.seal({
        type: 'oauth2',
        access_token: tokens.accessToken,
        refresh_token: tokens.refreshToken ?? known.refresh_token,
      });
      this.#logger.info({ app, connectionId: connection._id }, 'access token renewed');
      return await this.#change(connection, {
        secrets,
        expires_at: this.expiry(tokens.expiresInSeconds),
        last_error: null,
      });
    } catch (error) {
      if (!(error instanceof AppVendorError)) throw error;
      this.#logger.warn(
        { app, connectionId: connection._id, fault: error.fault },
        'access token not renewed',
      );
      if (error.fault === 'refused') return this.#end(connection, otherwise, error.message);
      if (error.fault === 'client_refused') return this.#end(connection, 'error', error.message);
      await this.#change(connection, {});
      throw new AppConnectionError('unreachable', error.message);
    }
  }

  /** When a token ends that was given now. */
  expiry(expiresInSeconds: number | null): Date | null {
    return expiresInSeconds === null ? null : new Date(this.#clock.now() + expiresInSeconds * 1000);
  }

  async #end(
    connection: AppConnectionRecord,
    status: 'expired' | 'error' | 'revoked',
    why: string,
  ): Promise<AppConnectionRecord | null> {
    this.#logger.warn({ app: connection.app, connectionId: connection._id, status }, 'app connection ended');
    return this.#change(connection, { status, last_error: `${why} Reconnect the app.` });
  }

  /** Changes a connection unless another has, and gives the leave to renew it back. @returns it as it is then */
  async #change(
    { _id, secrets }: AppConnectionRecord,
    change: Partial<AppConnectionRecord>,
  ): Promise<AppConnectionRecord | null> {
    const changed = await this.#connections
      .findOneAndUpdate(
        { _id, secrets, status: 'connected' },
        { $set: { ...change, renewing_until: null } },
        { returnDocument: 'after' },
      )
      .lean<AppConnectionRecord>();
    return changed ?? (await this.#connections.findOne({ _id }).lean<AppConnectionRecord>());
  }
}

/** A renewal is not given up half-way: its time is the vendor's. */
const NEVER = new AbortController().signal;
