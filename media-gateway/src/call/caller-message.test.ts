import t from 'tap';
import { fakeCall, salesDestination, wirePlan } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;

const plan = wirePlan((_, config) => {
  config.transfer.destinations = [
    salesDestination({ on_failure: 'voicemail', failure_message: 'Please leave a message.' }),
  ];
});

function command(call: FakeCall, type: 'transfer' | 'carrier_result', args: Record<string, unknown>): void {
  const head = { v: 1, command_id: 'cmd_1', session_id: call.plan.session_id } as const;
  call.call.command({ ...head, type, args, expires_at: new Date().toISOString() });
}

/** A caller who was asked for a message. */
async function asked(): Promise<FakeCall> {
  const call = fakeCall({ plan });
  await call.wait(1600);
  command(call, 'transfer', { destination_id: 'sales' });
  await call.wait(40);
  const { data } = call.events.find(({ type }) => type === 'carrier_command')!;
  command(call, 'carrier_result', { command_id: data['command_id'], ok: false, code: 'refused' });
  await call.wait(1900);
  t.equal(call.spoken.at(-1), 'Please leave a message.');
  return call;
}

const told = (call: FakeCall) =>
  call.events.filter(({ type }) => type === 'voicemail').map(({ data }) => data);

void t.test('all that is said is one turn, and three seconds of silence end it', async (t) => {
  const call = await asked();
  await call.hears('This is Ada.');
  await call.wait(1000);
  await call.hears('Please call me back.');
  await call.wait(2000);
  t.equal(call.report, undefined, 'the caller may think');
  await call.wait(1200);
  t.match(call.report, {
    ended_by: 'agent',
    hangup_reason: 'voicemail',
    variables: { outcome: 'voicemail' },
  });
  t.same(call.texts().slice(-2), [
    'agent: Please leave a message.',
    'caller: This is Ada. Please call me back.',
  ]);
  const [event] = told(call);
  t.equal(event!['turn_index'], call.turns().at(-1)!.turn_index);
  const turn = call.turns().at(-1)!;
  t.ok(turn.end_ms - turn.start_ms > 2000, 'from its first word to its last');
  t.equal(call.requests.length, 0, 'no model answers');
});

void t.test('who hangs up has left what they said, and who says nothing has left nothing', async (t) => {
  const call = await asked();
  await call.hears('This is Ada.');
  call.phone.listener.onGone({ by: 'caller', lost: false });
  await call.settle();
  t.equal(call.texts().at(-1), 'caller: This is Ada.');
  t.match(call.report, { hangup_reason: 'caller_hangup', variables: { outcome: 'voicemail' } });

  const silent = await asked();
  await silent.wait(3200);
  t.match(silent.report, { hangup_reason: 'voicemail' });
  t.notOk('outcome' in silent.report!.variables);
  t.same(told(silent), []);
});

void t.test('a message has two minutes', async (t) => {
  const call = await asked();
  for (let said = 0; said < 118_000; said += 2300) await call.hears('and so on', 2000);
  t.equal(call.report, undefined);
  await call.hears('and so on', 2000);
  await call.wait(1000, true);
  t.match(call.report, { hangup_reason: 'voicemail' });
  t.equal(told(call).length, 1);
});

void t.test('a caller who comes back from the carrier is met as the destination says', async (t) => {
  const back = (change: Parameters<typeof salesDestination>[0]) => {
    const leg = wirePlan((wire, config) => {
      wire.leg = 1;
      wire.returned_from = 'sales';
      config.transfer.destinations = [salesDestination(change)];
    });
    return fakeCall({ plan: leg });
  };
  const returned = back({});
  await returned.wait(1500);
  t.same(returned.spoken, ['Nobody is free.']);
  const thinking = back({ failure_message: '' });
  await thinking.wait(1500);
  t.match(String(thinking.requests[0]!.messages.at(-1)!.content), /transfer to sales failed/);
  const message = back({ on_failure: 'voicemail' });
  await message.wait(1700);
  await message.hears('This is Ada.');
  await message.wait(3200);
  t.match(message.report, { hangup_reason: 'voicemail', variables: { outcome: 'voicemail' } });
});
