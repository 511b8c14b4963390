import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { VoiceModelStream } from '../hearing/voice-model/voice-model.ts';
import type { LlmRequest } from '../providers/llm/llm-provider.ts';
import { fakeCall, salesDestination, webhookTool, wirePlan, WORD_MS } from './fakes.ts';

// Settings of an agent whose effect on a call is a matter of a few seconds. Each with a value that is not its default,
// and beside it what happens otherwise.

const GREETING = 'Hello there friend.';
const configured = (change: (config: AgentConfig) => void) =>
  wirePlan((_plan, config) => {
    config.filler.enabled = false;
    change(config);
  });
const toolCall = (id: string, args: object) => ({
  type: 'tool_call' as const,
  call: { id, name: webhookTool().name, arguments: JSON.stringify(args) },
});

void t.test('a caller who is to speak first is greeted after the silence that the agent waits', async (t) => {
  const call = fakeCall({
    plan: configured(({ greeting }) => {
      greeting.mode = 'caller_first';
      greeting.caller_first_timeout_seconds = 3;
    }),
  });
  await call.wait(2900);
  t.same(call.spoken, []);
  await call.wait(300);
  t.same(call.spoken, [GREETING]);
  call.call.end({ ended_by: 'api' });
});

void t.test('a greeting may be thought of by the model', async (t) => {
  const call = fakeCall({ plan: configured(({ greeting }) => (greeting.mode = 'agent_first_generated')) });
  await call.wait(400);
  t.equal(call.requests.length, 1);
  t.same(call.spoken, ['All right then.']);
  call.call.end({ ended_by: 'api' });
});

void t.test('a greeting comes as late as the agent is to wait', async (t) => {
  const call = fakeCall({ plan: configured(({ greeting }) => (greeting.delay_ms = 1000)) });
  await call.wait(980);
  t.same(call.spoken, []);
  await call.wait(200);
  t.same(call.spoken, [GREETING]);
  call.call.end({ ended_by: 'api' });
});

void t.test('the model is asked as the agent says', async (t) => {
  const call = fakeCall({
    plan: configured((config) => {
      config.llm.temperature = 0.2;
      config.llm.max_output_tokens = 99;
      config.llm.request_timeout_ms = 1234;
    }),
  });
  await call.wait(1600);
  await call.hears('When do you close?');
  await call.wait(200);
  t.match(call.requests, [{ temperature: 0.2, maxOutputTokens: 99, timeoutMs: 1234 }]);
  call.call.end({ ended_by: 'api' });
});

void t.test('models and voices behind the first ones take over, in their order', async (t) => {
  const dead = (name: string) => new ProviderError(name, 'unavailable', 'gone');
  const call: ReturnType<typeof fakeCall> = fakeCall({
    plan: configured(() => {}),
    fallbacks: true,
    llm: () =>
      call.asked.at(-1) === 'fake-llm'
        ? dead('fake-llm')
        : { events: [{ type: 'text', text: 'Until six.' }] },
    ttsFails: () => dead('fake-tts'),
  });
  await call.wait(2500);
  t.same(call.spoken, [`(second-tts) ${GREETING}`]);
  call.stt.onFailed(dead('fake-stt'));
  await call.wait(1500);
  t.equal(call.listeners.at(-1), 'second-stt');
  await call.hears('When do you close?');
  await call.wait(3000);
  t.equal(call.asked.at(-1), 'second-llm');
  t.equal(call.spoken.at(-1), '(second-tts) Until six.');
  call.call.end({ ended_by: 'api' });
});

void t.test('the STT is opened as the agent says', async (t) => {
  const call = fakeCall({
    plan: configured((config) => {
      config.stt.keywords = ['Parley'];
      config.stt.endpointing_ms = 120;
    }),
  });
  t.match(call.sttOptions, [{ keywords: ['Parley'], endpointingMs: 120 }]);
  call.call.end({ ended_by: 'api' });
});

void t.test('an agent that reads numbers as they are written says them so', async (t) => {
  const call = fakeCall({
    plan: wirePlan((plan, config) => {
      plan.agent.greeting = 'It is $5 today.';
      config.tts.normalize_text = false;
    }),
  });
  await call.wait(200);
  t.same(call.spoken, ['It is $5 today.']);
  call.call.end({ ended_by: 'api' });
});

