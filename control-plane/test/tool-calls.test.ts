import t from 'tap';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import type { TestPlan } from './fixtures/test-gateway.ts';

interface ToolCall {
  id: string;
  session_id: string;
  agent_id: string | null;
  tool_id: string | null;
  tool_name: string;
  ok: boolean | null;
  arguments: string | null;
}

const TOOL = 'tol_01k5z8r5m2q7v3x9b4n6c8d0ef';
const cp = await openTestControlPlane();
t.teardown(() => cp[Symbol.asyncDispose]());
const gateway = new TestGateway(cp);
const P = `/v1/orgs/${cp.first.org._id}/projects/${cp.first.project._id}`;

async function begin(): Promise<{ plan: TestPlan; agentId: string }> {
  const agent = await cp.call<{ id: string }>('POST', `${P}/agents`, {
    body: { name: `Agent ${Math.random()}` },
  });
  const session = await cp.call<{ token: string }>('POST', '/v1/sessions', {
    body: { agent_id: agent.body.id },
  });
  const plan = (await gateway.redeem({ token: session.body.token })).body;
  return { plan, agentId: agent.body.id };
}

async function handle(...events: CallEvent[]): Promise<void> {
  for (const event of events) await cp.app.services.callEvents.handle(event);
}

const list = async (query = '') =>
  (await cp.call<{ items: ToolCall[]; total: number }>('GET', `${P}/tool-calls?${query}`)).body;

const { plan, agentId } = await begin();
const about = (id: string, tool_id: string | null = TOOL) => ({ tool_call_id: id, tool_id, name: 'weather' });
const at = (minute: number) => ({ at: `2026-01-01T10:0${minute}:00.000Z` });
const events = [
  gateway.started(plan),
  gateway.event(plan, 'tool_started', { ...about('call_0'), arguments: '{"city":"Pune"}' }, at(1)),
  gateway.event(
    plan,
    'tool_finished',
    { ...about('call_0'), ok: true, duration_ms: 12, status: 200, result: 'sunny' },
    at(1),
  ),
  gateway.event(plan, 'tool_started', { ...about('call_1'), arguments: '{' }, at(2)),
  gateway.event(
    plan,
    'tool_finished',
    { ...about('call_1'), ok: false, duration_ms: 1, code: 'invalid_arguments', result: 'no' },
    at(2),
  ),
  // Its start was dropped on the way.
  gateway.event(
    plan,
    'tool_finished',
    { ...about('call_2', null), ok: true, duration_ms: 1, result: '' },
    at(3),
  ),
  gateway.event(plan, 'tool_started', { ...about('call_3'), arguments: '{}' }, at(4)),
  gateway.event(
    plan,
    'tool_finished',
    { ...about('call_4'), ok: true, duration_ms: 1, result: '' },
    { ...at(5), data: { what: 'another version says' } },
  ),
];

void t.test('calls of tools are listed as their gateway tells of them, each once', async (t) => {
  for (let upTo = 1; upTo <= events.length; upTo++) await handle(...events.slice(0, upTo));
  await handle(...events);
  const page = await list('sort=created_at');
  t.equal(page.total, 4);
  t.match(page.items, [
    { session_id: plan.session_id, agent_id: agentId, tool_id: TOOL, tool_name: 'weather' },
    { ok: false, code: 'invalid_arguments', status: null, arguments: '{' },
    { ok: true, arguments: null, tool_id: null },
    { ok: null, arguments: '{}', result: null },
  ]);
  t.match(page.items[0], {
    ok: true,
    arguments: '{"city":"Pune"}',
    result: 'sunny',
    status: 200,
    duration_ms: 12,
    created_at: '2026-01-01T10:01:00.000Z',
  });
});

void t.test('a model that gives the same name to a second call gets a second entry', async (t) => {
  const other = await begin();
  const twice = (result: string, minute: number) => [
    gateway.event(other.plan, 'tool_started', { ...about('call_0'), arguments: '{}' }, at(minute)),
    gateway.event(
      other.plan,
      'tool_finished',
      { ...about('call_0'), ok: true, duration_ms: 1, result },
      at(minute),
    ),
  ];
  await handle(...twice('one', 7), ...twice('two', 8));
  const page = await list(`agent_id=${other.agentId}&sort=created_at`);
  t.match(page.items, [{ result: 'one' }, { result: 'two' }]);
});

void t.test('they are filtered, sorted and paged as every list', async (t) => {
  const names = async (query: string) => (await list(`sort=created_at&${query}`)).items.map(({ id }) => id);
  const all = await names(`agent_id=${agentId}`);
  t.equal(all.length, 4);
  t.same(await names(`agent_id=${agentId}&ok=true`), [all[0], all[2]]);
  t.same(await names(`agent_id=${agentId}&ok=false`), [all[1]]);
  t.same(await names(`agent_id=${agentId}&tool_id=${TOOL}`), [all[0], all[1], all[3]]);
  t.same(await names('tool_id=tol_01k5z8r5m2q7v3x9b4n6c8d0eg'), []);
  const range = 'created_after=2026-01-01T10:02:00Z&created_before=2026-01-01T10:03:00Z';
  t.same(await names(range), [all[1]]);
  t.same(
    (await list(`agent_id=${agentId}&limit=2&offset=1`)).items.map(({ id }) => id),
    [all[2], all[1]],
  );
  t.same((await list(`agent_id=${agentId}&sort=-updated_at`)).items.length, 4);
  for (const bad of ['tool_id=weather', 'agent_id=x', 'ok=maybe', 'sort=tool_name', 'session=1']) {
    t.equal((await cp.call('GET', `${P}/tool-calls?${bad}`)).status, 422, bad);
  }
  const theirs = await cp.makeTenant();
  const foreign = await cp.call('GET', `${P}/tool-calls`, { token: theirs.apiKey });
  t.equal(foreign.status, 404);
});

void t.test('they go with their session', async (t) => {
  await handle(gateway.ended(plan));
  t.equal((await cp.call('DELETE', `/v1/sessions/${plan.session_id}`)).status, 204);
  t.equal((await list(`agent_id=${agentId}`)).total, 0);
  await handle(events[1]!, events[2]!);
  t.equal((await list(`agent_id=${agentId}`)).total, 0, 'an event that comes again brings nothing back');
});
