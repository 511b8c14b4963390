import t from 'tap';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { FlowDefinition } from '@parley/shared/contracts/flow-definition';
import type { HandOverRequest } from '@parley/shared/contracts/hand-over';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import {
  agent,
  always,
  edge,
  end,
  error,
  event,
  flowOf,
  keys,
  say,
  set,
  talk,
  tool,
  transfer,
  wait,
} from '../flow/fixtures.ts';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { KeptSpeech } from '../providers/tts/kept-speech.ts';
import { fakeCall, salesDestination, webhookTool, wirePlan, type LlmScript } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;
type Change = (plan: SessionPlanWire, config: AgentConfig) => void;

const planOf = (definition: FlowDefinition, change: Change = () => {}) =>
  wirePlan((plan, config) => {
    plan.agent.greeting = '';
    // Parsed overrides are such as were sent.
    plan.flow = { definition: definition as NonNullable<SessionPlanWire['flow']>['definition'] };
    change(plan, config);
  });

/** Answers "Answer to <task>." by the prompt of the node. */
const script: LlmScript = ({ messages }) => {
  const task = /Do ([a-z]+)\./.exec(String(messages[0]!.content))?.[1] ?? 'nothing';
  return { events: [{ type: 'text', text: `Answer to ${task}.` }] };
};

function command(call: FakeCall, type: string, args: Record<string, unknown>): string | undefined {
  const head = { v: 1, command_id: 'cmd_1', session_id: call.plan.session_id } as const;
  return call.call.command({
    ...head,
    type: type as 'end',
    args,
    expires_at: new Date().toISOString(),
  });
}

const asked = (call: FakeCall) =>
  call.events
    .filter(({ type }) => type === 'carrier_command')
    .map(({ data }) => data as { command_id: string; action: string; args: Record<string, string> });
const nodes = (call: FakeCall) =>
  call.events.filter(({ type }) => type === 'flow_node').map(({ data }) => data['node_id']);
const warnings = (call: FakeCall) =>
  call.events.flatMap(({ type, data }) => (type === 'warning' ? [data['code']] : []));

void t.test('audio in nodes: what is said sounds like it, and a wait is filled with it', async (t) => {
  /** One second each at 8 kHz, of one loudness. */
  const tone = (level: number) => ({
    samples: bytesFromPcm16(Int16Array.from({ length: 8000 }, () => level)),
    sampleRate: 8000,
  });
  const tones: Record<string, number> = { aud_terms: 4000, aud_hold: 8000 };
  const asset = (transcript: string | null) => ({ sha256: '0'.repeat(64), duration_ms: 1000, transcript });
  const call = fakeCall({
    plan: planOf(
      flowOf(
        [
          say('terms', 'As it was written.', { audio_asset_id: 'aud_terms' }),
          say('gone', 'In a voice.', { audio_asset_id: 'aud_gone' }),
          { id: 'nothing', type: 'say', audio_asset_id: 'aud_gone' },
          wait('hold', { event: 'ready', timeout_seconds: 60, hold_audio_asset_id: 'aud_hold' }),
          end(),
        ],
        [
          edge('terms', 'gone'),
          edge('gone', 'nothing'),
          edge('nothing', 'hold'),
          edge('hold', 'end', event('ready')),
        ],
      ),
      (plan) =>
        (plan.assets = { aud_terms: asset('The terms, as they were recorded.'), aud_hold: asset(null) }),
    ),
    audio: async (id) => tone(tones[id]!),
  });
  const [held] = encodeMulaw(Int16Array.of(8000));
  await call.wait(900);
  t.same(call.spoken, [], 'no voice says it');
  await call.wait(2800);
  t.equal(call.texts()[0], 'agent: The terms, as they were recorded.');
  t.same(call.spoken, ['In a voice.'], 'a voice stands in for audio that cannot be had');
  t.same(warnings(call), ['node_audio_unavailable', 'node_audio_unavailable']);
  t.same(nodes(call), ['terms', 'gone', 'nothing', 'hold']);
  await call.wait(3000);
  t.ok(
    call.phone.sent.at(-1)?.every((one) => one === held),
    'over and over',
  );
  command(call, 'event', { name: 'ready' });
  await call.wait(3000);
  t.equal(call.spoken.at(-1), 'Goodbye.');
  t.notOk(call.phone.sent.at(-1)?.includes(held!), 'and no longer');
});

