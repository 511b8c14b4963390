import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { fakeCall, FakePhone, wirePlan } from './fakes.ts';
import { AUDIO_PATIENCE_MS } from './greeting.ts';

const ASSET = 'aud_1';
/** Two seconds at 8 kHz that are no voice's. */
const SAMPLES = Int16Array.from({ length: 16_000 }, (_, i) => Math.round(9000 * Math.sin(i / 3)));
const recorded = { samples: bytesFromPcm16(SAMPLES), sampleRate: 8000 };
const WIRE = encodeMulaw(SAMPLES);

const plan = (
  transcript: string | null = null,
  change: (plan: SessionPlanWire, config: AgentConfig) => void = () => {},
) =>
  wirePlan((wire, config) => {
    config.greeting.audio_asset_id = ASSET;
    wire.assets = { [ASSET]: { sha256: '0'.repeat(64), duration_ms: 2000, transcript } };
    change(wire, config);
  });

type FakeCall = ReturnType<typeof fakeCall>;

const sent = ({ phone }: FakeCall) => Buffer.concat(phone.sent);
const warnings = ({ events }: FakeCall) =>
  events.flatMap(({ type, data }) => (type === 'warning' ? [data['code']] : []));

const agentTurn = (call: FakeCall) => call.turns().find(({ role }) => role === 'agent');

async function end(call: FakeCall) {
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  return call.call.ended;
}

void t.test('the caller hears the asset, and the transcript has the words of the greeting', async (t) => {
  const asked: unknown[] = [];
  const call = fakeCall({
    plan: plan(),
    audio: async (id, asset, rate) => {
      asked.push([id, asset.duration_ms, rate]);
      return recorded;
    },
  });
  await call.wait(2400);
  t.same(asked, [[ASSET, 2000, 8000]]);
  t.ok(sent(call).equals(WIRE), 'sample by sample');
  t.ok(call.phone.maxBufferedMs <= 300, 'at the pace of speech');
  t.same(call.spoken, [], 'no voice speaks');
  t.match(call.turns(), [{ role: 'agent', text: 'Hello there friend.', interrupted: false }]);
  t.equal(
    call.recorded.agent.reduce((sum, { ms }) => sum + ms, 0),
    2000,
    'it is in the recording',
  );
  t.same(warnings(call), []);
  await call.hears('Good morning');
  await call.wait(2000);
  t.match(call.requests[0]?.messages, [{}, { role: 'assistant', content: 'Hello there friend.' }, {}]);
  t.equal((await end(call)).usage.tts_characters, 'All right then.'.length, 'of the answer alone');
});

void t.test('what was said in it wins over what the greeting would have said', async (t) => {
  const call = fakeCall({ plan: plan('Welcome to the desk.'), audio: async () => recorded });
  await call.wait(2400);
  t.same(call.texts(), ['agent: Welcome to the desk.']);
  await end(call);
  const wordless = plan(null, (wire) => (wire.agent.greeting = ''));
  const tune = fakeCall({ plan: wordless, audio: async () => recorded });
  await tune.wait(2400);
  t.same(tune.texts(), ['agent: (audio)'], 'that something was heard is known');
  await end(tune);
});

void t.test('the caller stops it as any speech, where that is allowed', async (t) => {
  const call = fakeCall({ plan: plan('one two three four'), audio: async () => recorded });
  await call.wait(1000);
  await call.hears('Hold on a moment');
  t.match(agentTurn(call), { text: 'one two', interrupted: true }, 'in proportion to what was heard');
  t.ok(call.types().includes('interruption'));
  await end(call);
  const protectedGreeting = plan('one two three four', (_, config) => {
    config.greeting.interruptible = false;
  });
  const other = fakeCall({ plan: protectedGreeting, audio: async () => recorded });
  await other.wait(600);
  await other.hears('Hold on a moment');
  await other.wait(1500);
  t.match(agentTurn(other), { text: 'one two three four', interrupted: false });
  await end(other);
});

void t.test(
  'audio that comes in a moment is waited for; the greeting is spoken when it does not',
  async (t) => {
    const slow = Promise.withResolvers<typeof recorded>();
    const call = fakeCall({ plan: plan(), audio: () => slow.promise });
    await call.wait(AUDIO_PATIENCE_MS - 100);
    t.same(call.phone.sent, []);
    slow.resolve(recorded);
    await call.wait(2400);
    t.ok(sent(call).equals(WIRE));
    await end(call);

    for (const [what, audio] of [
      ['never', () => new Promise<never>(() => {})],
      ['not at all', () => Promise.reject(new Error('404'))],
    ] as const) {
      const late = fakeCall({ plan: plan(), audio });
      await late.wait(AUDIO_PATIENCE_MS + 1800);
      t.same(late.texts(), ['agent: Hello there friend.'], `${what}: spoken`);
      t.same(late.spoken, ['Hello there friend.']);
      t.same(warnings(late), ['greeting_audio_unavailable']);
      await end(late);
    }
    const gone = fakeCall({ plan: plan(null, (wire) => (wire.assets = {})) });
    await gone.wait(1800);
    t.same(gone.texts(), ['agent: Hello there friend.'], 'an asset that is not ready');
    await end(gone);
  },
);

void t.test('nobody is greeted who speaks first, or is gone, while the audio is on its way', async (t) => {
  const slow = Promise.withResolvers<typeof recorded>();
  const call = fakeCall({ plan: plan(), audio: () => slow.promise });
  await call.hears('Hello?', 400);
  slow.resolve(recorded);
  await call.wait(2500);
  t.same(call.texts(), ['caller: Hello?', 'agent: All right then.']);
  await end(call);
  const late = Promise.withResolvers<typeof recorded>();
  const over = fakeCall({ plan: plan(), audio: () => late.promise });
  await over.wait(100);
  await end(over);
  late.resolve(recorded);
  await over.settle();
  t.same(over.phone.sent, []);
  t.equal(over.clock.pendingTimers, 0, 'nothing waits any more');
});

void t.test('a far end that only reads gets the words', async (t) => {
  let phone!: FakePhone;
  const call = fakeCall({
    plan: plan('Welcome.'),
    audio: async () => recorded,
    farEnd: (clock) => {
      phone = new FakePhone(clock);
      return { participant: phone, deps: { textOnly: true }, tick: (voiced) => phone.tick(voiced) };
    },
  });
  await call.wait(400);
  t.same(call.texts(), ['agent: Welcome.']);
  t.same(phone.sent, []);
  await end(call);
});
