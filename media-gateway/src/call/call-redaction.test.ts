import t from 'tap';
import { REDACTION_KINDS } from '@parley/shared/redaction/kinds';
import type { LlmEvent } from '../providers/llm/llm-provider.ts';
import { fakeCall, webhookTool, wirePlan } from './fakes.ts';

/** What the model answers to each request, in order. */
function script(...answers: LlmEvent[][]) {
  let next = 0;
  return () => ({ events: answers[Math.min(next++, answers.length - 1)]! });
}

void t.test('nothing that is masked is reported, saved or recorded', async (t) => {
  const fake = fakeCall({
    plan: wirePlan((plan, config) => {
      config.filler.enabled = false;
      plan.redaction = { kinds: [...REDACTION_KINDS], before_llm: false };
      plan.tools = [webhookTool()];
    }),
    llm: script(
      [{ type: 'text', text: 'Go on.' }],
      [
        {
          type: 'tool_call',
          call: { id: 'c1', name: 'find_table', arguments: '{"card":"4111111111111111"}' },
        },
      ],
      [{ type: 'text', text: 'Thank you.' }],
    ),
    tool: async () => ({
      ok: true,
      content: '{"phone":"+14155552671"}',
      assigned: { card: '4111 1111 1111 1111' },
      durationMs: 1,
    }),
  });
  await fake.wait(100);
  await fake.hears('my card number is 4111 1111');
  await fake.wait(3000);
  t.notMatch(JSON.stringify(fake.events), /4111 1111/, 'not even before the rest is known');
  await fake.hears('1111 1111');
  await fake.wait(3000);
  fake.phone.listener.onDtmf('7');
  await fake.wait(200);
  fake.call.end({ ended_by: 'caller', hangup_reason: 'caller_hangup' });
  await fake.call.ended;
  for (const all of [fake.events, fake.saved, fake.report])
    t.notMatch(JSON.stringify(all), /1111|4155552671|"digit":"7"/);
  const caller = fake.report!.turns.filter(({ role }) => role === 'caller');
  t.match(caller, [
    { text: 'my card number is [card_number]', redacted: true },
    { text: '[card_number]', redacted: true },
  ]);
  t.match(fake.events.find(({ type }) => type === 'tool_started')?.data, {
    arguments: '{"card":"[card_number]"}',
  });
  t.match(fake.report!.variables, { card: '[card_number]' });
  const sides = fake.muted.map(({ side, fromMs }) => `${side} ${fromMs}`);
  t.same(
    new Set(sides),
    new Set(caller.map(({ start_ms }) => `caller ${start_ms}`)),
    'both turns are silent',
  );
  t.match(JSON.stringify(fake.requests.at(-1)!.messages), /1111 1111/, 'the model is told as it was said');
});

void t.test('the model is told nothing that is masked before it, history included', async (t) => {
  const fake = fakeCall({
    plan: wirePlan((plan, config) => {
      config.filler.enabled = false;
      plan.redaction = { kinds: ['card_number', 'phone_number'], before_llm: true };
      plan.history = [
        {
          turn_index: 0,
          role: 'caller',
          text: 'call me at 415 555 2671',
          start_ms: 0,
          end_ms: 1,
          interrupted: false,
          redacted: false,
        },
      ];
      plan.tools = [webhookTool()];
    }),
    llm: script(
      [{ type: 'tool_call', call: { id: 'c1', name: 'find_table', arguments: '{}' } }],
      [{ type: 'text', text: 'Thank you.' }],
    ),
    tool: async () => ({ ok: true, content: '{"phone":"+14155552671"}', assigned: {}, durationMs: 1 }),
  });
  await fake.wait(100);
  await fake.hears('and my card number is 4111 1111 1111 1111 for two');
  await fake.wait(3000);
  t.equal(fake.requests.length, 2);
  const told = JSON.stringify(fake.requests.map(({ messages }) => messages));
  t.notMatch(told, /1111|2671/);
  t.match(told, /call me at \[phone_number\]/);
  t.match(told, /\[card_number\] for two/);
  fake.call.end({ ended_by: 'caller' });
  await fake.call.ended;
});

void t.test('words have their times where the text of the turn is as it was said', async (t) => {
  const fake = fakeCall({
    plan: wirePlan((plan, config) => {
      config.filler.enabled = false;
      config.tts.normalize_text = false;
      plan.redaction = { kinds: [...REDACTION_KINDS], before_llm: false };
    }),
    llm: script([{ type: 'text', text: 'Is it 4111 1111 1111 1111 or not?' }]),
  });
  await fake.wait(2000);
  const says = async (text: string, words = text) => {
    const timed = words.split(' ').map((word) => ({ text: word, startMs: 2000, endMs: 2000 }));
    await fake.wait(300, true);
    fake.stt.onTurnEnd({ text, confidence: 1, endMs: undefined, language: undefined, words: timed });
    await fake.wait(5000);
  };
  await says('I want a table');
  await says('my card is 4111 1111 1111 1111 for two');
  await says('the one I told you', 'the four one one one I told you');
  const caller = fake.turns().filter(({ role }) => role === 'caller');
  t.match(caller.find(({ text }) => text === 'I want a table')?.words, [
    { text: 'I' },
    {},
    {},
    { text: 'table' },
  ]);
  t.same(
    caller.filter(({ text }) => text !== 'I want a table').map(({ text, words }) => [text, words]),
    [
      ['my card is [card_number] for two', undefined],
      ['the one I told you', undefined],
    ],
  );
  const agent = fake.turns().filter(({ role }) => role === 'agent');
  t.match(agent[0], { text: 'Hello there friend.', words: [{ text: 'Hello' }, {}, { text: 'friend.' }] });
  t.equal(agent.at(-1)!.text, 'Is it [card_number] or not?');
  t.equal(agent.at(-1)!.words, undefined);
  t.notMatch(JSON.stringify(fake.events), /4111|1111/);
  fake.call.end({ ended_by: 'caller' });
  await fake.call.ended;
});

void t.test('without kinds all is reported as it was said', async (t) => {
  const fake = fakeCall({ llm: script([{ type: 'text', text: 'Thank you.' }]) });
  await fake.wait(100);
  await fake.hears('my card number is 4111 1111 1111 1111');
  await fake.wait(1000);
  t.match(fake.texts().join(), /4111 1111 1111 1111/);
  t.same(fake.muted, []);
  fake.call.end({ ended_by: 'caller' });
  await fake.call.ended;
});
