import t from 'tap';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { fakeCall, salesDestination, wirePlan } from './fakes.ts';

const FREE = { currency: 'EUR', per_minute: 0, stt_minute: 0, llm_in: 0, llm_out: 0, tts_1k: 0 };
type Prices = Partial<NonNullable<SessionPlan['prices']>>;

/** A call that costs something; 60 for a minute unless said otherwise, so that a second costs one. */
const pricedCall = (prices: Prices, message = '') => {
  const plan = wirePlan((wire, config) => {
    wire.prices = { ...FREE, per_minute: 60, ceiling: null, spent: 0, ...prices };
    config.end_call.message = message;
    // Nobody speaks.
    config.silence.reminder_after_seconds = 100;
    config.silence.end_call_after_seconds = 200;
  });
  return fakeCall({ plan });
};
type FakeCall = ReturnType<typeof pricedCall>;

const costs = ({ events }: FakeCall) =>
  events.flatMap(({ type, data }) => (type === 'cost' ? [data['amount']] : []));
const warnings = ({ events }: FakeCall) =>
  events.flatMap(({ type, data }) => (type === 'warning' ? [data['code']] : []));

void t.test('what a call costs is told each half minute and at its end', async (t) => {
  const call = pricedCall({ tts_1k: 1_000_000 });
  await call.wait(66_000);
  const spoken = 'Hello there friend.'.length * 1000;
  t.same(costs(call), [30 + spoken, 60 + spoken]);
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  await call.call.ended;
  t.same(costs(call).at(-1), 66 + spoken);
  t.same(warnings(call), []);
});

void t.test('a later leg goes on where the earlier ones were', async (t) => {
  const call = pricedCall({ spent: 500 });
  await call.wait(31_000);
  t.same(costs(call), [530]);
});

void t.test('near its ceiling a call warns once, and at it says goodbye and ends', async (t) => {
  const call = pricedCall({ ceiling: 40 }, 'We have to stop here.');
  await call.wait(31_000);
  t.same(warnings(call), []);
  await call.wait(8000);
  t.same(warnings(call), ['cost_limit_near']);
  t.notOk(call.spoken.includes('We have to stop here.'));
  await call.wait(6000);
  t.ok(call.spoken.includes('We have to stop here.'));
  t.match(await call.call.ended, { ended_by: 'system', hangup_reason: 'budget' });
  t.same(warnings(call), ['cost_limit_near']);
});

void t.test('a turn that costs too much is the last one, without waiting for the next count', async (t) => {
  const plan = wirePlan((wire) => {
    wire.prices = { ...FREE, llm_out: 1_000_000_000, ceiling: 100_000, spent: 0 };
  });
  const call = fakeCall({
    plan,
    llm: () => ({
      events: [
        { type: 'text', text: 'Until six.' },
        { type: 'usage', inputTokens: 10, outputTokens: 200 },
      ],
    }),
  });
  await call.wait(5200);
  await call.hears('When do you close?');
  await call.wait(2000);
  t.match(await call.call.ended, { hangup_reason: 'budget', usage: { llm_output_tokens: 200 } });
  t.same(
    call.texts().slice(1),
    ['caller: When do you close?', 'agent: Until six.'],
    'what was being said is heard',
  );
});

void t.test('without prices nothing is counted', async (t) => {
  const call = fakeCall();
  await call.wait(31_000);
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  await call.call.ended;
  t.same(costs(call), []);
});

void t.test('what another agent uses costs what its own models do, up to its own ceiling', async (t) => {
  const billing = salesDestination({ id: 'billing', target: { type: 'agent', agent_id: 'agt_2' } });
  const plan = wirePlan((wire, config) => {
    wire.prices = { ...FREE, llm_out: 1_000_000, ceiling: null, spent: 500 };
    config.transfer.destinations = [billing];
    config.silence.reminder_after_seconds = 100;
    config.silence.end_call_after_seconds = 200;
  });
  const toBilling = { id: 'call_1', name: 'transfer_call', arguments: '{"destination_id":"billing"}' };
  let replies = 0;
  const call = fakeCall({
    plan,
    llm: () => ({
      events: [
        replies++ === 0 ? { type: 'tool_call', call: toBilling } : { type: 'text', text: 'It is paid.' },
        { type: 'usage', inputTokens: 0, outputTokens: 10 },
      ],
    }),
    otherAgent: () => Promise.resolve({ prices: { ...FREE, llm_out: 3_000_000, ceiling: 570, spent: 0 } }),
  });
  await call.wait(2000);
  await call.hears('I have a question about my invoice.');
  await call.wait(31_000);
  t.same(costs(call).at(-1), 500 + 10 + 30);
  t.same(warnings(call), ['cost_limit_near']);
  await call.hears('And the one before?');
  await call.wait(3000);
  t.match(await call.call.ended, {
    hangup_reason: 'budget',
    usage: { llm_output_tokens: 30 },
    hand_overs: [{ usage: { llm_output_tokens: 10 } }],
  });
  t.same(costs(call).at(-1), 500 + 10 + 60);
});
