import t from 'tap';
import { fakeCall, wirePlan, WORD_MS, salesDestination } from './fakes.ts';

const text = (words: string) => ({ events: [{ type: 'text' as const, text: words }] });
const GREETED_MS = 1600;

void t.test('a phrase of the agent’s that ends calls is heard out, then the call ends', async (t) => {
  const call = fakeCall({
    plan: wirePlan((_, config) => (config.end_call.phrases = ['have a nice day'])),
    llm: () => text('Thank you. Have a nice day!'),
  });
  await call.wait(GREETED_MS);
  await call.hears('That was all');
  await call.wait(200 + 3 * WORD_MS);
  t.equal(call.report, undefined, 'not while it is being said');
  await call.wait(4 * WORD_MS);
  const report = await call.call.ended;
  t.match(report, { ended_by: 'agent', hangup_reason: 'agent_hangup' });
  t.equal(report.turns.at(-1)!.text, 'Thank you. Have a nice day!');
});

void t.test('at the time limit the goodbye is said, then the call ends', async (t) => {
  const plan = wirePlan((wire, config) => {
    wire.limits.max_duration_seconds = 5;
    config.end_call.message = 'Our time is up.';
  });
  const call = fakeCall({ plan });
  await call.wait(5000);
  t.equal(call.report, undefined);
  await call.wait(4 * WORD_MS + 500);
  const report = await call.call.ended;
  t.match(report, { ended_by: 'system', hangup_reason: 'max_duration' });
  t.equal(report.turns.at(-1)!.text, 'Our time is up.');
});

void t.test('before the time limit the caller is told, as soon as nobody speaks', async (t) => {
  const limited = (maxSeconds: number, warnSeconds: number) =>
    wirePlan((wire, config) => {
      wire.limits.max_duration_seconds = maxSeconds;
      config.language.primary = 'de-DE';
      config.silence.max_reminders = 0;
      config.limits.warn_before_end_seconds = warnSeconds;
    });
  const call = fakeCall({ plan: limited(30, 20), llm: () => text('Um zehn Uhr.') });
  await call.wait(5000);
  await call.hears('Und wann schließen Sie denn heute', 8000);
  t.equal(call.spoken.length, 1, 'not while the caller speaks');
  await call.wait(3500);
  t.same(call.texts().slice(2), ['agent: Um zehn Uhr.']);
  await call.wait(1500);
  t.equal(call.texts()[3], 'agent: Dieses Gespräch endet in 15 Sekunden.', 'so long when it is said');
  await call.wait(6000);
  t.equal(call.spoken.length, 3, 'and not again');
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });

  const short = fakeCall({ plan: limited(10, 60) });
  await short.wait(8000);
  t.same(short.texts(), ['agent: Hello there friend.'], 'a call that is no longer is not begun with it');
  short.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
});

void t.test('what cannot be said within 30 s is not waited for any longer', async (t) => {
  const plan = wirePlan((wire, config) => {
    wire.limits.max_duration_seconds = 4;
    config.end_call.message = '';
  });
  const call = fakeCall({ plan, llm: () => ({ ...text('Much too late.'), afterMs: 120_000 }) });
  await call.wait(GREETED_MS);
  await call.hears('Are you there?');
  await call.wait(25_000);
  t.equal(call.report, undefined, 'the answer is waited for');
  await call.wait(8000);
  t.match(await call.call.ended, { ended_by: 'system', hangup_reason: 'max_duration' });
  t.same(call.aborted, ['llm']);
});

void t.test('a transfer that fails ends the call where the destination says so', async (t) => {
  const plan = wirePlan((_, config) => {
    config.transfer.destinations = [
      salesDestination({ on_failure: 'hangup', failure_message: 'Nobody is free. Goodbye.' }),
    ];
  });
  const call = fakeCall({ plan });
  await call.wait(GREETED_MS);
  const order = (type: 'transfer' | 'carrier_result', args: Record<string, unknown>) =>
    call.call.command({
      v: 1,
      command_id: type,
      session_id: plan.session_id,
      type,
      args,
      expires_at: new Date().toISOString(),
    });
  order('transfer', { destination_id: 'sales' });
  await call.wait(20);
  const asked = call.events.find((event) => event.type === 'carrier_command')!;
  order('carrier_result', { command_id: asked.data['command_id'], ok: false, code: 'busy' });
  await call.wait(4 * WORD_MS + 500);
  const report = await call.call.ended;
  t.match(report, { ended_by: 'agent', hangup_reason: 'agent_hangup' });
  t.equal(report.turns.at(-1)!.text, 'Nobody is free. Goodbye.');
  t.match(call.events.findLast((event) => event.type === 'transfer')?.data, {
    phase: 'failed',
    code: 'busy',
  });
});

void t.test('rule 34: what a call owns is closed with it, whichever way it ends', async (t) => {
  const ways: Record<string, (call: ReturnType<typeof fakeCall>) => void> = {
    'the caller hangs up': (call) => call.phone.listener.onGone({ by: 'caller', lost: false }),
    'the process stops': (call) => call.call.end({ ended_by: 'system', hangup_reason: 'shutdown' }),
  };
  for (const [name, end] of Object.entries(ways)) {
    const call = fakeCall({ llm: () => text('one two three four five') });
    await call.wait(GREETED_MS);
    await call.hears('Count');
    await call.wait(300);
    call.phone.listener.onDtmf('1');
    end(call);
    await call.call.ended;
    await call.settle();
    t.equal(call.open.stt, 0, `${name}: nobody listens`);
    t.equal(call.ticker.size, 0, `${name}: nothing ticks`);
    const before = call.events.length;
    call.clock.advance(120_000);
    await call.settle();
    t.equal(call.events.length, before, `${name}: nothing happens afterwards`);
    t.equal(call.phone.closed?.code, name === 'the process stops' ? 1001 : 1000);
  }
});

void t.test('rule 20: how a call ended is on disk before anything that its end takes time for', async (t) => {
  const call = fakeCall();
  await call.wait(1600);
  await call.hears('When do you close?');
  await call.wait(100 + 50 + 2 * WORD_MS);
  call.phone.listener.onGone({ by: 'caller', lost: false });
  const saved = call.saved.at(-1);
  t.equal(call.report, undefined, 'not reported yet');
  t.match(saved, { over: true, ended_by: 'caller', hangup_reason: 'caller_hangup' });
  t.equal(saved?.turns.at(-1)?.text, 'All right', 'and what was heard of the sentence that it cut');
  await call.call.ended;
});

void t.test('what is being said is on disk before it is over', async (t) => {
  const call = fakeCall({
    llm: () => ({ events: [{ type: 'text', text: 'one two three four five six seven eight nine ten.' }] }),
  });
  const underWay = () => call.saved.at(-1)?.turns.map(({ role, text }) => `${role}: ${text}`);
  await call.wait(1600);
  await call.wait(400, true);
  call.stt.onInterim({ text: 'I would like', confidence: 0.9, endMs: undefined, language: undefined });
  await call.wait(2000, true);
  t.same(underWay(), ['agent: Hello there friend.', 'caller: I would like']);
  t.match(call.saved.at(-1), { over: false, failure_reason: 'internal' });

  await call.hears('I would like a table.', 0);
  await call.wait(3000);
  const lines = underWay()!;
  t.same(lines.slice(0, 2), ['agent: Hello there friend.', 'caller: I would like a table.']);
  t.match(lines[2], /^agent: one two/);
  t.notMatch(lines[2], /ten/);
  await call.wait(3000);
  t.equal(underWay()!.length, 3, 'the whole turn takes the place of its beginning');
  t.match(underWay()![2], /ten\.$/);
});
