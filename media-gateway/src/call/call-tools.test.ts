import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { checkEvent } from '../../../shared/test/fixtures/strict-events.ts';
import type { LlmTool, LlmToolCall } from '../providers/llm/llm-provider.ts';
import { AgentTools } from './agent-tools.ts';
import { CallTools } from './call-tools.ts';
import type { ToolOutcome, ToolRunner } from '@parley/shared/tools/tool-runner';
import { webhookTool, wirePlan } from './fakes.ts';
import { TrustedVariables } from './trusted-variables.ts';

const WEATHER = { name: 'weather', description: 'Tells the weather.', parameters: { type: 'object' } };
const toolCall = (id: string, name: string, args = '{}'): LlmToolCall => ({ id, name, arguments: args });

/** The tools of one call: `find_table` of the agent's, `weather` of the client's, and what becomes of them. */
function scene(options: { clientTools?: LlmTool[]; sayBefore?: string; confirm?: boolean } = {}) {
  const clock = new ManualClock();
  const ran: string[] = [];
  const asked: LlmToolCall[] = [];
  const events: { type: string; data: Record<string, unknown> }[] = [];
  const took: number[] = [];
  const spoken: string[] = [];
  const variables: Record<string, string> = { name: 'Ada' };
  const trusted = new TrustedVariables(variables, []);
  const results = new Map<string, string>();
  const pending: ((outcome: Partial<ToolOutcome>) => void)[] = [];
  const { clientTools } = options;
  const plan = wirePlan((plan, config) => {
    config.end_call.agent_may_end = false;
    plan.system.caller_number = null;
    plan.tools = [
      webhookTool({
        execution: { say_before: options.sayBefore ?? '', confirm: options.confirm ?? false },
      }),
    ];
  });
  const runner: ToolRunner = {
    run: (_tool, call) => {
      ran.push(`${call.toolCallId} ${JSON.stringify(call.arguments)} ${call.session.variables['name']}`);
      return new Promise((resolve) =>
        pending.push((outcome) =>
          resolve({ ok: true, content: 'yes', assigned: {}, durationMs: 1, ...outcome }),
        ),
      );
    },
  };
  const { signal } = new AbortController();
  const tools = new CallTools({
    plan,
    participant: { carrierCommands: true, dtmfOut: 'none' },
    agent: new AgentTools({ plan, runner, variables, trusted, signal }),
    client: clientTools && { list: () => clientTools, begin: (call) => void asked.push(call) },
    controls: {
      endAfterSpeech: () => undefined,
      transferAfterSpeech: () => undefined,
      setLanguage: () => false,
      sendDtmf: () => Promise.resolve(false),
      searchKnowledge: () => Promise.resolve(undefined),
      apology: () => 'Sorry.',
      emitTool(type, data) {
        checkEvent({ type, data });
        events.push({ type, data: data as Record<string, unknown> });
      },
      toolTook: (ms) => void took.push(ms),
    },
    clock,
  });
  const run = (call: LlmToolCall) =>
    tools.run(call, results, (text) => Promise.resolve(void spoken.push(text)));
  return { tools, run, clock, ran, asked, events, took, spoken, variables, trusted, results, pending };
}

void t.test(
  'rule 4: a tool call runs once, however often it is asked for, and each call by itself',
  async (t) => {
    const { run, ran, pending, events, results } = scene();
    const first = run(toolCall('call_1', 'find_table', '{"at":"8"}'));
    const again = run(toolCall('call_1', 'find_table', '{"at":"8"}'));
    const other = run(toolCall('call_2', 'find_table', '{"at":"8"}'));
    t.same(ran, ['call_1 {"at":"8"} Ada', 'call_2 {"at":"8"} Ada']);
    pending[0]!({ content: 'free' });
    pending[1]!({ content: 'taken' });
    t.same(await first, { content: 'free' });
    t.same(await again, { content: 'free' });
    t.same(await other, { content: 'taken' });
    await run(toolCall('call_1', 'find_table', '{"at":"8"}'));
    t.equal(ran.length, 2, 'nor when it is over');
    t.same(
      [...results],
      [
        ['call_1', 'free'],
        ['call_2', 'taken'],
      ],
    );
    t.equal(events.filter(({ type }) => type === 'tool_started').length, 2);
  },
);

void t.test('the next reply waits until the last tool that runs has answered', async (t) => {
  const { tools, run, pending, took, clock } = scene();
  t.notOk(tools.busy);
  await tools.idle();
  const runs = [run(toolCall('call_1', 'find_table')), run(toolCall('call_2', 'find_table'))];
  let idle = false;
  const waiting = tools.idle().then(() => (idle = true));
  clock.advance(30);
  pending[0]!({});
  await runs[0];
  t.ok(tools.busy);
  t.notOk(idle);
  clock.advance(40);
  pending[1]!({});
  await waiting;
  t.notOk(tools.busy);
  t.same(took, [30, 70]);
});

