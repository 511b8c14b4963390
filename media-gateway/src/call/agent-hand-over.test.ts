import t from 'tap';
import type { HandOverPart, HandOverRequest } from '@parley/shared/contracts/hand-over';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { HandOverError } from './agent-hand-over.ts';
import { fakeCall, salesDestination, webhookTool, wirePlan, type LlmScript } from './fakes.ts';

type Options = Parameters<typeof fakeCall>[0];
type FakeCall = ReturnType<typeof fakeCall>;

const billing = salesDestination({ id: 'billing', target: { type: 'agent', agent_id: 'agt_2' } });
const toBilling = { id: 'call_1', name: 'transfer_call', arguments: '{"destination_id":"billing"}' };

function deskPlan(change: Partial<typeof billing> = {}) {
  return wirePlan((plan, config) => {
    plan.variables = { customer: 'Ada', desk: 'front' };
    config.transfer.destinations = [{ ...billing, ...change }];
    config.end_call.phrases = ['bye for now'];
  });
}

/** What the second agent brings: another prompt, another language, settings and tools of its own. */
function billingPart(): HandOverPart {
  const { agent, flow, tools, limits, memories, knowledge, assets, system, stt, llm, tts, variables } =
    wirePlan((plan, config) => {
      plan.agent.agent_id = 'agt_2';
      plan.agent.version = 4;
      plan.agent.system_prompt = 'You do the billing for {{customer}} in {{currency}}.';
      plan.variables = { customer: 'nobody', currency: 'euros' };
      plan.stt = [{ ...plan.stt[0]!, id: 'stt_2' }];
      plan.limits.max_duration_seconds = 60;
      plan.tools = [webhookTool({ name: 'find_invoice' })];
      config.language.primary = 'de-DE';
      config.end_call.agent_may_end = false;
      config.dtmf.receive = false;
      config.silence.reminder_after_seconds = 3;
      config.silence.reminder_messages = ['Sind Sie noch da?'];
      config.silence.end_call_after_seconds = 300;
    });
  return {
    agent,
    flow,
    tools,
    limits,
    memories,
    knowledge,
    assets,
    system,
    stt,
    llm,
    tts,
    languages: {},
    variables,
  };
}

/** The desk hands over at its first answer; later answers say who gives them. */
const script: LlmScript = ({ messages }) => {
  const prompt = String(messages[0]!.content);
  if (prompt.startsWith('You do')) return { events: [{ type: 'text', text: 'Your invoice is paid.' }] };
  if (messages.some(({ role }) => role === 'tool'))
    return { events: [{ type: 'text', text: 'I am the desk again.' }] };
  return { events: [{ type: 'tool_call', call: toBilling }] };
};

async function atDesk(options: Options): Promise<FakeCall> {
  const call = fakeCall({ plan: deskPlan(), llm: script, ...options });
  await call.wait(2000);
  return call;
}

const handOvers = (call: FakeCall) =>
  call.events
    .filter(({ type }) => type === 'handover')
    .map(({ data: { phase, code, version } }) => [phase, code ?? version].filter((one) => one !== undefined));

