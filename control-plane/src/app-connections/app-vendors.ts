import * as oauth from 'oauth4webapi';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { fetchThrough } from '../providers/safe-transport.ts';
import { accountOf } from './app-account.ts';
import { appFetch } from './app-fetch.ts';
import type { AppName } from './app-catalog.ts';
import type { InstalledApp, InstalledApps, InstalledOAuth } from './app-settings.ts';
import { AppVendorError } from './app-vendor-error.ts';

const TIMEOUT_MS = 10_000;

/** What a token endpoint gave. */
export interface AppTokens {
  accessToken: string;
  /** Null: none, or still the one that was used. */
  refreshToken: string | null;
  expiresInSeconds: number | null;
  /** Null: those that were asked for (RFC 6749, 5.1). */
  scopes: string[] | null;
}

/** A user's way to a vendor and back. */
export interface AuthorizationAttempt {
  redirectUri: string;
  state: string;
  /** PKCE (RFC 7636). */
  verifier: string;
}

/**
 * What vendors are asked for besides actions: whose account a credential is of and, by the OAuth clients of the
 * installation, authorization code with PKCE, renewal and revocation.
 */
export class AppVendors {
  readonly #apps: InstalledApps;
  readonly #safeFetch: Pick<SafeFetch, 'request'>;

  constructor({ apps, safeFetch }: { apps: InstalledApps; safeFetch: Pick<SafeFetch, 'request'> }) {
    this.#apps = apps;
    this.#safeFetch = safeFetch;
  }

  get(app: AppName): InstalledApp {
    return this.#apps.get(app);
  }

  /** @returns for people: whose account it is; null where the app does not say @throws AppVendorError; the reason of `signal` */
  account(app: AppName, token: string, at: { orgId: string; signal: AbortSignal }): Promise<string | null> {
    return accountOf(this.#safeFetch, this.get(app), token, at);
  }

  /** Which token of a grant its vendor is told to revoke, for all of it. */
  revocable(app: AppName, grant: { access_token: string; refresh_token: string | null }): string {
    const access = this.get(app).oauth?.revokes === 'access_token';
    return access ? grant.access_token : (grant.refresh_token ?? grant.access_token);
  }

  newVerifier(): string {
    return oauth.generateRandomCodeVerifier();
  }

  /** Where the user agrees. */
  async authorizeUrl(app: AppName, attempt: AuthorizationAttempt): Promise<string> {
    const installed = required(this.get(app));
    const { authorizeUrl, clientId, scopes, scopeSeparator = ' ', authorizeParameters } = installed;
    const url = new URL(authorizeUrl);
    const parameters = {
      ...authorizeParameters,
      response_type: 'code',
      client_id: clientId,
      redirect_uri: attempt.redirectUri,
      scope: scopes.join(scopeSeparator),
      state: attempt.state,
      code_challenge: await oauth.calculatePKCECodeChallenge(attempt.verifier),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /**
   * Takes what the vendor's redirect brought to the token endpoint. `state` and `iss` are looked at first.
   * @throws AppVendorError; the reason of `signal`
   */
  exchange(
    app: AppName,
    returned: URLSearchParams,
    attempt: AuthorizationAttempt,
    signal: AbortSignal,
  ): Promise<AppTokens> {
    return this.#ask(app, signal, async ({ app: { name }, server, client, secret, options, types }) => {
      const parameters = oauth.validateAuthResponse(server, client, returned, attempt.state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        secret,
        parameters,
        attempt.redirectUri,
        attempt.verifier,
        options,
      );
      await checkAnswer(name, response);
      return toTokens(await oauth.processAuthorizationCodeResponse(server, client, response, types));
    });
  }

  /** @throws AppVendorError; the reason of `signal` */
  renew(app: AppName, refreshToken: string, signal: AbortSignal): Promise<AppTokens> {
    return this.#ask(app, signal, async ({ app: { name }, server, client, secret, options, types }) => {
      const response = await oauth.refreshTokenGrantRequest(server, client, secret, refreshToken, options);
      await checkAnswer(name, response);
      return toTokens(await oauth.processRefreshTokenResponse(server, client, response, types));
    });
  }

  /** Of a token that is revoked already, a vendor may say either. @throws AppVendorError; the reason of `signal` */
  revoke(app: AppName, token: string, signal: AbortSignal): Promise<void> {
    return this.#ask(app, signal, async ({ app: { name }, server, client, secret, options }) => {
      const response = await oauth.revocationRequest(server, client, secret, token, options);
      await checkAnswer(name, response);
      await response.body?.cancel();
    });
  }

  async #ask<T>(name: AppName, signal: AbortSignal, work: (at: Connection) => Promise<T>): Promise<T> {
    const app = this.get(name);
    const installed = required(app);
    const { issuer, authorizeUrl, tokenUrl, revokeUrl, clientId, clientSecret, tokenTypes = [] } = installed;
    const fetch = fetchThrough(
      appFetch(this.#safeFetch, app.descriptor),
      { purpose: 'tool', allow: app.allow },
      TIMEOUT_MS,
    );
    try {
      return await work({
        app,
        server: {
          issuer,
          authorization_endpoint: authorizeUrl,
          token_endpoint: tokenUrl,
          revocation_endpoint: revokeUrl,
        },
        client: { client_id: clientId },
        secret: oauth.ClientSecretPost(clientSecret.reveal()),
        types: { recognizedTokenTypes: Object.fromEntries(tokenTypes.map((type) => [type, () => {}])) },
        options: {
          [oauth.customFetch]: fetch,
          // Only where the operator has named such an address.
          [oauth.allowInsecureRequests]: app.allow.length > 0,
          signal,
        },
      });
    } catch (error) {
      signal.throwIfAborted();
      throw toVendorError(app, error);
    }
  }
}

