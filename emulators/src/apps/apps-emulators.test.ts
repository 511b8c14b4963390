import { createHash } from 'node:crypto';
import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { OAuthServer } from './oauth-server.ts';

const CLIENT = { clientId: 'c', clientSecret: 's', redirectUri: 'https://app.example.com/back' };
const VERIFIER = 'v'.repeat(43);
const clock = new ManualClock();

function server(more: object = {}): OAuthServer {
  return new OAuthServer({
    ...CLIENT,
    issuer: 'https://vendor.example.com',
    tokenLifeSeconds: 60,
    rotates: true,
    requiresPkce: true,
    prefix: 'p',
    clock,
    ...more,
  });
}

function asked(more: Record<string, string> = {}): URL {
  const challenge = createHash('sha256').update(VERIFIER).digest('base64url');
  const query = new URLSearchParams({
    ...{ response_type: 'code', client_id: 'c', redirect_uri: CLIENT.redirectUri, scope: 'a b', state: 'x' },
    ...{ code_challenge: challenge, code_challenge_method: 'S256', ...more },
  });
  return new URL(`https://vendor.example.com/authorize?${query}`);
}

const back = (one: OAuthServer, more?: Record<string, string>) =>
  new URL(one.authorize(asked(more)).headers!['location']!).searchParams;

const form = (fields: Record<string, string>) =>
  new URLSearchParams({ client_id: 'c', client_secret: 's', redirect_uri: CLIENT.redirectUri, ...fields });

const exchanged = (one: OAuthServer, code: string, verifier = VERIFIER) =>
  one.token(form({ grant_type: 'authorization_code', code, code_verifier: verifier }));

interface Tokens {
  access_token: string;
  refresh_token: string;
}

void t.test('a code is good once, for the client and with the verifier that it was given to', async (t) => {
  const one = server();
  const code = back(one).get('code')!;
  t.match(await exchanged(one, code, 'w'.repeat(43)), { status: 400, body: { error: 'invalid_grant' } });
  t.match(await exchanged(one, code), { status: 400 }, 'it is spent');
  const next = back(one).get('code')!;
  t.match(await exchanged(one, next), { status: 200, body: { scope: 'a b', expires_in: 60 } });
  t.match(await exchanged(one, next), { status: 400 });
  const stranger = form({
    grant_type: 'authorization_code',
    code: back(one).get('code')!,
    client_secret: 'x',
  });
  t.match(await one.token(stranger), { status: 401, body: { error: 'invalid_client' } });
  t.equal(back(one, { code_challenge_method: 'plain' }).get('error'), 'invalid_request');
  t.equal(back(one).get('iss'), 'https://vendor.example.com');
  t.equal(one.authorize(asked({ redirect_uri: 'https://evil.example.com' })).status, 400);
});

void t.test('a refresh token that is used twice ends the grant; a revoked one is no good', async (t) => {
  const one = server();
  const tokens = (await exchanged(one, back(one).get('code')!)).body as Tokens;
  t.ok(one.admits(`Bearer ${tokens.access_token}`));
  clock.advance(60_000);
  t.notOk(one.admits(`Bearer ${tokens.access_token}`), 'it has ended');
  const renew = (refresh_token: string) => one.token(form({ grant_type: 'refresh_token', refresh_token }));
  const renewed = (await renew(tokens.refresh_token)).body as Tokens;
  t.ok(one.admits(`Bearer ${renewed.access_token}`));
  t.match(await renew(tokens.refresh_token), { status: 400, body: { error: 'invalid_grant' } });
  t.notOk(one.admits(`Bearer ${renewed.access_token}`));
  t.match(await renew(renewed.refresh_token), { status: 400 });

  const steady = server({ rotates: false });
  const kept = (await exchanged(steady, back(steady).get('code')!)).body as Tokens;
  const again = () => steady.token(form({ grant_type: 'refresh_token', refresh_token: kept.refresh_token }));
  t.match(await again(), { status: 200 });
  t.match(await again(), { status: 200, body: { refresh_token: undefined } });
  t.equal(steady.revoke(form({ token: kept.refresh_token })).status, 200);
  t.match(await again(), { status: 400 });
});
