import t from 'tap';
import { fakeCall, wirePlan, WORD_MS } from './fakes.ts';
import { ANSWER_MS } from './recording-consent.ts';

function call(mode: 'none' | 'announce' | 'ask', message = '', greeting = 'Welcome here.') {
  return fakeCall({
    plan: wirePlan((plan, config) => {
      plan.record.enabled = true;
      plan.agent.greeting = greeting;
      config.recording.consent = { mode, message };
      config.silence.max_reminders = 0;
    }),
  });
}

async function ended(fake: ReturnType<typeof call>) {
  fake.call.end({ ended_by: 'caller' });
  return fake.call.ended;
}

const answers = (fake: ReturnType<typeof call>) =>
  fake.events.filter(({ type }) => type === 'recording_consent').map(({ data }) => data['answer']);

void t.test('where nobody need consent, the call is recorded from its beginning', async (t) => {
  const fake = call('none', 'We record calls.');
  await fake.wait(2 * WORD_MS);
  t.ok(fake.recorded.caller.length > 0);
  await fake.wait(6 * WORD_MS);
  t.same([answers(fake), fake.spoken], [[], ['Welcome here.']]);
  t.match(await ended(fake), { recording: { status: 'stored' } });
});

void t.test('the caller is told of the recording, and only then it begins', async (t) => {
  const fake = call('announce', 'We record calls.');
  await fake.wait(2 * WORD_MS);
  t.same([fake.recorded.caller.length, fake.types().includes('recording')], [0, false]);
  await fake.wait(6 * WORD_MS);
  t.same(answers(fake), ['told']);
  t.match(fake.spoken, ['We record calls.', 'Welcome here.']);
  t.ok(fake.recorded.caller.length > 0);
  t.match(await ended(fake), { recording: { status: 'stored' } });
});

void t.test('a caller who is asked is recorded after a yes', async (t) => {
  const fake = call('ask');
  await fake.wait(14 * WORD_MS);
  t.match(fake.spoken, ['May we record this call? Please say yes or no.']);
  t.equal(fake.recorded.caller.length, 0);
  const before = fake.requests.length;
  await fake.hears('yes sure');
  t.same(answers(fake), ['yes']);
  await fake.wait(4 * WORD_MS);
  t.equal(fake.spoken.at(-1), 'Welcome here.', 'then the agent greets');
  t.equal(fake.requests.length, before, 'the answer is not for the model');
  t.ok(fake.recorded.caller.length > 0);
  t.match(fake.texts(), ['agent: May we record this call? Please say yes or no.', 'caller: yes sure']);
  t.match(await ended(fake), { recording: { status: 'stored' } });
});

void t.test('without a yes the call goes on unrecorded', async (t) => {
  const no = call('ask');
  await no.wait(14 * WORD_MS);
  await no.hears('no thanks');
  await no.wait(4 * WORD_MS);
  t.same(answers(no), ['no']);
  t.equal(no.spoken.at(-1), 'Welcome here.');
  t.equal(no.recorded.caller.length, 0);
  t.match(await ended(no), { recording: { status: 'failed', error: 'no_consent' } });

  const unclear = call('ask', 'May we record?');
  await unclear.wait(5 * WORD_MS);
  await unclear.hears('what is that for');
  await unclear.wait(6 * WORD_MS);
  t.equal(unclear.spoken.filter((said) => said === 'May we record?').length, 2, 'asked once more');
  await unclear.hears('I am not certain about it');
  await unclear.wait(4 * WORD_MS);
  t.match([answers(unclear), unclear.recorded.caller.length], [[/no|unclear/], 0]);
  await ended(unclear);

  const silent = call('ask', 'May we record?');
  await silent.wait(5 * WORD_MS + ANSWER_MS);
  t.same(answers(silent), ['silent']);
  t.equal(silent.spoken.at(-1), 'Welcome here.');
  await ended(silent);
});

void t.test('a call that ends while the caller is asked was not recorded', async (t) => {
  const fake = call('ask');
  await fake.wait(WORD_MS);
  t.match(await ended(fake), { recording: { status: 'failed', error: 'no_consent' } });
  t.same(answers(fake), []);
});
