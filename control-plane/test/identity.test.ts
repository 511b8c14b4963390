import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { refreshTokenCollection } from '../src/identity/identity-model.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Tokens {
  access_token: string;
  refresh_token: string;
}
interface Profile {
  user_id: string;
  memberships: { org_id: string; role: string; project_ids: string[] | null }[];
}
interface Page<T> {
  items: T[];
  total: number;
}
interface Member {
  id: string;
  user_id: string;
  role: string;
  email: string;
}

const password = 'correct horse battery';
const CONSOLE_URL = 'https://console.example.test';

void t.test('people', async (t) => {
  // Near the real time: the database deletes by its own clock what has expired.
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({ clock, env: { CONSOLE_URL, CONSOLE_PORT: '0' } });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const { org, project } = cp.first;
  const ownerBody = { email: 'Owner@Example.com', password, name: 'Olga' };
  let owner: Tokens;

  void t.test('the first registration needs the setup code and owns the first org', async (t) => {
    const without = await cp.call('POST', '/auth/v1/register', { token: null, body: ownerBody });
    t.equal(without.status, 403);
    t.match(without.body, { code: 'setup_code_required' });
    const body = { ...ownerBody, setup_code: cp.app.services.userAccounts.setupCode() };
    const answer = await cp.call<Tokens>('POST', '/auth/v1/register', { token: null, body });
    t.equal(answer.status, 201);
    owner = answer.body;
    const profile = await cp.call<Profile>('GET', '/auth/v1/profile', { token: owner.access_token });
    t.match(profile.body, { email: 'owner@example.com', memberships: [{ org_id: org._id, role: 'owner' }] });
    const second = await cp.call('POST', '/auth/v1/register', {
      token: null,
      body: { ...body, email: 'b@example.com' },
    });
    t.match(second.body, { code: 'registration_closed' });
  });

  void t.test('a user is a user and no project', async (t) => {
    const me = await cp.call('GET', '/v1/me', { token: owner.access_token });
    t.match(me.body, { auth: 'jwt', org_id: null, project_id: null, user_id: /^usr_/, api_key_id: null });
    const keys = await cp.call('GET', `/v1/projects/${project._id}/api-keys`, { token: owner.access_token });
    t.equal(keys.status, 200);
  });

  void t.test('a key is refused where a user is required, whatever the id', async (t) => {
    for (const path of [`/v1/members/mbr_nobody`, '/v1/members/%20', `/v1/invites/ivt_1`]) {
      const answer = await cp.call('DELETE', path);
      t.equal(answer.status, 403);
      t.match(answer.body, { code: 'user_required' });
    }
  });

  void t.test('access tokens end after 15 minutes, and tampered ones never start', async (t) => {
    clock.advance(16 * 60_000);
    const late = await cp.call('GET', '/v1/me', { token: owner.access_token });
    t.equal(late.status, 401);
    t.match(late.body, { code: 'token_expired' });
    const [head, body] = owner.access_token.split('.');
    const forged = await cp.call('GET', '/v1/me', { token: `${head}.${body}.AAAA` });
    t.match(forged.body, { code: 'unauthenticated' });
  });

  const refresh = (refresh_token: string) =>
    cp.call<Tokens>('POST', '/auth/v1/refresh', { token: null, body: { refresh_token } });

  void t.test('a refresh token works once; coming again later ends the sign-in', async (t) => {
    const fresh = await refresh(owner.refresh_token);
    t.equal(fresh.status, 200);
    t.equal((await cp.call('GET', '/v1/me', { token: fresh.body.access_token })).status, 200);
    const eleven = new Date(Date.now() - 11_000);
    await cp.app.services.database
      .model(refreshTokenCollection)
      .updateMany({ used_at: { $ne: null } }, { $set: { used_at: eleven } });
    t.equal((await refresh(owner.refresh_token)).status, 401);
    t.equal((await refresh(fresh.body.refresh_token)).status, 401, 'the whole sign-in is over');
    t.equal((await cp.call('GET', '/v1/me', { token: fresh.body.access_token })).status, 401);
  });

  void t.test('of twenty racing refreshes two get the same successor, and stay signed in', async (t) => {
    const login = await cp.call<Tokens>('POST', '/auth/v1/login', {
      token: null,
      body: { email: 'owner@example.com', password },
    });
    t.equal(login.status, 200);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(login.body.refresh_token)));
    const won = answers.filter((answer) => answer.status === 200);
    t.equal(won.length, 2);
    t.equal(new Set(won.map((answer) => answer.body.refresh_token)).size, 1);
    for (const { body } of won)
      t.equal((await cp.call('GET', '/v1/me', { token: body.access_token })).status, 200);
    t.equal((await refresh(won[0]!.body.refresh_token)).status, 200);
  });

  void t.test('an invited person joins with the invited role, and removal works at once', async (t) => {
    const login = await cp.call<Tokens>('POST', '/auth/v1/login', {
      token: null,
      body: { email: 'owner@example.com', password },
    });
    owner = login.body;
    const token = owner.access_token;
    const invited = await cp.call('POST', `/v1/orgs/${org._id}/invites`, {
      token,
      body: { email: 'ed@example.com', role: 'viewer', project_ids: [project._id] },
    });
    t.equal(invited.status, 201);
    t.equal(invited.body['status' as never], 'pending');
    t.notOk(JSON.stringify(invited.body).includes('digest'));
    await cp.app.services.background[Symbol.asyncDispose]();
    const link = /token=(\S+)/.exec(cp.mails.at(-1)!.text)![1]!;
    const accept = { token: link, name: 'Ed', password };
    const joined = await cp.call<Tokens>('POST', '/auth/v1/invites/accept', { token: null, body: accept });
    t.equal(joined.status, 200);
    const used = await cp.call('POST', '/auth/v1/invites/accept', { token: null, body: accept });
    t.equal(used.status, 401);

    const ed = joined.body.access_token;
    t.equal((await cp.call('GET', `/v1/projects/${project._id}`, { token: ed })).status, 200);
    const write = await cp.call('PATCH', `/v1/projects/${project._id}`, {
      token: ed,
      body: { description: 'x' },
    });
    t.match(write.body, { code: 'role_too_low' });
    const members = await cp.call<Page<Member>>('GET', `/v1/orgs/${org._id}/members`, { token });
    const member = members.body.items.find((one) => one.email === 'ed@example.com')!;
    const widened = await cp.call('PATCH', `/v1/members/${member.id}`, {
      token,
      body: { role: 'admin', project_ids: [project._id] },
    });
    t.equal(widened.status, 422);
    t.equal((await cp.call('DELETE', `/v1/members/${member.id}`, { token })).status, 204);
    t.equal((await cp.call('GET', `/v1/projects/${project._id}`, { token: ed })).status, 404);
  });

  void t.test('the last owner stays, even when two requests try', async (t) => {
    const token = owner.access_token;
    const members = await cp.call<Page<Member>>('GET', `/v1/orgs/${org._id}/members?role=owner`, { token });
    t.equal(members.body.total, 1);
    const path = `/v1/members/${members.body.items[0]!.id}`;
    t.equal((await cp.call('DELETE', path, { token })).status, 409);
    t.equal((await cp.call('PATCH', path, { token, body: { role: 'admin' } })).status, 409);
    t.equal((await cp.call('PATCH', path, { token, body: { status: 'suspended' } })).status, 409);
    t.equal((await cp.call('GET', `/v1/orgs/${org._id}/members`, { token })).status, 200);
  });

  /** What a page of the console sends to its own host. */
  const inConsole = async (
    action: string,
    options: { body?: unknown; cookie?: string; headers?: object } = {},
  ) => {
    const answer = await fetch(`http://127.0.0.1:${cp.app.console!.port}/session/${action}`, {
      method: 'POST',
      headers: {
        origin: CONSOLE_URL,
        'content-type': 'application/json',
        cookie: `other=1; __Host-parley=${options.cookie ?? ''}`,
        ...options.headers,
      },
      body: typeof options.body === 'string' ? options.body : JSON.stringify(options.body ?? {}),
    });
    const text = await answer.text();
    const set = answer.headers.get('set-cookie');
    return {
      status: answer.status,
      headers: answer.headers,
      body: (text === '' ? {} : JSON.parse(text)) as {
        access_token: string;
        expires_in: number;
        code: string;
      },
      set,
      cookie: /^__Host-parley=([^;]*)/.exec(set ?? '')?.[1] ?? '',
    };
  };
  const credentials = { email: 'owner@example.com', password };
  let signedIn: Awaited<ReturnType<typeof inConsole>>;

  void t.test('the console keeps the refresh token in a cookie that no script reads', async (t) => {
    signedIn = await inConsole('login', { body: credentials });
    t.equal(signedIn.status, 200);
    t.same(Object.keys(signedIn.body).sort(), ['access_token', 'expires_in']);
    t.match(
      signedIn.set,
      /^__Host-parley=[\w-]{43}; Max-Age=2592000; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    t.equal(signedIn.headers.get('cache-control'), 'no-store');
    t.match(signedIn.headers.get('strict-transport-security'), /max-age=31536000/);
    t.equal((await cp.call('GET', '/v1/me', { token: signedIn.body.access_token })).status, 200);
    const wrong = await inConsole('login', { body: { ...credentials, password: 'wrong' } });
    t.same([wrong.status, wrong.body.code, wrong.set], [401, 'unauthenticated', null]);
  });

  void t.test('it is asked by its own pages only, in JSON of a small size', async (t) => {
    for (const action of ['login', 'refresh', 'logout']) {
      const body = action === 'login' ? credentials : {};
      const options = { body, cookie: signedIn.cookie };
      const refused = async (headers: object, status: number) =>
        t.equal((await inConsole(action, { ...options, headers })).status, status, JSON.stringify(headers));
      await refused({ origin: 'https://evil.example.test' }, 403);
      await refused({ origin: `${CONSOLE_URL}.evil.test` }, 403);
      await refused({ origin: 'null' }, 403);
      await refused({ origin: '' }, 403);
      await refused({ 'sec-fetch-site': 'same-site' }, 403);
      await refused({ 'content-type': 'text/plain' }, 415);
      const big = await inConsole(action, { ...options, body: ' '.repeat(20_000) });
      t.equal(big.status, 413);
    }
    t.equal((await inConsole('start', { body: { code: 'x' } })).status, 404, 'links sign in nowhere else');
    t.equal((await inConsole('toString')).status, 404);
    const get = await fetch(`http://127.0.0.1:${cp.app.console!.port}/session/login`);
    t.same([get.status, get.headers.get('allow')], [405, 'POST']);
    const options = await fetch(`http://127.0.0.1:${cp.app.console!.port}/session/refresh`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example.test', 'access-control-request-method': 'POST' },
    });
    t.equal(options.headers.get('access-control-allow-origin'), null);
  });

  void t.test(
    'a cookie is renewed once, and once more within ten seconds; later it ends the sign-in',
    async (t) => {
      const { cookie } = signedIn;
      const [first, second, third] = [
        await inConsole('refresh', { cookie }),
        await inConsole('refresh', { cookie }),
        await inConsole('refresh', { cookie }),
      ];
      t.same([first.status, second.status, third.status], [200, 200, 401]);
      t.equal(second.cookie, first.cookie, 'a tab that did not hear of it gets the same');
      t.equal(third.set, null, 'and one that is refused leaves it to the others');
      clock.advance(11_000);
      t.equal((await inConsole('refresh', { cookie })).status, 401);
      t.equal(
        (await inConsole('refresh', { cookie: first.cookie })).status,
        401,
        'the whole sign-in is over',
      );
      t.equal((await inConsole('refresh')).status, 401);
    },
  );

  void t.test('signing out ends the sign-in and takes the cookie away', async (t) => {
    const { cookie, body } = await inConsole('login', { body: credentials });
    const out = await inConsole('logout', { cookie });
    t.equal(out.status, 204);
    t.match(out.set, /^__Host-parley=; Max-Age=0; Path=\/; HttpOnly; SameSite=Strict; Secure$/);
    t.equal((await cp.call('GET', '/v1/me', { token: body.access_token })).status, 401);
    t.equal((await inConsole('refresh', { cookie })).status, 401);
  });

  void t.test('the REST host sets and reads no cookie', async (t) => {
    const { cookie } = await inConsole('login', { body: credentials });
    const answer = await fetch(`${cp.url}/v1/me`, { headers: { cookie: `__Host-parley=${cookie}` } });
    t.equal(answer.status, 401);
    const login = await fetch(`${cp.url}/auth/v1/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: CONSOLE_URL },
      body: JSON.stringify(credentials),
    });
    t.same([login.status, login.headers.get('set-cookie')], [200, null]);
    t.equal(login.headers.get('access-control-allow-origin'), CONSOLE_URL);
    t.equal(login.headers.get('access-control-allow-credentials'), null);
  });

  void t.test('every page has a policy and a nonce of its own', async (t) => {
    const at = (path: string, headers = {}) =>
      fetch(`http://127.0.0.1:${cp.app.console!.port}${path}`, { headers });
    const [one, two] = [await at('/'), await at('/projects/prj_x/calls?q=1')];
    const nonces = await Promise.all(
      [one, two].map(async (answer) => {
        const policy = answer.headers.get('content-security-policy')!;
        const [, nonce] = /style-src 'self' 'nonce-([\w+/]{24})'/.exec(policy)!;
        t.match(await answer.text(), `<meta name="csp-nonce" content="${nonce}" />`);
        t.notMatch(policy, /unsafe|\*/);
        t.match(policy, "default-src 'none'; script-src 'self';");
        t.match(policy, "connect-src 'self' http://127.0.0.1:8080 ws://127.0.0.1:8080;");
        t.match(policy, "frame-ancestors 'none'");
        t.equal(answer.headers.get('cache-control'), 'no-store');
        t.equal(answer.headers.get('x-content-type-options'), 'nosniff');
        return nonce;
      }),
    );
    t.not(nonces[0], nonces[1]);
    const [, script] = /<script type="module" src="(\/assets\/[^"]+)">/.exec(await (await at('/')).text())!;
    const file = await at(script!);
    t.match(file.headers.get('cache-control'), 'immutable');
    t.equal(file.headers.get('content-encoding'), 'gzip');
    t.match(await file.text(), /^import/);
    for (const missing of ['/assets/none.js', '/assets/%2e%2e%2fpackage.json', '/favicon.ico', '/assets/x/y'])
      t.equal((await at(missing)).status, 404, missing);
  });

  void t.test('a forgotten password is replaced by mailed link, once, and ends all sign-ins', async (t) => {
    const before = cp.mails.length;
    const unknown = { email: 'nobody@example.com' };
    t.equal((await cp.call('POST', '/auth/v1/password/forgot', { token: null, body: unknown })).status, 202);
    const known = { email: 'owner@example.com' };
    t.equal((await cp.call('POST', '/auth/v1/password/forgot', { token: null, body: known })).status, 202);
    await cp.app.services.background[Symbol.asyncDispose]();
    t.equal(cp.mails.length, before + 1);
    const link = /token=(\S+)/.exec(cp.mails.at(-1)!.text)![1]!;
    const body = { token: link, new_password: 'a new and long one' };
    t.equal((await cp.call('POST', '/auth/v1/password/reset', { token: null, body })).status, 204);
    t.equal((await cp.call('POST', '/auth/v1/password/reset', { token: null, body })).status, 401);
    t.equal((await cp.call('GET', '/v1/me', { token: owner.access_token })).status, 401);
  });

  void t.test('public keys are published and nothing else of them', async (t) => {
    const jwks = await cp.call<{ keys: Record<string, string>[] }>('GET', '/.well-known/jwks.json', {
      token: null,
    });
    t.same(Object.keys(jwks.body.keys[0]!).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });
});