void t.test('a transfer of a node that comes back goes on by the edge for errors', async (t) => {
  const definition = flowOf(
    [
      set('number', { desk: '+14155550177', theirs: '{{said}}' }),
      transfer('desk', {
        destination: salesDestination({
          id: 'desk',
          target: { type: 'variable', name: 'desk', allowed_prefixes: ['+1415'] },
        }),
      }),
      transfer('theirs', {
        destination: salesDestination({
          id: 'theirs',
          failure_message: '',
          target: { type: 'variable', name: 'theirs', allowed_prefixes: ['+1415'] },
        }),
      }),
      transfer('sales', { destination_id: 'sales' }),
      end(),
    ],
    [
      edge('number', 'desk'),
      edge('desk', 'theirs', error, { priority: 1 }),
      edge('theirs', 'sales', error, { priority: 1 }),
      edge('sales', 'end'),
    ],
  );
  const change: Change = (plan, config) => {
    plan.variables = { said: '+14155550199' };
    config.transfer.destinations = [salesDestination({ announce_to_caller: 'To sales.' })];
  };
  const call = fakeCall({ plan: planOf(definition, change), llm: script });
  await call.wait(200);
  t.match(asked(call), [{ action: 'transfer', args: { to: '+14155550177', destination_id: 'desk' } }]);
  command(call, 'carrier_result', { command_id: asked(call)[0]!.command_id, ok: false, code: 'busy' });
  await call.wait(3500);
  t.same(call.spoken, ['Nobody is free.', 'To sales.']);
  t.same(
    call.events.flatMap(({ type, data }) => (type === 'transfer' && data['code'] ? [data['code']] : [])),
    ['busy', 'target_not_allowed'],
    'what a request has said is not dialled, though a node passes it on',
  );
  t.match(asked(call).at(-1), { action: 'transfer', args: { to: '+14155550123', destination_id: 'sales' } });
  const last = asked(call).at(-1)!;
  command(call, 'carrier_result', { command_id: last.command_id, ok: true });
  await call.settle();
  command(call, 'transfer_result', { transfer_id: last.args['transfer_id'], result: 'bridged' });
  await call.settle();
  t.match(call.report, { ended_by: 'agent', hangup_reason: 'transferred' });
  t.same(nodes(call), ['number', 'desk', 'theirs', 'sales']);
  t.notOk(call.types().includes('stalled'));

  const back = fakeCall({
    plan: planOf(
      flowOf(
        [transfer('sales', { destination_id: 'sales' }), talk('a'), end()],
        [edge('sales', 'a', error), edge('a', 'end')],
      ),
      (plan, config) => {
        change(plan, config);
        const state = { agent_id: 'agt_1', node_id: 'sales', phase: 'leading' as const, edge_id: null };
        plan.leg = 1;
        plan.first_event_index = 100_000;
        plan.returned_from = 'sales';
        plan.flow!.state = {
          ...state,
          entries: [1, 0, 0],
          cooldowns: [0, 0, 0],
          returns: [],
          turns: 0,
          steps: 1,
        };
      },
    ),
    llm: script,
  });
  await back.wait(4000);
  t.same(back.spoken, ['Nobody is free.', 'Answer to a.'], 'the carrier brought the caller back');
});

