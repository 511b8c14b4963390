import { seededRandom } from '@parley/shared/values/seeded-random';
import { openEmulatorServer, readBody } from '../server/emulator-server.ts';
import type { EmulatorExchange, HttpAnswer } from '../server/emulator-server.ts';
import { COMMON_FAULTS, FaultPlan } from '../server/faults.ts';
import { OAuthServer } from './oauth-server.ts';

/** A workspace with a bot in it. */
export interface SlackEmulator extends AsyncDisposable {
  readonly url: string;
  readonly oauth: OAuthServer;
  readonly messages: { channel: string; text: string }[];
  setFaults(faults: unknown): void;
}

const MAX_BYTES = 64 * 1024;
/** A bot's token lives until it is revoked: there is no token rotation here. */
const FOR_EVER_SECONDS = 10 * 365 * 24 * 3600;

/**
 * An emulated Slack: OAuth v2 for bots, and of the Web API what its bot needs. Failures have the status 200 and say what
 * they are in the body. @see https://docs.slack.dev/reference/methods/oauth.v2.access
 */
export async function openSlackEmulator(options: {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
}): Promise<SlackEmulator> {
  const faults = new FaultPlan(COMMON_FAULTS, seededRandom(1));
  const oauth = new OAuthServer({
    ...options,
    tokenLifeSeconds: FOR_EVER_SECONDS,
    rotates: false,
    requiresPkce: false,
    prefix: 'xoxb-',
  });
  const messages: SlackEmulator['messages'] = [];

  async function onRequest({ request, url }: EmulatorExchange): Promise<HttpAnswer> {
    const body = (await readBody(request, MAX_BYTES)).toString();
    const route = `${request.method} ${url.pathname}`;
    if (route === 'GET /oauth/v2/authorize') return oauth.authorize(url);
    if (route === 'POST /api/oauth.v2.access') return toAccess(await oauth.token(new URLSearchParams(body)));
    if (route === 'POST /api/auth.revoke')
      return oauth.revoke(new URLSearchParams(body)).status === 200
        ? said({ ok: true, revoked: true })
        : failure('invalid_auth');
    if (!oauth.admits(request.headers.authorization)) return failure('token_revoked');
    if (route === 'GET /api/auth.test') return said({ ok: true, team: 'Acme', user: 'parley' });
    if (route === 'GET /api/users.lookupByEmail')
      return url.searchParams.get('email') === 'asha@example.com'
        ? said({ ok: true, user: { id: 'U1', name: 'asha' } })
        : failure('users_not_found');
    if (route !== 'POST /api/chat.postMessage') return failure('unknown_method');
    const message = JSON.parse(body) as { channel: string; text: string };
    if (message.channel !== 'C1') return failure('channel_not_found');
    messages.push(message);
    return said({ ok: true, channel: 'C1', ts: `${messages.length}.0` });
  }

  const server = await openEmulatorServer({
    name: 'slack',
    faults,
    stats: () => ({ messages: messages.length }),
    refusal: (status) => ({ status, body: { ok: false, error: 'internal_error' } }),
    onRequest,
  });
  return {
    url: server.url,
    oauth,
    messages,
    setFaults: (list) => faults.set(list),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The vendor's words for RFC 6749's. */
const WORDS: Record<string, string> = { invalid_client: 'bad_client_secret', invalid_grant: 'invalid_code' };

function toAccess({ status, body }: HttpAnswer): HttpAnswer {
  const { access_token, scope, error } = body as { access_token?: string; scope?: string; error?: string };
  if (status !== 200) return failure(WORDS[error ?? ''] ?? 'internal_error');
  return said({ ok: true, access_token, token_type: 'bot', scope, team: { id: 'T1', name: 'Acme' } });
}

const said = (body: object): HttpAnswer => ({ status: 200, body });
const failure = (error: string): HttpAnswer => said({ ok: false, error });
