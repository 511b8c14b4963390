import t from 'tap';
import { planToolMockSchema, planToolSchema } from '@parley/shared/contracts/session-plan';
import type { ToolCall, ToolRunner } from '@parley/shared/tools/tool-runner';
import { MockedTools } from './mocked-tools.ts';

const tool = (id: string, response: object = {}) =>
  planToolSchema.parse({
    tool_id: id,
    name: id,
    description: '',
    parameters: {},
    type: 'webhook',
    webhook: { url: 'https://example.com/', method: 'POST', headers: {} },
    response,
  });

const call = (args: unknown): ToolCall => ({
  toolCallId: 'call_1',
  arguments: args,
  orgId: 'org_1',
  session: {
    session_id: 's1',
    agent_id: 'agt_1',
    channel: 'web',
    direction: 'web',
    from_number: null,
    to_number: null,
    variables: {},
  },
});

const real: ToolRunner = {
  run: ({ name }) => Promise.resolve({ ok: true, content: `${name} ran`, assigned: {}, durationMs: 1 }),
};

function run(mocks: object[], args: unknown, response: object = {}) {
  const tools = new MockedTools(
    mocks.map((mock) => planToolMockSchema.parse(mock)),
    real,
  );
  return tools.run(tool('tol_a', response), call(args), AbortSignal.timeout(1000));
}

void t.test('the first mock whose match the arguments hold answers', async (t) => {
  const mocks = [
    { tool_id: 'tol_b', result: 'of another' },
    { tool_id: 'tol_a', match: { order: 'A1' }, result: { status: 'sent' } },
    { tool_id: 'tol_a', match: {}, result: 'unknown order' },
  ];
  t.match(await run(mocks, { order: 'A1', more: true }), { ok: true, content: '{"status":"sent"}' });
  t.match(await run(mocks, '{"order":"A1"}'), { content: '{"status":"sent"}' }, 'arguments as text');
  t.match(await run(mocks, { order: 'B2' }), { ok: true, content: 'unknown order' });
});

void t.test('an answer is cut and assigned as the tool’s own would be', async (t) => {
  const mocks = [{ tool_id: 'tol_a', result: { order: { state: 'x'.repeat(200) } } }];
  const response = { max_characters: 100, assign: [{ path: 'order.state', name: 'state' }] };
  const outcome = await run(mocks, {}, response);
  t.equal(outcome.content.length, 100);
  t.equal(outcome.assigned['state'], 'x'.repeat(200));
});

void t.test('a mock may fail, and arguments that no mock has an answer to do', async (t) => {
  const failing = [{ tool_id: 'tol_a', error: 'The warehouse is closed.' }];
  t.match(await run(failing, {}), { ok: false, code: 'mocked_error', content: 'The warehouse is closed.' });
  const narrow = [{ tool_id: 'tol_a', match: { order: 'A1' }, result: 1 }];
  t.match(await run(narrow, { order: 'B2' }), { ok: false, code: 'no_mock_matched' });
  t.match(await run(narrow, 'no json'), { ok: false, code: 'no_mock_matched' });
});

void t.test('a mock of one function leaves the others of its tool alone', async (t) => {
  const mocks = [
    { tool_id: 'tol_a', function: 'find', match: { order: 'A1' }, result: 'found' },
    { tool_id: 'tol_a', function: 'move', error: 'Not today.' },
  ].map((mock) => planToolMockSchema.parse(mock));
  const called = (name: string | undefined, more: typeof mocks = []) =>
    new MockedTools([...mocks, ...more], real).run(
      { ...tool('tol_a'), ...(name !== undefined && { function: name }) },
      call({ order: 'A1' }),
      AbortSignal.timeout(1000),
    );
  t.match(await called('find'), { ok: true, content: 'found' });
  t.match(await called('move'), { ok: false, code: 'mocked_error', content: 'Not today.' });
  t.match(await called('list'), { ok: true, content: 'tol_a ran' }, 'it has none');
  t.match(await called(undefined), { ok: true, content: 'tol_a ran' }, 'nor has a tool without functions');
  const all = [planToolMockSchema.parse({ tool_id: 'tol_a', result: 'of all' })];
  t.match(await called('list', all), { ok: true, content: 'of all' });
  t.match(await called('find', all), { ok: true, content: 'found' }, 'the first that fits answers');
});

void t.test('tools without a mock run', async (t) => {
  t.match(await run([{ tool_id: 'tol_b', result: 1 }], {}), { ok: true, content: 'tol_a ran' });
});
