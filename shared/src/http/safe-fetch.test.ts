import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { fetch } from 'undici';
import { OutboundFailedError, OutboundRefusedError } from './outbound-errors.ts';
import { createSafeFetch, type SafeFetch, type SafeFetchOptions } from './safe-fetch.ts';

const TIMEOUT_MS = 30_000;

async function serve(t: Test, listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { server, port, origin: `http://127.0.0.1:${port}` };
}

function open(t: Test, options: Partial<SafeFetchOptions> = {}): SafeFetch {
  const safeFetch = createSafeFetch({ allow: [], ...options });
  t.teardown(() => safeFetch[Symbol.asyncDispose]());
  return safeFetch;
}

async function failure(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string; unsent?: boolean }> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof OutboundRefusedError || error instanceof OutboundFailedError) return error;
    throw error;
  }
  throw new Error('It did not fail.');
}

void t.test('a request to a trusted origin goes out and its answer comes back', async (t) => {
  const seen: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const { origin } = await serve(t, (req, res) => {
    void text(req).then((body) => {
      seen.push({ method: req.method!, url: req.url!, headers: req.headers, body });
      res.writeHead(201, { 'x-one': '1', 'set-cookie': ['a=1', 'b=2'] });
      res.end('made ☎');
    });
  });
  const safeFetch = open(t, { allow: [origin], userAgent: 'Parley/1' });
  const response = await safeFetch.request({
    url: `${origin}/path?q=%20a#part`,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Key': 'k' },
    body: '{"a":1}',
    timeoutMs: TIMEOUT_MS,
    purpose: 'tool',
  });
  t.equal(response.status, 201);
  t.equal(response.headers['x-one'], '1');
  t.equal(response.headers['set-cookie'], 'a=1, b=2');
  t.equal(response.body.toString(), 'made ☎');
  t.equal(response.truncated, false);
  t.match(seen, [
    {
      method: 'POST',
      url: '/path?q=%20a',
      headers: { 'content-type': 'application/json', 'x-key': 'k', 'user-agent': 'Parley/1' },
      body: '{"a":1}',
    },
  ]);
});

void t.test('addresses against the rules are refused before anything is sent', async (t) => {
  let requests = 0;
  const { origin, port } = await serve(t, (_, res) => res.end(String(++requests)));
  let lookups = 0;
  const safeFetch = open(t, {
    allow: ['http://elsewhere.test', { origin: 'http://127.0.0.1:1', org: 'org_1' }],
    resolve: () => {
      lookups++;
      return Promise.resolve([]);
    },
  });
  const cases: [url: string, code: string][] = [
    ['', 'invalid_url'],
    ['/path', 'invalid_url'],
    ['crm.example/hook', 'invalid_url'],
    ['ftp://crm.example/', 'invalid_url'],
    ['file:///etc/passwd', 'invalid_url'],
    ['data:text/plain,hello', 'invalid_url'],
    ['https://', 'invalid_url'],
    ['https://user:secret@crm.example/', 'credentials_in_url'],
    ['https://user@crm.example/', 'credentials_in_url'],
    ['http://user@elsewhere.test/', 'credentials_in_url'],
    ['http://crm.example/', 'https_required'],
    ['http://elsewhere.test:81/', 'https_required'],
    ['https://elsewhere.test.localhost/', 'private_address'],
    [origin, 'https_required'],
    [`https://127.0.0.1:${port}/`, 'private_address'],
    ['https://localhost/', 'private_address'],
    ['https://LOCALHOST./', 'private_address'],
    ['https://0x7f.1/', 'private_address'],
    ['https://2130706433/', 'private_address'],
    ['https://017700000001/', 'private_address'],
    ['https://0/', 'private_address'],
    ['https://169.254.169.254/latest/meta-data', 'private_address'],
    ['https://10.1.2.3/', 'private_address'],
    ['https://[::1]/', 'private_address'],
    ['https://[::]/', 'private_address'],
    ['https://[::ffff:127.0.0.1]/', 'private_address'],
    ['https://[::ffff:a9fe:a9fe]/', 'private_address'],
    ['https://[::127.0.0.1]/', 'private_address'],
    ['https://[64:ff9b::7f00:1]/', 'private_address'],
    ['https://[fd00::1]/', 'private_address'],
  ];
  for (const [url, code] of cases) {
    t.throws(() => safeFetch.checkUrl(url, { purpose: 'webhook' }), { code }, `check ${url}`);
    const error = await failure(safeFetch.request({ url, timeoutMs: TIMEOUT_MS, purpose: 'webhook' }));
    t.equal(error.code, code, `request ${url}`);
    t.notMatch(error.message, /secret/);
  }
  t.equal(requests, 0);
  t.equal(lookups, 0);
  for (const url of ['https://crm.example/hook?a=1', 'https://crm.example:8443/', 'https://8.8.8.8/']) {
    t.doesNotThrow(() => safeFetch.checkUrl(url, { purpose: 'webhook' }), url);
  }
});

