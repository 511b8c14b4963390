import path from 'node:path';
import t, { type Test } from 'tap';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { RestError } from '../src/demonstration/rest-client.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { CommandProcess, ROOT } from './fixtures/system/parley-process.ts';
import { openTestPlatform, type TestPlatform } from './fixtures/system/test-platform.ts';

/** What the agent's model says, how the caller is played, and what a judge finds. */
const SCRIPT = parseScript({
  rules: [
    {
      when: { system: 'billing department', user: 'taken this call over' },
      reply: { text: 'This is billing.' },
    },
    {
      when: { system: 'billing department', user: 'invoice' },
      reply: { text: 'Your invoice is paid.' },
    },
    {
      when: { user: 'billing', tool: 'transfer_call' },
      reply: { tool_calls: [{ name: 'transfer_call', arguments: { destination_id: 'billing' } }] },
    },
    { when: { system: 'Ask the caller now for "people"' }, reply: { text: 'For how many?' } },
    { when: { system: 'Ask the caller now for "code"' }, reply: { text: 'And the code?' } },
    { when: { user: 'price' }, reply: { text: 'A pizza costs 12 euros.' } },
    {
      when: { user: { regex: 'order (?<order>\\w+)' }, tool: 'order_status' },
      reply: { tool_calls: [{ name: 'order_status', arguments: { order: '{{order}}', express: true } }] },
    },
    { when: { after_tool: 'order_status' }, reply: { text: 'It is {{tool.state}}.' } },
    {
      when: { user: 'bye', tool: 'end_call' },
      reply: { text: 'Goodbye.', tool_calls: [{ name: 'end_call', arguments: {} }] },
    },
    {
      when: { user: 'silently', tool: 'end_call' },
      reply: { tool_calls: [{ name: 'end_call', arguments: {} }] },
    },
    {
      when: { schema: 'verdict', system: 'names a price' },
      reply: { json: { passed: true, reason: '12 euros' } },
    },
    { when: { schema: 'verdict' }, reply: { json: { passed: false, reason: 'Nothing of the kind.' } } },
    {
      when: { schema: 'caller_line', user: 'Hello' },
      reply: { json: { say: 'What is the price?', hang_up: false } },
    },
    {
      when: { schema: 'caller_line', user: '12 euros' },
      reply: { json: { say: 'Too much for me.', hang_up: true } },
    },
  ],
  fallback: { text: 'Pardon?' },
});

interface Run {
  id: string;
  agent_version: number;
  status: string;
  total: number;
  passed: number;
  failed: number;
  errored: number;
}
interface Result {
  id: string;
  test_id: string;
  iteration: number;
  status: string;
  session_id: string | null;
  checks: { id: string; passed: boolean; reason: string }[];
  error: string | null;
}
interface Replay {
  id: string;
  status: string;
  error: string | null;
  version: number;
  replay_session_id: string | null;
  replies_changed: number | null;
  tools_changed: number | null;
  turns: { caller: string | null; before: object; after: object | null; reply_changed: boolean }[];
}
interface Page<T> {
  items: T[];
  total: number;
}

function owned<T extends AsyncDisposable>(t: Test, thing: T): T {
  t.teardown(() => thing[Symbol.asyncDispose]());
  return thing;
}

