import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { CallReport } from '@parley/shared/contracts/call-events';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { newId } from '@parley/shared/ids/new-id';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import { memoryCollection } from '../src/memories/memory-model.ts';
import { MEMORIES_PER_SUBJECT } from '../src/memories/memory-service.ts';
import {
  chatAnswer,
  eventually,
  openLoopbackServer,
  type LoopbackAnswer,
} from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

interface Question {
  model: string;
  messages: { role: string; content: string }[];
  response_format: { json_schema: { name: string; strict: boolean; schema: object } };
}
interface Memory {
  id: string;
  agent_id: string;
  subject: string;
  kind: string;
  content: string;
  source: string;
  session_id: string | null;
  pinned: boolean;
  expires_at: string | null;
}
interface Page {
  items: Memory[];
  total: number;
}
interface Events {
  items: { type: string; data: Record<string, unknown> }[];
}

/** An LLM that is asked about memories, and about nothing else. */
const asked: Question[] = [];
let answerTo: (question: Question) => LoopbackAnswer | Promise<LoopbackAnswer> = () =>
  chatAnswer({ memories: [] });
const llm = await openLoopbackServer(({ body }) => {
  const question = JSON.parse(body) as Question;
  asked.push(question);
  return answerTo(question);
});
t.teardown(() => llm[Symbol.asyncDispose]());

