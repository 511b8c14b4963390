import t from 'tap';
import { sessionCollection } from '../src/sessions/session-model.ts';
import type { SessionRecord } from '../src/sessions/session-record.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { signInUser } from './fixtures/test-users.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';

interface Refused {
  code: string;
  detail: { loc: (string | number)[]; type: string }[];
  refs?: { type: string; id: string }[];
}

const cp = await openTestControlPlane();
t.teardown(() => cp[Symbol.asyncDispose]());
const gateway = new TestGateway(cp);
const P = `/v1/orgs/${cp.first.org._id}/projects/${cp.first.project._id}`;

const DESK = '+14155550123';
const ELSEWHERE = '+14155550666';

const toAgent = (id: string, agent_id: string) => ({ id, target: { type: 'agent', agent_id } });

async function makeAgent(name: string, body: Record<string, unknown> = {}): Promise<string> {
  const made = await cp.call<{ id: string }>('POST', `${P}/agents`, { body: { name, ...body } });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return made.body.id;
}

async function begin(agentId: string, variables = {}) {
  const session = await cp.call<{ session_id: string; token: string }>('POST', '/v1/sessions', {
    body: { agent_id: agentId, variables },
  });
  const plan = (await gateway.redeem({ token: session.body.token })).body;
  await cp.app.services.callEvents.handle(gateway.started(plan));
  return plan;
}

const handOver = (sessionId: string, agentId: string, id = `hnd-${Math.random()}`, more = {}) =>
  gateway.internal<TestPlan & Record<string, unknown>>(
    'POST',
    `/internal/v1/sessions/${sessionId}/handover`,
    { handover_id: id, agent_id: agentId, from_index: 3, ...more },
  );

const agentsOf = async (sessionId: string) =>
  (await cp.call<{ detail: { agents: unknown[] } }>('GET', `/v1/sessions/${sessionId}`)).body.detail.agents;

void t.test('another agent takes a call over, once for each hand-over', async (t) => {
  const billing = await makeAgent('Billing', {
    system_prompt: 'You do the billing.',
    config: {
      variables: [
        { name: 'currency', default: 'euros' },
        { name: 'customer', default: 'nobody' },
      ],
      limits: { max_duration_seconds: 300 },
    },
  });
  const desk = await makeAgent('Front desk', {
    config: { transfer: { destinations: [toAgent('billing', billing)] } },
  });
  const plan = await begin(desk, { customer: 'Ada' });
  const taken = await handOver(plan.session_id, billing, 'hand-over-1');
  t.equal(taken.status, 200);
  t.match(taken.body, {
    agent: { agent_id: billing, version: 1, system_prompt: 'You do the billing.' },
    variables: { currency: 'euros', customer: 'Ada' },
    limits: { max_duration_seconds: 300 },
    stt: [{ id: String }],
    llm: [{ id: String }],
    tts: [{ id: String }],
  });
  t.notOk('record' in taken.body, "recording, history and identity stay the session's");
  t.same((await handOver(plan.session_id, billing, 'hand-over-1')).body, taken.body, 'asked for again');
  const agents = [
    { agent_id: desk, version: 1, from_index: 0 },
    { agent_id: billing, version: 1, from_index: 3 },
  ];
  t.same(await agentsOf(plan.session_id), agents);
  const session = await cp.call<{ agent_id: string }>('GET', `/v1/sessions/${plan.session_id}`);
  t.equal(session.body.agent_id, desk, 'the session stays that of its first agent');

  const alone = await begin(desk, { customer: 'Ada' });
  const without = await handOver(alone.session_id, billing, undefined, { pass_variables: false });
  t.same(without.body.variables, { currency: 'euros', customer: 'nobody' });

  const again = await cp.call<{ token: string }>('POST', `/v1/sessions/${plan.session_id}/token`);
  const rejoined = await gateway.redeem({ token: again.body.token });
  t.match(
    rejoined.body,
    { leg: 1, agent: { agent_id: billing } },
    'a later leg begins with the agent that spoke',
  );
});

