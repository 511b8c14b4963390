import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { FlowDefinition } from '@parley/shared/contracts/flow-definition';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import {
  branch,
  edge,
  end,
  error,
  event,
  flowOf,
  is,
  keys,
  llm,
  say,
  set,
  silence,
  talk,
  tool,
  wait,
} from '../flow/fixtures.ts';
import { fakeCall, webhookTool, wirePlan, type LlmScript } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;

function planOf(
  definition: FlowDefinition,
  change: (plan: SessionPlanWire, config: AgentConfig) => void = () => {},
) {
  return wirePlan((plan, config) => {
    plan.agent.greeting = '';
    // Parsed overrides are such as were sent.
    plan.flow = { definition: definition as NonNullable<SessionPlanWire['flow']>['definition'] };
    change(plan, config);
  });
}

const isRouting = ({ messages }: Parameters<LlmScript>[0]) =>
  /^You follow/.test(String(messages[0]!.content));
const promptOf = ({ messages }: { messages: readonly { content: string }[] }) => messages[0]!.content;

/** Answers "Answer to <task>." by the prompt of the node; decides as told. */
function script(choices: string[] = []): LlmScript {
  return (request) => {
    if (isRouting(request)) return { events: [{ type: 'text', text: choices.shift() ?? '0' }] };
    const task = /Do ([a-z]+)\./.exec(promptOf(request))?.[1] ?? 'nothing';
    return { events: [{ type: 'text', text: `Answer to ${task}.` }] };
  };
}

const nodes = (call: FakeCall) =>
  call.events
    .filter(({ type }) => type === 'flow_node')
    .map(({ data }) => `${String(data['by'])} ${String(data['node_id'])}`);

void t.test('a call goes through its flow: prompts, texts, decisions, variables, the end', async (t) => {
  const choices = ['0', '1'];
  const call = fakeCall({
    plan: planOf(
      flowOf(
        [
          talk('hello'),
          set('note', { plan: 'gold' }),
          say('told', 'You have {{plan}}.'),
          talk('more'),
          end('bye', { outcome: 'done' }),
        ],
        [
          edge('hello', 'note', llm('The caller wants gold.')),
          edge('note', 'told'),
          edge('told', 'more'),
          edge('more', 'bye', keys('9'), { say: 'One moment.' }),
        ],
        { global_prompt: 'Be kind to {{caller}}.' },
      ),
      (plan) => (plan.variables = { caller: 'Ada' }),
    ),
    llm: script(choices),
  });
  await call.wait(2000);
  t.match(
    promptOf(call.requests[0]!),
    /^You are a desk\.\n\nBe kind to Ada\.\n\nYour task at this point of the call:\nDo hello\./,
  );
  await call.hears('Hello there.');
  await call.wait(2500);
  t.match(call.requests[1], { temperature: 0, tools: [] });
  t.match(call.requests[1]!.messages.at(-1)!.content, /1\. The caller wants gold\./);
  await call.hears('I want gold.');
  await call.wait(5000);
  for (const digit of '9#') call.phone.listener.onDtmf(digit);
  await call.wait(3000);
  t.same(call.spoken, [
    'Answer to hello.',
    'Answer to hello.',
    'You have gold.',
    'Answer to more.',
    'One moment.',
    'Goodbye.',
  ]);
  t.same(nodes(call), ['start hello', 'edge note', 'edge told', 'edge more', 'edge bye']);
  const turns = call.turns() as { text: string; node_id?: string }[];
  t.same(
    turns.map(({ text, node_id }) => `${node_id ?? ''}: ${text}`),
    [
      'hello: Answer to hello.',
      'hello: Hello there.',
      'hello: Answer to hello.',
      'hello: I want gold.',
      'told: You have gold.',
      'more: Answer to more.',
      'more: (keys) 9',
      'more: One moment.',
      'bye: Goodbye.',
    ],
  );
  t.match(call.report, {
    ended_by: 'agent',
    hangup_reason: 'agent_hangup',
    variables: { plan: 'gold', outcome: 'done' },
  });
});

