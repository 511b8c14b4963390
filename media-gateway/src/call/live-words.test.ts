import t from 'tap';
import { REDACTION_KINDS } from '@parley/shared/redaction/kinds';
import { fakeCall, wirePlan } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;

function watch(call: FakeCall, ms: number): void {
  const refused = call.call.command({
    v: 1,
    command_id: 'cmd_1',
    session_id: call.plan.session_id,
    type: 'watch',
    args: { until: new Date(call.clock.now() + ms).toISOString() },
    expires_at: new Date(call.clock.now() + ms).toISOString(),
  });
  if (refused !== undefined) throw new Error(refused);
}

const words = (call: FakeCall) => call.events.filter(({ type }) => type === 'words');
const told = (call: FakeCall) =>
  words(call).map(({ data }) => `${String(data['role'])}: ${String(data['text'])}`);

void t.test('what is being said is told while somebody watches', async (t) => {
  const call = fakeCall();
  await call.wait(600);
  t.same(words(call), [], 'nobody watches yet');
  watch(call, 4000);
  await call.wait(1600);
  t.same(told(call), ['agent: Hello', 'agent: Hello there', 'agent: Hello there friend.', 'agent: ']);
  await call.hears('I want a table');
  t.match(told(call).slice(4), ['caller: I want']);
  const times = words(call).map(({ offsetMs }) => offsetMs);
  t.ok(
    times.slice(1).every((at, i) => at - times[i]! >= 200),
    'at most five a second',
  );
  await call.wait(3000);
  const before = words(call).length;
  await call.hears('And a chair');
  t.equal(words(call).length, before, 'nobody watches any more');
  t.notOk(call.saved.some((report) => JSON.stringify(report).includes('"final"')));
});

void t.test('where personal data is masked, a turn is told once it is over', async (t) => {
  const call = fakeCall({
    plan: wirePlan((plan) => (plan.redaction = { kinds: [...REDACTION_KINDS], before_llm: false })),
  });
  watch(call, 60_000);
  await call.wait(1600);
  await call.hears('my name is Alexander');
  t.same(words(call), []);
});
