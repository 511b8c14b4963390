import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { newId } from '@parley/shared/ids/new-id';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { agentTestResultCollection, agentTestRunCollection } from '../src/agent-tests/agent-test-model.ts';
import { toolCallCollection } from '../src/calls/tool-call-model.ts';
import { replayCollection } from '../src/replays/replay-model.ts';
import { ReplayRunner } from '../src/replays/replay-runner.ts';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

interface Refused {
  code?: string;
  detail: { loc: (string | number)[]; type: string }[];
}
interface Run {
  id: string;
  status: string;
  total: number;
  errored: number;
}
interface Result {
  id: string;
  status: string;
  error: string | null;
  session_id: string | null;
  checks: { id: string; passed: boolean; reason: string }[];
}
type AgentTest = Record<string, unknown> & { id: string };

const SCRIPT = { name: 'Price', type: 'scripted', turns: [{ caller: 'What does it cost?' }] };
const UNKNOWN_TOOL = 'tol_01k5z8r5m2q7v3x9b4n6c8d0ef';

let shared: Promise<TestControlPlane> | undefined;
let agents = 0;
t.teardown(async () => (await shared)?.[Symbol.asyncDispose]());

/** An agent of its own, in the control plane that these tests share unless they want theirs. */
async function bench(t: Test, own?: Parameters<typeof openTestControlPlane>[0]) {
  const cp = await (own ? openTestControlPlane(own) : (shared ??= openTestControlPlane()));
  if (own) t.teardown(() => cp[Symbol.asyncDispose]());
  const { org, project } = cp.first;
  const o = `/v1/orgs/${org._id}`;
  const p = `${o}/projects/${project._id}`;
  const make = async <T = { id: string }>(path: string, body: object): Promise<T> => {
    const answer = await cp.call<T>('POST', path, { body });
    if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const agent = () => make(`${p}/agents`, { name: `Agent ${++agents}` });
  const { id: agentId } = await agent();
  const tests = `/v1/agents/${agentId}/tests`;
  const runs = `/v1/agents/${agentId}/test-runs`;
  const results = async (runId: string) =>
    (await cp.call<{ items: Result[] }>('GET', `/v1/test-runs/${runId}/results`)).body.items;
  const over = (runId: string) =>
    eventually(async () => {
      const { body } = await cp.call<Run>('GET', `/v1/test-runs/${runId}`);
      return !['queued', 'running'].includes(body.status) && body;
    });
  const { database } = cp.app.services;
  return {
    cp,
    make,
    agent,
    agentId,
    o,
    tests,
    runs,
    results,
    over,
    runModel: database.model(agentTestRunCollection),
    resultModel: database.model(agentTestResultCollection),
  };
}

/** A run that another process has taken up. */
async function running({ cp, agentId, runModel, resultModel }: Awaited<ReturnType<typeof bench>>) {
  const tenant = { org_id: cp.first.org._id, project_id: cp.first.project._id, agent_id: agentId };
  const run = await new runModel({
    ...tenant,
    _id: newId('trn'),
    agent_version: 1,
    status: 'running',
    total: 2,
    created_by: 'cli',
    lease_owner: 'another process',
    lease_until: new Date(Date.now() + 60_000),
  }).save();
  for (const status of ['running', 'pending'])
    await new resultModel({
      ...tenant,
      _id: newId('trs'),
      test_run_id: run._id,
      test_id: newId('tst'),
      iteration: 1,
      content: '{}',
      status,
    }).save();
  return run._id;
}

void t.test('a replay that one process leaves behind is held by another, and not for ever', async (t) => {
  const { cp, agentId } = await bench(t);
  const { database } = cp.app.services;
  const model = database.model(replayCollection);
  const put = async (change: object) => {
    const of = {
      org_id: cp.first.org._id,
      project_id: cp.first.project._id,
      agent_id: agentId,
      agent_version: 1,
    };
    const times = { run_at: new Date(0), lease_until: new Date(0) };
    const replay = {
      ...of,
      ...times,
      _id: newId('rpl'),
      session_id: 'talk',
      status: 'queued',
      created_by: 'cli',
    };
    return (await new model({ ...replay, ...change }).save())._id;
  };
  const forgotten: string[] = [];
  const stop = new AbortController();
  type Deps = ConstructorParameters<typeof ReplayRunner>[0];
  type Hold = Deps['talks']['hold'];
  const runner = (hold: Hold) =>
    new ReplayRunner({
      ...{ database, toolCalls: toolCallCollection, clock: systemClock, logger: silentLogger() },
      store: { find: async () => ({ _id: 'talk', erased_at: null, variables: {} }) },
      agents: { version: async () => ({ config: { pre_call: {} } }), contentOf: async () => null },
      callLog: { turns: async () => [{ role: 'caller', text: 'Hello.' }] },
      talks: { hold, forget: async (id: string) => forgotten.push(id) },
    } as unknown as Deps);
  const stopped = await put({});
  await runner(async ({ onSession }) => {
    await onSession('half');
    stop.abort(new Error('stopping'));
    throw new Error('stopping');
  }).work(stop.signal);
  t.match(await model.findById(stopped).lean(), { status: 'queued', replay_session_id: 'half', failures: 0 });

  const died = await put({ status: 'running', attempts: 1 });
  const again = await put({ status: 'running', attempts: 3 });
  const held = await put({ status: 'running', lease_until: new Date(Date.now() + 60_000), attempts: 1 });
  const ofEarlierVersion = async (status: string, lease_until: Date | null) => {
    const id = await put({ status });
    const since = { run_at: 1, attempts: 1, failures: 1 };
    await model.collection.updateOne({ _id: id as never }, { $set: { lease_until }, $unset: since });
    return id;
  };
  const waiting = await ofEarlierVersion('queued', null);
  const lost = await ofEarlierVersion('running', new Date(0));
  const run = await ofEarlierVersion('running', new Date(Date.now() + 60_000));
  const done = await ofEarlierVersion('completed', null);
  await runner(async ({ onSession }) => {
    await onSession('whole');
    return { _id: 'whole' } as Awaited<ReturnType<Hold>>;
  }).work(new AbortController().signal);
  for (const id of [stopped, died, waiting, lost])
    t.match(await model.findById(id).lean(), {
      status: 'completed',
      replay_session_id: 'whole',
      run_at: null,
    });
  t.same(forgotten, ['half'], 'the half of a conversation goes');
  t.match(await model.findById(again).lean(), { status: 'failed', error: /stopped/ });
  t.match(await model.findById(held).lean(), { status: 'running', attempts: 1 }, 'another has it');
  t.match(await model.findById(run).lean(), { status: 'running' }, 'an earlier version has it');
  t.match(await model.findById(done).lean(), { status: 'completed', replay_session_id: null });
  await model.deleteMany({ session_id: 'talk' });
});

void t.test('a test is kept as sent, with the defaults filled in', async (t) => {
  const { cp, make, tests, o } = await bench(t);
  const tool = await make(`${o}/tools`, {
    name: 'price_of',
    description: 'Knows prices.',
    type: 'webhook',
    parameters: { type: 'object' },
    webhook: { url: 'https://example.com/' },
  });
  const created = await cp.call<AgentTest>('POST', tests, {
    body: {
      ...SCRIPT,
      turns: [
        {
          caller: 'What does it cost?',
          expect: [
            { kind: 'contains', text: '12' },
            { id: 'check_2', kind: 'tool_called', tool_id: tool.id, arguments: { $where: { 'a.b': 1 } } },
          ],
        },
      ],
      checks: [{ kind: 'ended_by', value: 'agent' }],
      tool_mocks: [{ tool_id: tool.id, match: { $set: 1 }, result: { price: 12 } }],
    },
  });
  t.equal(created.status, 201);
  const { id } = created.body;
  t.match(created.body, {
    name: 'Price',
    type: 'scripted',
    channel: 'text',
    persona: null,
    max_turns: 20,
    timeout_seconds: 300,
    variables: {},
    turns: [
      {
        expect: [{ id: 'check_1' }, { id: 'check_2', arguments: { $where: { 'a.b': 1 } } }],
      },
    ],
    checks: [{ id: 'check_3' }],
    tool_mocks: [{ function: null, match: { $set: 1 }, result: { price: 12 }, error: null }],
  });
  const ofNone = { ...SCRIPT, tool_mocks: [{ tool_id: tool.id, function: 'find' }] };
  t.match(await cp.call<Refused>('POST', tests, { body: ofNone }), {
    status: 422,
    body: { detail: [{ loc: ['body', 'tool_mocks', 0, 'function'] }] },
  });
  t.same((await cp.call('GET', `/v1/tests/${id}`)).body, created.body);
  t.match((await cp.call('GET', `${tests}?q=pri`)).body, { total: 1, items: [{ id }] });

  const patched = await cp.call('PATCH', `/v1/tests/${id}`, {
    body: { name: 'Cost', max_turns: 3, variables: { name: 'Asha', town: 'Pune' }, checks: [] },
  });
  t.match(patched.body, { name: 'Cost', max_turns: 3, checks: [], turns: [{ expect: [{}, {}] }] });
  const removed = await cp.call<AgentTest>('PATCH', `/v1/tests/${id}`, {
    body: { variables: { town: null } },
  });
  t.same(removed.body['variables'], { name: 'Asha' });

  const simulated = await make<AgentTest>(tests, {
    name: 'Caller',
    type: 'simulation',
    persona: { prompt: 'You are in a hurry.' },
  });
  t.match(simulated['persona'], { prompt: 'You are in a hurry.', language: 'en-US', llm_id: null });
  const german = await cp.call('PATCH', `/v1/tests/${simulated.id}`, {
    body: { persona: { language: 'de' } },
  });
  t.match(german.body, { persona: { prompt: 'You are in a hurry.', language: 'de' } });

  t.equal((await cp.call('DELETE', `/v1/tests/${id}`)).status, 204);
  t.equal((await cp.call('GET', `/v1/tests/${id}`)).status, 404);
});

void t.test('how soon an agent answers is checked where it answers aloud', async (t) => {
  const { cp, tests, agentId, make, runs, results, over } = await bench(t);
  const aloud = { ...SCRIPT, channel: 'voice', checks: [{ kind: 'max_latency_ms', value: 900 }] };
  const created = await cp.call<AgentTest>('POST', tests, { body: aloud });
  t.match(created, { status: 201, body: { channel: 'voice', checks: [{ value: 900 }] } });
  const test = `/v1/tests/${created.body.id}`;
  t.match((await cp.call<Refused>('PATCH', test, { body: { channel: 'text' } })).body.detail, [
    { loc: ['body', 'checks', 0, 'kind'], type: 'not_available' },
  ]);
  const written = await cp.call('PATCH', test, { body: { channel: null, checks: [] } });
  t.match(written, { status: 200, body: { channel: 'text' } });
  t.match((await cp.call('PATCH', test, { body: { channel: 'voice' } })).body, { channel: 'voice' });

  const german = await cp.call('PATCH', `/v1/agents/${agentId}`, {
    body: { config: { language: { primary: 'de' } } },
  });
  t.equal(german.status, 200, JSON.stringify(german.body));
  const run = await make<Run>(runs, {});
  await over(run.id);
  t.match(await results(run.id), [{ status: 'error', error: /listens for de/, session_id: null }]);
});

void t.test('what can not be tested is refused where it stands', async (t) => {
  const { cp, tests, runs, make, agent } = await bench(t);
  const persona = { prompt: 'You ask.' };
  const expecting = (check: object) => ({ ...SCRIPT, turns: [{ caller: 'Hello?', expect: [check] }] });
  const ending = (check: object) => ({ ...SCRIPT, checks: [check] });
  const CASES: [body: object, loc: (string | number)[], type: string][] = [
    [{ name: 'x', turns: SCRIPT.turns }, ['type'], 'missing'],
    [{ name: 'x', type: 'scripted' }, ['turns'], 'missing'],
    [{ name: 'x', type: 'simulation' }, ['persona'], 'missing'],
    [{ ...SCRIPT, persona }, ['persona'], 'extra_forbidden'],
    [{ ...SCRIPT, type: 'simulation', persona }, ['turns'], 'extra_forbidden'],
    [
      { name: 'x', type: 'simulation', channel: 'voice', persona: { ...persona, language: 'de' } },
      ['persona', 'language'],
      'not_available',
    ],
    [ending({ kind: 'max_latency_ms', value: 900 }), ['checks', 0, 'kind'], 'not_available'],
    [expecting({ kind: 'ended_by', value: 'agent' }), ['turns', 0, 'expect', 0, 'kind'], 'not_available'],
    [
      expecting({ kind: 'variable', name: 'a', op: 'exists' }),
      ['turns', 0, 'expect', 0, 'kind'],
      'not_available',
    ],
    [ending({ kind: 'variable', name: 'a', op: 'eq' }), ['checks', 0, 'value'], 'missing'],
    [ending({ kind: 'tool_called', tool_id: UNKNOWN_TOOL }), ['checks', 0, 'tool_id'], 'reference_not_found'],
    [
      { ...SCRIPT, tool_mocks: [{ tool_id: UNKNOWN_TOOL }] },
      ['tool_mocks', 0, 'tool_id'],
      'reference_not_found',
    ],
    [
      { name: 'x', type: 'simulation', persona: { ...persona, llm_id: 'llm_nothing' } },
      ['persona', 'llm_id'],
      'reference_not_found',
    ],
    [
      { ...SCRIPT, checks: [1, 2].map(() => ({ id: 'same', kind: 'contains', text: 'x' })) },
      ['checks', 1, 'id'],
      'duplicate',
    ],
    [
      { name: 'x', from_session_id: '01890000-0000-7000-8000-000000000000' },
      ['from_session_id'],
      'reference_not_found',
    ],
    [{ ...SCRIPT, from_session_id: '01890000-0000-7000-8000-000000000000' }, ['turns'], 'extra_forbidden'],
    [{ ...SCRIPT, timeout_seconds: 9 }, ['timeout_seconds'], 'greater_than_equal'],
    [
      {
        ...SCRIPT,
        turns: Array.from({ length: 100 }, () => ({ caller: 'ö'.repeat(4000) })),
      },
      [],
      'too_long',
    ],
  ];
  for (const [body, loc, type] of CASES) {
    const answer = await cp.call<Refused>('POST', tests, { body });
    t.equal(answer.status, 422, JSON.stringify(loc));
    t.match(answer.body.detail, [{ loc: ['body', ...loc], type }]);
  }
  const session = await make<{ session_id: string }>('/v1/sessions', {});
  const silent = { name: 'x', from_session_id: session.session_id };
  t.match((await cp.call<Refused>('POST', tests, { body: silent })).body.detail, [
    { loc: ['body', 'from_session_id'], type: 'value_error' },
  ]);

  const run = (body: object) => cp.call<Refused>('POST', runs, { body });
  t.match((await run({})).body.detail, [{ loc: ['body', 'test_ids'], type: 'too_short' }]);
  const { id } = await make(tests, SCRIPT);
  t.match((await run({ version: 2 })).body.detail, [
    { loc: ['body', 'version'], type: 'reference_not_found' },
  ]);
  const other = await agent();
  const theirs = await make(`/v1/agents/${other.id}/tests`, SCRIPT);
  t.match((await run({ test_ids: [id, theirs.id] })).body.detail, [
    { loc: ['body', 'test_ids', 1], type: 'reference_not_found' },
  ]);
  for (let n = 0; n < 50; n++) await make(tests, SCRIPT);
  t.match((await run({ iterations: 20 })).body.detail, [{ loc: ['body', 'iterations'], type: 'too_long' }]);
  await cp.call('DELETE', `/v1/agents/${other.id}`);
  const archived = await cp.call<Refused>('POST', `/v1/agents/${other.id}/test-runs`, { body: {} });
  t.match(archived, { status: 409, body: { code: 'invalid_state' } });
});

void t.test('without a gateway a test is an error that says so, and the run is over', async (t) => {
  const { cp, make, tests, runs, results, over } = await bench(t);
  await make(tests, SCRIPT);
  const run = await make<Run>(runs, { iterations: 2 });
  t.match(run, { status: 'queued', total: 2 });
  t.match(await over(run.id), { status: 'completed', errored: 2, passed: 0, failed: 0 });
  for (const result of await results(run.id)) {
    t.match(result, { status: 'error', error: /could not be reached/, checks: [] });
    const session = await cp.call<{ status: string }>('GET', `/v1/sessions/${result.session_id}`);
    t.equal(session.body.status, 'cancelled', 'its session waits for nobody');
  }
  t.match(await cp.call('POST', `/v1/test-runs/${run.id}/cancel`), {
    status: 409,
    body: { code: 'invalid_state' },
  });
  t.match((await cp.call('GET', `${runs}?status=completed`)).body, { total: 1 });
  t.match((await cp.call('GET', `${runs}?status=failed`)).body, { total: 0 });
});

void t.test('a variable that the agent needs and the test does not have is named', async (t) => {
  const { cp, make, agentId, tests, runs, results, over } = await bench(t);
  await cp.call('PATCH', `/v1/agents/${agentId}`, {
    body: { config: { variables: [{ name: 'order', required: true }] } },
  });
  await make(tests, SCRIPT);
  const run = await make<Run>(runs, {});
  await over(run.id);
  t.match(await results(run.id), [{ status: 'error', error: /order/ }]);
});

void t.test('one run of an org goes on at a time, and only so many wait', async (t) => {
  const setting = await bench(t, {});
  const { cp, make, tests, runs } = setting;
  await make(tests, SCRIPT);
  const theirs = await running(setting);
  const waiting = await make<Run>(runs, {});
  await cp.app.services.agentTestRunner.work();
  t.match((await cp.call('GET', `/v1/test-runs/${waiting.id}`)).body, { status: 'queued' });
  for (let n = 2; n < 50; n++) await make(runs, {});
  const refused = await cp.call<Refused>('POST', runs, { body: {} });
  t.match(refused, { status: 429, body: { code: 'queue_full' } });
  t.match(refused.headers.get('retry-after'), /^\d+$/);

  const cancelled = await cp.call('POST', `/v1/test-runs/${theirs}/cancel`);
  t.match(cancelled, { status: 200, body: { status: 'cancelled' } });
  t.same(
    (await setting.results(theirs)).map(({ status }) => status),
    ['cancelled', 'cancelled'],
  );
  await cp.app.services.agentTestRunner.work();
  t.match(await setting.over(waiting.id), { status: 'completed' }, 'the next one goes on');
});

void t.test('a run whose process is gone has failed', async (t) => {
  const clock = new ManualClock(Date.now());
  const setting = await bench(t, { clock });
  const { cp, results } = setting;
  const runId = await running(setting);
  const { agentTestRunner } = cp.app.services;
  await agentTestRunner.work();
  t.match((await cp.call('GET', `/v1/test-runs/${runId}`)).body, { status: 'running' }, 'not yet');
  clock.advance(120_000);
  await cp.atRest();
  await agentTestRunner.work();
  t.match((await cp.call('GET', `/v1/test-runs/${runId}`)).body, { status: 'failed', errored: 1 });
  t.same((await results(runId)).map(({ status, error }) => [status, error !== null]).sort(), [
    ['cancelled', false],
    ['error', true],
  ]);
});

void t.test('a run that two processes fail at once counts what both ended', async (t) => {
  const clock = new ManualClock(Date.now());
  const setting = await bench(t, { clock });
  const { cp, resultModel } = setting;
  const runId = await running(setting);
  // What the other has done so far.
  await resultModel.updateMany({ test_run_id: runId, status: 'running' }, { $set: { status: 'error' } });
  clock.advance(120_000);
  await cp.atRest();
  await cp.app.services.agentTestRunner.work();
  t.match((await cp.call('GET', `/v1/test-runs/${runId}`)).body, { status: 'failed', errored: 1 });
});

void t.test('a process that stops fails its run, and waits for no gateway', async (t) => {
  const gateway = createServer().listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const { port } = gateway.address() as AddressInfo;
  const { cp, make, tests, runs, results } = await bench(t, {
    env: { MEDIA_LOCAL_URL: `http://127.0.0.1:${port}` },
  });
  await make(tests, SCRIPT);
  const knocked = once(gateway, 'connection') as Promise<[Socket]>;
  const run = await make<Run>(runs, { iterations: 5 });
  const [socket] = await knocked;
  const [knock] = (await once(socket, 'data')) as [Buffer];
  t.match(knock.toString(), /^GET \/v1\/realtime HTTP[\s\S]*authorization: Bearer ek_/i);
  const { agentTestRunner } = cp.app.services;
  await agentTestRunner[Symbol.asyncDispose]();
  t.match((await cp.call('GET', `/v1/test-runs/${run.id}`)).body, { status: 'failed' });
  for (const result of await results(run.id)) {
    t.match(result.status, /^(error|cancelled)$/);
    if (result.session_id === null) continue;
    const session = await cp.call<{ status: string }>('GET', `/v1/sessions/${result.session_id}`);
    t.equal(session.body.status, 'cancelled');
  }
  await agentTestRunner[Symbol.asyncDispose]();
  await agentTestRunner.work();
  t.match((await cp.call('GET', `/v1/test-runs/${(await make<Run>(runs, {})).id}`)).body, {
    status: 'queued',
  });
  gateway.close();
});

void t.test('traffic may require that a version has passed all tests of a run', async (t) => {
  const { cp, agentId, runModel } = await bench(t);
  const traffic = (version: number, required = true) =>
    cp.call<Refused>('PUT', `/v1/agents/${agentId}/traffic`, {
      body: {
        mode: 'pinned',
        splits: [{ version, weight: 100 }],
        require_passed_tests: required,
      },
    });
  t.match(await traffic(1), { status: 409, body: { code: 'conflict' } });
  t.equal((await traffic(1, false)).status, 200);
  const { org, project } = cp.first;
  const run = (over: object) =>
    new runModel({
      _id: newId('trn'),
      org_id: org._id,
      project_id: project._id,
      agent_id: agentId,
      agent_version: 1,
      status: 'completed',
      total: 2,
      passed: 2,
      created_by: 'cli',
      ...over,
    }).save();
  await run({ passed: 1, failed: 1 });
  await run({ passed: 1, errored: 1 });
  await run({ status: 'cancelled' });
  await run({ agent_version: 2 });
  t.equal((await traffic(1)).status, 409, 'none of these is a passed run of version 1');
  await run({});
  t.match(await traffic(1), { status: 200, body: { require_passed_tests: true } });
});

void t.test('tests go with their agent, sessions stay', async (t) => {
  const setting = await bench(t);
  const { cp, make, agent, tests, runs, results, over, agentId } = setting;
  await make(tests, SCRIPT);
  const run = await make<Run>(runs, {});
  await over(run.id);
  const [result] = await results(run.id);
  const { id: otherId } = await agent();
  const other = await make(`/v1/agents/${otherId}/tests`, SCRIPT);
  await cp.call('DELETE', `/v1/agents/${agentId}`);
  t.equal((await cp.call('GET', `/v1/test-runs/${run.id}`)).status, 200, 'archived: still there');
  t.equal((await cp.call('DELETE', `/v1/agents/${agentId}?purge=true`)).status, 204);
  t.equal((await cp.call('GET', `/v1/test-runs/${run.id}`)).status, 404);
  t.equal(await setting.resultModel.countDocuments({ agent_id: agentId }), 0);
  t.equal((await cp.call('GET', `/v1/sessions/${result!.session_id}`)).status, 200);
  t.equal((await cp.call('GET', `/v1/tests/${other.id}`)).status, 200);
});

void t.test('an erased session takes what was quoted of it along', async (t) => {
  const { cp, make, tests, runs, results, over, resultModel } = await bench(t);
  await make(tests, SCRIPT);
  const run = await make<Run>(runs, {});
  await over(run.id);
  const [result] = await results(run.id);
  const checks = [{ id: 'a', passed: true, reason: 'The agent said: Hello Asha.' }];
  await resultModel.updateOne({ _id: result!.id }, { $set: { checks } });
  t.equal((await cp.call('DELETE', `/v1/sessions/${result!.session_id}`)).status, 204);
  t.match(await results(run.id), [{ checks: [{ id: 'a', passed: true, reason: '' }] }]);
});

void t.test('a call becomes a script: what its caller said, key presses aside', async (t) => {
  const { cp, make, agentId, tests } = await bench(t);
  const gateway = new TestGateway(cp);
  const session = await make<{ session_id: string; token: string }>('/v1/sessions', {
    agent_id: agentId,
    variables: { name: 'Asha' },
  });
  const { body: plan } = await gateway.redeem({ token: session.token });
  t.match(plan, { tool_mocks: [], text_only: false });
  await cp.bus.events.append([
    gateway.started(plan),
    gateway.turn(plan, 0, 'agent', 'Hello.'),
    gateway.turn(plan, 1, 'caller', 'What does it cost?'),
    gateway.turn(plan, 2, 'caller', '(keys) 12'),
    gateway.turn(plan, 3, 'caller', ' Thanks. '),
  ]);
  await eventually(async () => {
    const said = await cp.call<{ total: number }>('GET', `/v1/sessions/${session.session_id}/transcript`);
    return said.body.total === 4;
  });
  const test = await make<AgentTest>(tests, { name: 'Again', from_session_id: session.session_id });
  t.match(test, { type: 'scripted', variables: { name: 'Asha' } });
  t.same(test['turns'], [
    { caller: 'What does it cost?', expect: [] },
    { caller: 'Thanks.', expect: [] },
  ]);
  const elsewhere = await cp.makeTenant();
  const foreign = await cp.call<{ id: string }>(
    'POST',
    `/v1/orgs/${elsewhere.org._id}/projects/${elsewhere.project._id}/agents`,
    { token: elsewhere.apiKey, body: { name: 'Theirs' } },
  );
  const stolen = await cp.call<Refused>('POST', `/v1/agents/${foreign.body.id}/tests`, {
    token: elsewhere.apiKey,
    body: { name: 'Again', from_session_id: session.session_id },
  });
  t.match(stolen.body.detail, [{ type: 'reference_not_found' }]);
});