void t.test('the greeting comes first, and what is no conversation waits for its end', async (t) => {
  const definition = flowOf(
    [say('terms', 'This is recorded.'), talk('a'), end()],
    [edge('terms', 'a'), edge('a', 'end')],
  );
  const call = fakeCall({
    plan: planOf(definition, (plan) => (plan.agent.greeting = 'Hello there friend.')),
    llm: script(),
  });
  await call.wait(5000);
  t.same(call.spoken, ['Hello there friend.', 'This is recorded.', 'Answer to a.']);
  const talking = fakeCall({
    plan: planOf(flowOf([talk('a'), end()], [edge('a', 'end')]), (plan) => (plan.agent.greeting = 'Hello.')),
    llm: script(),
  });
  await talking.wait(3000);
  t.same(talking.spoken, ['Hello.'], 'a conversation waits for the caller');
  t.same(nodes(talking), ['start a']);
});

void t.test('a decision that takes too long, or fails, leaves the caller where they are', async (t) => {
  const cases: [string, ReturnType<LlmScript>][] = [
    ['routing_late', { events: [{ type: 'text', text: '1' }], afterMs: 60_000 }],
    ['routing_failed', new ProviderError('fake-llm', 'unavailable', 'gone')],
  ];
  for (const [code, late] of cases) {
    const call = fakeCall({
      plan: planOf(flowOf([talk('a'), end()], [edge('a', 'end', llm('x'))])),
      llm: (request) => (isRouting(request) ? late : script()(request)),
    });
    await call.wait(2000);
    await call.hears('Something.');
    await call.wait(3500);
    t.same(call.spoken, ['Answer to a.', 'Answer to a.'], code);
    t.match(call.events.find(({ type }) => type === 'warning')?.data, { code });
  }
});

void t.test(
  'the answer is thought of while the model decides, and is not said when it goes elsewhere',
  async (t) => {
    const choices = ['0', '1'];
    const call = fakeCall({
      plan: planOf(
        flowOf([talk('a'), talk('b'), end()], [edge('a', 'b', llm('x')), edge('b', 'end', keys('1'))]),
        (_, config) => (config.turn_taking.preemptive_generation = true),
      ),
      llm: script(choices),
    });
    await call.wait(2000);
    const before = call.requests.length;
    await call.hears('Stay.');
    t.equal(call.requests.length, before + 2, 'both are asked at once');
    await call.wait(2500);
    t.equal(call.requests.length, before + 2);
    await call.hears('Go.');
    await call.wait(2500);
    t.same(call.spoken, ['Answer to a.', 'Answer to a.', 'Answer to b.']);
    t.same(
      call.texts().filter((one) => one.startsWith('agent')),
      call.spoken.map((one) => `agent: ${one}`),
    );
  },
);

void t.test('a caller who goes on while the model decides is decided on anew', async (t) => {
  const asked: string[] = [];
  const call = fakeCall({
    plan: planOf(flowOf([talk('a'), end()], [edge('a', 'end', llm('x'))])),
    llm: (request) => {
      if (!isRouting(request)) return script()(request);
      asked.push(String(request.messages.at(-2)!.content));
      return { events: [{ type: 'text', text: asked.length === 1 ? '0' : '1' }], afterMs: 1400 };
    },
  });
  await call.wait(2000);
  await call.hears('I think');
  await call.hears('we are done.');
  await call.wait(3500);
  t.same(asked, ['I think', 'we are done.']);
  t.same(call.spoken, ['Answer to a.', 'Goodbye.']);
});

void t.test('an interruption of a text: the caller is answered in the next node', async (t) => {
  const call = fakeCall({
    plan: planOf(
      flowOf(
        [say('terms', 'These are our very long terms of use.'), talk('a'), end()],
        [edge('terms', 'a'), edge('a', 'end', keys('1'))],
      ),
    ),
    llm: script(),
  });
  await call.wait(1000);
  await call.hears('Stop it, please, at once.');
  await call.wait(2500);
  t.same(nodes(call), ['start terms', 'edge a']);
  t.equal(call.spoken.at(-1), 'Answer to a.');
  t.match(call.requests.at(-1)!.messages.at(-1), { role: 'user', content: 'Stop it, please, at once.' });
  t.match(call.turns()[0], { interrupted: true });
});