void t.test('nodes of a flow name agents; what they do not pass on later legs do not know', async (t) => {
  const billing = await makeAgent('Billing by flow', {
    config: { variables: [{ name: 'currency', default: 'euros' }] },
  });
  const archived = await makeAgent('Archived');
  await cp.call('DELETE', `/v1/agents/${archived}`);
  const flow = (nodes: object[]) => ({
    start_node_id: 'talk',
    nodes: [{ id: 'talk', type: 'conversation', prompt: 'Talk.' }, ...nodes],
    edges: nodes.map((node) => {
      const { id } = node as { id: string };
      return { id: `to_${id}`, from: 'talk', to: id, condition: { type: 'dtmf', digits: '1' } };
    }),
  });
  const desk = await makeAgent('Desk with a flow', {
    flow_definition: flow([{ id: 'other', type: 'agent', agent_id: billing }]),
  });
  t.equal((await cp.call('DELETE', `/v1/agents/${billing}`)).status, 409, 'it is named');
  const inline = (target: object, more: object = {}) => ({
    ...{ id: 'lead', type: 'transfer' },
    destination: { id: 'x', target, on_failure: 'hangup', ...more },
  });
  const at = (...place: (string | number)[]) => ['body', 'flow_definition', 'nodes', 1, ...place];
  for (const [node, loc, type] of [
    [{ id: 'other', type: 'agent', agent_id: archived }, at('agent_id'), 'not_available'],
    [inline({ type: 'variable', name: 'n' }), at('destination', 'target'), 'missing'],
    [
      inline({ type: 'agent', agent_id: billing }, { mode: 'warm' }),
      at('destination', 'mode'),
      'not_available',
    ],
    [
      {
        id: 'hold',
        type: 'wait',
        timeout_seconds: 5,
        hold_audio_asset_id: 'aud_gone',
        global: { condition: 'x' },
      },
      at('hold_audio_asset_id'),
      'reference_not_found',
    ],
  ] as const) {
    const refused = await cp.call<Refused>('PATCH', `/v1/agents/${desk}`, {
      body: { flow_definition: flow([node]) },
    });
    t.match(refused.body.detail, [{ loc, type }]);
  }

  const plan = await begin(desk, { customer: 'Ada', order: '7' });
  const state = { agent_id: desk, node_id: 'other', phase: 'leading' as const, edge_id: null };
  await cp.app.services.callEvents.handle(
    gateway.event(plan, 'flow_node', {
      ...{ node_id: 'other', by: 'edge', edge_id: 'to_other', variables: { asked: 'yes', desk: DESK } },
      trusted_variables: ['desk'],
      state: { ...state, entries: [1, 1], cooldowns: [0, 0], returns: [], turns: 0, steps: 1 },
    }),
  );
  const later = async () => {
    const { body } = await cp.call<{ token: string }>('POST', `/v1/sessions/${plan.session_id}/token`);
    return (await gateway.redeem({ token: body.token })).body as TestPlan & Record<string, unknown>;
  };
  const second = await later();
  t.match(second, {
    flow: { state: { ...state, entries: [1, 1] } },
    variables: { customer: 'Ada', asked: 'yes', desk: DESK },
    trusted_variables: ['desk'],
    known_history: null,
  });
  await cp.app.services.callEvents.handle(
    gateway.event(second, 'turn', {
      ...{ turn_index: 3, role: 'caller', text: 'Call me here.', start_ms: 1, end_ms: 2 },
      variables: { desk: ELSEWHERE },
    }),
  );
  const third = await later();
  t.match(third, { variables: { desk: ELSEWHERE } });
  t.same(third.trusted_variables, [], 'what others have replaced may not be a number to transfer to');
  const more = { pass_variables: false, pass_history: 'summary', summary: 'Ada wants a refund.' };
  t.equal((await handOver(plan.session_id, billing, undefined, more)).status, 200);
  const { variables, known_history: known, flow: none } = await later();
  t.same(variables, {});
  t.same(known, { from_index: 3, summary: 'Ada wants a refund.' });
  t.equal(none, null, 'the other agent has no flow');

  const sessions = cp.app.services.database.model(sessionCollection);
  await sessions.updateOne({ _id: plan.session_id }, { $set: { status: 'ended' } });
  t.ok((await cp.call('DELETE', `/v1/sessions/${plan.session_id}`)).status < 300);
  const record = await sessions.findOne({ _id: plan.session_id }).lean<SessionRecord>();
  t.equal(record!.flow_state, null);
  t.same(
    Object.keys(record!.hand_overs![0]!).toSorted(),
    ['agent_id', 'from_index', 'handover_id', 'leg', 'version'],
    'what was told to the other agent is erased',
  );
});

