import { ValidationError } from '@parley/shared/errors/app-error';
import { maskSecret } from '../crypto/secret-box.ts';
import type { MaskedSecret, SecretBox } from '../crypto/secret-box.ts';
import type { MaskedToolAuth, ToolAuth, ToolRecord, ToolSecrets } from './tool-model.ts';
import type { ToolEndpointInput } from './tool-schema.ts';

type Sent = string | { set: boolean; last_four: string };
type SentAuth = ToolEndpointInput['auth'];

/** An endpoint whose secrets may be shown. */
type Masked<Endpoint> = Omit<Endpoint, 'headers' | 'auth'> & {
  headers: Record<string, MaskedSecret>;
  auth: MaskedToolAuth;
};

/** Of a tool that has none. */
export const NO_SECRETS: ToolSecrets = { headers: {}, auth: { type: 'none' } };

/**
 * Takes the secrets out of a webhook or an MCP server as sent. What came back masked keeps its stored value, but never for another
 * scheme, host or port: it then has to be sent again.
 * @throws ValidationError `secret_required`
 */
export function separateSecrets<Endpoint extends ToolEndpointInput>(
  field: 'webhook' | 'mcp',
  endpoint: Endpoint,
  before?: { url: string; secrets: ToolSecrets },
): { masked: Masked<Endpoint>; secrets: ToolSecrets } {
  const stored = before && sameOrigin(before.url, endpoint.url) ? before.secrets : NO_SECRETS;
  const missing: (string | number)[][] = [];
  const take = (sent: Sent, known: string | undefined, loc: string[]): string => {
    if (typeof sent === 'string') return sent;
    if (known === undefined) missing.push(['body', field, ...loc]);
    return known ?? '';
  };
  const headers = Object.fromEntries(
    Object.entries(endpoint.headers).map(([name, sent]) => [
      name,
      take(sent, Object.hasOwn(stored.headers, name) ? stored.headers[name] : undefined, ['headers', name]),
    ]),
  );
  const auth = takeAuth(endpoint.auth, stored.auth, take);
  if (missing.length > 0) {
    throw new ValidationError(
      missing.map((loc) => ({
        loc,
        msg: 'Field required: no value is stored for this address',
        type: 'secret_required',
      })),
    );
  }
  return {
    masked: {
      ...endpoint,
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, maskSecret(value)])),
      auth: maskAuth(auth),
    },
    secrets: { headers, auth },
  };
}

function takeAuth(
  sent: SentAuth,
  stored: ToolAuth,
  take: (sent: Sent, known: string | undefined, loc: string[]) => string,
): ToolAuth {
  switch (sent.type) {
    case 'none':
      return sent;
    case 'bearer':
      return {
        ...sent,
        token: take(sent.token, stored.type === 'bearer' ? stored.token : undefined, ['auth', 'token']),
      };
    case 'basic':
      return {
        ...sent,
        password: take(sent.password, stored.type === 'basic' ? stored.password : undefined, [
          'auth',
          'password',
        ]),
      };
    case 'header':
      return {
        ...sent,
        value: take(sent.value, stored.type === 'header' ? stored.value : undefined, ['auth', 'value']),
      };
    case 'hmac':
      return {
        ...sent,
        secret: take(sent.secret, stored.type === 'hmac' ? stored.secret : undefined, ['auth', 'secret']),
      };
  }
}

function maskAuth(auth: ToolAuth): MaskedToolAuth {
  const masked = (text: string): MaskedSecret => maskSecret(text);
  switch (auth.type) {
    case 'none':
      return auth;
    case 'bearer':
      return { type: 'bearer', token: masked(auth.token) };
    case 'basic':
      return { type: 'basic', username: auth.username, password: masked(auth.password) };
    case 'header':
      return { type: 'header', name: auth.name, value: masked(auth.value) };
    case 'hmac':
      return { type: 'hmac', secret: masked(auth.secret) };
  }
}

function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}

/** The secrets of a tool in the clear. */
export function openSecrets(box: SecretBox, { secrets }: Pick<ToolRecord, 'secrets'>): ToolSecrets {
  return JSON.parse(box.decryptSecret(secrets)) as ToolSecrets;
}
