import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { openLoopbackServer, type LoopbackAnswer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

let answer: () => LoopbackAnswer | Promise<LoopbackAnswer> = () => ({});
const owner = await openLoopbackServer(() => answer());
t.teardown(() => owner[Symbol.asyncDispose]());
const plane = await openTestControlPlane({ env: { OUTBOUND_ALLOW: owner.url } });
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);

async function begin(preCall: object, variables: object[] = []): Promise<SessionResponse> {
  const agent = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`,
    {
      body: {
        name: `Agent ${randomUUID()}`,
        config: { variables, pre_call: { url: `${owner.url}/pre`, ...preCall } },
      },
    },
  );
  const body = { agent_id: agent.body.id, variables: { shop: 'North', city: 'Pune' } };
  return (await plane.call<SessionResponse>('POST', '/v1/sessions', { body })).body;
}

void t.test('what the owner’s system answers joins the variables before media flows', async (t) => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  answer = async () => {
    await held;
    return { body: { customer: 'Asha', shop: 'South' } };
  };
  const session = await begin({ headers: { 'x-key': 'k-1' }, timeout_ms: 10_000 }, [
    { name: 'customer', required: true },
  ]);
  t.ok(session.session_id, 'a required variable may still come');
  const redeemed = gateway.redeem({ token: session.token! });
  await plane.call('GET', `/v1/sessions/${session.session_id}`);
  release();
  t.match(await redeemed, {
    status: 200,
    body: {
      variables: { customer: 'Asha', shop: 'South', city: 'Pune' },
      // The two that it has answered: what else was asked for is no number that a caller is sent to.
      trusted_variables: ['customer', 'shop'],
    },
  });
  const [asked] = owner.received;
  t.equal(asked!.headers['x-key'], 'k-1');
  t.match(JSON.parse(asked!.body), {
    session_id: session.session_id,
    channel: 'web',
    direction: 'web',
    variables: { shop: 'North' },
  });
});

void t.test('an agent that only asks sends no facts', async (t) => {
  answer = () => ({ body: { customer: 'Asha' } });
  const session = await begin({ method: 'GET' });
  t.match(await gateway.redeem({ token: session.token! }), { body: { variables: { customer: 'Asha' } } });
  t.match(owner.received.at(-1), { method: 'GET', body: '' });
});

void t.test('a failure is passed over, or ends the session, as the agent says', async (t) => {
  for (const bad of [{ status: 500 }, { body: 'no JSON' }, { body: { nested: { a: 1 } } }]) {
    answer = () => bad;
    const go_on = await begin({});
    t.match(await gateway.redeem({ token: go_on.token! }), {
      status: 200,
      body: { variables: { shop: 'North' } },
    });
  }
  const refused = await begin({ on_error: 'reject' });
  t.match(await gateway.redeem({ token: refused.token! }), { status: 409, body: { code: 'session_over' } });
  const read = await plane.call('GET', `/v1/sessions/${refused.session_id}`);
  t.match(read.body, { status: 'failed', failure_reason: 'missing_variable' });
});

void t.test('nobody waits longer than the agent allows', async (t) => {
  answer = () => new Promise<LoopbackAnswer>(() => {});
  const session = await begin({ timeout_ms: 200 });
  t.equal((await gateway.redeem({ token: session.token! })).status, 200);
});
