import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { AgentTools } from './agent-tools.ts';
import { webhookTool, wirePlan } from './fakes.ts';
import { FlowTools } from './flow-tools.ts';
import { RunningTools } from './running-tools.ts';
import { toolCallKey, ToolGuard } from './tool-guard.ts';
import { ToolLog, type Outcome } from './tool-log.ts';

/** The tools of a flow: `find_table`, with parameters of each type. */
function scene(outcome: Outcome = { ok: true, content: 'found' }) {
  const clock = new ManualClock();
  const told: [type: string, data: Record<string, unknown>][] = [];
  const took: number[] = [];
  const ran: unknown[] = [];
  const plan = wirePlan((plan) => {
    plan.tools = [
      webhookTool({
        parameters: {
          type: 'object',
          properties: {
            n: { type: 'number' },
            i: { type: 'integer' },
            b: { type: 'boolean' },
            s: { type: 'string' },
          },
        },
      }),
    ];
  });
  const log = new ToolLog({
    byName: new Map(plan.tools.map((tool) => [tool.name, tool])),
    events: { emitTool: (type, data) => void told.push([type, data]), toolTook: (ms) => void took.push(ms) },
    clock,
  });
  const running = new RunningTools();
  const tools = new FlowTools({
    plan,
    agent: {
      run: (tool: { name: string }, _id: string, args: unknown) => {
        ran.push([tool.name, args, running.any]);
        clock.advance(30);
        return Promise.resolve(outcome);
      },
    } as unknown as AgentTools,
    log,
    running,
  });
  const types = () =>
    told.map(([type, data]) => `${type}${data['answer'] ? ` ${data['answer'] as string}` : ''}`);
  return { tools, told, took, ran, running, types, log, clock };
}

void t.test('a tool of a flow runs once, with what it wants, and is told of', async (t) => {
  const { tools, told, took, ran, running, types } = scene();
  const given = { n: '12.5', i: '7', b: 'true', s: '5', other: '9', kept: 3 };
  t.match(await tools.run('tol_1', given), { name: 'find_table', ok: true, content: 'found' });
  t.same(ran, [['find_table', { n: 12.5, i: 7, b: true, s: '5', other: '9', kept: 3 }, true]]);
  t.notOk(running.any);
  t.same(types(), ['tool_started', 'tool_finished']);
  t.match(told[0]![1], { tool_id: 'tol_1', name: 'find_table', kind: 'webhook' });
  t.match(told[0]![1]['tool_call_id'], /^flow_/);
  t.match(told[1]![1], { ok: true, outcome: 'succeeded', duration_ms: 30, result: 'found' });
  t.same(took, [30]);
  t.match(await tools.run('tol_x', {}), { name: 'unknown', ok: false, code: 'unknown_tool' });
  t.equal(ran.length, 1);
});

void t.test('what is no number, or no truth value, stays a text', async (t) => {
  const { tools, ran } = scene();
  const args = async (given: object) => {
    await tools.run('tol_1', { ...given });
    return (ran.at(-1) as unknown[])[1];
  };
  for (const given of [
    { n: '' },
    { n: ' ' },
    { n: 'many' },
    { n: 'Infinity' },
    { b: 'yes' },
    { b: '' },
    { s: 'true' },
  ])
    t.same(await args(given), given);
  t.same(await args({ b: 'false', n: ' 5 ' }), { b: false, n: 5 });
  t.same(await args({ n: null, b: 1 }), { n: null, b: 1 });
});

void t.test('a tool that needs a yes is told of once, and run or left', async (t) => {
  const { tools, types, ran } = scene();
  tools.answered('yes');
  t.same(types(), [], 'nothing was asked');
  t.equal(tools.ask('tol_1', {})?.name, 'find_table');
  tools.answered('unclear');
  tools.ask('tol_1', {});
  tools.answered('yes');
  await tools.run('tol_1', {});
  t.same(types(), [
    ...['tool_started', 'tool_confirmation asked', 'tool_confirmation unclear', 'tool_confirmation asked'],
    ...['tool_confirmation yes', 'tool_finished'],
  ]);
  t.equal(ran.length, 1);
  t.equal(tools.ask('tol_x', {}), undefined);
});