void t.test('a voice is one from the probability on that the agent asks for', async (t) => {
  for (const [threshold, rule] of [
    [0.4, 'voice'],
    [0.8, 'sound'],
  ] as const) {
    let pushedMs = 0;
    let readMs = 0;
    const stream: VoiceModelStream = {
      judging: false,
      behindMs: 0,
      push: (bytes) => void (pushedMs += bytes.length / 8),
      read: (each) => {
        for (; readMs + 32 <= pushedMs; readMs += 32) each(0.6, readMs + 32);
      },
      close() {},
    };
    const call = fakeCall({
      plan: configured(({ turn_taking }) => (turn_taking.vad_threshold = threshold)),
      voiceModel: { open: () => stream },
    });
    await call.wait(600);
    await call.wait(200, true);
    await call.wait(1000);
    const decisions = call.events.filter(({ type }) => type === 'turn_decision');
    t.equal(decisions[0]?.data['rule'], rule, `${threshold}`);
    call.call.end({ ended_by: 'api' });
  }
});

void t.test('a wait is filled with the agent’s sentences, as early and as often as it says', async (t) => {
  const spoken = async (change: (filler: AgentConfig['filler']) => void) => {
    const call = fakeCall({
      plan: wirePlan((_plan, { filler }) => {
        Object.assign(filler, { after_ms: 500, messages: ['One moment.', 'Still looking.'] });
        change(filler);
      }),
      llm: () => ({ events: [{ type: 'text', text: 'Until six.' }], afterMs: 6000 }),
    });
    await call.wait(1600);
    await call.hears('When do you close?');
    await call.wait(400);
    t.same(call.spoken.slice(1), [], 'not before its time');
    await call.wait(8000);
    call.call.end({ ended_by: 'api' });
    return call.spoken.slice(1);
  };
  t.same(await spoken(() => {}), ['One moment.', 'Still looking.', 'Until six.']);
  t.same(await spoken((filler) => (filler.max_per_turn = 1)), ['One moment.', 'Until six.']);
  t.same(await spoken((filler) => (filler.enabled = false)), ['Until six.']);
});

void t.test(
  'a model words what fills a wait, beside its answer; without its words a sentence is said',
  async (t) => {
    const isFiller = (request: LlmRequest) => request.cacheKey.endsWith(':filler');
    const spoken = async (
      filler: (request: LlmRequest) => { text: string; afterMs: number },
      { answerMs = 3600, topics = [] as string[] } = {},
    ) => {
      const call = fakeCall({
        plan: wirePlan((_plan, config) => {
          config.filler.generated = true;
          config.filler.messages = ['One moment.'];
          config.guardrails.blocked_topics = topics;
        }),
        llm: (request) => {
          if (request.cacheKey.endsWith(':blocked_topics'))
            return {
              events: [{ type: 'text', text: request.messages[1]!.content.includes('hours') ? '1' : '0' }],
            };
          const { text, afterMs } = isFiller(request)
            ? filler(request)
            : { text: 'Until six.', afterMs: answerMs };
          return { events: [{ type: 'text', text }], afterMs };
        },
      });
      await call.wait(1600);
      await call.hears('When do you close?');
      await call.wait(9000);
      call.call.end({ ended_by: 'api' });
      return { spoken: call.spoken.slice(1), asked: call.requests.filter(isFiller), texts: call.texts() };
    };
    const worded = await spoken(() => ({ text: '"I look up our hours."', afterMs: 500 }));
    t.same(worded.spoken, ['I look up our hours.', 'Until six.']);
    t.equal(worded.texts.at(-1), 'agent: I look up our hours. Until six.');
    t.equal(worded.asked.length, 1);
    t.match(worded.asked[0]!.messages, [
      { content: /short sentence in American English/ },
      { content: 'When do you close?' },
    ]);

    t.same(
      (await spoken(() => ({ text: 'I look.', afterMs: 1300 }))).spoken,
      ['One moment.', 'Until six.'],
      'too late',
    );
    t.same((await spoken(() => ({ text: '# Hours\nI look.', afterMs: 10 }))).spoken, [
      'One moment.',
      'Until six.',
    ]);
    const again = await spoken(
      ({ messages }) => ({
        text: messages[0]!.content.includes('You have said') ? 'Almost.' : 'I look.',
        afterMs: 400,
      }),
      { answerMs: 6500 },
    );
    t.same(again.spoken, ['I look.', 'Almost.', 'Until six.'], 'each is another one');
    t.same(
      (await spoken(() => ({ text: 'I look.', afterMs: 10 }), { answerMs: 400 })).asked,
      [],
      'not for a quick answer',
    );
    const blocked = await spoken(() => ({ text: 'I look up our hours.', afterMs: 100 }), {
      topics: ['hours'],
    });
    t.same(blocked.spoken, ['One moment.', 'Until six.'], 'guardrails hold for it');
  },
);

