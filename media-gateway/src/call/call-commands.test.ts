import t from 'tap';
import type { CommandType } from '@parley/shared/contracts/commands';
import { fakeCall, wirePlan, WORD_MS, salesDestination } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;

const text = (words: string) => ({ events: [{ type: 'text' as const, text: words }] });
/** The greeting was heard. */
const GREETED_MS = 1600;
const PATIENCE_MS = 15_000;

function order(call: FakeCall, type: CommandType, args: object = {}): string | undefined {
  return call.call.command({
    v: 1,
    command_id: 'cmd_1',
    session_id: call.plan.session_id,
    type,
    args: args as Record<string, unknown>,
    expires_at: new Date().toISOString(),
  });
}

/** Time passes until the caller has heard this. */
async function heard(call: FakeCall, words: string): Promise<void> {
  for (let waited = 0; waited < PATIENCE_MS; waited += 20) {
    if (call.texts().includes(`agent: ${words}`)) return;
    await call.wait(20);
  }
  throw new Error(`"${words}" was not heard. Heard: ${call.texts().join(' | ')}`);
}

async function untilCarrierIsAsked(call: FakeCall): Promise<string> {
  for (let waited = 0; waited < PATIENCE_MS; waited += 20) {
    const asked = carrierCommands(call).at(-1);
    if (asked) return asked.command_id;
    await call.wait(20);
  }
  throw new Error('The carrier was not asked for anything.');
}

function carrierCommands(call: FakeCall) {
  return call.events
    .filter((event) => event.type === 'carrier_command')
    .map((event) => event.data as { command_id: string; action: string });
}

function interruptions(call: FakeCall): number {
  return call.events.filter((event) => event.type === 'interruption').length;
}

const sales = wirePlan((_, config) => {
  config.dtmf.receive = true;
  config.transfer.destinations = [salesDestination({ announce_to_caller: 'I am connecting you.' })];
});

void t.test('say', async (t) => {
  await t.test('waits until what is being said was heard, and keeps its order', async (t) => {
    const call = fakeCall({ llm: () => text('one two three four five six') });
    await call.wait(GREETED_MS);
    await call.hears('Count to six');
    await call.wait(160 + 2 * WORD_MS);
    t.equal(order(call, 'say', { text: 'Your taxi is here.' }), undefined);
    t.equal(order(call, 'event', { name: 'paid', say: 'You have paid.' }), undefined);
    await heard(call, 'You have paid.');
    t.same(call.texts().slice(2), [
      'agent: one two three four five six',
      'agent: Your taxi is here.',
      'agent: You have paid.',
    ]);
    t.notOk(
      call.turns().some((turn) => turn.interrupted),
      'nothing was cut off',
    );
  });

  await t.test('waits for an answer that is still thought of', async (t) => {
    const call = fakeCall({ llm: () => ({ ...text('At six.'), afterMs: 500 }) });
    await call.wait(GREETED_MS);
    await call.hears('When do you close?');
    t.equal(order(call, 'say', { text: 'Your taxi is here.' }), undefined);
    await heard(call, 'Your taxi is here.');
    t.same(call.texts().slice(2), ['agent: At six.', 'agent: Your taxi is here.']);
  });

  await t.test('that waits when the caller interrupts is said after the answer', async (t) => {
    const call = fakeCall({
      llm: ({ messages }) =>
        text(messages.at(-1)!.content === 'Count' ? 'one two three four five six' : 'Of course.'),
    });
    await call.wait(GREETED_MS);
    await call.hears('Count');
    await call.wait(160 + 2 * WORD_MS);
    order(call, 'say', { text: 'Your taxi is here.' });
    await call.hears('Hold on a moment');
    await heard(call, 'Your taxi is here.');
    t.equal(interruptions(call), 1);
    t.same(call.texts().slice(-3), [
      'caller: Hold on a moment',
      'agent: Of course.',
      'agent: Your taxi is here.',
    ]);
  });

  await t.test('is refused when too many wait', async (t) => {
    const call = fakeCall();
    await call.wait(200);
    const codes = Array.from({ length: 9 }, (_, i) => order(call, 'say', { text: `Number ${i}.` }));
    t.same(codes, [...Array<undefined>(8).fill(undefined), 'too_many_waiting']);
    await heard(call, 'Number 7.');
    t.notOk(call.texts().includes('agent: Number 8.'));
    t.equal(order(call, 'say', { text: 'Room again.' }), undefined);
  });

  await t.test('that waits is dropped when the call is to end', async (t) => {
    const call = fakeCall();
    await call.wait(200);
    order(call, 'say', { text: 'Your taxi is here.' });
    order(call, 'end', { ended_by: 'api', hangup_reason: 'api_hangup', message: 'Goodbye.' });
    await heard(call, 'Goodbye.');
    await call.call.ended;
    t.notOk(call.texts().includes('agent: Your taxi is here.'));
  });
});