void t.test('tools, documents and settings are those of the node', async (t) => {
  const searched: string[][] = [];
  const choices = ['1', '1'];
  const provider = { ...wirePlan().llm[0]!, credential: null };
  const call = fakeCall({
    plan: planOf(
      flowOf(
        [
          talk('a', { tool_ids: ['tol_a'] }),
          talk('b', {
            tool_ids: ['tol_b'],
            knowledge_base_ids: ['kb_b'],
            use_global_prompt: false,
            overrides: {
              llm: { temperature: 0.1 },
              llm_id: 'llm_b',
              tts_voice_id: 'voice_b',
              silence: { reminder_messages: ['Still there, b?'] },
            },
          }),
          end(),
        ],
        [edge('a', 'b', llm('x')), edge('b', 'a', llm('y')), edge('b', 'end', keys('1'))],
        { global_prompt: 'Global.', routing_llm_id: 'llm_r' },
      ),
      (plan, config) => {
        plan.tools = ['all', 'a', 'b'].map((name) =>
          webhookTool({ tool_id: `tol_${name}`, name, attached: name === 'all' }),
        );
        plan.knowledge = { base_ids: ['kb_all'] };
        plan.flow = {
          ...plan.flow!,
          llms: { llm_b: provider, llm_r: provider },
          voices: { voice_b: provider },
        };
        config.llm.max_output_tokens = 77;
        config.silence.reminder_after_seconds = 4;
        config.silence.reminder_messages = ['Still there?'];
        config.end_call.agent_may_end = false;
        config.dtmf.send = false;
      },
    ),
    llm: script(choices),
    knowledge: (_session, { base_ids }) => {
      searched.push([...base_ids]);
      return Promise.resolve([]);
    },
  });
  const tools = () => call.requests.at(-1)!.tools.map(({ name }) => name);
  await call.wait(2000);
  t.same(tools(), ['all', 'a', 'do_not_call']);
  await call.hears('To b with me now.');
  await call.wait(2500);
  t.same(tools(), ['all', 'b', 'do_not_call']);
  t.match(call.requests.at(-1), { temperature: 0.1, maxOutputTokens: 77 });
  t.notMatch(promptOf(call.requests.at(-1)!), /Global/);
  t.same(searched.at(-1), ['kb_all', 'kb_b']);
  t.equal(call.spoken.at(-1), '(voice_b) Answer to b.');
  t.same(call.asked, ['fake-llm', 'llm_r', 'llm_b']);
  await call.wait(4500);
  t.equal(call.spoken.at(-1), '(voice_b) Still there, b?');
  await call.hears('Back to a with me now.');
  await call.wait(2500);
  t.equal(call.spoken.at(-1), 'Answer to a.', 'the voice of the agent again');
  t.same(tools(), ['all', 'a', 'do_not_call']);
  t.match(call.requests.at(-1), { temperature: 0.7 });
  t.equal(call.asked.at(-1), 'fake-llm');
});

void t.test('what a node has answered and spoken by others is counted, and costs, as theirs', async (t) => {
  const free = { per_minute: 0, stt_minute: 0, llm_in: 0, llm_out: 0, tts_1k: 0 };
  const provider = { ...wirePlan().llm[0]!, credential: null };
  const overrides = { llm_id: 'llm_b', tts_voice_id: 'voice_b' };
  const call = fakeCall({
    plan: planOf(
      flowOf(
        [talk('a'), talk('b', { overrides }), end()],
        [edge('a', 'b', llm('x')), edge('b', 'end', keys('1'))],
        { routing_llm_id: 'llm_r' },
      ),
      (plan) => {
        plan.flow = {
          ...plan.flow!,
          llms: { llm_b: provider, llm_r: provider },
          voices: { voice_b: provider },
        };
        plan.prices = { ...free, currency: 'EUR', llm_out: 1_000_000, tts_1k: 1000, ceiling: null, spent: 0 };
        plan.prices.models = [
          { ...free, model_id: 'llm_b', llm_out: 20_000_000 },
          { ...free, model_id: 'llm_r', llm_out: 300_000_000 },
          { ...free, model_id: 'voice_b', tts_1k: 4_000_000 },
        ];
      },
    ),
    llm: (request) => ({
      events: [
        { type: 'text', text: isRouting(request) ? '1' : 'Fine.' },
        { type: 'usage', inputTokens: 0, outputTokens: 1 },
      ],
    }),
  });
  await call.wait(2000);
  await call.hears('To b with me now.');
  await call.wait(2500);
  t.same(call.spoken, ['Fine.', '(voice_b) Fine.']);
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  const { usage } = await call.call.ended;
  t.match(usage, { llm_output_tokens: 3, tts_characters: 10 });
  const used = usage.models!.map(({ model_id, llm_output_tokens: tokens, tts_characters: spoken }) => [
    ...[model_id, tokens, spoken],
  ]);
  t.same(
    new Set(used),
    new Set([
      ['fake-stt', 0, 0],
      ['fake-llm', 1, 0],
      ['fake-tts', 0, 5],
      ['llm_r', 1, 0],
      ['llm_b', 1, 0],
      ['voice_b', 0, 5],
    ]),
  );
  const costs = call.events.filter(({ type }) => type === 'cost');
  t.match(costs.at(-1), { data: { amount: 1 + 5 + 300 + 20 + 20_000 } });
});

