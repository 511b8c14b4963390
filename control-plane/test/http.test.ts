import { connect } from 'node:net';
import t from 'tap';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';

interface Refused {
  code: string;
  detail: { loc: (string | number)[]; type: string }[];
}

/** Sends bytes as they are and reads until the server closes. */
function exchange(cp: TestControlPlane, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(cp.app.port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')));
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

void t.test('requests and answers', async (t) => {
  const cp = await openTestControlPlane({ env: { CONSOLE_URL: 'https://console.example.com' } });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const keys = `/v1/projects/${cp.first.project._id}/api-keys`;
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    cp.call<Refused>('POST', keys, { body, headers: { 'content-type': 'application/json', ...headers } });

  void t.test('a body that is no JSON is 422 json_invalid', async (t) => {
    for (const body of [
      '{',
      '{"name":"\ud800"}'.slice(0, 9),
      `${'['.repeat(5000)}${']'.repeat(5000)}`,
      '{"a\\u0000":1}',
    ]) {
      const answer = await post(body);
      t.equal(answer.status, 422);
      t.match(answer.body.detail, [{ loc: ['body'], type: 'json_invalid' }]);
    }
    const empty = await cp.call<Refused>('POST', keys, { headers: { 'content-type': 'application/json' } });
    t.match(empty.body.detail, [{ loc: ['body'], type: 'missing' }]);
    t.equal((await post('[]')).status, 422);
    t.equal((await post('name=x', { 'content-type': 'text/plain' })).status, 415);
  });

  void t.test('what is wrong is said of the field that it is of', async (t) => {
    const details = async (method: string, path: string, options = {}) =>
      (await cp.call<Refused>(method, path, options)).body.detail;
    t.match(await details('POST', keys, { body: { name: 'a\0b', scopes: [] } }), [
      { loc: ['body', 'name'], type: 'string_pattern_mismatch' },
    ]);
    t.match(await details('GET', `/v1/orgs/${cp.first.org._id}/tools?type=magic`), [
      { loc: ['query', 'type'], type: 'enum' },
    ]);
    const nul = (...loc: string[]) => [{ loc, type: 'string_pattern_mismatch' }];
    t.match(await details('GET', '/v1/voices?gender=a%00b'), nul('query', 'gender'));
    t.match(await details('GET', `/v1/orgs/${cp.first.org._id}/tools?q=a%00b`), nul('query', 'q'));
    t.match(await details('GET', '/v1/voices?a%00b=1'), [{ loc: ['query'], type: 'json_invalid' }]);
  });

  void t.test('bodies above 1 MiB are 413, announced or chunked', async (t) => {
    const big = `{"name":"${'x'.repeat(1_048_576)}"}`;
    t.equal((await post(big)).status, 413);
    const chunk = 'x'.repeat(600_000);
    const answer = await exchange(
      cp,
      `POST ${keys} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${cp.first.apiKey}\r\nContent-Type: application/json\r\n` +
        `Transfer-Encoding: chunked\r\n\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`,
    );
    t.match(answer, /^HTTP\/1\.1 413 /);
    t.match(answer, /"too_large"/);
  });

  void t.test('unknown routes are 404 and wrong methods 405, in the common form', async (t) => {
    t.match((await cp.call('GET', '/v1/nothing')).body, { code: 'not_found', request_id: /^req_/ });
    const wrong = await cp.call('PUT', '/v1/me');
    t.equal(wrong.status, 405);
    t.match(wrong.body, { code: 'method_not_allowed' });
    t.match(wrong.headers.get('allow'), /GET/);
    const hidden = await cp.call('GET', '/v1/voices/clone');
    t.equal(hidden.status, 405, 'a path with a parameter takes no method of a path without');
    t.equal(hidden.headers.get('allow'), 'POST');
    t.equal((await cp.call('GET', '/v1/me/')).status, 404);
    t.equal((await cp.call('GET', '/V1/me')).status, 404);
  });

  void t.test('a request id is taken over, unless it is odd', async (t) => {
    const given = await cp.call('GET', '/v1/me', { headers: { 'x-request-id': 'trace-1' } });
    t.equal(given.headers.get('x-request-id'), 'trace-1');
    const odd = await cp.call('GET', '/v1/me', { headers: { 'x-request-id': 'a b' } });
    t.match(odd.headers.get('x-request-id'), /^req_/);
  });

  void t.test('only the console may call from a browser', async (t) => {
    const preflight = (origin: string) =>
      fetch(`${cp.url}/v1/me`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'GET',
          'access-control-request-headers': 'authorization',
        },
      });
    const allowed = await preflight('https://console.example.com');
    t.equal(allowed.headers.get('access-control-allow-origin'), 'https://console.example.com');
    t.equal(
      (await preflight('https://evil.example.com')).headers.get('access-control-allow-origin') || null,
      null,
    );
    const refused = await cp.call('GET', '/v1/me', {
      token: null,
      headers: { origin: 'https://console.example.com' },
    });
    t.equal(refused.headers.get('access-control-allow-origin'), 'https://console.example.com', 'errors too');
  });

  void t.test('errors and answers carry the security headers', async (t) => {
    for (const path of ['/v1/me', '/v1/nothing', '/health/live']) {
      const { headers } = await cp.call('GET', path, { token: null });
      t.equal(headers.get('x-content-type-options'), 'nosniff');
      t.match(headers.get('content-security-policy'), /default-src 'none'/);
      t.equal(headers.get('x-powered-by'), null);
    }
  });

  void t.test('the description and its page come from this server alone', async (t) => {
    const document = await cp.call<{ openapi: string; paths: object }>('GET', '/openapi.json', {
      token: null,
    });
    t.equal(document.body.openapi, '3.1.0');
    t.ok(Object.keys(document.body.paths).length > 30);
    const get = (headers: Record<string, string>) =>
      exchange(
        cp,
        `GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${Object.entries(headers)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join('')}\r\n`,
      );
    const etag = document.headers.get('etag') ?? '';
    const copies = await Promise.all(
      ['gzip, br', 'br;q=1, *;q=0.5', 'br', 'gzip;q=0, *', 'identity'].map((accepted) =>
        get({ 'Accept-Encoding': accepted }),
      ),
    );
    t.same(
      copies.map((copy) => /^content-encoding: gzip\r$/im.test(copy)),
      [true, true, false, false, false],
    );
    for (const copy of copies) t.match(copy, /^vary: Accept-Encoding\r$/im);
    for (const copy of copies) t.match(copy, `ETag: ${etag}`);
    t.ok(copies[0]!.length * 8 < copies[2]!.length, `${copies[0]!.length} of ${copies[2]!.length} bytes`);
    for (const known of [etag, `"x", ${etag}`, etag.replace('W/', ''), '*']) {
      const same = await get({ 'If-None-Match': known });
      t.match(same, /^HTTP\/1\.1 304 /, known);
      t.match(same, /\r\n\r\n$/, 'has no body');
    }
    t.match(await get({ 'If-None-Match': '"x"' }), /^HTTP\/1\.1 200 /);
    const page = await cp.call<string>('GET', '/docs', { token: null });
    t.match(page.headers.get('content-security-policy'), /script-src 'self';/);
    for (const [, source] of (page.body as unknown as string).matchAll(/(?:src|href)="([^"]+)"/g)) {
      t.match(source, /^\/docs\//);
      t.equal((await cp.call('GET', source!, { token: null })).status, 200, source ?? '');
    }
    t.equal((await cp.call('GET', '/docs/..%2Fpackage.json', { token: null })).status, 404);
    t.match(page.body, /<meta name="viewport" content="width=device-width/);

    const root = (accept: string) => fetch(`${cp.app.url}/`, { headers: { accept }, redirect: 'manual' });
    const browser = await root('text/html,application/xhtml+xml;q=0.9');
    t.equal(browser.status, 302);
    t.equal(browser.headers.get('location'), 'https://console.example.com');
    const program = await root('*/*');
    t.equal(program.status, 404);
    t.match(await program.json(), { code: 'not_found' });
  });

  void t.test('health tells what it checked', async (t) => {
    t.same((await cp.call('GET', '/health/live', { token: null })).body, { status: 'ok' });
    const ready = await cp.call('GET', '/health/ready', { token: null });
    t.equal(ready.status, 200);
    t.match(ready.body, {
      status: 'ok',
      checks: [
        { name: 'database', ok: true },
        { name: 'queue', ok: true },
        { name: 'storage', ok: true },
        { name: 'media' },
        { name: 'dead_letters', ok: true },
      ],
    });
    t.equal((await cp.call('GET', '/v1/health/live', { token: null })).status, 401);
    t.equal((await cp.call('GET', '/v1/health/ready')).status, 200);
  });

  void t.test('one of many requests with the same Idempotency-Key does the work', async (t) => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post({ name: 'raced' }, { 'idempotency-key': 'race' })),
    );
    const made = answers.filter(
      (answer) => answer.status === 201 && !answer.headers.get('idempotency-replayed'),
    );
    t.equal(made.length, 1);
    for (const answer of answers) {
      if (answer.status === 409) t.match(answer.body, { code: 'idempotency_in_progress' });
      else t.equal(answer.status, 201);
    }
    const list = await cp.call<{ total: number }>('GET', `${keys}?q=raced`);
    t.equal(list.body.total, 1);
    const refused = await post({}, { 'idempotency-key': 'bad' });
    t.equal(refused.status, 422);
    const again = await post({}, { 'idempotency-key': 'bad' });
    t.equal(again.headers.get('idempotency-replayed'), 'true');
    t.same(again.body, refused.body);
    t.equal((await post({ name: 'x' }, { 'idempotency-key': 'ü' })).status, 422);
  });

  void t.test('a suspended org reads but does not write', async (t) => {
    const other = await cp.makeTenant();
    await cp.app.services.orgs.setSuspended(other.org._id, true);
    const agents = `/v1/orgs/${other.org._id}/projects/${other.project._id}/agents`;
    t.equal((await cp.call('GET', agents, { token: other.apiKey })).status, 200);
    const write = await cp.call('POST', agents, { token: other.apiKey, body: { name: 'x' } });
    t.equal(write.status, 403);
    t.match(write.body, { code: 'org_suspended' });
  });

  void t.test("an org's own limit refuses with the time to wait", async (t) => {
    const other = await cp.makeTenant();
    const token = other.apiKey;
    const configs = `/v1/orgs/${other.org._id}/rate-limit-configs`;
    const made = await cp.call<{ id: string }>('POST', configs, {
      token,
      body: { resource: 'api_requests', limit: 3, window_seconds: 86_400 },
    });
    t.equal(made.status, 201);
    t.match(
      (
        await cp.call('POST', configs, {
          token,
          body: { resource: 'api_requests', limit: 9, window_seconds: 60 },
        })
      ).body,
      { code: 'duplicate' },
    );
    const read = () => cp.call('GET', '/v1/me', { token });
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await read()).status);
    t.same(statuses, [200, 200, 200], 'requests about limits are not counted');
    const refused = await read();
    t.equal(refused.status, 429);
    t.match(refused.body, { code: 'rate_limited' });
    t.ok(Number(refused.headers.get('retry-after')) > 0);
    t.equal(refused.headers.get('ratelimit-remaining'), '0');
    t.equal(refused.headers.get('ratelimit-limit'), '3');
    const lifted = await cp.call('DELETE', `/v1/rate-limit-configs/${made.body.id}`, { token });
    t.equal(lifted.status, 204, 'whoever is locked out can lift it');
  });
});

