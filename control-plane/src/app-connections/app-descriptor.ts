/** An app that tools can be backed by: all that the platform has to know of it. */
export interface AppDescriptor {
  /** For people. */
  readonly name: string;
  /**
   * `APP_<VARIABLE>_BASE_URL` is where it is when it is not at the vendor's own addresses: scheme, host and port of all
   * of them. Apps of one vendor have one variable, and one OAuth client: `APP_<VARIABLE>_CLIENT_ID` and `…_CLIENT_SECRET`.
   */
  readonly variable: string;
  readonly auth: AppAuth;
  /** What the paths of requests come after. */
  readonly apiUrl: string;
  /** Headers of every request, besides the credential. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A cheap request that needs a good credential, and where its answer says whose it is. An API key is tried by it. */
  readonly account?: { readonly request: AppRequestTemplate; readonly label: string };
  /** It answers failures with the status 200, too: `ok` is false then, and `error` says which one it is. */
  readonly failures?: {
    /** Those that are about the credential. */
    readonly unauthorized: readonly string[];
  };
  readonly actions: readonly AppAction[];
}

export type AppAuth = { readonly type: 'api_key' } | ({ readonly type: 'oauth2' } & OAuthDescriptor);

/** A vendor's authorization server (RFC 6749). The credential is a bearer token (RFC 6750) in any case. */
export interface OAuthDescriptor {
  /** What `iss` says in the vendor's redirect, where it sends one (RFC 9207). */
  readonly issuer: string;
  readonly authorizeUrl: string;
  readonly tokenUrl: string;
  /** RFC 7009. */
  readonly revokeUrl: string;
  /** All that is asked for; without each of them a connection is not made. */
  readonly scopes: readonly string[];
  /** Between scopes, when it is no space. */
  readonly scopeSeparator?: string;
  /** What it calls bearer tokens, besides `bearer`. */
  readonly tokenTypes?: readonly Lowercase<string>[];
  /** What `revokeUrl` takes, when it is not the refresh token. */
  readonly revokes?: 'access_token';
  /** In the authorization request, besides what the standards ask for. */
  readonly authorizeParameters?: Readonly<Record<string, string>>;
}

/** What an app can be asked to do: one function to a language model. */
export interface AppAction {
  /** Its name, `^[a-z][a-z0-9_]*$`. */
  readonly action: string;
  /** For the people who make tools of it. */
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly parameters: AppParameters;
  readonly request: AppRequestTemplate;
}

export interface AppParameters {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/**
 * One HTTP request. `{name}` stands for an argument, `{name|text}` for one that is `text` when it is missing. A value that
 * is nothing but a placeholder takes the argument as it is, and is left out when there is none.
 */
export interface AppRequestTemplate {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Behind `apiUrl`; arguments are percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: AppBodyTemplate;
}

export type AppBodyTemplate =
  string | number | boolean | readonly AppBodyTemplate[] | { readonly [field: string]: AppBodyTemplate };

/** The JSON Schema of an action's arguments. */
export function parametersOf(
  properties: AppParameters['properties'],
  required: readonly string[],
): AppParameters {
  return { type: 'object', properties, required, additionalProperties: false };
}