void t.test('a node collects: asked by the model, read by rules or a model, said back', async (t) => {
  const definition = flowOf(
    [
      {
        ...{ id: 'ask', type: 'collect', prompt: 'Be kind.', input: 'both' },
        fields: [{ name: 'customer' }, { name: 'code', type: 'digits', confirm: true }],
      },
      end('bye', { message: 'Thank you, {{customer}}.' }),
    ],
    [edge('ask', 'bye')],
  );
  const prompts: string[] = [];
  const reading: LlmScript = ({ messages }) => {
    const prompt = String(messages[0]!.content);
    if (prompt.startsWith('You take down')) {
      prompts.push(String(messages.at(-1)!.content));
      return { events: [{ type: 'text', text: 'Here: {"values": {"customer": "Ada"}}' }] };
    }
    return { events: [{ type: 'text', text: `Your ${/for "([a-z]+)"/.exec(prompt)![1]}?` }] };
  };
  const call = fakeCall({ plan: planOf(definition), llm: reading });
  await call.wait(2000);
  t.match(
    call.requests[0]!.messages[0]!.content,
    /Be kind\.\n\nAsk the caller now for "customer" \(a text\)/,
  );
  await call.hears('I am Ada.');
  await call.wait(2500);
  t.match(prompts, [/^\[Answer \{"values": \{…\}\}\.[^]*"customer" \(a text\)\n"code" \(digits\)/]);
  await call.hears('four one five');
  await call.wait(4500);
  for (const digit of '4162#') call.phone.listener.onDtmf(digit);
  await call.wait(5000);
  for (const digit of '1#') call.phone.listener.onDtmf(digit);
  await call.wait(3000);
  t.same(call.spoken, [
    'Your customer?',
    'Your code?',
    'I understood: four one five. Is that right?',
    'I understood: four one six two. Is that right?',
    'Thank you, Ada.',
  ]);
  t.match(call.report?.variables, { customer: 'Ada', code: '4162' });
  t.notOk(call.types().includes('stalled'));
});

void t.test('a tool of a node asks for a yes, and says that it runs', async (t) => {
  const definition = flowOf(
    [
      talk('a'),
      tool('book', { arguments: { size: 'large' } }),
      end('done', { message: 'Booked.' }),
      end('sorry'),
    ],
    [edge('a', 'book'), edge('book', 'sorry', error, { priority: 1 }), edge('book', 'done')],
  );
  const held = async (answer: string) => {
    let runs = 0;
    const call = fakeCall({
      plan: planOf(definition, (plan) => {
        plan.tools = [
          webhookTool({ attached: false, execution: { confirm: true, say_before: 'I am booking it.' } }),
        ];
      }),
      llm: (request) =>
        /needs the yes of the caller[^]*find_table: Finds a table\.\n\{"size":"large"\}/.test(
          String(request.messages[0]!.content),
        )
          ? { events: [{ type: 'text', text: 'Shall I book a large table?' }] }
          : script(request),
      tool: async () => {
        runs++;
        return { ok: true, content: '{}', assigned: {}, durationMs: 1 };
      },
    });
    await call.wait(2000);
    await call.hears('A table, please.');
    await call.wait(4000);
    t.equal(runs, 0);
    await call.hears(answer);
    await call.wait(5000);
    const told = call.events.flatMap(({ type, data }) =>
      type.startsWith('tool_') ? [data['answer'] ?? data['outcome'] ?? 'started'] : [],
    );
    return { runs, told, spoken: call.spoken.slice(1) };
  };
  t.same(await held('Yes, book it.'), {
    runs: 1,
    told: ['started', 'asked', 'yes', 'succeeded'],
    spoken: ['Shall I book a large table?', 'I am booking it.', 'Booked.'],
  });
  t.same(await held('No, thank you.'), {
    runs: 0,
    told: ['started', 'asked', 'no', 'declined'],
    spoken: ['Shall I book a large table?', 'Goodbye.'],
  });
});

void t.test('an agent of a node takes over, with what it is to get, or the flow goes on', async (t) => {
  const definition = (more: object) =>
    flowOf(
      [talk('a'), agent('other', { ...more }), talk('sorry'), end()],
      [edge('a', 'other', keys('1')), edge('other', 'sorry', error), edge('sorry', 'end', keys('1'))],
    );
  const summing: LlmScript = (request) =>
    /^\[Another agent takes/.test(String(request.messages.at(-1)!.content))
      ? { events: [{ type: 'text', text: 'Ada wants a refund.' }] }
      : script(request);
  const other = wirePlan((plan) => {
    plan.agent.agent_id = 'agt_2';
    plan.agent.system_prompt = 'Do billing. {{customer|nobody}} {{desk|nowhere}}';
    plan.variables = { desk: 'second' };
  });
  const held = async (more: object) => {
    const requests: HandOverRequest[] = [];
    const call = fakeCall({
      plan: planOf(definition(more), (plan) => (plan.variables = { customer: 'Ada', desk: 'first' })),
      llm: summing,
      otherAgent: async (request) => {
        requests.push(request);
        const { agent, flow, variables } = other;
        return { agent, flow, variables };
      },
    });
    await call.wait(2000);
    await call.hears('My name is Ada.');
    await call.wait(2500);
    for (const digit of '1#') call.phone.listener.onDtmf(digit);
    await call.wait(3000);
    const { messages } = call.requests.at(-1)!;
    return { call, request: requests[0], told: messages.map(({ content }) => content) };
  };
  const all = await held({});
  t.match(all.request, { agent_id: 'agt_2', pass_variables: true, pass_history: 'all', summary: '' });
  t.equal(all.call.spoken.at(-1), '(other) Answer to billing.');
  t.match(all.told[0], /Ada first/);
  t.ok(all.told.includes('My name is Ada.'));

  const none = await held({ pass_history: 'none', pass_variables: false });
  t.match(none.request, { pass_variables: false, pass_history: 'none' });
  t.match(none.told[0], /nobody second/);
  t.notOk(none.told.some((one) => /My name|Answer to/.test(one)));
  none.call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  const { variables } = await none.call.call.ended;
  t.same(variables, { customer: 'Ada', desk: 'second' }, 'they stay those of the session');

  const summary = await held({ pass_history: 'summary' });
  t.match(summary.request, { pass_history: 'summary', summary: 'Ada wants a refund.' });
  t.ok(summary.told.some((one) => one.includes('Ada wants a refund.')));
  t.notOk(summary.told.some((one) => one.includes('My name')));

  const gone = fakeCall({
    plan: planOf(definition({})),
    llm: script,
    otherAgent: () => Promise.reject(new Error('gone')),
  });
  await gone.wait(2000);
  for (const digit of '1#') gone.phone.listener.onDtmf(digit);
  await gone.wait(3000);
  t.equal(gone.spoken.at(-1), 'Answer to sorry.');
  t.match(gone.events.find(({ data }) => data['phase'] === 'failed')?.data, {
    code: 'unavailable',
    agent_id: 'agt_2',
  });
});

void t.test('what a node says is spoken once for all calls that say the same', async (t) => {
  const kept = new KeptSpeech({ clock: new ManualClock() });
  const said = async (shop: string, change: Change = () => {}) => {
    const call = fakeCall({
      plan: planOf(
        flowOf([say('a', 'Welcome to {{shop}}.'), end()], [edge('a', 'end', always, { say: 'One moment.' })]),
        (plan, config) => {
          plan.variables = { shop };
          change(plan, config);
        },
      ),
      kept,
    });
    await call.wait(8000);
    t.match(call.report, { ended_by: 'agent' });
    const heard = call.turns().map(({ text }) => text);
    t.same(heard, [`Welcome to ${shop}.`, 'One moment.', 'Goodbye.'], 'all is heard');
    const audioMs = call.recorded.agent.reduce((sum, { ms }) => sum + ms, 0);
    return { spoken: call.spoken, characters: call.report!.usage.tts_characters, audioMs };
  };
  const first = await said('Acme');
  t.same(first.spoken, ['Welcome to Acme.', 'One moment.', 'Goodbye.']);
  const second = await said('Acme');
  t.same(second.spoken, ['Goodbye.'], 'the end of a call is not a node that says something');
  t.equal(second.audioMs, first.audioMs);
  t.equal(second.characters, 'Goodbye.'.length, 'what no voice has spoken costs nothing');
  t.same((await said('Bolt')).spoken, ['Welcome to Bolt.', 'Goodbye.'], 'of other variables');
  const pronounced = await said('Acme', (_, { tts }) => {
    tts.pronunciations = [{ word: 'Acme', say: 'Ack me' }];
  });
  t.same(pronounced.spoken, ['Welcome to Ack me.', 'Goodbye.']);
});