interface Connection {
  app: InstalledApp;
  server: oauth.AuthorizationServer;
  client: oauth.Client;
  secret: oauth.ClientAuth;
  options: oauth.TokenEndpointRequestOptions;
  types: { recognizedTokenTypes: oauth.RecognizedTokenTypes };
}

function required({ name, oauth: installed }: InstalledApp): InstalledOAuth {
  if (!installed)
    throw new AppVendorError('client_refused', `This installation has no OAuth client for ${name}.`);
  return installed;
}

/** Faults of the client, not of the token (RFC 6749, 5.2). */
const OF_CLIENT = new Set([
  ...['invalid_client', 'unauthorized_client'],
  // In words of vendors' own.
  ...['bad_client_secret', 'invalid_client_id'],
]);

/** Refusals first: not every vendor words them as RFC 6749 does. @throws AppVendorError */
async function checkAnswer(name: string, response: Response): Promise<void> {
  const { status } = response;
  if (status < 400) return;
  if (status >= 500 || status === 408 || status === 429)
    throw new AppVendorError('unreachable', `${name} answered with status ${status}.`);
  const code = errorCode(await response.text());
  const said = code === null ? '' : ` (${code})`;
  throw OF_CLIENT.has(code ?? '')
    ? new AppVendorError('client_refused', `${name} refuses the OAuth client of this installation${said}.`)
    : new AppVendorError('refused', `${name} refuses the authorization${said}.`);
}

/** A code word of the vendor's; its sentences are not shown. */
function errorCode(body: string): string | null {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(error) ? error : null;
  } catch {
    return null;
  }
}

function toVendorError({ name }: InstalledApp, error: unknown): AppVendorError {
  if (error instanceof AppVendorError) return error;
  if (error instanceof oauth.AuthorizationResponseError) {
    return error.error === 'access_denied'
      ? new AppVendorError('refused', `Access to ${name} was not granted.`)
      : new AppVendorError('refused', `${name} did not complete the authorization.`);
  }
  if (error instanceof oauth.OperationProcessingError && error.code === oauth.INVALID_RESPONSE)
    return new AppVendorError('refused', `The answer of ${name} does not belong to this authorization.`);
  return new AppVendorError('unreachable', `${name} could not be reached.`, { cause: error });
}

function toTokens(answer: oauth.TokenEndpointResponse): AppTokens {
  return {
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token ?? null,
    expiresInSeconds: answer.expires_in ?? null,
    scopes: answer.scope?.split(/[ ,]+/).filter((scope) => scope !== '') ?? null,
  };
}
