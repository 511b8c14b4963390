import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { fakeCall, wirePlan, WORD_MS } from './fakes.ts';

const RECORDER = 'Hi, I cannot take your call. Please leave a message after the beep.';

function outbound(change: (config: AgentConfig) => void = () => {}) {
  const plan = wirePlan((wire, config) => {
    wire.direction = 'outbound';
    wire.answer_detection = { deadline_ms: 6000, carrier: 'none' };
    config.answer_detection.enabled = true;
    change(config);
  });
  const texts: string[] = [];
  const call = fakeCall({
    plan,
    // Each text sounds different, so that what was sent is known.
    speak: (text) => {
      if (!texts.includes(text)) texts.push(text);
      return new Uint8Array(text.split(' ').length * WORD_MS * 8).fill(0x20 + texts.indexOf(text));
    },
  });
  /** What the far end was sent, text by text; the same twice in a row counts once. */
  const sent = () => {
    const codes = call.phone.sent.map((bytes) => bytes[0]!);
    return codes.filter((code, i) => code !== codes[i - 1]).map((code) => texts[code - 0x20]);
  };
  return {
    ...call,
    sent,
    get stt() {
      return call.stt;
    },
  };
}

type FakeCall = Pick<
  ReturnType<typeof fakeCall>,
  'events' | 'stt' | 'wait' | 'phone' | 'clock' | 'settle' | 'call' | 'plan'
>;

const answers = ({ events }: FakeCall) =>
  events.flatMap(({ type, data }) =>
    type === 'answer_class' ? [`${String(data['class'])} by ${String(data['by'])}`] : [],
  );

/** Says words in so much time; the STT tells them as they come, and not yet that they are over. */
async function says(call: FakeCall, text: string, ms: number): Promise<void> {
  const words = text.split(' ');
  for (let i = 0; i < words.length; i++) {
    await call.wait(Math.round(ms / words.length / 20) * 20, true);
    const said = words.slice(0, i + 1).join(' ');
    call.stt.onInterim({ text: said, confidence: 0.9, endMs: undefined, language: undefined });
  }
}

/** 20 ms a step, of a tone or of nothing. */
async function beeps(call: FakeCall, hz: number, ms: number): Promise<void> {
  const samples = Int16Array.from(
    { length: ms * 8 },
    (_, i) => 9000 * Math.sin((2 * Math.PI * hz * i) / 8000),
  );
  const bytes = encodeMulaw(samples);
  for (let at = 0; at < bytes.length; at += 160) {
    call.phone.listener.onAudio(bytes.subarray(at, at + 160), undefined);
    call.clock.advance(20);
    await call.settle();
  }
}

const verdict = (call: FakeCall, args: GatewayCommand['args']) =>
  call.call.command({
    v: 1,
    command_id: 'cmd_1',
    session_id: call.plan.session_id,
    type: 'answer_verdict',
    args: { source: 'carrier', ...args },
    expires_at: '2030-01-01T00:00:00.000Z',
  });

async function end(call: FakeCall) {
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  return call.call.ended;
}

void t.test('a person is greeted right behind their hello, which the model is told of', async (t) => {
  const call = outbound();
  await call.wait(600);
  await says(call, 'Hello, Mary speaking.', 900);
  t.same(call.sent(), [], 'the agent listens');
  t.same(call.spoken, ['Hello there friend.'], 'and has its greeting ready');
  await call.wait(520);
  t.same(answers(call), ['human by greeting']);
  t.same(call.sent(), ['Hello there friend.']);
  call.stt.onTurnEnd({
    text: 'Hello, Mary speaking.',
    confidence: 0.9,
    endMs: undefined,
    language: undefined,
  });
  await call.wait(3 * WORD_MS + 600);
  t.same(
    call.texts(),
    ['caller: Hello, Mary speaking.', 'agent: Hello there friend.'],
    'words that come late stop nothing',
  );
  t.same(call.requests, []);
  await call.hears('What is this about?');
  await call.wait(1500);
  t.equal(call.texts().at(-1), 'agent: All right then.', 'and from then on it is a call as any other');
  t.match(call.requests[0]!.messages.map(({ content }) => content).slice(1), [
    'Hello, Mary speaking.',
    'Hello there friend.',
    'What is this about?',
  ]);
  await end(call);
});