void t.test('a no, no clear yes, and the end of the call leave it undone', (t) => {
  for (const [answer, told, outcome] of [
    ['no', 'no', 'declined'],
    ['unconfirmed', 'unclear', 'unconfirmed'],
  ] as const) {
    const one = scene();
    one.tools.ask('tol_1', {});
    one.tools.answered(answer);
    t.same(one.types().slice(2), [`tool_confirmation ${told}`, 'tool_finished']);
    t.match(one.told.at(-1)![1], { ok: false, outcome, code: outcome });
    one.tools.close();
    t.equal(one.told.length, 4, 'it is over');
  }
  const cut = scene();
  cut.tools.close();
  t.same(cut.told, []);
  cut.tools.ask('tol_1', {});
  cut.tools.close();
  t.match(cut.told.at(-1)![1], { ok: false, outcome: 'cancelled', code: 'call_ended' });
  t.end();
});

void t.test('how a tool call ended is told in a word, within bounds', (t) => {
  const { log, told } = scene();
  const call = { id: 'c1', name: 'find_table', arguments: 'x'.repeat(3000) };
  const run = log.started(call);
  t.equal((told[0]![1]['arguments'] as string).length, 2000);
  const outcomes: [code: string | undefined, outcome: string][] = [
    ['timeout', 'timed_out'],
    ['declined', 'declined'],
    ['unconfirmed', 'unconfirmed'],
    ['call_ended', 'cancelled'],
    ['transferred', 'cancelled'],
    ['superseded', 'cancelled'],
    ['confirmation_pending', 'refused'],
    ['invalid_arguments', 'refused'],
    ['repeated_failure', 'refused'],
    ['rate_limited', 'refused'],
    ['too_many_running', 'refused'],
    ['unknown_tool', 'refused'],
    ['unsupported', 'refused'],
    ['http_error', 'failed'],
    [undefined, 'failed'],
  ];
  for (const [code, outcome] of outcomes) {
    log.finished(run, { ok: false, content: 'r'.repeat(3000), code, status: 500 });
    const data = told.at(-1)![1];
    t.match(data, { ok: false, outcome, status: 500 });
    t.equal('code' in data, code !== undefined);
    t.equal((data['result'] as string).length, 2000);
  }
  log.finished(run, { ok: true, content: '' });
  t.notOk('status' in told.at(-1)![1]);
  log.started({ ...call, name: 'end_call' });
  t.match(told.at(-1)![1], { kind: 'built_in', tool_id: null });
  log.started({ ...call, name: 'invented' });
  t.match(told.at(-1)![1], { kind: 'unknown', tool_id: null });
  log.started(call, true);
  t.match(told.at(-1)![1], { kind: 'client', tool_id: null });
  t.end();
});

void t.test(
  'a call that fails three times in the same way is refused, and given up at the third refusal',
  (t) => {
    const guard = new ToolGuard();
    t.equal(guard.refuse('a'), undefined);
    guard.failed('a', 'x');
    guard.failed('a', 'x');
    t.equal(guard.refuse('a'), undefined);
    guard.failed('a', 'x');
    t.same(guard.refuse('a'), { action: 'refuse', first: true });
    t.same(guard.refuse('a'), { action: 'refuse', first: false });
    t.same(guard.refuse('a'), { action: 'give_up', first: false });
    t.equal(guard.refuse('b'), undefined);
    guard.failed('a', 'y');
    t.equal(guard.refuse('a'), undefined, 'another failure begins anew');
    guard.failed('a', 'y');
    guard.succeeded('a');
    guard.failed('a', 'y');
    t.equal(guard.refuse('a'), undefined);
    for (let i = 0; i < 3; i++) guard.failed('old', 'x');
    for (let i = 0; i < 98; i++) guard.failed(`other ${i}`, 'x');
    t.ok(guard.refuse('old'), 'a hundred are remembered');
    guard.failed('one more', 'x');
    guard.failed('and one', 'x');
    t.equal(guard.refuse('old'), undefined);
    t.equal(toolCallKey('f', { b: [2, { d: 1, c: 2 }], a: null }), 'f {"a":null,"b":[2,{"c":2,"d":1}]}');
    t.not(toolCallKey('f', { a: [1, 2] }), toolCallKey('f', { a: [2, 1] }), 'the order of a list counts');
    t.end();
  },
);
