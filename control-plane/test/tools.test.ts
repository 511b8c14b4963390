import { randomUUID } from 'node:crypto';
import t from 'tap';
import { verifyWebhook } from '@parley/shared/http/webhook-signature';
import { openLoopbackServer, type LoopbackAnswer, type Received } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

let answer: (request: Received) => LoopbackAnswer | Promise<LoopbackAnswer> = () => ({});
const owner = await openLoopbackServer((request) => answer(request));
t.teardown(() => owner[Symbol.asyncDispose]());
const cp = await openTestControlPlane({ env: { OUTBOUND_ALLOW: owner.url } });
t.teardown(() => cp[Symbol.asyncDispose]());
const O = `/v1/orgs/${cp.first.org._id}`;

interface Trial {
  ok: boolean;
  status: number | null;
  result: string | null;
  error: { code: string; message: string } | null;
  duration_ms: number;
}

async function made(webhook: object, more: object = {}): Promise<string> {
  const name = `a_${randomUUID().replaceAll('-', '_')}`;
  const body = {
    name,
    description: 'Books.',
    type: 'webhook',
    parameters: { type: 'object' },
    webhook,
    ...more,
  };
  const tool = await cp.call<{ id: string }>('POST', `${O}/tools`, { body });
  if (tool.status !== 201) throw new Error(JSON.stringify(tool.body));
  return tool.body.id;
}

const tried = async (id: string, body: object = {}) =>
  (await cp.call<Trial>('POST', `/v1/tools/${id}/test`, { body })).body;

void t.test('a trial sends what a call would send, with each kind of credential', async (t) => {
  const seen: Record<string, (request: Received) => unknown> = {
    none: ({ headers }) => headers.authorization,
    bearer: ({ headers }) => headers.authorization,
    basic: ({ headers }) => headers.authorization,
    header: ({ headers }) => headers['x-key'],
    hmac: ({ headers, body }) =>
      verifyWebhook('hmac-secret', String(headers['x-webhook-signature']), body, Date.now()).ok,
  };
  const auths: [object, unknown][] = [
    [{ type: 'none' }, undefined],
    [{ type: 'bearer', token: 'bearer-secret' }, 'Bearer bearer-secret'],
    [{ type: 'basic', username: 'u', password: 'basic-secret' }, `Basic ${btoa('u:basic-secret')}`],
    [{ type: 'header', name: 'X-Key', value: 'header-secret' }, 'header-secret'],
  ];
  // An echo, as some servers are: nothing of it may show the secret.
  answer = (request) => ({ body: { got: JSON.stringify(request.headers), order: 7 } });
  for (const [auth, wanted] of auths) {
    const { type } = auth as { type: string };
    const id = await made({ url: `${owner.url}/book`, headers: { 'x-shop': 'shop-secret' }, auth });
    const trial = await tried(id, { arguments: { at: '8' }, variables: { name: 'Asha' } });
    t.match(trial, { ok: true, status: 200, error: null, duration_ms: Number }, type);
    const request = owner.received.at(-1)!;
    t.same(seen[type]!(request), wanted);
    t.match(JSON.parse(request.body), { arguments: { at: '8' }, session: { variables: { name: 'Asha' } } });
    t.match(trial.result, '"order":7');
    t.notMatch(trial.result, /-secret/);
    t.notOk(trial.result!.includes(btoa('u:basic-secret')));
  }
  const signed = await made({ url: `${owner.url}/book`, auth: { type: 'hmac', secret: 'hmac-secret' } });
  t.match(await tried(signed), { ok: true });
  t.ok(seen['hmac']!(owner.received.at(-1)!));
});

void t.test('what goes wrong is told as the model would be told', async (t) => {
  answer = () => ({ status: 409, body: { why: 'full' } });
  const id = await made({ url: `${owner.url}/book` });
  t.match(await tried(id), { ok: false, status: 409, result: null, error: { code: 'http_error' } });
  answer = () => new Promise(() => {});
  const slow = await made({ url: `${owner.url}/book` }, { execution: { timeout_ms: 500, mode: 'async' } });
  t.match(await tried(slow), { ok: false, status: null, error: { code: 'timeout' } });
  answer = () => ({ status: 302, headers: { location: 'http://169.254.169.254/' } });
  t.match(await tried(id), { ok: false, status: 302 }, 'it is not followed');
  const inside = await made({ url: 'https://internal.example.invalid/' });
  const refused = await tried(inside);
  t.match(refused, { ok: false, status: null, error: { code: 'dns_failed' } });
  const body = { arguments: 'none' };
  t.equal((await cp.call('POST', `/v1/tools/${id}/test`, { body })).status, 422);
});

void t.test('a tool may wait for a yes, and may run beside the call', async (t) => {
  const id = await made({ url: `${owner.url}/book` }, { execution: { confirm: true, mode: 'async' } });
  const tool = await cp.call<{ execution: object }>('GET', `/v1/tools/${id}`);
  t.match(tool.body.execution, { confirm: true, mode: 'async' });
});

void t.test('how often tools may run holds for trials, and is told to gateways', async (t) => {
  const { org, project, apiKey: token } = await cp.makeTenant();
  const make = async (path: string, body: object) =>
    (await cp.call<{ id: string; token: string }>('POST', path, { token, body })).body;
  answer = () => ({ body: {} });
  const tool = await make(`/v1/orgs/${org._id}/tools`, {
    ...{ name: 'book', description: 'Books.', type: 'webhook', parameters: { type: 'object' } },
    webhook: { url: `${owner.url}/book`, method: 'POST' },
  });
  // A day's window: one that ended between two calls would count anew.
  const limit = { resource: 'tool_calls', limit: 2, window_seconds: 86_400 };
  const { id: limitId } = await make(`/v1/orgs/${org._id}/rate-limit-configs`, limit);
  const trial = (body: object = {}) =>
    cp.call<{ code?: string }>('POST', `/v1/tools/${tool.id}/test`, { token, body });
  t.equal((await trial({ function: 'of_no_server' })).status, 422, 'what is refused counts nothing');
  t.same([(await trial()).status, (await trial()).status], [200, 200]);
  const third = await trial();
  t.match(third, { status: 429, body: { code: 'rate_limited' } });
  t.match(third.headers.get('retry-after'), /^\d+$/);
  t.equal((await tried(await made({ url: `${owner.url}/book` }))).ok, true, 'others are not concerned');

  const agent = await make(`/v1/orgs/${org._id}/projects/${project._id}/agents`, { name: 'Books' });
  const session = await make('/v1/sessions', { agent_id: agent.id });
  const plan = await new TestGateway(cp).redeem({ token: session.token });
  t.match(plan.body.limits, {
    tool_calls: [{ bucket: `tool_calls:${limitId}`, limit: 2, window_seconds: 86_400 }],
  });
});
