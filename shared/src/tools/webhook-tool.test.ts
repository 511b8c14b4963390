import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { planToolSchema } from '../contracts/session-plan.ts';
import { createSafeFetch } from '../http/safe-fetch.ts';
import { standardWebhooksHeaders, verifyWebhook } from '../http/webhook-signature.ts';
import { createLogger } from '../logging/logger.ts';
import { createToolRunner } from './webhook-tool.ts';
import type { ToolCall } from './tool-runner.ts';

const SESSION = {
  session_id: 's1',
  agent_id: 'agt_1',
  channel: 'telephony',
  direction: 'inbound',
  from_number: '+14155550100',
  to_number: '+14155550101',
  variables: { name: 'Asha' },
};

interface Received {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}
type Answer = (response: ServerResponse, received: Received, count: number) => void;

/** A tool of somebody, and a runner that may reach it. */
async function bench(t: Test, answer: Answer = (response) => response.end('{"ok":true}')) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part: Buffer) => (body += part.toString()));
    request.on('end', () => {
      const one = { method: request.method!, url: request.url!, headers: request.headers, body };
      received.push(one);
      answer(response, one, received.length);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const safeFetch = createSafeFetch({ allow: [] });
  const lines: string[] = [];
  const logger = createLogger({
    name: 'test',
    destination: { write: (line: string) => void lines.push(line) },
  });
  const runner = createToolRunner({ safeFetch, logger });
  t.teardown(async () => {
    await safeFetch[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  const run = (
    { webhook = {}, ...rest }: { webhook?: object; execution?: object; response?: object; type?: string },
    changes: Partial<ToolCall> = {},
    signal: AbortSignal = new AbortController().signal,
  ) => {
    const tool = planToolSchema.parse({
      tool_id: 'tol_1',
      name: 'book_table',
      description: 'Books a table.',
      parameters: { type: 'object' },
      type: 'webhook',
      webhook: { url: `${origin}/book`, method: 'POST', headers: {}, ...webhook },
      ...rest,
    });
    const call: ToolCall = {
      toolCallId: 'call_1',
      arguments: { people: 2, place: 'Café "Sol"' },
      session: SESSION,
      orgId: 'org_1',
      allow: [origin],
      ...changes,
    };
    return runner.run(tool, call, signal);
  };
  return { origin, received, lines, run };
}

void t.test('without templates everything about the call is sent', async (t) => {
  const { run, received, lines } = await bench(t);
  const outcome = await run({ webhook: { headers: { 'X-Tenant': 'secret-tenant' } } });
  t.match(outcome, { ok: true, status: 200, content: '{"ok":true}', assigned: {}, durationMs: Number });
  t.match(received, [
    {
      method: 'POST',
      url: '/book',
      headers: { 'content-type': 'application/json', 'x-tenant': 'secret-tenant' },
    },
  ]);
  t.same(JSON.parse(received[0]!.body), {
    tool_call_id: 'call_1',
    tool: 'book_table',
    arguments: { people: 2, place: 'Café "Sol"' },
    session: SESSION,
  });
  t.match(JSON.parse(lines[0]!), { tool: 'book_table', ok: true, status: 200 });
  t.notOk(/Sol|Asha|secret|14155550100/.test(lines.join()), 'the log holds nothing that was said');
});

void t.test('templates: body, path and query', async (t) => {
  const { run, received, origin } = await bench(t);
  await run({
    webhook: {
      url: `${origin}/places/{{place}}?fixed=1`,
      body_template: '{"n":{{people}},"who":"{{name}}","id":"{{session.tool_call_id}}"}',
      query_template: { caller: '{{session.from_number}}' },
    },
  });
  t.equal(received[0]!.url, '/places/Caf%C3%A9%20%22Sol%22?fixed=1&caller=%2B14155550100');
  t.same(JSON.parse(received[0]!.body), { n: 2, who: 'Asha', id: 'call_1' });
  await run({
    webhook: {
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body_template: 'place={{place}}&n={{people}}',
    },
  });
  t.equal(received[1]!.body, 'place=Caf%C3%A9%20%22Sol%22&n=2');
});

void t.test('no argument leads to another path', async (t) => {
  const { run, received, origin } = await bench(t);
  const webhook = { url: `${origin}/tenants/{{id}}/bookings` };
  for (const id of ['..', '.', '%2e%2e/..', '../admin', 'a/b', 'a\\\\b', '?x=', '#', '@evil.example']) {
    const outcome = await run({ webhook }, { arguments: { id } });
    if (id === '..' || id === '.') t.match(outcome, { ok: false, code: 'invalid_arguments' }, id);
    else t.match(outcome, { ok: true }, id);
  }
  t.ok(received.every(({ url }) => /^\/tenants\/[^/]+\/bookings$/.test(url)));
});

void t.test('GET has no body: the arguments are the query', async (t) => {
  const { run, received } = await bench(t);
  await run({ webhook: { method: 'GET' } });
  t.match(received, [{ method: 'GET', url: '/book?people=2&place=Caf%C3%A9+%22Sol%22', body: '' }]);
});

void t.test('ways to prove who is calling', async (t) => {
  const { run, received } = await bench(t);
  await run({ webhook: { auth: { type: 'bearer', token: 'tok' } } });
  await run({ webhook: { auth: { type: 'basic', username: 'u', password: 'p' } } });
  await run({ webhook: { auth: { type: 'header', name: 'X-Key', value: 'val' } } });
  await run({ webhook: { auth: { type: 'hmac', secret: 'whsec_test' } } });
  t.equal(received[0]!.headers.authorization, 'Bearer tok');
  t.equal(received[1]!.headers.authorization, 'Basic dTpw');
  t.equal(received[2]!.headers['x-key'], 'val');
  const { headers, body } = received[3]!;
  t.match(verifyWebhook('whsec_test', headers['x-webhook-signature'] as string, body, Date.now()), {
    ok: true,
  });
  const sentAt = Number(headers['webhook-timestamp']) * 1000;
  t.match(headers, standardWebhooksHeaders(['whsec_test'], 'call_1', body, sentAt));
});

void t.test('arguments as the model wrote them', async (t) => {
  const { run, received } = await bench(t);
  t.match(await run({}, { arguments: '{"people":3}' }), { ok: true });
  t.match(JSON.parse(received[0]!.body), { arguments: { people: 3 } });
  t.match(await run({}, { arguments: '' }), { ok: true }, 'no arguments at all');
  for (const bad of ['{"people":', '[1]', 'null', 3, null, [1]]) {
    t.match(await run({}, { arguments: bad }), {
      ok: false,
      code: 'invalid_arguments',
      content: /JSON object/,
    });
  }
  t.equal(received.length, 2);
});

void t.test('the answer is cut, and sets variables', async (t) => {
  const answer = { data: { id: 7, tags: ['a'], none: null }, text: '😀'.repeat(200) };
  const { run } = await bench(t, (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  });
  const outcome = await run({
    response: {
      max_characters: 101,
      assign: [
        { path: 'data.id', name: 'booking' },
        { path: '$.data.tags', name: 'tags' },
        { path: 'data.none', name: 'none' },
        { path: 'data.missing', name: 'missing' },
      ],
    },
  });
  t.same(outcome.assigned, { booking: '7', tags: '["a"]' });
  t.ok(outcome.content.length <= 101 && outcome.content.length >= 100);
  t.ok(outcome.content.isWellFormed());
});

void t.test('an answer that is a failure', async (t) => {
  const { run } = await bench(t, (response) => response.writeHead(422).end('no table left'));
  t.match(await run({}), { ok: false, status: 422, code: 'http_error', content: /422: no table left/ });
});

void t.test('what is no text, nothing at all, and a redirect', async (t) => {
  const { run, origin, received } = await bench(t, (response, { url }) => {
    if (url === '/png') response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(10));
    else if (url === '/moved') response.writeHead(302, { location: '/elsewhere' }).end();
    else response.writeHead(204).end();
  });
  const at = (path: string) => run({ webhook: { url: `${origin}${path}` } });
  t.match(await at('/png'), { ok: false, code: 'not_text' });
  t.match(await at('/moved'), { ok: false, code: 'http_error', status: 302 });
  t.match(await at('/empty'), { ok: true, status: 204, content: /./ });
  t.equal(received.length, 3, 'the redirect was not followed');
});

void t.test('only what cannot have been done is tried again', async (t) => {
  const { run, received } = await bench(t, (response, { method }, count) => {
    if (method === 'GET' && count < 3) response.writeHead(503).end();
    else if (method === 'GET') response.end('fine');
    else response.socket!.destroy();
  });
  const execution = { retries: 3 };
  t.match(await run({ webhook: { method: 'GET' }, execution }), { ok: true, content: 'fine' });
  t.equal(received.length, 3);
  t.match(await run({ execution }), { ok: false, code: 'broken' });
  t.equal(received.length, 4, 'a POST that broke off may have been done');
});

void t.test('a tool that is not there, and one that is not allowed', async (t) => {
  const { run, origin } = await bench(t);
  t.match(await run({}, { allow: [] }), { ok: false, code: 'https_required', content: /not allowed/ });
  t.match(await run({}, { allow: [`${origin};org=org_2`] }), { ok: false }, 'allowed for somebody else');
  t.match(await run({ webhook: { url: 'https://{{place}}/x' } }), { ok: false });
  t.match(await run({ type: 'mcp' }), { ok: false, code: 'unsupported' });
  const gone = 'http://127.0.0.1:1';
  t.match(await run({ webhook: { url: gone } }, { allow: [gone] }), { ok: false, code: 'connect_failed' });
});

void t.test('a tool that does not answer in time', async (t) => {
  const { run, received } = await bench(t, () => undefined);
  const outcome = await run({ webhook: { method: 'GET' }, execution: { timeout_ms: 500, retries: 3 } });
  t.match(outcome, { ok: false, code: 'timeout', content: /500 ms/ });
  t.equal(received.length, 1);
});

void t.test('an abort throws its reason', async (t) => {
  const { run, received } = await bench(t, () => undefined);
  const aborting = new AbortController();
  const running = run({}, {}, aborting.signal);
  running.catch(() => undefined);
  while (received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  aborting.abort(new Error('The call is over.'));
  await t.rejects(running, { message: 'The call is over.' });
  await t.rejects(run({}, {}, aborting.signal), { message: 'The call is over.' });
});