void t.test('a call goes to a destination of the agent that speaks, and nowhere else', async (t) => {
  const last = await makeAgent('Last');
  const middle = await makeAgent('Middle', {
    config: { transfer: { destinations: [toAgent('last', last)] } },
  });
  const first = await makeAgent('First', {
    config: {
      transfer: { destinations: [toAgent('middle', middle), toAgent('gone', await makeAgent('Gone'))] },
    },
  });
  const { session_id } = await begin(first);
  const refused = async (agentId: string, code: string) => {
    const answer = await handOver(session_id, agentId);
    t.equal(answer.status, 409);
    t.match(answer.body, { code });
  };
  await refused(last, 'agent_unavailable');
  t.equal((await handOver(session_id, middle)).status, 200);
  await refused(middle, 'agent_unavailable');
  t.equal((await handOver(session_id, last)).status, 200);
  t.equal((await agentsOf(session_id)).length, 3);
  t.match((await handOver('01890000-0000-7000-8000-000000000001', last)).body, { code: 'session_over' });

  const circle = await makeAgent('Circle');
  await cp.call('PATCH', `/v1/agents/${circle}`, {
    body: { config: { transfer: { destinations: [toAgent('self', circle)] } } },
  });
  const round = await begin(circle);
  const answers = [];
  for (let i = 0; i < 6; i++) answers.push(await handOver(round.session_id, circle));
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 409],
  );
  t.match(answers.at(-1)!.body, { code: 'too_many_hand_overs' });
  t.equal((await cp.call('DELETE', `/v1/agents/${circle}`)).status, 204, 'an agent does not keep itself');
});

void t.test('a destination is a live agent of the project, and stays while it is named', async (t) => {
  const target = await makeAgent('Target');
  const named = { config: { transfer: { destinations: [toAgent('target', target)] } } };
  const from = await makeAgent('From', named);
  const inUse = await cp.call<Refused>('DELETE', `/v1/agents/${target}`);
  t.equal(inUse.status, 409);
  t.match(inUse.body, { code: 'resource_in_use', refs: [{ type: 'agent', id: from }] });
  await cp.call('PATCH', `/v1/agents/${from}`, { body: { config: { transfer: { destinations: [] } } } });
  t.equal((await cp.call('DELETE', `/v1/agents/${target}`)).status, 204);

  const loc = ['body', 'config', 'transfer', 'destinations', 0, 'target', 'agent_id'];
  const refused = async (agentId: string, type: string) => {
    const body = { config: { transfer: { destinations: [toAgent('target', agentId)] } } };
    const answer = await cp.call<Refused>('PATCH', `/v1/agents/${from}`, { body });
    t.equal(answer.status, 422);
    t.match(answer.body.detail, [{ loc, type }]);
  };
  await refused(target, 'not_available');
  await refused('agt_01k5z8r5m2q7v3x9b4n6c8d0ef', 'reference_not_found');
  const { token } = await signInUser(cp, 'admin@example.com');
  const other = await cp.call<{ id: string }>('POST', `/v1/orgs/${cp.first.org._id}/projects`, {
    token,
    body: { name: 'Elsewhere' },
  });
  const { body: models } = await cp.call<Record<string, unknown>>('GET', `/v1/agents/${from}`);
  const { llm_id, stt_id, tts_id } = models;
  const foreign = await cp.call<{ id: string }>(
    'POST',
    `/v1/orgs/${cp.first.org._id}/projects/${other.body.id}/agents`,
    { token, body: { name: 'Foreign', llm_id, stt_id, tts_id } },
  );
  t.equal(foreign.status, 201);
  await refused(foreign.body.id, 'reference_not_found');
});

void t.test('a variable leads to numbers that the destination allows', async (t) => {
  const agent = await makeAgent('By variable');
  const change = (target: object) =>
    cp.call<Refused>('PATCH', `/v1/agents/${agent}`, {
      body: { config: { transfer: { destinations: [{ id: 'any', target }] } } },
    });
  const target = { type: 'variable', name: 'agent_number' };
  const refused = await change(target);
  t.equal(refused.status, 422);
  t.match(refused.body.detail, [
    { loc: ['body', 'config', 'transfer', 'destinations', 0, 'target'], type: 'missing' },
  ]);
  t.equal((await change({ ...target, allowed_prefixes: ['+1415'] })).status, 200);
});