/** An agent with a tool, in a platform whose language model follows the script. */
async function bench(t: Test) {
  const openai = await openOpenAiEmulator({
    script: SCRIPT,
    delays: { firstToken: 1, tokensPerSecond: Infinity },
  });
  t.teardown(() => openai[Symbol.asyncDispose]());
  const platform = await openTestPlatform({
    env: { OPENAI_API_KEY: 'any', OPENAI_BASE_URL: `${openai.url}/v1` },
  });
  t.teardown(() => platform[Symbol.asyncDispose]());
  const { installation, receiver } = platform;
  const { rest } = installation;
  receiver.answer = () => ({ status: 200, body: { state: 'on its way' } });
  const tool = async (name: string) =>
    (
      await rest.post<{ id: string }>(`/v1/orgs/${installation.orgId}/tools`, {
        name,
        description: 'Tells where an order is.',
        type: 'webhook',
        parameters: { type: 'object', properties: { order: { type: 'string' } } },
        webhook: { url: `${receiver.origin}/orders`, method: 'POST' },
        response: { assign: [{ path: 'state', name: 'order_state' }] },
      })
    ).id;
  const toolId = await tool('order_status');
  const otherToolId = await tool('refund');
  const agentId = await installation.agent();
  for (const tool_id of [toolId, otherToolId]) await rest.post(`/v1/agents/${agentId}/tools`, { tool_id });
  return { platform, openai, agentId, toolId, otherToolId, ...api(platform, agentId) };
}

function api({ installation: { rest } }: TestPlatform, agentId: string) {
  const create = async (body: object) =>
    (await rest.post<{ id: string }>(`/v1/agents/${agentId}/tests`, { name: 'A test', ...body })).id;
  const start = (body: object) => rest.post<Run>(`/v1/agents/${agentId}/test-runs`, body);
  const results = async (run: Run) => (await rest.get<Page<Result>>(`/v1/test-runs/${run.id}/results`)).items;
  const over = (run: Run) =>
    eventually(`the end of ${run.id}`, async () => {
      const now = await rest.get<Run>(`/v1/test-runs/${run.id}`);
      return !['queued', 'running'].includes(now.status) && now;
    });
  /** Creates a test and runs it once. */
  const one = async (body: object) => {
    const testId = await create(body);
    const run = await over(await start({ test_ids: [testId] }));
    const [result] = await results(run);
    return { testId, run, result: result! };
  };
  return { rest, create, start, results, over, one };
}

/** Of a refusal; 0 for what was taken. */
const statusOf = (answer: Promise<unknown>) =>
  answer.then(
    () => 0,
    (error: unknown) => (error instanceof RestError ? error.status : -1),
  );

const said = (caller: string, ...expect: object[]) => ({ caller, expect });