void t.test('tools are called in as many rounds as the agent may, then the model must speak', async (t) => {
  const call = fakeCall({
    plan: wirePlan((plan, config) => {
      config.limits.max_tool_steps = 2;
      plan.tools = [webhookTool()];
    }),
    llm: ({ tools, messages }: LlmRequest) => ({
      events:
        tools.length > 0
          ? [toolCall(`c${messages.length}`, { n: messages.length })]
          : [{ type: 'text', text: 'That is all.' }],
    }),
  });
  await call.wait(1600);
  await call.hears('Find me a table');
  await call.wait(1000);
  t.same(
    call.requests.map(({ tools }) => tools.length > 0),
    [true, true, false],
  );
  t.equal(call.events.filter(({ type }) => type === 'tool_started').length, 2);
  call.call.end({ ended_by: 'api' });
});

void t.test('keys are as the agent takes them', async (t) => {
  const pressed = async (change: (dtmf: AgentConfig['dtmf']) => void, keys: string) => {
    const call = fakeCall({ plan: configured(({ dtmf }) => change(dtmf)) });
    await call.wait(400);
    for (const key of keys) call.phone.listener.onDtmf(key);
    await call.wait(200);
    const entries = call.events.filter(({ type, data }) => type === 'dtmf' && data['direction'] === 'entry');
    const cleared = call.phone.clears.length > 0;
    call.call.end({ ended_by: 'api' });
    return { entries: entries.map(({ data }) => data['digits']), cleared };
  };
  t.same(await pressed(() => {}, '4*2#'), { entries: ['4*2'], cleared: true });
  t.same(await pressed((dtmf) => (dtmf.terminator = '*'), '42*'), { entries: ['42'], cleared: true });
  const fixed = (dtmf: AgentConfig['dtmf']) => void Object.assign(dtmf, { terminator: '', max_digits: 3 });
  t.same(await pressed(fixed, '4#2'), { entries: ['4#2'], cleared: true }, 'no key ends it');
  t.same(await pressed((dtmf) => (dtmf.interrupts = false), '4'), { entries: [], cleared: false });
  t.same(await pressed((dtmf) => (dtmf.receive = false), '42#'), { entries: [], cleared: false });
});

/** What the carrier is asked for when the caller is to be transferred, or why it is not. */
async function transferred(
  change: Parameters<typeof salesDestination>[0],
  desk = '+14155550123',
): Promise<unknown> {
  const call = fakeCall({
    plan: wirePlan((plan, config) => {
      plan.variables = { desk };
      plan.trusted_variables = ['desk'];
      config.transfer.destinations = [salesDestination(change)];
    }),
  });
  await call.wait(1600);
  call.call.command({
    ...{ v: 1, command_id: 'x', session_id: call.plan.session_id, type: 'transfer' },
    args: { destination_id: 'sales' },
    expires_at: new Date().toISOString(),
  });
  await call.wait(2000);
  const data = (type: string) => call.events.findLast((event) => event.type === type)?.data;
  const asked = data('carrier_command')?.['args'] ?? data('transfer')?.['code'];
  call.call.end({ ended_by: 'api' });
  return asked;
}

void t.test(
  'a destination is rung as it says: its number, its keys, its time, whose number it shows',
  async (t) => {
    const target = { type: 'phone' as const, phone_number: '+14155550999', extension: 'ww7' };
    t.match(await transferred({ target, ring_timeout_seconds: 45, caller_id: 'caller' }), {
      ...{ to: '+14155550999', extension: 'ww7', ring_timeout_seconds: 45, caller_id: '+14155550100' },
    });
    t.match(await transferred({ caller_id: 'agent' }), { caller_id: '+14155550101' });
  },
);

void t.test('a variable leads to allowed numbers and beginnings of numbers alone', async (t) => {
  const to = { to: '+14155550123' };
  const target = (bounds: object) => ({ target: { type: 'variable' as const, name: 'desk', ...bounds } });
  t.match(await transferred(target({ allowed_numbers: ['+14155550123'] })), to);
  t.equal(await transferred(target({ allowed_numbers: ['+14155550124'] })), 'target_not_allowed');
  t.match(await transferred(target({ allowed_prefixes: ['+1415'] })), to);
  t.equal(await transferred(target({ allowed_prefixes: ['+1416'] })), 'target_not_allowed');
});

void t.test('what is said before a transfer is the destination’s', async (t) => {
  const call = fakeCall({
    plan: wirePlan((_plan, config) => {
      config.transfer.destinations = [salesDestination({ announce_to_caller: 'I am connecting you.' })];
    }),
  });
  await call.wait(1600);
  call.call.command({
    ...{ v: 1, command_id: 'x', session_id: call.plan.session_id, type: 'transfer' },
    args: { destination_id: 'sales' },
    expires_at: new Date().toISOString(),
  });
  await call.wait(4 * WORD_MS + 600);
  t.equal(call.spoken.at(-1), 'I am connecting you.');
  call.call.end({ ended_by: 'api' });
});