void t.test(
  'another agent goes on with the call: its prompt, models, voice, tools and settings',
  async (t) => {
    const asked: HandOverRequest[] = [];
    const call = await atDesk({
      otherAgent: (request) => {
        asked.push(request);
        return Promise.resolve(billingPart());
      },
    });
    await call.hears('I have a question about my invoice.');
    await call.wait(3000);

    t.match(asked, [{ agent_id: 'agt_2', from_index: 2, pass_variables: true }]);
    t.same(handOvers(call), [['begun'], ['done', 4]]);
    t.notOk(call.types().includes('transfer'), 'the carrier has no part in it');
    const request = call.requests.at(-1)!;
    t.match(String(request.messages[0]!.content), /^You do the billing for Ada in euros\./);
    t.match(String(request.messages[0]!.content), /The call is in German/);
    t.match(
      request.messages.map(({ role, content }) => `${role}: ${String(content)}`).join('\n'),
      /assistant: Hello there friend\.\nuser: I have a question about my invoice\.[^]*user: \[You have taken this call over/,
      'it knows what was said',
    );
    t.same(
      request.tools.map(({ name }) => name),
      ['find_invoice', 'send_dtmf', 'do_not_call'],
    );
    t.same(call.spoken, ['Hello there friend.', '(other) Your invoice is paid.']);

    t.same([...new Set(call.listeners)], ['fake-stt', 'other-stt']);
    t.equal(call.listeners.lastIndexOf('fake-stt') + 1, call.listeners.indexOf('other-stt'));
    t.equal(call.listeners.length, call.recorded.caller.length, 'every frame was heard by one of them');
    t.equal(call.open.stt, 1, 'the first one is closed');

    await call.hears('And the one before?');
    await call.wait(2500);
    t.equal(call.spoken.at(-1), '(other) Your invoice is paid.');
    t.same(
      call.texts(),
      [
        'agent: Hello there friend.',
        'caller: I have a question about my invoice.',
        'agent: Your invoice is paid.',
        'caller: And the one before?',
        'agent: Your invoice is paid.',
      ],
      'turns go on counting',
    );
    call.phone.listener.onDtmf('5');
    t.notOk(call.types().includes('dtmf'), 'its keys');
    await call.wait(3200);
    t.equal(call.spoken.at(-1), '(other) Sind Sie noch da?', 'its silence');
    await call.wait(60_000);
    t.match(call.report, { hangup_reason: 'max_duration', language: 'de-DE' }, 'its longest duration');
    t.match(call.report?.variables, { customer: 'Ada', desk: 'front', currency: 'euros' });
  },
);

void t.test('the caller is told first, and what they then say is answered by the next agent', async (t) => {
  const other = Promise.withResolvers<HandOverPart>();
  const call = await atDesk({
    plan: deskPlan({ announce_to_caller: 'One moment please.' }),
    otherAgent: () => other.promise,
  });
  await call.hears('I have a question about my invoice.');
  await call.wait(2000);
  t.equal(call.spoken.at(-1), 'One moment please.');
  const asked = call.requests.length;
  await call.hears('It is number seven.');
  await call.wait(500);
  t.equal(call.texts().at(-1), 'caller: It is number seven.');
  t.equal(call.requests.length, asked, 'the agent that hands over says nothing more');
  other.resolve(billingPart());
  await call.wait(1500);
  t.equal(call.requests.length, asked + 1);
  t.match(String(call.requests.at(-1)!.messages.at(-2)!.content), /number seven/);
  t.equal(call.spoken.at(-1), '(other) Your invoice is paid.');
});

void t.test('rule 33: words that are being said when the agent changes are heard to their end', async (t) => {
  const other = Promise.withResolvers<HandOverPart>();
  const call = await atDesk({ otherAgent: () => other.promise });
  await call.hears('I have a question about my invoice.');
  await call.wait(600);
  const desk = call.stt;
  await call.wait(300, true);
  desk.onInterim({ text: 'It is', confidence: 0.9, endMs: undefined, language: undefined });
  other.resolve(billingPart());
  await call.wait(300, true);
  t.equal(call.listeners.at(-1), 'fake-stt', 'the first STT goes on');
  await call.wait(300);
  desk.onTurnEnd({ text: 'It is number seven.', confidence: 0.9, endMs: undefined, language: undefined });
  await call.wait(100);
  t.equal(call.listeners.at(-1), 'other-stt', 'and then the second one listens');
  await call.wait(1000);
  t.match(call.texts().slice(0, 3), [
    'agent: Hello there friend.',
    'caller: I have a question about my invoice.',
    'caller: It is number seven.',
  ]);
  t.equal(call.spoken.at(-1), '(other) Your invoice is paid.');
});

void t.test('an agent that cannot be had: the call goes on, or ends, as the destination says', async (t) => {
  const cases: [string, Options, string][] = [
    ['agent_unavailable', { otherAgent: () => Promise.reject(new HandOverError('agent_unavailable')) }, ''],
    [
      'unavailable',
      { otherAgent: () => Promise.reject(new ProviderError('x', 'auth', 'it cannot be made')) },
      '',
    ],
    ['timeout', { otherAgent: () => new Promise(() => {}) }, ''],
  ];
  for (const [code, options] of cases) {
    const call = await atDesk({ ...options, plan: deskPlan({ failure_message: '' }) });
    await call.hears('I have a question about my invoice.');
    await call.wait(6500);
    t.same(handOvers(call), [['begun'], ['failed', code]], code);
    t.equal(call.spoken.at(-1), 'I am the desk again.');
    const told = call.requests.at(-1)!.messages.find(({ role }) => role === 'tool');
    t.match(told, { content: new RegExp(`The transfer failed \\(${code}\\)`) }, 'the model knows why');
    t.same([...new Set(call.listeners)], ['fake-stt']);
  }
  const ends = await atDesk({ plan: deskPlan({ on_failure: 'hangup', failure_message: 'Sorry.' }) });
  await ends.hears('I have a question about my invoice.');
  await ends.wait(2500);
  t.equal(ends.spoken.at(-1), 'Sorry.');
  t.match(ends.report, { ended_by: 'agent', hangup_reason: 'agent_hangup' });
});

void t.test('a call that ends meanwhile is over, and nobody takes it', async (t) => {
  let aborted = false;
  const call = await atDesk({
    otherAgent: (_, signal) => {
      signal.addEventListener('abort', () => (aborted = true));
      return new Promise(() => {});
    },
  });
  await call.hears('I have a question about my invoice.');
  await call.wait(600);
  call.phone.listener.onGone({ by: 'caller', lost: false });
  await call.wait(6000);
  t.ok(aborted);
  t.same(handOvers(call), [['begun']]);
  t.match(call.report, { hangup_reason: 'caller_hangup' });
});
