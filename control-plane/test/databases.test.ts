import { randomUUID } from 'node:crypto';
import t from 'tap';
import type { CallReport } from '@parley/shared/contracts/call-events';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { databaseCollection, databaseRowCollection } from '../src/databases/database-model.ts';
import { RowCounts } from '../src/databases/row-counts.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import { postCallJobCollection } from '../src/post-call/post-call-job-model.ts';
import { chatAnswer, eventually, openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

interface Database {
  id: string;
  name: string;
  kind: string;
  columns: { key: string; label: string; type: string }[];
  row_count: number;
  agent_ids: string[];
}
interface Agent {
  id: string;
  auto_database_id: string | null;
}
interface Row {
  id: string;
  session_id: string | null;
  agent_id: string | null;
  values: Record<string, unknown>;
  source: string;
}
interface Page<T> {
  items: T[];
  total: number;
}

const LEAD = { customer_name: 'Asha', lead_score: 80, lead_status: 'interested', goal_status: 'achieved' };
const llm = await openLoopbackServer(({ body }) => {
  const { response_format } = JSON.parse(body) as { response_format?: { json_schema: { name: string } } };
  return chatAnswer(
    response_format?.json_schema.name === 'lead_analysis' ? LEAD : { mood: { word: 'glad' } },
  );
});
t.teardown(() => llm[Symbol.asyncDispose]());
const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({
  clock,
  env: { OPENAI_BASE_URL: `${llm.url}/v1`, OPENAI_API_KEY: 'sk-llm-secret' },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const { callEvents, database, postCall, retention } = plane.app.services;
const signal = new AbortController().signal;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;

const column = (key: string, type: string, more: object = {}) => ({ key, type, ...more });

async function makeDatabase(columns: object[], more: object = {}): Promise<string> {
  const { status, body } = await plane.call<Database>('POST', `${P}/databases`, {
    body: { name: `Database ${randomUUID()}`, columns, ...more },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}
async function makeAgent(config: object = {}): Promise<string> {
  const { body } = await plane.call<{ id: string }>('POST', `${P}/agents`, {
    body: { name: `Agent ${randomUUID()}`, config },
  });
  return body.id;
}
const get = async (id: string) => (await plane.call<Database>('GET', `/v1/databases/${id}`)).body;
const rowsOf = async (id: string, query = '') =>
  (await plane.call<Page<Row>>('GET', `/v1/databases/${id}/rows${query}`)).body;
const add = (id: string, values: object) =>
  plane.call<Row>('POST', `/v1/databases/${id}/rows`, { body: { values } });
const attach = (id: string, agent_id: string) =>
  plane.call('POST', `/v1/databases/${id}/agents`, { body: { agent_id } });

/** A web call until its report has come; its job waits. */
async function call(agentId: string, identifier = 'asha', over: Partial<CallReport> = {}): Promise<string> {
  const minted = await plane.call<{ session_id: string; token: string }>('POST', '/v1/realtime/sessions', {
    body: { agent_id: agentId, user_identifier: identifier },
  });
  const { body: plan } = await gateway.redeem({ token: minted.body.token });
  await callEvents.handle(gateway.started(plan));
  await callEvents.handle(gateway.ended(plan, over));
  return minted.body.session_id;
}
function settled(sessionId: string) {
  return eventually(async () => {
    await postCall.work(signal);
    const session = await database.model(sessionCollection).findById(sessionId).lean();
    return ['done', 'skipped'].includes(session!.post_call_status);
  });
}

void t.test('columns are checked, and a key keeps its type', async (t) => {
  const columns = [
    column('score', 'number', { label: 'Score' }),
    column('stage', 'enum', { options: ['a', 'b'] }),
  ];
  const id = await makeDatabase(columns);
  t.match(await get(id), {
    id: /^dbs_/,
    kind: 'custom',
    row_count: 0,
    agent_ids: [],
    columns: [
      { key: 'score', label: 'Score', type: 'number', options: [], source: { from: 'manual' } },
      { key: 'stage', label: 'stage', type: 'enum', options: ['a', 'b'] },
    ],
  });
  const refused: [object[], (string | number)[], string][] = [
    [[column('Score', 'number')], ['body', 'columns', 0, 'key'], 'string_pattern_mismatch'],
    [[column('constructor', 'text')], ['body', 'columns', 0, 'key'], 'value_error'],
    [[column('a', 'text'), column('a', 'text')], ['body', 'columns', 1, 'key'], 'value_error'],
    [[column('a', 'colour')], ['body', 'columns', 0, 'type'], 'enum'],
    [[column('a', 'enum')], ['body', 'columns', 0, 'options'], 'value_error'],
    [[column('a', 'text', { options: ['x'] })], ['body', 'columns', 0, 'options'], 'value_error'],
    [
      [column('a', 'text', { source: { from: 'session', path: 'words' } })],
      ['body', 'columns', 0, 'source', 'path'],
      'enum',
    ],
    [
      [column('a', 'text', { source: { from: 'analysis', analysis_id: 'ana_none' } })],
      ['body', 'columns', 0, 'source', 'analysis_id'],
      'reference_not_found',
    ],
    [Array.from({ length: 101 }, (_, n) => column(`c${n}`, 'text')), ['body', 'columns'], 'too_long'],
  ];
  for (const [wrong, loc, type] of refused) {
    const answer = await plane.call('POST', `${P}/databases`, { body: { name: 'x', columns: wrong } });
    t.match(answer, { status: 422, body: { detail: [{ loc, type }] } }, JSON.stringify(loc));
  }
  await add(id, { score: 3, stage: 'a' });
  const patch = (body: object) => plane.call<Database>('PATCH', `/v1/databases/${id}`, { body });
  const retyped = await patch({ columns: [column('score', 'text')] });
  t.match(retyped, { status: 422, body: { detail: [{ loc: ['body', 'columns', 0, 'type'] }] } });
  t.match((await patch({ columns: [column('stage', 'enum', { options: ['b'] })] })).body.columns, {
    length: 1,
  });
  t.same((await rowsOf(id)).items[0]!.values, { stage: 'a' }, 'the values of the others are not shown');
  const again = await patch({ columns: [column('score', 'text')] });
  t.equal(again.status, 422, 'a key that no column has keeps its type, too');
  t.equal((await patch({ name: 'Renamed', columns })).body.name, 'Renamed');
  t.same((await rowsOf(id)).items[0]!.values, { score: 3, stage: 'a' });
});

void t.test('values are of the type of their column', async (t) => {
  const id = await makeDatabase([
    column('text', 'text'),
    column('number', 'number'),
    column('flag', 'boolean'),
    column('time', 'datetime'),
    column('phone', 'phone'),
    column('stage', 'enum', { options: ['a', 'b'] }),
    column('json', 'json'),
  ]);
  const values = {
    text: '=1+1',
    number: -0.5,
    flag: false,
    time: '2026-01-31T10:30:00+01:00',
    phone: '+14155550123',
    stage: 'b',
    json: { a: [1, null] },
  };
  const made = await add(id, values);
  t.equal(made.status, 201);
  t.same(made.body.values, { ...values, time: '2026-01-31T09:30:00.000Z' });
  t.match(made.body, { id: /^dbr_/, session_id: null, agent_id: null, source: 'api', database_id: id });
  t.equal((await get(id)).row_count, 1);
  const wrong: [string, unknown, string][] = [
    ['text', 1, 'string_type'],
    ['text', 'x'.repeat(10_001), 'string_too_long'],
    ['number', '1', 'float_type'],
    ['flag', 'true', 'bool_type'],
    ['time', '2026-01-31', 'datetime_parsing'],
    ['time', '0000-01-01T00:00:00+14:00', 'datetime_parsing'],
    ['phone', '0415', 'string_pattern_mismatch'],
    ['stage', 'c', 'enum'],
    ['json', 'x'.repeat(20_001), 'string_too_long'],
    ['none', 1, 'extra_forbidden'],
  ];
  for (const [key, value, type] of wrong) {
    const body = `{"values":{${JSON.stringify(key)}:${JSON.stringify(value)}}}`;
    const answer = await plane.call('POST', `/v1/databases/${id}/rows`, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    t.match(answer, { status: 422, body: { detail: [{ loc: ['body', 'values', key], type }] } }, key);
  }
  t.equal((await get(id)).row_count, 1);
  const path = `/v1/databases/${id}/rows/${made.body.id}`;
  const patched = await plane.call<Row>('PATCH', path, { body: { values: { text: null, number: 7 } } });
  t.match(patched.body.values, { text: null, number: 7, stage: 'b', json: { a: [1, null] } });
  t.equal((await plane.call('DELETE', path)).status, 204);
  t.equal((await plane.call('DELETE', path)).status, 404);
  t.equal((await get(id)).row_count, 0);
  const elsewhere = await add(await makeDatabase([]), {});
  t.equal((await plane.call('DELETE', `/v1/databases/${id}/rows/${elsewhere.body.id}`)).status, 404);
});

void t.test('agents are attached and detached', async (t) => {
  const [id, agent] = [await makeDatabase([]), await makeAgent()];
  t.match(await attach(id, agent), { status: 200, body: { agent_id: agent } });
  t.equal((await attach(id, agent)).status, 200, 'again is harmless');
  t.same((await get(id)).agent_ids, [agent]);
  const agents = `/v1/databases/${id}/agents`;
  t.same((await plane.call<Page<object>>('GET', agents)).body, { items: [{ agent_id: agent }], total: 1 });
  const other = await plane.makeTenant();
  const foreign = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${other.org._id}/projects/${other.project._id}/agents`,
    { body: { name: 'x' }, token: other.apiKey },
  );
  t.match(await attach(id, foreign.body.id), {
    status: 422,
    body: { detail: [{ loc: ['body', 'agent_id'], type: 'reference_not_found' }] },
  });
  t.equal((await plane.call('DELETE', `${agents}/nothing`)).status, 422);
  t.equal((await plane.call('DELETE', `${agents}/${agent}`)).status, 204);
  t.equal((await plane.call('DELETE', `${agents}/${agent}`)).status, 404);
  await attach(id, agent);
  await plane.call('DELETE', `/v1/agents/${agent}`);
  await plane.call('DELETE', `/v1/agents/${agent}?purge=true`);
  t.same((await get(id)).agent_ids, [], 'a purged agent is detached');
});

void t.test('a session becomes one row, filled from every source', async (t) => {
  const analysis = await plane.call<{ id: string }>('POST', `${P}/analyses`, {
    body: {
      name: 'Mood',
      type: 'structured',
      prompt: 'Mood?',
      output_schema: { type: 'object', properties: { mood: { type: 'object' } } },
    },
  });
  const agent = await makeAgent();
  await plane.call('POST', `/v1/agents/${agent}/post-call-analyses`, {
    body: { analysis_id: analysis.body.id },
  });
  const from = (source: object) => ({ source });
  const id = await makeDatabase([
    column('session', 'text', from({ from: 'session', path: 'id' })),
    column('seconds', 'number', from({ from: 'session', path: 'duration_seconds' })),
    column('started', 'datetime', from({ from: 'session', path: 'started_at' })),
    column('who', 'text', from({ from: 'lead', path: 'customer_name' })),
    column('score', 'number', from({ from: 'lead', path: 'lead_score' })),
    column('goal', 'text', from({ from: 'lead', path: 'goal_status' })),
    column('result', 'text', from({ from: 'lead', path: 'call_status' })),
    column('mood', 'text', from({ from: 'analysis', analysis_id: analysis.body.id, path: 'mood.word' })),
    column('whole', 'json', from({ from: 'analysis', analysis_id: analysis.body.id, path: '' })),
    column('customer', 'text', from({ from: 'variable', path: 'customer' })),
    column('misfit', 'number', from({ from: 'variable', path: 'customer' })),
    column('mine', 'text'),
  ]);
  await attach(id, agent);
  const session = await call(agent);
  await settled(session);
  const { items, total } = await rowsOf(id, `?session_id=${session}`);
  t.equal(total, 1);
  t.match(items[0], { session_id: session, agent_id: agent, source: 'session' });
  t.match(items[0]!.values, {
    session,
    started: /Z$/,
    who: 'Asha',
    score: 80,
    goal: 'achieved',
    result: 'completed',
    mood: 'glad',
    whole: { mood: { word: 'glad' } },
    customer: 'Asha',
    misfit: null,
    mine: null,
  });
  t.equal(typeof items[0]!.values['seconds'], 'number');

  // As after a process that died before it noted that the job is done.
  const jobs = database.model(postCallJobCollection);
  const again = { status: 'pending', lease_until: new Date(0), run_at: new Date(0) };
  await jobs.updateOne({ _id: session }, { $set: again });
  await postCall.work(signal);
  t.equal((await jobs.findById(session).lean())!.status, 'done');
  t.equal((await rowsOf(id)).total, 1, 'and no second one');
  t.equal((await get(id)).row_count, 1);
  await plane.call('DELETE', `/v1/databases/${id}/agents/${agent}`);
  await settled(await call(agent));
  t.equal((await rowsOf(id)).total, 1, 'a detached agent adds nothing');
});

void t.test('an agent has a database of its own, if it wants one', async (t) => {
  const plain = await plane.call<Agent>('POST', `${P}/agents`, {
    body: { name: 'Plain', config: { auto_database: false } },
  });
  t.equal(plain.body.auto_database_id, null);
  const made = await plane.call<Agent>('POST', `${P}/agents`, {
    body: { name: 'Own', config: { auto_database: true } },
  });
  const { id: agent, auto_database_id: id } = made.body;
  t.match(await get(id!), { kind: 'auto', name: 'Own', agent_ids: [agent], columns: { length: 26 } });
  const patched = await plane.call<Agent>('PATCH', `/v1/agents/${plain.body.id}`, {
    body: { config: { auto_database: true } },
  });
  t.match(patched.body.auto_database_id, /^dbs_/);
  t.equal(
    (await plane.call<Agent>('GET', `/v1/agents/${plain.body.id}`)).body.auto_database_id,
    patched.body.auto_database_id,
  );
  const copy = await plane.call<Agent>('POST', `/v1/agents/${agent}/duplicate`);
  t.match(copy.body.auto_database_id, /^dbs_/);
  t.not(copy.body.auto_database_id, id);

  const session = await call(agent);
  await settled(session);
  const { items } = await rowsOf(id!, '?sort=-lead_score&filter=lead_score:gte:50');
  t.match(items, [{ session_id: session, agent_id: agent }]);
  t.match(items[0]!.values, {
    session_id: session,
    direction: 'web',
    status: 'ended',
    customer_name: 'Asha',
    lead_status: 'interested',
    call_status: 'completed',
    call_direction: 'inbound',
    call_datetime: /Z$/,
    send_email: false,
    goal_status: 'achieved',
  });
  const own = `/v1/databases/${id}`;
  t.match(await plane.call('DELETE', `${own}/agents/${agent}`), {
    status: 409,
    body: { code: 'invalid_state' },
  });
  t.match(await plane.call('DELETE', own), { status: 409, body: { code: 'resource_in_use' } });
  await plane.call('PATCH', `/v1/agents/${agent}`, { body: { config: { auto_database: false } } });
  await settled(await call(agent));
  t.equal((await rowsOf(id!)).total, 1, 'switched off, it adds nothing');
  await plane.call('DELETE', `/v1/agents/${agent}`);
  t.equal((await plane.call('DELETE', own)).status, 204, 'it goes once the agent is archived');
  t.equal((await plane.call<Agent>('GET', `/v1/agents/${agent}`)).body.auto_database_id, null);
  await plane.call('DELETE', `/v1/agents/${copy.body.id}`);
  await plane.call('DELETE', `/v1/agents/${copy.body.id}?purge=true`);
  t.equal(
    (await get(copy.body.auto_database_id!)).id,
    copy.body.auto_database_id,
    'a purged agent leaves its calls',
  );

  // As after a process that died between the agent and its database.
  await database.model(databaseCollection).deleteOne({ owner_agent_id: plain.body.id });
  await settled(await call(plain.body.id));
  const { body: healed } = await plane.call<Agent>('GET', `/v1/agents/${plain.body.id}`);
  t.equal((await rowsOf(healed.auto_database_id!)).total, 1);
});

void t.test('rows go with a person, and not with retention', async (t) => {
  const agent = await makeAgent({ privacy: { retention_days: 1 }, auto_database: false });
  const id = await makeDatabase([column('who', 'text'), column('number', 'phone')]);
  await attach(id, agent);
  const sessions: string[] = [];
  for (const name of ['bela', 'bela', 'carl']) {
    const session = await call(agent, name);
    await settled(session);
    sessions.push(session);
  }
  await add(id, { who: 'bela', number: '+14155550177' });
  await add(id, { who: 'dora', number: '+14155550188' });
  t.equal((await plane.call('DELETE', `/v1/sessions/${sessions[0]}`)).status, 204);
  t.equal((await rowsOf(id)).total, 4, 'an erased session takes its row along');

  const ended = { ended_at: new Date(clock.now() - 5 * 24 * 3_600_000) };
  await database.model(sessionCollection).updateMany({ _id: { $in: sessions } }, { $set: ended });
  await eventually(async () => {
    await retention.sweep(signal);
    const kept = await database.model(sessionCollection).findById(sessions[1]).lean();
    return kept!.erased_at !== null;
  });
  t.equal((await rowsOf(id)).total, 4, 'one whose time is over leaves it');
  const erase = (subject: string) =>
    plane.call<{ rows: number }>('POST', `${P}/erasures`, { body: { subject } });
  t.match((await erase('bela')).body, { rows: 1 });
  t.match((await erase('+14155550177')).body, { rows: 1 });
  t.same(
    (await rowsOf(id)).items.map(({ values }) => values['who']).sort(),
    ['dora', null],
    'and other people’s stay',
  );
  t.equal((await get(id)).row_count, 2);
});

void t.test('a deleted database takes its rows along, however many', async (t) => {
  const id = await makeDatabase([column('n', 'number')]);
  const { body: row } = await add(id, { n: 1 });
  const rows = database.model(databaseRowCollection);
  const stored = (await rows.findById(row.id).lean())!;
  await rows.collection.insertMany(
    Array.from({ length: 2600 }, (_, n) => ({ ...stored, _id: `dbr_copy_${n}` as never })),
  );
  t.equal((await plane.call('DELETE', `/v1/databases/${id}`)).status, 204);
  t.equal((await plane.call('GET', `/v1/databases/${id}/rows`)).status, 404);
  t.equal(await rows.countDocuments({ database_id: id }), 601, 'the request itself removes some');
  await plane.app.features.workers.find(({ name }) => name === 'rows of deleted databases')!.work(signal);
  t.equal(await rows.countDocuments({ database_id: id }), 0);
});

void t.test('a full database takes no further row', async (t) => {
  const id = await makeDatabase([column('n', 'number')]);
  await database.model(databaseCollection).updateOne({ _id: id }, { $set: { row_count: 999_999 } });
  t.equal((await add(id, { n: 1 })).status, 201);
  t.match(await add(id, { n: 2 }), { status: 409, body: { code: 'limit_reached' } });
  t.equal((await get(id)).row_count, 1_000_000);
});

void t.test('rows that a dying process left uncounted are counted later', async (t) => {
  const id = await makeDatabase([column('n', 'number')]);
  for (const n of [1, 2]) await add(id, { n });
  const ahead = new ManualClock(clock.now());
  const counts = new RowCounts({ database, clock: ahead });
  // It had taken room for five rows.
  await database.model(databaseCollection).updateOne({ _id: id }, { $inc: { row_count: 5 } });
  const countedAfter = async (ms: number) => {
    ahead.advance(ms);
    for (let round = 0; round < 3; round++) await counts.sweep(signal);
    return (await get(id)).row_count;
  };
  t.equal(await countedAfter(0), 7, 'it may still be writing them');
  t.equal(await countedAfter(660_000), 7);
  await add(id, { n: 3 });
  t.equal(await countedAfter(60_000), 8, 'somebody wrote meanwhile');
  t.equal(await countedAfter(60_000), 3);
  t.match(await add(id, { n: 4 }), { status: 201 });
  t.equal(await countedAfter(700_000), 4);
  const stored = await database.model(databaseCollection).findById(id).lean();
  t.equal(stored!.recount_at, undefined, 'and no more until something is written');
});