void t.test('what a tool sets is there for the next one, and what became of it is told', async (t) => {
  const { run, pending, ran, events, variables, trusted, spoken } = scene({ sayBefore: 'One moment.' });
  const first = run(toolCall('call_1', 'find_table'));
  t.same(spoken, ['One moment.']);
  pending[0]!({
    ok: false,
    status: 503,
    code: 'http_error',
    content: 'x'.repeat(3000),
    assigned: { name: 'Bob' },
  });
  t.equal((await first).content.length, 3000);
  t.equal(variables['name'], 'Bob');
  t.equal(trusted.get('name'), 'Bob', 'from a tool');
  void run(toolCall('call_2', 'find_table'));
  t.equal(ran[1], 'call_2 {} Bob');
  t.match(events.slice(0, 2), [
    {
      type: 'tool_started',
      data: { tool_call_id: 'call_1', tool_id: 'tol_1', name: 'find_table', arguments: '{}' },
    },
    { type: 'tool_finished', data: { tool_call_id: 'call_1', ok: false, status: 503, code: 'http_error' } },
  ]);
  t.equal(events[1]!.data['result'], 'x'.repeat(2000), 'as much of it as an event may hold');
});

void t.test('arguments that are no JSON object run nothing', async (t) => {
  const { run, ran, asked, spoken } = scene({ clientTools: [WEATHER], sayBefore: 'One moment.' });
  for (const [i, args] of ['{', '[]', '3', 'null', '"text"'].entries()) {
    t.match(await run(toolCall(`call_${i}`, 'find_table', args)), { content: /not valid JSON/ }, args);
    t.match(await run(toolCall(`client_${i}`, 'weather', args)), { content: /not valid JSON/ }, args);
  }
  t.same([ran, asked, spoken], [[], [], []]);
  void run(toolCall('call_9', 'find_table', ''));
  t.same(ran, ['call_9 {} Ada'], 'nothing at all stands for no arguments');
});

void t.test('a tool that does not answer is given up', async (t) => {
  const { tools, run, pending, events } = scene();
  const running = run(toolCall('call_1', 'find_table'));
  tools.giveUp();
  t.match(await running, { content: /did not answer in time/ });
  t.notOk(tools.busy);
  t.match(events.at(-1), { type: 'tool_finished', data: { ok: false, code: 'timeout' } });
  const told = events.length;
  pending[0]!({});
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(events.length, told, 'what it answers afterwards is not told');
});

void t.test('a tool of the client is asked once, and its answer counts once', async (t) => {
  const { tools, run, clock, ran, asked, events, took, results } = scene({ clientTools: [WEATHER] });
  const call = toolCall('call_1', 'weather', '{"in":"Oslo"}');
  t.same(await run(call), { content: '', final: true });
  t.same(await run(call), { content: '', final: true });
  t.same(asked, [call]);
  t.notOk(tools.busy, 'nothing waits for a client');
  t.equal(results.size, 0);
  clock.advance(50);
  t.equal(tools.answer('call_2', 'rain'), false, 'a call that it was not asked for');
  t.equal(tools.answer('call_1', 'sun'), true);
  t.equal(tools.answer('call_1', 'snow'), false);
  t.equal(results.get('call_1'), 'sun');
  t.same(took, [50]);
  t.same(ran, []);
  t.match(
    events.map(({ type, data }) => [type, data['tool_id'], data['ok'], data['result']]),
    [
      ['tool_started', null, undefined, undefined],
      ['tool_finished', null, true, 'sun'],
    ],
  );
});

void t.test("the agent's tool comes before the client's of the same name", async (t) => {
  const own = { ...WEATHER, name: 'find_table', description: 'Another one.' };
  const { tools, run, ran, asked } = scene({ clientTools: [own, WEATHER] });
  t.same(
    tools.list().map(({ name, description }) => `${name}: ${description}`),
    ['find_table: Finds a table.', 'weather: Tells the weather.'],
  );
  void run(toolCall('call_1', 'find_table'));
  t.equal(ran.length, 1);
  t.same(asked, []);
  t.match(await run(toolCall('call_2', 'dance')), { content: /.+/ });
  t.same(
    scene()
      .tools.list()
      .map(({ name }) => name),
    ['find_table'],
    'without a client',
  );
});

void t.test('one thing at a time is asked for, and a no behind the yes takes it back', async (t) => {
  const { tools, run, ran, results, events } = scene({ confirm: true });
  const question = (id: string) =>
    tools.confirmations.agentSaid(
      [
        { type: 'tools', calls: [toolCall(id, 'find_table')], results },
        { type: 'speech', text: 'Shall I?', fromModel: true },
      ],
      'Shall I?',
    );
  const codes = () =>
    events.filter(({ type }) => type === 'tool_finished').map(({ data }) => data['code'] as string);
  await run(toolCall('call_1', 'find_table', '{"at":"8"}'));
  await run(toolCall('call_2', 'find_table', '{"at":"8"}'));
  t.same(codes(), ['confirmation_pending'], 'the model does not ask twice');
  await run(toolCall('call_3', 'find_table', '{"at":"9"}'));
  t.same(codes(), ['confirmation_pending', 'superseded'], 'other arguments stand instead');
  t.notOk(tools.mayThinkAhead);
  question('call_3');
  tools.confirmations.callerSaid('Yes', undefined);
  t.ok(tools.news);
  tools.confirmations.callerSaid('No, wait', undefined);
  t.same(codes().slice(2), ['declined']);
  const [told, ...more] = tools.takeDue();
  t.same(more, []);
  t.match(JSON.parse((await run(told!)).content), { ok: false });
  t.same(ran, []);

  await run(toolCall('call_4', 'find_table', '{"at":"9"}'));
  question('call_4');
  tools.confirmations.callerSaid('Ja, bitte', 'de');
  t.equal(tools.takeDue().length, 1);
  tools.confirmations.callerSaid('No', undefined);
  t.same(codes().length, 3, 'what a reply has begun is not taken back');
  tools.close();
  t.same(codes().length, 3);
});