void t.test('where nobody speaks the agent does, and whoever then answers is a person', async (t) => {
  const call = outbound();
  await call.wait(1160);
  t.same(call.sent(), []);
  await call.wait(200);
  t.same(call.sent(), ['Hello there friend.']);
  await call.wait(3 * WORD_MS);
  await call.hears('Hello?');
  await call.wait(1000);
  t.same(answers(call), ['human by greeting']);
  await end(call);
});

void t.test('rule 36: without a word until the deadline nobody knows who it is', async (t) => {
  const call = outbound();
  await call.wait(6100);
  t.same(answers(call), ['unknown by deadline']);
  const { after_ms: after } = call.events.find(({ type }) => type === 'answer_class')!.data;
  t.ok(Number(after) >= 6000 && Number(after) <= 6040, `${String(after)} ms`);
  await end(call);
});

void t.test('a recorder is left alone', async (t) => {
  const call = outbound();
  await call.wait(400);
  await says(call, RECORDER, 4200);
  const report = await call.call.ended;
  t.match(report, { ended_by: 'agent', hangup_reason: 'voicemail' });
  t.same(answers(call), ['voicemail by phrase']);
  t.same(call.sent(), []);
});

void t.test('a recorder that was greeted in its first pause is left all the same', async (t) => {
  const call = outbound();
  await call.wait(400);
  await says(call, 'Hi there!', 600);
  await call.wait(600);
  t.same(answers(call), ['human by greeting']);
  await says(call, RECORDER, 4000);
  t.match(await call.call.ended, { hangup_reason: 'voicemail' });
  t.same(answers(call).at(-1), 'voicemail by phrase', 'the later word is the right one');
});

void t.test('a message is said behind the beep, whole, and then the call ends', async (t) => {
  const call = outbound((config) => {
    config.answer_detection.voicemail.action = 'leave_message';
    config.answer_detection.voicemail.message = 'Please call us back.';
  });
  await call.wait(400);
  await says(call, RECORDER, 4200);
  await call.wait(1000);
  t.same(call.sent(), [], 'it waits');
  await beeps(call, 1000, 400);
  await call.wait(600);
  t.same(call.sent(), ['Please call us back.']);
  await call.wait(200, true);
  call.stt.onTurnEnd({ text: RECORDER, confidence: 0.9, endMs: undefined, language: undefined });
  await call.wait(4 * WORD_MS + 400);
  t.match(await call.call.ended, { ended_by: 'agent', hangup_reason: 'voicemail' });
  const said = call.turns().find(({ role }) => role === 'agent');
  t.match(said, { text: 'Please call us back.', interrupted: false });
});

void t.test('without a beep the message follows a silence', async (t) => {
  const call = outbound((config) => {
    config.answer_detection.voicemail.action = 'leave_message';
    config.answer_detection.voicemail.message = 'Please call us back.';
  });
  await call.wait(400);
  await says(call, RECORDER, 4200);
  await call.wait(2400);
  t.same(call.sent(), []);
  await call.wait(300);
  t.same(call.sent(), ['Please call us back.']);
  await call.wait(400);
  await beeps(call, 1400, 300);
  await call.wait(400);
  t.equal(
    call.spoken.filter((text) => text === 'Please call us back.').length,
    2,
    'once more when the beep comes late',
  );
  await call.wait(4 * WORD_MS + 400);
  t.match(await call.call.ended, { hangup_reason: 'voicemail' });
});

void t.test('a recorder that does not stop talking is waited for as long as the agent says', async (t) => {
  for (const [seconds, said] of [
    [2, ['Please call us back.']],
    [9, []],
  ] as const) {
    const call = outbound(({ answer_detection: { voicemail } }) => {
      voicemail.action = 'leave_message';
      voicemail.message = 'Please call us back.';
      voicemail.wait_for_beep_seconds = seconds;
    });
    await call.wait(400);
    await says(call, RECORDER, 4200);
    await call.wait(4000, true);
    t.same(call.sent(), said);
    await end(call);
  }
});

void t.test('a message that nobody has written is thought of by the model', async (t) => {
  const call = outbound((config) => (config.answer_detection.voicemail.action = 'leave_message'));
  await call.wait(400);
  await says(call, RECORDER, 4200);
  await call.wait(300);
  await beeps(call, 850, 500);
  await call.wait(1200 + 3 * WORD_MS);
  t.same(call.sent(), ['All right then.']);
  t.match(await call.call.ended, { hangup_reason: 'voicemail' });
});