void t.test('a name that leads to no public address is refused, whenever it does', async (t) => {
  let requests = 0;
  const { port } = await serve(t, (_, res) => res.end(String(++requests)));
  const answers: LookupAddress[][] = [
    [{ address: '127.0.0.1', family: 4 }],
    [{ address: '::1', family: 6 }],
    [{ address: '::ffff:127.0.0.1', family: 6 }],
    [
      { address: '10.0.0.1', family: 4 },
      { address: '169.254.169.254', family: 4 },
      { address: 'fe80::1%lo', family: 6 },
    ],
  ];
  for (const answer of answers) {
    const safeFetch = open(t, { resolve: () => Promise.resolve(answer) });
    const url = `https://rebound.test:${port}/`;
    t.doesNotThrow(() => safeFetch.checkUrl(url, { purpose: 'tool' }), 'nothing can be told without asking');
    const error = await failure(safeFetch.request({ url, timeoutMs: TIMEOUT_MS, purpose: 'tool' }));
    t.equal(error.code, 'private_address', answer.map((entry) => entry.address).join());
  }
  t.equal(requests, 0);
});

void t.test('of several addresses only the public ones are connected to', async (t) => {
  const answer: LookupAddress[] = [
    { address: '127.0.0.1', family: 4 },
    { address: '8.8.8.8', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ];
  const lookup = open(t, { resolve: () => Promise.resolve(answer) }).lookupFor('wss://mixed.test/v1', {
    purpose: 'provider',
  });
  const ask = (options: { all?: boolean; family?: number }) =>
    new Promise((resolve, reject) => {
      lookup('mixed.test', options, (error, address, family) => {
        if (error) reject(error);
        else resolve(options.all ? address : { address, family });
      });
    });
  t.same(await ask({ all: true }), answer.slice(1));
  t.same(await ask({}), answer[1]);
  t.same(await ask({ family: 6 }), answer[2]);
  t.same(await ask({ all: true, family: 4 }), [answer[1]]);
});

void t.test('trust holds for the origin, org and purpose it was given for', async (t) => {
  const { port } = await serve(t, (_, res) => res.end('hello'));
  const origin = `http://crm.internal:${port}`;
  const safeFetch = open(t, {
    allow: [{ origin, org: 'org_1', for: 'tool' }],
    resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
  });
  const ask = (more: { orgId?: string; purpose?: 'tool' | 'webhook'; allow?: string[] }) =>
    safeFetch.request({ url: `${origin}/`, timeoutMs: TIMEOUT_MS, purpose: 'tool', ...more });
  t.equal((await ask({ orgId: 'org_1' })).body.toString(), 'hello');
  t.equal((await failure(ask({ orgId: 'org_2' }))).code, 'https_required');
  t.equal((await failure(ask({}))).code, 'https_required');
  t.equal((await failure(ask({ orgId: 'org_1', purpose: 'webhook' }))).code, 'https_required');
  t.equal(
    (await ask({ purpose: 'webhook', allow: [origin] })).status,
    200,
    'a session plan may bring its own',
  );
  t.throws(() => createSafeFetch({ allow: ['crm.internal'] }), /must be an origin/);
});

void t.test('redirects are answers like others', async (t) => {
  const paths: string[] = [];
  const { origin } = await serve(t, (req, res) => {
    paths.push(req.url!);
    res.writeHead(302, { location: '/there' }).end();
  });
  const response = await open(t, { allow: [origin] }).request({
    url: `${origin}/here`,
    timeoutMs: TIMEOUT_MS,
    purpose: 'tool',
  });
  t.equal(response.status, 302);
  t.same(paths, ['/here']);
});

void t.test('an answer without end is cut at its bound and its connection given up', async (t) => {
  const closed = Promise.withResolvers<void>();
  const { origin } = await serve(t, (req, res) => {
    req.socket.on('close', () => closed.resolve());
    const write = () => {
      while (res.write(Buffer.alloc(10_000, 'a')));
    };
    res.on('drain', write);
    write();
  });
  const safeFetch = open(t, { allow: [origin], maxResponseBytes: 25_000 });
  const response = await safeFetch.request({ url: origin, timeoutMs: TIMEOUT_MS, purpose: 'tool' });
  t.equal(response.body.length, 25_000);
  t.equal(response.truncated, true);
  await closed.promise;
});

void t.test('an answer that just fits is whole', async (t) => {
  const { origin } = await serve(t, (_, res) => res.end('12345'));
  const safeFetch = open(t, { allow: [origin], maxResponseBytes: 5 });
  const response = await safeFetch.request({ url: origin, timeoutMs: TIMEOUT_MS, purpose: 'tool' });
  t.match(response, { truncated: false });
  t.equal(response.body.toString(), '12345');
});

void t.test('waiting ends with its time or its signal, whatever it waits for', async (t) => {
  const { origin } = await serve(t, (req, res) => {
    if (req.url === '/half') res.writeHead(200, { 'content-length': '10' }).write('half');
  });
  const safeFetch = open(t, {
    allow: [origin, 'http://never.test'],
    resolve: () => new Promise(() => {}),
  });
  for (const url of [`${origin}/nothing`, `${origin}/half`, 'http://never.test/']) {
    const error = await failure(safeFetch.request({ url, timeoutMs: 50, purpose: 'tool' }));
    t.equal(error.code, 'timeout', url);
    const stop = new AbortController();
    const reason = new Error('The call is over.');
    const answer = safeFetch.request({ url, timeoutMs: TIMEOUT_MS, purpose: 'tool', signal: stop.signal });
    setImmediate(() => stop.abort(reason));
    await t.rejects(answer, reason, url);
    await t.rejects(
      safeFetch.request({ url, timeoutMs: TIMEOUT_MS, purpose: 'tool', signal: stop.signal }),
      reason,
    );
  }
});

void t.test('failures say whether anything can have been sent', async (t) => {
  const { origin, port, server } = await serve(t, (req) => req.socket.destroy());
  const gone = await serve(t, () => undefined);
  gone.server.close();
  await once(gone.server, 'close');
  const safeFetch = open(t, {
    allow: [origin, gone.origin, `https://127.0.0.1:${port}`, 'http://unknown.test', 'http://empty.test'],
    resolve: (hostname) =>
      hostname === 'empty.test'
        ? Promise.resolve([])
        : Promise.reject(Object.assign(new Error('queryA ENOTFOUND'), { code: 'ENOTFOUND' })),
  });
  const cases: [url: string, code: string, unsent: boolean][] = [
    [origin, 'broken', false],
    [gone.origin, 'connect_failed', true],
    [`https://127.0.0.1:${port}`, 'tls_failed', true],
    ['http://unknown.test/', 'dns_failed', true],
    ['http://empty.test/', 'dns_failed', true],
  ];
  for (const [url, code, unsent] of cases) {
    const error = await failure(safeFetch.request({ url, timeoutMs: TIMEOUT_MS, purpose: 'tool' }));
    t.equal(error.code, code, url);
    t.equal(error.unsent, unsent, url);
    t.notMatch(error.message, /127\.0\.0\.1/);
  }
  t.ok(server.listening);
});

void t.test('headers that belong to the connection are refused, and broken ones', async (t) => {
  const safeFetch = open(t, { allow: ['http://127.0.0.1:1'] });
  const cases: Record<string, string>[] = [
    { Host: 'other' },
    { 'Transfer-Encoding': 'chunked' },
    { 'content-length': '1' },
    { 'bad name': 'x' },
    { 'x-split': 'a\r\nHost: other' },
  ];
  for (const headers of cases) {
    const request = { url: 'http://127.0.0.1:1', headers, timeoutMs: TIMEOUT_MS, purpose: 'tool' as const };
    t.equal((await failure(safeFetch.request(request))).code, 'header_not_allowed', JSON.stringify(headers));
  }
});

void t.test('a library that follows redirects is stopped on the way', async (t) => {
  let reached = 0;
  const inside = await serve(t, (_, res) => res.end(String(++reached)));
  const { origin } = await serve(t, (_, res) => res.writeHead(302, { location: inside.origin }).end());
  const safeFetch = open(t, { allow: [origin] });
  const trusted = safeFetch.dispatcherFor(origin, { purpose: 'provider' });
  await t.rejects(fetch(origin, { dispatcher: trusted }), { cause: { code: 'private_address' } });
  const others = safeFetch.dispatcherFor('https://llm.example/v1', { purpose: 'provider' });
  await t.rejects(fetch(origin, { dispatcher: others }), { cause: { code: 'https_required' } });
  await t.rejects(fetch('https://[::1]/', { dispatcher: others }), { cause: { code: 'private_address' } });
  t.throws(() => safeFetch.dispatcherFor(inside.origin, { purpose: 'provider' }), { code: 'https_required' });
  t.throws(() => safeFetch.lookupFor('ws://llm.example/v1', { purpose: 'provider' }), {
    code: 'https_required',
  });
  t.equal(reached, 0);
});

void t.test('connections to one origin are shared and bounded', async (t) => {
  let connections = 0;
  const { origin, server } = await serve(t, (_, res) => setImmediate(() => res.end()));
  server.on('connection', () => connections++);
  const safeFetch = open(t, { allow: [origin], maxConnections: 3 });
  const request = { url: origin, timeoutMs: TIMEOUT_MS, purpose: 'tool' as const };
  await Promise.all(Array.from({ length: 20 }, () => safeFetch.request(request)));
  t.ok(connections > 0 && connections <= 3, `${connections} connections`);
});

void t.test('closing ends what is under way and every connection', async (t) => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  const { origin } = await serve(t, (req) => arrived.resolve(req));
  const safeFetch = open(t, { allow: [origin] });
  const answer = failure(safeFetch.request({ url: origin, timeoutMs: TIMEOUT_MS, purpose: 'tool' }));
  const { socket } = await arrived.promise;
  const closed = once(socket, 'close');
  await safeFetch[Symbol.asyncDispose]();
  await safeFetch[Symbol.asyncDispose]();
  t.equal((await answer).code, 'broken');
  await closed;
  await t.rejects(safeFetch.request({ url: origin, timeoutMs: TIMEOUT_MS, purpose: 'tool' }));
});