// Ahead of the database’s own clock, which removes what has expired.
const clock = new ManualClock(Date.now() + 3_600_000);
const plane = await openTestControlPlane({
  clock,
  env: { OPENAI_BASE_URL: `${llm.url}/v1`, OPENAI_API_KEY: 'sk-llm-secret' },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const { callEvents, database, postCall } = plane.app.services;
const signal = new AbortController().signal;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
const NUMBER = '+14155550123';

async function makeAgent(memory: object = {}): Promise<string> {
  const { body } = await plane.call<{ id: string }>('POST', `${P}/agents`, {
    body: { name: `Agent ${randomUUID()}`, config: { memory, analysis: { lead_analysis: false } } },
  });
  return body.id;
}

const listOf = async (agentId: string, query = '') =>
  (await plane.call<Page>('GET', `/v1/agents/${agentId}/memories${query}`)).body;
const add = (agentId: string, body: object, more: object = {}) =>
  plane.call<Memory>('POST', `/v1/agents/${agentId}/memories`, {
    body: { subject: NUMBER, kind: 'fact', content: 'Has a dog.', ...body },
    ...more,
  });
const eventsOf = async (sessionId: string) =>
  (await plane.call<Events>('GET', `/v1/sessions/${sessionId}/events?type=memory`)).body.items;

/** A web call of somebody the agent's owner knows by name, until its report has come. */
async function begin(agentId: string, identifier: string | null = 'asha') {
  const minted = await plane.call<{ session_id: string; token: string }>('POST', '/v1/realtime/sessions', {
    body: { agent_id: agentId, user_identifier: identifier },
  });
  const redeemed = await gateway.redeem({ token: minted.body.token });
  return { id: minted.body.session_id, plan: redeemed.body };
}

async function call(agentId: string, identifier: string | null = 'asha', over: Partial<CallReport> = {}) {
  const session = await begin(agentId, identifier);
  await callEvents.handle(gateway.started(session.plan));
  await callEvents.handle(gateway.ended(session.plan, over));
  await settled(session.id);
  return session;
}

function settled(sessionId: string) {
  return eventually(async () => {
    await postCall.work(signal);
    const { body } = await plane.call<{ detail: { post_call: { status: string } } }>(
      'GET',
      `/v1/sessions/${sessionId}`,
    );
    return ['done', 'skipped'].includes(body.detail.post_call.status);
  });
}

void t.test('memories are made, listed, changed and deleted', async (t) => {
  const agent = await makeAgent();
  const soon = new Date(clock.now() + 60_000).toISOString();
  const made = await add(agent, { kind: 'preference', content: '  Mornings only.  ', expires_at: soon });
  t.equal(made.status, 201);
  t.match(made.body, {
    id: /^mry_[0-9a-z]{26}$/,
    agent_id: agent,
    subject: NUMBER,
    kind: 'preference',
    content: 'Mornings only.',
    source: 'api',
    session_id: null,
    pinned: false,
    expires_at: soon,
    created_at: /Z$/,
    updated_at: /Z$/,
  });
  clock.advance(1000);
  await add(agent, { subject: 'asha', kind: 'open_item', content: 'Wants an offer.' });
  t.match(await listOf(agent), { total: 2, items: [{ subject: 'asha' }, { subject: NUMBER }] });
  t.match(await listOf(agent, `?subject=${encodeURIComponent(NUMBER)}`), {
    total: 1,
    items: [{ id: made.body.id }],
  });
  t.match(await listOf(agent, '?kind=open_item&kind=summary'), { total: 1, items: [{ subject: 'asha' }] });
  t.match(await listOf(agent, `?session_id=${randomUUID()}`), { total: 0, items: [] });
  t.match(await listOf(agent, '?sort=created_at&limit=1&offset=1'), {
    total: 2,
    items: [{ subject: 'asha' }],
  });

  const at = `/v1/memories/${made.body.id}`;
  const changed = await plane.call<Memory>('PATCH', at, {
    body: { ...made.body, content: 'Evenings only.', pinned: true, expires_at: null },
  });
  t.match(changed.body, { id: made.body.id, content: 'Evenings only.', pinned: true, expires_at: null });
  t.match((await plane.call<Memory>('PATCH', at, { body: { pinned: false } })).body, {
    content: 'Evenings only.',
    pinned: false,
  });
  t.equal((await plane.call('PATCH', at, { body: { subject: 'x' } })).status, 422, 'nothing to change in it');
  t.equal((await plane.call('DELETE', at)).status, 204);
  t.equal((await plane.call('DELETE', at)).status, 404);
  t.match(await listOf(agent), { total: 1 });
});

void t.test('what is no memory is refused by name', async (t) => {
  const agent = await makeAgent();
  const cases: [object, string, string][] = [
    [{ kind: 'rumour' }, 'kind', 'enum'],
    [{ content: ' ' }, 'content', 'string_too_short'],
    [{ content: 'x'.repeat(2001) }, 'content', 'string_too_long'],
    [{ subject: '' }, 'subject', 'string_too_short'],
    [{ subject: 'x'.repeat(256) }, 'subject', 'string_too_long'],
    [{ expires_at: new Date(clock.now()).toISOString() }, 'expires_at', 'value_error'],
    [{ expires_at: 'tomorrow' }, 'expires_at', 'datetime_parsing'],
    [{ mood: 'good' }, 'mood', 'extra_forbidden'],
  ];
  for (const [body, field, type] of cases) {
    const answer = await add(agent, body);
    t.match(
      answer,
      { status: 422, body: { detail: [{ loc: ['body', field], type }] } },
      JSON.stringify(body),
    );
  }
  for (const query of ['?kind=rumour', '?session_id=1', '?subject=', '?q=x', '?sort=name'])
    t.equal((await plane.call('GET', `/v1/agents/${agent}/memories${query}`)).status, 422, query);
  t.match((await plane.call('DELETE', `/v1/agents/${agent}/memories`)).body, {
    detail: [{ loc: ['query', 'subject'], type: 'missing' }],
  });
});

void t.test('of one subject only so much is remembered, and what has expired does not count', async (t) => {
  const agent = await makeAgent();
  const soon = new Date(clock.now() + 1000).toISOString();
  const { body: one } = await add(agent, { expires_at: soon });
  const stored = await database.model(memoryCollection).findById(one.id).lean();
  const more = Array.from({ length: MEMORIES_PER_SUBJECT - 1 }, () => ({ ...stored!, _id: newId('mry') }));
  await database.model(memoryCollection).insertMany(more);
  t.match(await add(agent, {}), { status: 409, body: { code: 'limit_reached' } });
  t.equal((await add(agent, { subject: 'somebody else' })).status, 201);
  const [first] = (await listOf(agent, '?limit=1&sort=created_at')).items;
  clock.advance(1000);
  t.match(await listOf(agent), { total: 1, items: [{ subject: 'somebody else' }] });
  const late = await plane.call('PATCH', `/v1/memories/${first!.id}`, { body: { expires_at: null } });
  t.equal(late.status, 404, 'it does not come back');
  t.equal((await add(agent, {})).status, 201);
});

void t.test('a key repeated is a memory made once', async (t) => {
  const agent = await makeAgent();
  const headers = { 'idempotency-key': 'once' };
  const first = await add(agent, {}, { headers });
  const again = await add(agent, {}, { headers });
  t.equal(again.body.id, first.body.id);
  t.equal(again.headers.get('idempotency-replayed'), 'true');
  t.match(await listOf(agent), { total: 1 });
});

void t.test('one agent forgets a person; a purged one forgets all; a copy knows nobody', async (t) => {
  const agent = await makeAgent();
  const other = await makeAgent();
  for (const who of [agent, other]) for (const subject of [NUMBER, 'asha']) await add(who, { subject });
  const forget = `/v1/agents/${agent}/memories?subject=${encodeURIComponent(NUMBER)}`;
  const editor = await plane.call<{ key: string }>(
    'POST',
    `/v1/projects/${plane.first.project._id}/api-keys`,
    {
      body: { name: 'editor', role: 'editor' },
    },
  );
  t.match((await plane.call('DELETE', forget, { token: editor.body.key })).body, { code: 'role_too_low' });
  t.same(await plane.call('DELETE', forget).then(({ status, body }) => [status, body]), [
    200,
    { deleted: 1 },
  ]);
  t.same((await plane.call('DELETE', forget)).body, { deleted: 0 });
  t.match(await listOf(agent), { total: 1, items: [{ subject: 'asha' }] });
  t.match(await listOf(other), { total: 2 });
  const trail = await database.model(auditCollection).find({ action: 'memories.erased' }).lean();
  t.match(trail, [{ target: agent }, { target: agent }]);
  t.notMatch(JSON.stringify(trail), /14155550123/);

  const copy = await plane.call<{ id: string }>('POST', `/v1/agents/${agent}/duplicate`);
  t.match(await listOf(copy.body.id), { total: 0 });
  const [left] = (await listOf(agent)).items;
  await plane.call('DELETE', `/v1/agents/${agent}`);
  t.match(await listOf(agent), { total: 1 }, 'an archived one still knows');
  t.equal((await plane.call('DELETE', `/v1/agents/${agent}?purge=true`)).status, 204);
  t.equal((await plane.call('DELETE', `/v1/memories/${left!.id}`)).status, 404);
});

void t.test('a call of somebody known begins with what is known: pinned, then newest', async (t) => {
  const agent = await makeAgent({ read: true, max_items: 3 });
  for (const content of ['one', 'two', 'three', 'four']) {
    await add(agent, { subject: 'asha', content, pinned: content === 'one' });
    clock.advance(1000);
  }
  await add(agent, { subject: 'somebody else', content: 'not hers' });
  const { id, plan } = await begin(agent);
  t.match(plan.memories, [
    { kind: 'fact', content: 'one', noted_at: /Z$/ },
    { content: 'four' },
    { content: 'three' },
  ]);
  t.equal(plan.agent.system_prompt, '', 'they are no part of the agent’s own words');
  t.match(await eventsOf(id), [{ type: 'memory', data: { action: 'read', count: 3, memory_ids: Array } }]);
  t.match((await begin(agent, null)).plan, { memories: [] }, 'nobody is known without a name');
  t.match((await begin(await makeAgent())).plan, { memories: [] }, 'nor by an agent that is not to read');
});

void t.test('a caller is known by the number, whoever calls whom', async (t) => {
  const agent = await makeAgent({ read: true });
  await add(agent, { content: 'Has a boat.' });
  const sessions = database.model(sessionCollection);
  for (const [direction, numbers] of [
    ['inbound', { from_number: NUMBER, to_number: '+14155550100' }],
    ['outbound', { from_number: '+14155550100', to_number: NUMBER }],
  ] as const) {
    const made = await plane.call<{ session_id: string; ws_ticket: string }>('POST', '/v1/sessions', {
      body: { agent_id: agent, channel: 'telephony', provider: 'plivo' },
    });
    await sessions.updateOne({ _id: made.body.session_id }, { $set: { direction, ...numbers } });
    const start = { carrier_call_id: randomUUID() };
    const { body } = await gateway.redeem({ ticket: made.body.ws_ticket, start });
    t.match(body.memories, [{ content: 'Has a boat.' }], direction);
  }
});

void t.test('after a call it is noted what was learnt', async (t) => {
  const agent = await makeAgent({ read: true, write: true, ttl_days: 30 });
  await add(agent, { subject: 'asha', content: 'Wants ten licences!', pinned: true });
  const before = asked.length;
  answerTo = () =>
    chatAnswer({
      memories: [
        { kind: 'fact', content: ' Works for Tea & Co. ' },
        { kind: 'rumour', content: 'A model made this kind up.' },
        { kind: 'fact', content: 'wants ten  licences' },
        { kind: 'open_item', content: 'We owe her an offer.' },
        { kind: 'open_item', content: 'We owe her an offer.' },
      ],
    });
  const { id } = await call(agent);
  const expires = new Date(clock.now() + 30 * 24 * 3_600_000).toISOString();
  const learnt = (await listOf(agent, `?session_id=${id}`)).items;
  t.match(
    learnt.sort((a, b) => a.kind.localeCompare(b.kind)),
    [
      {
        subject: 'asha',
        kind: 'fact',
        content: 'Works for Tea & Co.',
        source: 'session',
        expires_at: expires,
      },
      { subject: 'asha', kind: 'open_item', content: 'We owe her an offer.', pinned: false, session_id: id },
    ],
  );
  t.equal(learnt.length, 2, 'what was known, said twice or made up is not noted');
  t.match(await eventsOf(id), [
    { data: { action: 'read', count: 1 } },
    { data: { action: 'write', count: 2, dropped: 0, memory_ids: [String, String] } },
  ]);
  const [question] = asked.slice(before);
  t.equal(asked.length, before + 1);
  t.match(question, {
    messages: [
      { role: 'system', content: /Wants ten licences!/ },
      { role: 'user', content: /caller: I want to buy ten licences\./ },
    ],
    response_format: { json_schema: { name: 'caller_memories', strict: true } },
  });
  const next = await begin(agent);
  t.equal(next.plan.memories.length, 3, 'the next call knows it');
});

void t.test('what is not pinned makes room, the oldest first', async (t) => {
  const agent = await makeAgent({ write: true, max_items: 3 });
  await add(agent, { subject: 'asha', content: 'pinned', pinned: true });
  clock.advance(1000);
  await add(agent, { subject: 'asha', content: 'old' });
  clock.advance(1000);
  await add(agent, { subject: 'asha', content: 'newer' });
  clock.advance(1000);
  answerTo = () => chatAnswer({ memories: [{ kind: 'summary', content: 'newest' }] });
  const { id } = await call(agent);
  t.same(
    (await listOf(agent)).items.map(({ content }) => content),
    ['newest', 'newer', 'pinned'],
  );
  t.match(await eventsOf(id), [{ data: { action: 'write', count: 1, dropped: 1 } }]);
});

void t.test('nothing is noted where nothing is to be, and a model that fails holds nothing up', async (t) => {
  answerTo = () => chatAnswer({ memories: [{ kind: 'fact', content: 'Something.' }] });
  const agent = await makeAgent({ write: true });
  const before = asked.length;
  await call(agent, null);
  await call(agent, 'asha', { turns: [] });
  await call(await makeAgent({ read: true }));
  t.equal(asked.length, before, 'nobody was asked');
  t.match(await listOf(agent), { total: 0 });

  for (const [answer, error] of [
    [chatAnswer('I would rather not.'), 'answer_invalid'],
    [{ status: 400, body: { error: { message: 'no' } } }, 'llm_error'],
  ] as const) {
    answerTo = () => answer;
    const { id } = await call(agent);
    t.match(await eventsOf(id), [{ data: { action: 'write', count: 0, error } }]);
  }
  t.match(await listOf(agent), { total: 0 });
});

void t.test('a job that runs again notes nothing twice', async (t) => {
  const agent = await makeAgent({ write: true });
  answerTo = () => chatAnswer({ memories: [{ kind: 'fact', content: `Something ${asked.length}.` }] });
  const { id } = await call(agent);
  const jobs = database.model(
    (await import('../src/post-call/post-call-job-model.ts')).postCallJobCollection,
  );
  await jobs.updateOne({ _id: id }, { $set: { status: 'pending', lease_until: new Date(0) } });
  await settled(id);
  await eventually(async () => {
    await postCall.work(signal);
    return (await jobs.findOne({ _id: id }).lean())?.status === 'done';
  });
  t.match(await listOf(agent), { total: 1 });
  t.equal((await eventsOf(id)).length, 1);
});

void t.test('a person who is erased is remembered by no agent, nor is an erased session', async (t) => {
  answerTo = () => chatAnswer({ memories: [{ kind: 'fact', content: 'Lives in Pune.' }] });
  const agent = await makeAgent({ write: true });
  const other = await makeAgent();
  const first = await call(agent, 'ravi');
  await call(agent, 'ravi');
  await call(agent, 'mira');
  t.match(await listOf(agent), { total: 2 }, 'the same is not noted twice');
  t.equal((await plane.call('DELETE', `/v1/sessions/${first.id}`)).status, 204);
  t.match(await listOf(agent), { total: 1, items: [{ subject: 'mira' }] });

  await call(agent, 'ravi');
  await add(other, { subject: 'ravi' });
  const erase = (subject: string) => plane.call('POST', `${P}/erasures`, { body: { subject } });
  t.match((await erase('ravi')).body, { memories: 2 });
  t.match((await erase('ravi')).body, { sessions: 0, memories: 0 });
  t.match(await listOf(agent), { total: 1, items: [{ subject: 'mira' }] });
  t.match(await listOf(other), { total: 0 });
});

void t.test('a session that is erased while the model thinks leaves no memory', async (t) => {
  const agent = await makeAgent({ write: true });
  const { id, plan } = await begin(agent, 'noor');
  answerTo = async () => {
    await plane.call('DELETE', `/v1/sessions/${id}`);
    return chatAnswer({ memories: [{ kind: 'fact', content: 'Too late.' }] });
  };
  await callEvents.handle(gateway.started(plan));
  await callEvents.handle(gateway.ended(plan));
  await settled(id);
  t.match(await listOf(agent), { total: 0 });
  t.same(await eventsOf(id), []);
});

void t.test('an org that switches memories off reads and writes none; what is stored stays', async (t) => {
  const agent = await makeAgent({ read: true, write: true });
  await add(agent, { subject: 'asha' });
  const { orgs, directory } = plane.app.services;
  const scope = { orgId: plane.first.org._id } as Parameters<typeof orgs.setFlag>[0];
  const set = async (enabled: boolean) => {
    await orgs.setFlag(scope, 'cli' as never, 'memories', enabled, { address: '' });
    directory.forget(plane.first.org._id);
  };
  await set(false);
  t.match((await plane.call('GET', `/v1/agents/${agent}/memories`)).body, { code: 'feature_disabled' });
  const before = asked.length;
  t.same((await call(agent)).plan.memories, []);
  t.equal(asked.length, before);
  await set(true);
  t.match(await listOf(agent), { total: 1 });
});

void t.test('a server that keeps to the schema is understood: from one call to the next', async (t) => {
  const emulator = await openOpenAiEmulator({
    script: parseScript({
      models: ['gpt-4.1-mini'],
      rules: [
        {
          when: { schema: 'caller_memories' },
          reply: { json: { memories: [{ kind: 'fact', content: { $match: 'caller: (.*)' } }] } },
        },
      ],
    }),
  });
  t.teardown(() => emulator[Symbol.asyncDispose]());
  const answers = answerTo;
  t.teardown(() => (answerTo = answers));
  // The same server as ever hands the question on.
  answerTo = async (question) => {
    const answer = await fetch(`${emulator.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
      body: JSON.stringify(question),
    });
    return { status: answer.status, body: (await answer.json()) as object };
  };
  const agent = await makeAgent({ read: true, write: true });
  await call(agent, 'zoe');
  t.match((await begin(agent, 'zoe')).plan.memories, [
    { kind: 'fact', content: 'I want to buy ten licences.' },
  ]);
});