void t.test('a screening assistant is answered, and the person whom it brings is greeted', async (t) => {
  const call = outbound((config) => (config.answer_detection.screening.message = 'It is the desk.'));
  await call.wait(400);
  await says(call, 'Please state your name and the reason for calling.', 2600);
  t.same(answers(call), ['screening by phrase']);
  t.same(call.sent(), [], 'not into its words');
  await call.wait(800);
  t.same(call.sent(), ['It is the desk.']);
  await call.wait(4 * WORD_MS);
  await call.hears('Thanks, please stay on the line.', 1400);
  await call.wait(5000);
  t.same(call.sent(), ['It is the desk.'], 'it waits');
  await says(call, 'Yes, hello?', 700);
  await call.wait(600);
  t.same(call.sent(), ['It is the desk.', 'Hello there friend.']);
  t.same(answers(call), ['screening by phrase', 'human by greeting']);
  await end(call);
});

void t.test('a voice menu is answered at its end by an agent who knows what it is', async (t) => {
  const call = outbound();
  await call.wait(400);
  await says(call, 'For sales press one, for support press two', 3000);
  t.same(answers(call), ['ivr by phrase']);
  await call.wait(400);
  call.stt.onTurnEnd({
    text: 'For sales press one, for support press two.',
    confidence: 0.9,
    endMs: undefined,
    language: undefined,
  });
  await call.wait(1500);
  t.equal(call.requests.length, 1);
  t.match(JSON.stringify(call.requests[0]!.messages), /voice menu/);
  await end(call);
});

void t.test('each machine may be hung up on, or talked to', async (t) => {
  const menu = outbound((config) => (config.answer_detection.ivr.action = 'hangup'));
  await says(menu, 'For sales press one', 1600);
  t.match(await menu.call.ended, { ended_by: 'agent', hangup_reason: 'agent_hangup' });
  const assistant = outbound((config) => (config.answer_detection.screening.action = 'hangup'));
  await says(assistant, 'Please record your name', 1600);
  t.match(await assistant.call.ended, { ended_by: 'agent', hangup_reason: 'agent_hangup' });
  const recorder = outbound((config) => (config.answer_detection.voicemail.action = 'continue'));
  await says(recorder, 'Please leave a message', 1600);
  recorder.stt.onTurnEnd({
    text: 'Please leave a message.',
    confidence: 0.9,
    endMs: undefined,
    language: undefined,
  });
  await recorder.wait(2500);
  t.same(answers(recorder), ['voicemail by phrase']);
  t.equal(recorder.texts().at(-1), 'agent: All right then.');
  await end(recorder);
});

void t.test('texts from outside wait until it is known who listens', async (t) => {
  const call = outbound();
  call.call.command({
    v: 1,
    command_id: 'cmd_2',
    session_id: call.plan.session_id,
    type: 'say',
    args: { text: 'News.' },
    expires_at: '2030-01-01T00:00:00.000Z',
  });
  await call.wait(1000);
  t.same(call.sent(), []);
  await call.wait(2500);
  t.same(call.sent(), ['Hello there friend.', 'News.']);
  await end(call);
});

void t.test("rule 36: a carrier's word alone makes no machine of a person", async (t) => {
  const call = outbound();
  await call.wait(300);
  t.equal(verdict(call, { class: 'machine' }), undefined);
  await says(call, 'Good morning, this is Smith and Sons, Dave speaking, how can I help?', 3600);
  await call.wait(1100);
  t.same(answers(call), ['human by greeting']);
  t.same(call.sent(), ['Hello there friend.']);
  await end(call);
  t.equal(verdict(call, { class: 'machine' }), 'not_live');
});

void t.test("a carrier's word and a hint of our own ears make a recorder", async (t) => {
  const call = outbound();
  await call.wait(300);
  await says(call, "You've reached Mary", 1400);
  t.same(answers(call), []);
  verdict(call, { class: 'machine' });
  t.match(await call.call.ended, { hangup_reason: 'voicemail' });
  t.same(answers(call), ['voicemail by carrier']);
});

void t.test('calls without detection are greeted at once', async (t) => {
  const call = fakeCall();
  await call.wait(100);
  t.same(call.spoken, ['Hello there friend.']);
  t.equal(verdict(call, { class: 'machine' }), undefined, 'nobody asked');
  await call.wait(1500);
  t.same(answers(call), []);
  await end(call);
});