void t.test('tests talk to an agent as callers do', async (t) => {
  const { platform, openai, agentId, toolId, otherToolId, rest, create, start, results, one } =
    await bench(t);
  const { installation, receiver } = platform;

  await t.test('a session is replayed against another version, and set beside what it was', async (t) => {
    const replayed = await installation.agent();
    await rest.post(`/v1/agents/${replayed}/tools`, { tool_id: toolId });
    const { result } = await api(platform, replayed).one({
      type: 'scripted',
      turns: [said('What is the price?'), said('Where is order B7?')],
    });
    const sessionId = result.session_id!;
    const asked = receiver.of('/orders').length;
    const forget = openai.teach(
      parseScript({
        rules: [{ when: { user: 'price', system: 'dearer' }, reply: { text: 'A pizza costs 14 euros.' } }],
      }).rules,
    );
    await rest.patch(`/v1/agents/${replayed}`, { system_prompt: 'You are dearer now.' });
    const replay = async (body: object) => {
      const { id } = await rest.post<{ id: string }>(`/v1/sessions/${sessionId}/replays`, body);
      return eventually('the end of a replay', async () => {
        const now = await rest.get<Replay>(`/v1/replays/${id}`);
        return !['queued', 'running'].includes(now.status) && now;
      });
    };
    const same = await replay({ version: 2 });
    t.match(same, { status: 'completed', error: null, version: 2, replies_changed: 0, tools_changed: 0 });
    const other = await replay({});
    const command = owned(
      t,
      new CommandProcess(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', path.join(ROOT, 'embedded/src/replay.ts'), sessionId],
        { PARLEY_URL: platform.platform.localUrl, PARLEY_API_KEY: installation.apiKey },
      ),
    );
    t.match(await command.exited, { code: 1 }, 'something has changed');
    t.match(
      command.stdout,
      /caller: What is the price\?\n- agent: A pizza costs 12 euros\.\n\+ agent: A pizza costs 14/,
    );
    forget();
    t.match(other, { status: 'completed', version: 3, replies_changed: 1, tools_changed: 0 });
    t.match(
      other.turns.filter(({ caller }) => caller !== null),
      [
        {
          caller: 'What is the price?',
          before: { text: 'A pizza costs 12 euros.', tools: [] },
          after: { text: 'A pizza costs 14 euros.', tools: [] },
          reply_changed: true,
        },
        {
          caller: 'Where is order B7?',
          before: { text: 'It is on its way.', tools: [{ name: 'order_status', ok: true }] },
          after: { text: 'It is on its way.', tools: [{ name: 'order_status', ok: true }] },
          reply_changed: false,
          tools_changed: false,
        },
      ],
    );
    t.equal(receiver.of('/orders').length, asked, 'no tool was asked again');
    const list = await rest.get<Page<Replay>>(`/v1/sessions/${sessionId}/replays`);
    t.match(list, { total: 3, items: [{ version: 3 }, { version: 3, replies_changed: 1 }, { version: 2 }] });
    t.notOk('turns' in list.items[0]!);
    t.equal(await statusOf(rest.post(`/v1/sessions/${sessionId}/replays`, { version: 9 })), 422);

    await rest.delete(`/v1/sessions/${sessionId}`);
    t.equal(await statusOf(rest.get(`/v1/replays/${other.id}`)), 404, 'it is erased with its session');
    const again = await rest.get<Page<object>>(`/v1/sessions/${other.replay_session_id}/transcript`);
    t.same(again.items, [], 'and so is what was said in it');
    t.equal(await statusOf(rest.post(`/v1/sessions/${sessionId}/replays`, {})), 409);
  });

  await t.test('a guardrail has the emulated model judge what it is about to say', async (t) => {
    const guarded = await installation.agent();
    const forget = openai.teach(
      parseScript({
        rules: [
          { when: { system: 'about to say', user: 'euros' }, reply: { text: '2' } },
          { when: { system: 'about to say' }, reply: { text: '0' } },
        ],
      }).rules,
    );
    const talk = async (guardrails: object) => {
      await rest.patch(`/v1/agents/${guarded}`, { config: { guardrails } });
      const { result } = await api(platform, guarded).one({
        type: 'scripted',
        turns: [said('What is the price?')],
      });
      const transcript = await rest.get<Page<{ role: string; text: string }>>(
        `/v1/sessions/${result.session_id}/transcript`,
      );
      const events = await rest.get<Page<{ type: string; data: object }>>(
        `/v1/sessions/${result.session_id}/events?type=guardrail`,
      );
      return [transcript.items.at(-1)?.text, ...events.items.map(({ data }) => data)];
    };
    const refusal = 'We do not talk about money.';
    // One that is late is refused here as well: a busy machine does not make this another test.
    const guardrails = { blocked_topics: ['politics', 'money'], refusal, undecided: 'refuse' };
    t.match(await talk(guardrails), [refusal, { rule: 'blocked_topics', verdict: 'refused' }]);
    t.same(await talk({ blocked_topics: [] }), ['A pizza costs 12 euros.']);
    forget();
  });

  await t.test('a script whose checks all hold passes, and its calls are those of the engine', async (t) => {
    await installation.webhook(agentId, `${receiver.origin}/ended`);
    const { run, result } = await one({
      type: 'scripted',
      turns: [
        said('What is the price?', { id: 'price', kind: 'contains', text: '12  EUROS' }),
        said(
          'Where is order A1?',
          { id: 'asked', kind: 'tool_called', tool_id: toolId, arguments: { order: 'A1' } },
          { id: 'no_price', kind: 'not_contains', text: 'euros' },
          { id: 'told', kind: 'contains', text: 'on its way' },
        ),
        said('Thank you, bye.', { id: 'no_tool', kind: 'tool_not_called', tool_id: toolId }),
      ],
      checks: [
        { id: 'greeted', kind: 'contains', text: 'Hello.' },
        { id: 'state', kind: 'variable', name: 'order_state', op: 'eq', value: 'on its way' },
        { id: 'ended', kind: 'ended_by', value: 'agent' },
        { id: 'priced', kind: 'judge', criterion: 'The agent names a price.' },
      ],
    });
    t.same(
      result.checks.filter(({ passed }) => !passed),
      [],
    );
    t.match(run, { status: 'completed', total: 1, passed: 1, failed: 0, errored: 0 });
    t.match(result, { status: 'passed', error: null });
    t.equal(receiver.of('/orders', '"order":"A1"').length, 1, 'the tool was really called');

    const transcript = await installation.transcript(result.session_id!);
    t.same(
      transcript.map(({ role, text }) => `${role}: ${text}`),
      [
        'agent: Hello.',
        'caller: What is the price?',
        'agent: A pizza costs 12 euros.',
        'caller: Where is order A1?',
        'agent: It is on its way.',
        'caller: Thank you, bye.',
        'agent: Goodbye.',
      ],
    );
    const session = await rest.get<Record<string, unknown>>(`/v1/sessions/${result.session_id}`);
    t.match(session, {
      transport: 'text',
      status: 'ended',
      ended_by: 'agent',
      detail: { test_run_id: run.id, post_call: { status: 'skipped' }, recording_id: null },
    });
    t.same((await installation.deliveries(agentId)).items, [], 'nobody is told');
    const { deepgram, elevenlabs } = platform.platform.emulators;
    t.equal(deepgram!.stats.connections, 0, 'nothing is heard');
    t.equal(elevenlabs!.stats.utterances, 0, 'nothing is spoken');
    const listed = `${installation.projectPath}/sessions`;
    t.equal((await rest.get<Page<unknown>>(listed)).total, 0, 'it is in no list of sessions');
    t.equal((await rest.get<Page<unknown>>(`${listed}?test_run_id=${run.id}`)).total, 1);
  });

  await t.test('each kind of check fails where it does not hold', async (t) => {
    const failing = [
      { id: 'contains', kind: 'contains', text: '13 euros' },
      { id: 'not_contains', kind: 'not_contains', text: '12 euros' },
      { id: 'tool_called', kind: 'tool_called', tool_id: otherToolId },
      { id: 'arguments', kind: 'tool_called', tool_id: toolId, arguments: { order: 'B2' } },
      { id: 'tool_not_called', kind: 'tool_not_called', tool_id: toolId },
      { id: 'judge', kind: 'judge', criterion: 'The agent sings.' },
    ];
    const atTheEnd = [
      { id: 'variable', kind: 'variable', name: 'order_state', op: 'exists' },
      { id: 'ended_by', kind: 'ended_by', value: 'agent' },
    ];
    receiver.answer = () => ({ status: 200, body: {} });
    const { run, result } = await one({
      type: 'scripted',
      turns: [
        said('What is the price?', { id: 'in_turn', kind: 'tool_called', tool_id: toolId }),
        said('Where is order A1?', { id: 'of_another_turn', kind: 'contains', text: '12 euros' }),
      ],
      checks: [...failing, ...atTheEnd, { id: 'holds', kind: 'contains', text: 'pizza' }],
    });
    receiver.answer = () => ({ status: 200, body: { state: 'on its way' } });
    t.match(run, { status: 'completed', passed: 0, failed: 1 });
    t.equal(result.status, 'failed');
    t.same(
      result.checks.map(({ id, passed }) => [id, passed]),
      [
        ...[
          'in_turn',
          'of_another_turn',
          ...failing.map(({ id }) => id),
          ...atTheEnd.map(({ id }) => id),
        ].map((id) => [id, false]),
        ['holds', true],
      ],
    );
    for (const { id, reason } of result.checks) t.match(reason, /\S/, `${id} says why`);
  });

  await t.test('a mocked tool is answered, not called', async (t) => {
    const before = receiver.received.length;
    const mock = { tool_id: toolId, match: { order: 'A1' }, result: { state: 'lost' } };
    const turns = [said('Where is order A1?', { id: 'lost', kind: 'contains', text: 'It is lost.' })];
    const state = { id: 'state', kind: 'variable', name: 'order_state', op: 'eq', value: 'lost' };
    const { result } = await one({ type: 'scripted', turns, checks: [state], tool_mocks: [mock] });
    t.match(result, { status: 'passed', error: null });

    const failed = await one({
      type: 'scripted',
      turns: [said('Where is order B2?')],
      tool_mocks: [mock],
    });
    t.match(failed.result, { status: 'failed', error: /No mock of the tool order_status/ });
    t.equal(receiver.received.length, before, 'nobody was called');
  });

  await t.test('a script that the agent does not hear to its end fails', async (t) => {
    const { result } = await one({
      type: 'scripted',
      turns: [
        said('Hang up silently.'),
        said('Are you there?', { id: 'there', kind: 'contains', text: 'yes' }),
      ],
    });
    t.match(result, { status: 'failed', error: /before turn 2/, checks: [{ id: 'there', passed: false }] });
  });

  await t.test('a goodbye that the agent says when it hangs up belongs to the answer', async (t) => {
    const polite = await installation.agent({ config: { end_call: { message: 'Until next time.' } } });
    const { result } = await api(platform, polite).one({
      type: 'scripted',
      turns: [said('Hang up silently.', { id: 'bye', kind: 'contains', text: 'Until next time.' })],
      checks: [{ id: 'ended', kind: 'ended_by', value: 'agent' }],
    });
    t.match(result, { status: 'passed', error: null }, JSON.stringify(result));
  });

  await t.test('another agent takes the conversation over, and goes on with it', async (t) => {
    const billing = await installation.agent({ system_prompt: 'You are the billing department.' });
    const target = { type: 'agent', agent_id: billing };
    const desk = await installation.agent({
      config: { transfer: { destinations: [{ id: 'billing', target }] } },
    });
    const { result } = await api(platform, desk).one({
      type: 'scripted',
      turns: [
        said('The billing department please.', { id: 'there', kind: 'contains', text: 'This is billing.' }),
        said('What of my invoice?', { id: 'paid', kind: 'contains', text: 'Your invoice is paid.' }),
      ],
    });
    t.match(result, { status: 'passed', error: null }, JSON.stringify(result));
    const transcript = await installation.transcript(result.session_id!);
    t.match(
      transcript.map(({ text }) => text),
      [/Hello/, /billing department/, 'This is billing.', /invoice/, 'Your invoice is paid.'],
    );
    const session = await rest.get<{ agent_id: string; detail: { agents: object[] } }>(
      `/v1/sessions/${result.session_id}`,
    );
    t.equal(session.agent_id, desk);
    t.match(session.detail.agents, [
      { agent_id: desk, from_index: 0 },
      { agent_id: billing, version: 1, from_index: 2 },
    ]);
    const events = await rest.get<Page<{ data: object }>>(
      `/v1/sessions/${result.session_id}/events?type=handover`,
    );
    t.match(events.items, [{ data: { phase: 'begun' } }, { data: { phase: 'done', version: 1 } }]);
  });

  await t.test('a flow collects what the caller of a test writes', async (t) => {
    const desk = await installation.agent({
      flow_definition: {
        start_node_id: 'ask',
        nodes: [
          {
            id: 'ask',
            type: 'collect',
            fields: [
              { name: 'people', type: 'number' },
              { name: 'code', type: 'digits', confirm: true },
            ],
          },
          { id: 'bye', type: 'end', message: 'A table for {{people}}.' },
          { id: 'sorry', type: 'end' },
        ],
        edges: [
          { id: 'failed', from: 'ask', to: 'sorry', condition: { type: 'error' }, priority: 1 },
          { id: 'all', from: 'ask', to: 'bye', condition: { type: 'always' } },
        ],
      },
    });
    const { result } = await api(platform, desk).one({
      type: 'scripted',
      turns: [
        said('For four people.', { id: 'asks', kind: 'contains', text: 'And the code?' }),
        said('four one five', { id: 'repeats', kind: 'contains', text: '4 1 5' }),
        said('Yes, that is right.', { id: 'ends', kind: 'contains', text: 'A table for 4.' }),
      ],
      checks: [
        { id: 'people', kind: 'variable', name: 'people', op: 'eq', value: '4' },
        { id: 'code', kind: 'variable', name: 'code', op: 'eq', value: '415' },
        { id: 'done', kind: 'node_reached', node_id: 'bye' },
        { id: 'ended', kind: 'ended_by', value: 'agent' },
      ],
    });
    t.match(result, { status: 'passed', error: null }, JSON.stringify(result));
  });

  await t.test('a model plays the caller until it hangs up', async (t) => {
    const { result } = await one({
      type: 'simulation',
      persona: { prompt: 'You want a cheap pizza.' },
      checks: [
        { id: 'priced', kind: 'judge', criterion: 'The agent names a price.' },
        { id: 'ended', kind: 'ended_by', value: 'caller' },
      ],
    });
    t.match(result, { status: 'passed', error: null }, JSON.stringify(result));
    const turns = await installation.transcript(result.session_id!);
    t.same(
      turns.filter(({ role }) => role === 'caller').map(({ text }) => text),
      ['What is the price?', 'Too much for me.'],
    );
    const short = await one({ type: 'simulation', persona: { prompt: 'You ask.' }, max_turns: 1 });
    const said = await installation.transcript(short.result.session_id!);
    t.equal(said.filter(({ role }) => role === 'caller').length, 1, 'no more turns than allowed');
  });

  await t.test('who plays the caller and says nothing has tested nothing', async (t) => {
    const silent = await installation.agent({ greeting: '' });
    const { result } = await api(platform, silent).one({
      type: 'simulation',
      persona: { prompt: 'You are silent.' },
    });
    t.match(result, { status: 'error', error: /caller_said_nothing/ });
  });

  await t.test('a provider that fails is an error, and says so', async (t) => {
    openai.setFaults([{ kind: 'refuse', status: 401 }]);
    const { run, result } = await one({ type: 'scripted', turns: [said('What is the price?')] });
    openai.setFaults([]);
    t.match(run, { status: 'completed', passed: 0, failed: 0, errored: 1 });
    t.match(result, { status: 'error', error: /llm_error/, checks: [] });
  });

  await t.test('a run that is cancelled hangs up', async (t) => {
    openai.setFaults([{ kind: 'stall' }]);
    const testId = await create({ type: 'scripted', turns: [said('What is the price?')] });
    const run = await start({ test_ids: [testId], iterations: 5 });
    const talking = await eventually('a conversation', async () => {
      for (const { session_id: id } of await results(run))
        if (id !== null && (await installation.session(id)).status === 'in_progress') return id;
      return undefined;
    });
    t.match(await rest.post(`/v1/test-runs/${run.id}/cancel`, {}), { status: 'cancelled' });
    openai.setFaults([]);
    t.match(await installation.ended(talking), { ended_by: 'caller' });
    t.same(new Set((await results(run)).map(({ status }) => status)), new Set(['cancelled']));
    t.equal(await statusOf(rest.post(`/v1/test-runs/${run.id}/cancel`, {})), 409, 'it is over');
    const next = await one({ type: 'scripted', turns: [said('What is the price?')] });
    t.equal(next.result.status, 'passed', 'the next run goes on');
  });

  await t.test('a run has every test as often as asked for, against the version asked for', async (t) => {
    const own = await installation.agent();
    const { create, start, over, results } = api(platform, own);
    const ids = [
      await create({ type: 'scripted', turns: [said('What is the price?')] }),
      await create({ type: 'scripted', turns: [said('Hello?')] }),
    ];
    await rest.patch(`/v1/agents/${own}`, { greeting: 'Good evening.' });
    const run = await over(await start({ version: 1, iterations: 3 }));
    t.match(run, { agent_version: 1, status: 'completed', total: 6, passed: 6 });
    const all = await results(run);
    const inOrder = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    t.same(
      inOrder.map(({ iteration }) => iteration),
      [1, 1, 2, 2, 3, 3],
      'all tests once, then all of them again',
    );
    t.same(
      new Set(all.map(({ test_id, iteration }) => `${test_id} ${iteration}`)),
      new Set(ids.flatMap((id) => [1, 2, 3].map((iteration) => `${id} ${iteration}`))),
    );
    const [first] = await installation.transcript(all[0]!.session_id!);
    t.match(first, { role: 'agent', text: 'Hello.' }, 'the greeting of version 1');
    const pinned = (version: number) =>
      rest.put(`/v1/agents/${own}/traffic`, {
        mode: 'pinned',
        splits: [{ version, weight: 100 }],
        require_passed_tests: true,
      });
    await pinned(1);
    t.equal(await statusOf(pinned(2)), 409, 'version 2 has passed nothing');
  });

  await t.test('a call becomes a script', async (t) => {
    const { result } = await one({
      type: 'scripted',
      turns: [said('What is the price?'), said('Thank you, bye.')],
      variables: { name: 'Asha' },
    });
    const test = await rest.post<Record<string, unknown>>(`/v1/agents/${agentId}/tests`, {
      name: 'Again',
      from_session_id: result.session_id,
    });
    t.match(test, {
      type: 'scripted',
      variables: { name: 'Asha' },
      turns: [
        { caller: 'What is the price?', expect: [] },
        { caller: 'Thank you, bye.', expect: [] },
      ],
    });
  });

  await t.test('a caller who speaks is heard, and answered aloud', async (t) => {
    const lines = ['What is the price?', 'Thank you, bye.'];
    const { deepgram, elevenlabs } = platform.platform.emulators;
    await deepgram!.teach(lines);
    const latency = (id: string, value: number) => ({ id, kind: 'max_latency_ms', value });
    const { result } = await one({
      type: 'scripted',
      channel: 'voice',
      turns: [
        said(lines[0]!, { id: 'price', kind: 'contains', text: '12 euros' }, latency('soon', 60_000)),
        said(lines[1]!, { id: 'of_another_turn', kind: 'contains', text: '12 euros' }),
      ],
      checks: [latency('at_once', 1), { id: 'ended', kind: 'ended_by', value: 'agent' }],
    });
    t.match(result, { status: 'failed', error: null }, JSON.stringify(result));
    t.same(
      result.checks.filter(({ passed }) => passed).map(({ id }) => id),
      ['price', 'soon', 'ended'],
    );
    t.match(result.checks.find(({ id }) => id === 'at_once')!.reason, /took \d+ ms, in turn [12]\./);
    t.match(
      (await installation.transcript(result.session_id!)).map(({ role, text }) => `${role}: ${text}`),
      [
        'agent: Hello.',
        `caller: ${lines[0]}`,
        'agent: A pizza costs 12 euros.',
        `caller: ${lines[1]}`,
        'agent: Goodbye.',
      ],
      'the agent heard what was said',
    );
    t.match(await rest.get(`/v1/sessions/${result.session_id}`), { transport: 'websocket', status: 'ended' });
    t.ok(deepgram!.stats.connections > 0 && elevenlabs!.stats.utterances > 0);
  });
});