void t.test('while a transfer rings', async (t) => {
  const ringing = async () => {
    const call = fakeCall({ plan: sales });
    await call.wait(GREETED_MS);
    t.equal(order(call, 'transfer', { destination_id: 'sales' }), undefined);
    return { call, commandId: await untilCarrierIsAsked(call) };
  };
  const spokenBefore = (call: FakeCall) => ({ spoken: call.spoken.length, asked: call.requests.length });

  await t.test('keys are written down, and nobody answers into the transfer', async (t) => {
    const { call } = await ringing();
    const before = spokenBefore(call);
    for (const digit of '12#') call.phone.listener.onDtmf(digit);
    await call.wait(1000);
    t.same(spokenBefore(call), before, 'the model was not asked and the voice not used');
    t.equal(call.texts().at(-1), 'caller: (keys) 12');
  });

  await t.test('nothing is said on command', async (t) => {
    const { call } = await ringing();
    const before = spokenBefore(call);
    t.equal(order(call, 'say', { text: 'Hello?' }), 'transferring');
    t.equal(order(call, 'event', { name: 'paid', say: 'You have paid.' }), 'transferring');
    await call.wait(1000);
    t.same(spokenBefore(call), before);
  });

  await t.test('what was accepted before is said if the transfer fails', async (t) => {
    const call = fakeCall({ plan: sales });
    await call.wait(200);
    t.equal(order(call, 'say', { text: 'Your taxi is here.' }), undefined);
    order(call, 'transfer', { destination_id: 'sales' });
    const commandId = await untilCarrierIsAsked(call);
    t.notOk(call.spoken.includes('Your taxi is here.'));
    order(call, 'carrier_result', { command_id: commandId, ok: false });
    await heard(call, 'Your taxi is here.');
    t.same(call.texts().slice(-2), ['agent: Nobody is free.', 'agent: Your taxi is here.']);
  });

  await t.test('a stream that is silent meanwhile is no lost line', async (t) => {
    const { call, commandId } = await ringing();
    call.phone.listener.onGone({ by: 'caller', lost: false });
    call.clock.advance(12_000);
    await call.settle();
    t.equal(call.report, undefined);
    order(call, 'carrier_result', { command_id: commandId, ok: true });
    await call.settle();
    const asked = call.events.find(({ type }) => type === 'carrier_command')!.data as {
      args: { transfer_id: string };
    };
    order(call, 'transfer_result', { transfer_id: asked.args.transfer_id, result: 'bridged' });
    t.match(await call.call.ended, { ended_by: 'agent', hangup_reason: 'transferred' });
  });

  await t.test('a request to end with a message hangs up without it', async (t) => {
    const { call } = await ringing();
    const before = spokenBefore(call);
    order(call, 'end', { ended_by: 'api', hangup_reason: 'api_hangup', message: 'Goodbye.' });
    t.match(await call.call.ended, { ended_by: 'api', hangup_reason: 'api_hangup' });
    t.same(spokenBefore(call), before);
  });
});

void t.test('keys do not cut off the announcement of a transfer', async (t) => {
  const call = fakeCall({ plan: sales });
  await call.wait(GREETED_MS);
  order(call, 'transfer', { destination_id: 'sales' });
  await call.wait(300);
  for (const digit of '12#') call.phone.listener.onDtmf(digit);
  await untilCarrierIsAsked(call);
  t.same(call.texts().slice(-2).toSorted(), ['agent: I am connecting you.', 'caller: (keys) 12']);
  t.equal(call.requests.length, 0);
});

void t.test('transfer after end is refused, and the goodbye is said', async (t) => {
  const call = fakeCall({ plan: sales });
  await call.wait(GREETED_MS);
  order(call, 'end', { ended_by: 'api', hangup_reason: 'api_hangup', message: 'Goodbye then.' });
  await call.wait(100);
  t.equal(order(call, 'transfer', { destination_id: 'sales' }), 'ending');
  await heard(call, 'Goodbye then.');
  t.match(await call.call.ended, { ended_by: 'api', hangup_reason: 'api_hangup' });
  t.same(
    carrierCommands(call).map(({ action }) => action),
    ['hangup'],
  );
});

void t.test('a second end does not cut off the goodbye of the first', async (t) => {
  const call = fakeCall();
  await call.wait(GREETED_MS);
  order(call, 'end', { ended_by: 'api', hangup_reason: 'api_hangup', message: 'Goodbye then my friend.' });
  await call.wait(100 + WORD_MS);
  order(call, 'end', { ended_by: 'api', hangup_reason: 'api_hangup', message: 'Goodbye again.' });
  await heard(call, 'Goodbye then my friend.');
  t.match(await call.call.ended, { ended_by: 'api', hangup_reason: 'api_hangup' });
});
