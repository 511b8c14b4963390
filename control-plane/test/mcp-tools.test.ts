import { randomUUID } from 'node:crypto';
import t from 'tap';
import { functionName } from '../src/tools/mcp-functions.ts';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { openMcpServer } from './fixtures/mcp-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

const server = await openMcpServer();
t.teardown(() => server[Symbol.asyncDispose]());
const cp = await openTestControlPlane({ env: { OUTBOUND_ALLOW: server.url } });
t.teardown(() => cp[Symbol.asyncDispose]());
const gateway = new TestGateway(cp);
const O = `/v1/orgs/${cp.first.org._id}`;

interface Tool {
  id: string;
  name: string;
  mcp: { discovered: { name: string; parameters: object }[]; headers: object };
}
interface Answer {
  ok: boolean;
  content: string;
  code?: string;
}

async function made(mcp: object, more: object = {}): Promise<Tool> {
  const name = `shop_${randomUUID().slice(0, 8).replaceAll('-', '')}`;
  const body = { name, description: 'The shop.', type: 'mcp', mcp, ...more };
  const tool = await cp.call<Tool>('POST', `${O}/tools`, { body });
  if (tool.status !== 201) throw new Error(JSON.stringify(tool.body));
  return tool.body;
}

const discover = (id: string) => cp.call<Tool>('POST', `/v1/tools/${id}/discover`);

/** A session of an agent that has the tool. */
async function begin(toolId: string) {
  const path = `${O}/projects/${cp.first.project._id}/agents`;
  const agent = await cp.call<{ id: string }>('POST', path, {
    body: { name: randomUUID() },
  });
  const attached = await cp.call('POST', `/v1/agents/${agent.body.id}/tools`, { body: { tool_id: toolId } });
  if (attached.status !== 200) throw new Error(JSON.stringify(attached.body));
  const session = await cp.call<{ token: string }>('POST', '/v1/sessions', {
    body: { agent_id: agent.body.id },
  });
  return (await gateway.redeem({ token: session.body.token })).body;
}

for (const [transport, path] of [
  ['streamable_http', '/mcp'],
  ['sse', '/sse'],
] as const) {
  void t.test(`an agent uses a server's tools over ${transport}`, async (t) => {
    const auth = { type: 'bearer', token: 'bearer-secret' };
    const tool = await made(
      {
        url: server.url + path,
        transport,
        auth,
        headers: { 'x-shop': 'north' },
        allowed_tools: ['find-order', 'fail'],
      },
      { response: { assign: [{ path: 'state', name: 'order_state' }] } },
    );
    t.same(tool.mcp.discovered, []);
    const found = await discover(tool.id);
    t.equal(found.status, 200);
    const trail = cp.app.services.database.model(auditCollection);
    t.match(await trail.find({ action: 'tool.discovered', target: tool.id }).lean(), [{ actor: /^key_/ }]);
    t.same(found.body.mcp.discovered.map(({ name }) => name).sort(), ['fail', 'find-order', 'flood', 'wait']);
    t.match(server.headers.at(-1), { authorization: 'Bearer bearer-secret', 'x-shop': 'north' });
    t.match(found.body.mcp.headers, { 'x-shop': { set: true } });

    const plan = await begin(tool.id);
    t.match(plan.tools, [
      { tool_id: tool.id, type: 'mcp', function: 'find-order', name: `${tool.name}_find_order` },
      { function: 'fail', name: `${tool.name}_fail` },
    ]);
    t.notMatch(JSON.stringify(plan.tools), /bearer-secret/, 'the gateway needs no credential of the server');
    const run = (body: object) =>
      gateway.internal<Answer>('POST', `/internal/v1/sessions/${plan.session_id}/tool-calls`, {
        tool_id: tool.id,
        ...body,
      });
    const call = { tool_call_id: 'call_1', function: 'find-order', arguments: { id: '7' } };
    const [first, again] = await Promise.all([run(call), run(call)]);
    t.match(first.body, {
      ok: true,
      content: '{"id":"7","state":"sent"}',
      assigned: { order_state: 'sent' },
    });
    t.same(again.body, first.body);
    t.same((await run(call)).body, first.body);
    t.equal(server.ran.filter((one) => one === 'find-order 7').length, 1, 'it was run once');
    server.ran.length = 0;
    const failed = await run({ tool_call_id: 'call_2', function: 'fail', arguments: {} });
    t.match(failed.body, { ok: false, code: 'tool_error', content: 'no such order' });
    const denied = await run({ tool_call_id: 'call_3', function: 'flood', arguments: {} });
    t.equal(denied.status, 404, 'what is not allowed is not there');
  });
}

void t.test(
  'what a server says is bounded, what it does not say too, and redirects are refused',
  async (t) => {
    const tool = await made({ url: `${server.url}/mcp` }, { execution: { timeout_ms: 60_000 } });
    const hasty = await made({ url: `${server.url}/mcp` }, { execution: { timeout_ms: 1500 } });
    await discover(hasty.id);
    await discover(tool.id);
    const tried = async (name: string, id = tool.id) =>
      (
        await cp.call<{ error: { code: string } }>('POST', `/v1/tools/${id}/test`, {
          body: { function: name },
        })
      ).body;
    t.match(await tried('flood'), { ok: false, error: { code: 'too_large' } });
    t.match(await tried('wait', hasty.id), { ok: false, error: { code: 'timeout' } });
    await server.cancelled;
    t.match(await tried('find-order'), { ok: false, error: { code: 'tool_error' } }, 'arguments are missing');
    t.equal((await cp.call('POST', `/v1/tools/${tool.id}/test`, { body: {} })).status, 422);

    const moved = await made({ url: `${server.url}/moved` });
    t.match(await discover(moved.id), { status: 502, body: { code: 'provider_error' } });
    const inside = await made({ url: 'https://inside.example.invalid/' });
    t.equal((await discover(inside.id)).status, 502);
  },
);

void t.test('a server that moves has other tools, and its secret is asked for again', async (t) => {
  const tool = await made({ url: `${server.url}/mcp`, auth: { type: 'bearer', token: 'bearer-secret' } });
  await discover(tool.id);
  const patch = (mcp: object) => cp.call<Tool>('PATCH', `/v1/tools/${tool.id}`, { body: { mcp } });
  t.equal((await patch({ allowed_tools: ['fail'] })).body.mcp.discovered.length, 4);
  t.equal((await patch({ url: 'https://other.example.com/' })).status, 422);
  const auth = { type: 'none' };
  t.same((await patch({ url: 'https://other.example.com/', auth })).body.mcp.discovered, []);
  const body = { execution: { retries: 1 } };
  t.match(await cp.call('PATCH', `/v1/tools/${tool.id}`, { body }), {
    status: 422,
    body: { detail: [{ loc: ['body', 'execution', 'retries'], type: 'not_available' }] },
  });
  const webhook = { url: 'https://other.example.com/' };
  t.equal((await cp.call('PATCH', `/v1/tools/${tool.id}`, { body: { webhook } })).status, 422);
});

void t.test('names of functions are short, plain and unique', (t) => {
  t.equal(functionName('shop', 'Find-Order', new Set()), 'shop_find_order');
  t.match(functionName('shop', 'find order', new Set(['shop_find_order'])), /^shop_find_order_[0-9a-f]{8}$/);
  const long = functionName('s'.repeat(60), 'find', new Set());
  t.equal(long.length, 64);
  t.match(long, /^[a-z][a-z0-9_]*$/);
  t.end();
});