void t.test('a tool that sets a variable leads on once its answer was heard', async (t) => {
  const call = fakeCall({
    plan: planOf(
      flowOf(
        [talk('a', { tool_ids: ['tol_1'] }), say('b', 'You are verified.'), end()],
        [edge('a', 'b', is('verified', 'yes')), edge('b', 'end')],
      ),
      (plan) => (plan.tools = [webhookTool({ attached: false })]),
    ),
    llm: ({ messages }) => {
      if (messages.at(-1)!.role === 'tool') return { events: [{ type: 'text', text: 'I found you.' }] };
      if (messages.at(-1)!.content !== 'I am Ada.')
        return { events: [{ type: 'text', text: 'Who are you?' }] };
      const call = { id: 'call_1', name: 'find_table', arguments: '{}' };
      return { events: [{ type: 'tool_call', call }] };
    },
    tool: async () => ({ ok: true, content: '{}', assigned: { verified: 'yes' }, durationMs: 1 }),
  });
  await call.wait(2000);
  await call.hears('I am Ada.');
  await call.wait(6000);
  t.same(call.spoken, ['Who are you?', 'I found you.', 'You are verified.', 'Goodbye.']);
  t.equal(call.report?.hangup_reason, 'agent_hangup');
});

void t.test('silence, an event, a failing model: each has its edge', async (t) => {
  const quiet = fakeCall({
    plan: planOf(
      flowOf(
        [talk('a'), say('b', 'Call us after {{system.silence_count}} reminder.'), end()],
        [edge('a', 'b', silence(1)), edge('b', 'end')],
      ),
      (_, config) => {
        config.silence.reminder_after_seconds = 3;
        config.silence.reminder_messages = ['Hello?'];
        config.silence.max_reminders = 1;
      },
    ),
    llm: script(),
  });
  await quiet.wait(14_000);
  t.same(quiet.spoken, ['Answer to a.', 'Hello?', 'Call us after one reminder.', 'Goodbye.']);

  const told = fakeCall({
    plan: planOf(
      flowOf([talk('a'), say('b', 'It is paid.'), end()], [edge('a', 'b', event('paid')), edge('b', 'end')]),
    ),
    llm: script(),
  });
  await told.wait(400);
  told.call.command({
    v: 1,
    command_id: 'cmd_1',
    session_id: told.plan.session_id,
    type: 'event',
    args: { name: 'paid' },
    expires_at: new Date().toISOString(),
  });
  await told.wait(6000);
  t.same(told.spoken, ['Answer to a.', 'It is paid.', 'Goodbye.'], 'the agent has finished speaking first');

  const broken = fakeCall({
    plan: planOf(
      flowOf([talk('a'), say('b', 'Something is wrong.'), end()], [edge('a', 'b', error), edge('b', 'end')]),
    ),
    llm: () => new ProviderError('fake-llm', 'unavailable', 'gone'),
  });
  await broken.wait(5000);
  t.same(broken.spoken, ['Something is wrong.', 'Goodbye.']);
});

void t.test('a flow that goes round, or gets nowhere, ends the call and says why', async (t) => {
  const loop = fakeCall({
    plan: planOf(
      flowOf(
        [set('a', { x: '1' }), branch('b'), end()],
        [edge('a', 'b'), edge('b', 'a', is('x', '1')), edge('b', 'end')],
      ),
    ),
  });
  await loop.wait(6000);
  t.match(loop.report, { ended_by: 'system', failure_reason: 'flow_loop' });
  t.match(loop.events.find(({ type }) => type === 'error')?.data, { code: 'flow_loop' });
  const stuck = fakeCall({ plan: planOf(flowOf([branch('b'), end()], [edge('b', 'end', is('x', '1'))])) });
  await stuck.wait(6000);
  t.match(stuck.report, { ended_by: 'system', failure_reason: 'internal' });
});