void t.test(
  'one address is limited before its credential is looked at, behind trusted proxies by what they say',
  async (t) => {
    const cp = await openTestControlPlane({
      env: { ADDRESS_REQUESTS_PER_MINUTE: '3', TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' },
    });
    t.teardown(() => cp[Symbol.asyncDispose]());
    const from = async (forwarded: string) =>
      (await cp.call('GET', '/v1/me', { token: 'x', headers: { 'x-forwarded-for': forwarded } })).status;
    // A window may end in the middle, so more than one window's worth is sent.
    const statuses = [];
    for (let i = 0; i < 8; i++) statuses.push(await from('203.0.113.7, 10.1.2.3'));
    t.ok(statuses.includes(429));
    t.equal(statuses[0], 401);
    t.equal(await from('203.0.113.8'), 401, 'another address');
    t.equal((await cp.call('GET', '/health/live', { token: null })).status, 200);
  },
);

void t.test('a stopping process turns unready, finishes what it has, and then refuses', async (t) => {
  const cp = await openTestControlPlane();
  t.teardown(() => cp[Symbol.asyncDispose]());
  const slow = connect(cp.app.port, '127.0.0.1');
  await new Promise((resolve) => slow.once('connect', resolve));
  const body = JSON.stringify({ name: 'late' });
  slow.write(
    `POST /v1/projects/${cp.first.project._id}/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${cp.first.apiKey}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`,
  );
  let answer = '';
  slow.on('data', (chunk) => (answer += chunk.toString()));
  const closed = new Promise((resolve) => slow.once('close', resolve));
  // The server has the request once it has begun to count it.
  while ((await cp.bus.rates.hit(`api:${cp.first.apiKeyId}`, 60, 0)).count === 0)
    await new Promise((r) => setImmediate(r));
  const drained = cp.app.drain(10_000);
  slow.write(body.slice(5));
  await drained;
  await closed;
  t.match(answer, /^HTTP\/1\.1 201 /);
  t.match(answer, /connection: close/i);
  await t.rejects(cp.call('GET', '/v1/me'));
});