void t.test('who writes instead of speaking goes through the flow too', async (t) => {
  const call = fakeCall({
    plan: planOf(
      flowOf([talk('a'), end()], [edge('a', 'end', is('x', '1')), edge('a', 'end', llm('y'), { id: 'e2' })]),
    ),
    llm: script(['0', '1']),
  });
  await call.wait(2000);
  for (const text of ['Hello.', 'We are done.']) {
    call.call.steering.addCallerText(text);
    t.ok(call.call.steering.respond());
    await call.wait(2500);
  }
  t.same(call.spoken, ['Answer to a.', 'Answer to a.', 'Goodbye.']);
});

void t.test(
  'a tool runs with typed arguments, and what it answers is said; a wait is no silence',
  async (t) => {
    const given: unknown[] = [];
    const call = fakeCall({
      plan: planOf(
        flowOf(
          [
            tool('book', {
              arguments: { people: '{{people}}' },
              result_variables: [{ path: 'id', name: 'table' }],
            }),
            wait('hold', { event: 'ready', timeout_seconds: 60 }),
            say('told', 'Table {{table}}.'),
            end(),
            end('sorry', { message: 'Sorry.' }),
          ],
          [
            edge('book', 'sorry', error, { priority: 1 }),
            edge('book', 'hold'),
            edge('hold', 'sorry', error, { priority: 1 }),
            edge('hold', 'told'),
            edge('told', 'end'),
          ],
        ),
        (plan) => {
          plan.variables = { people: '4' };
          plan.tools = [
            webhookTool({
              attached: false,
              parameters: { type: 'object', properties: { people: { type: 'integer' } } },
            }),
          ];
        },
      ),
      tool: async (args) => {
        given.push(args);
        return { ok: true, content: '{"id":"T7"}', assigned: {}, durationMs: 1 };
      },
    });
    await call.wait(1000);
    t.same(given, [{ people: 4 }]);
    await call.hears('Are you still there?');
    await call.wait(40_000);
    t.same(call.spoken, [], 'nobody is reminded, and nobody ends the call');
    t.notOk(call.types().includes('stalled'));
    call.call.command({
      v: 1,
      command_id: 'cmd_1',
      session_id: call.plan.session_id,
      type: 'event',
      args: { name: 'ready', variables: { desk: 'two' } },
      expires_at: new Date().toISOString(),
    });
    await call.wait(4000);
    t.same(call.spoken, ['Table T7.', 'Goodbye.']);
    t.same(
      call.events.flatMap(({ type, data }) =>
        data['variables'] && type !== 'call_ended'
          ? [[type, data['variables'], data['trusted_variables']]]
          : [],
      ),
      [
        ['flow_node', { table: 'T7' }, ['table']],
        ['flow_node', { desk: 'two' }, undefined],
      ],
      'each change is told once, with what happens next',
    );
    t.match(call.events.findLast(({ type }) => type === 'flow_node')?.data, {
      state: { node_id: 'end', phase: 'done' },
    });
  },
);

void t.test('a later leg goes on in its node', async (t) => {
  const definition = flowOf(
    [talk('a'), talk('b'), end()],
    [edge('a', 'b', keys('1')), edge('b', 'end', is('system.total_turns', '3'))],
  );
  const first = fakeCall({ plan: planOf(definition), llm: script() });
  await first.wait(2000);
  for (const digit of '1#') first.phone.listener.onDtmf(digit);
  await first.wait(2000);
  const { state } = first.events.findLast(({ type }) => type === 'flow_node')!.data;
  const later = (agentId: string) =>
    fakeCall({
      plan: planOf(definition, (plan) => {
        plan.leg = 1;
        plan.first_event_index = 100_000;
        plan.history = [{ turn_index: 0, role: 'caller', text: '(keys) 1', start_ms: 0, end_ms: 0 }];
        plan.flow = { ...plan.flow!, state: { ...(state as object), agent_id: agentId } as never };
      }),
      llm: script(),
    });
  const second = later('agt_1');
  await second.wait(1000);
  t.same(second.spoken, [], 'nothing is said again');
  await second.hears('Go on.');
  await second.wait(2500);
  t.same(second.spoken, ['Answer to b.']);
  await second.hears('I am done.');
  await second.wait(2500);
  t.same(second.spoken, ['Answer to b.', 'Goodbye.'], 'turns of earlier legs are counted');
  const other = later('agt_9');
  await other.hears('Go on.');
  await other.wait(2500);
  t.same(other.spoken, ['Answer to a.'], 'what another agent left behind does not count');
});
