import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import { LANGUAGES_WITH_PHRASES, listeningPhrases } from '../turns/listening-phrases.ts';
import { fakeCall, wirePlan } from './fakes.ts';

const GREETED_MS = 1600;

function listener(change: Partial<AgentConfig['turn_taking']['backchannel']> = {}) {
  return fakeCall({
    plan: wirePlan((plan, config) => {
      plan.record.enabled = true;
      config.turn_taking.backchannel = { enabled: true, frequency: 1, phrases: [], ...change };
    }),
    // Six tenths of a second, whatever it is.
    speak: (text) => new Uint8Array(text.startsWith('Hello') ? 8000 : 4800).fill(0x20),
  });
}
type Listening = ReturnType<typeof listener>;

const words = (text: string) => ({ text, confidence: 0.9, endMs: undefined, language: undefined });

/** The caller speaks for a while and pauses; their turn goes on. */
async function speaks(call: Listening, text: string, speechMs: number, pauseMs: number): Promise<void> {
  await call.wait(speechMs / 2, true);
  call.stt.onInterim(words(text));
  await call.wait(speechMs / 2, true);
  await call.wait(pauseMs);
}

const backchannels = (call: Listening) =>
  call
    .turns()
    .filter((turn) => (turn as { backchannel?: boolean }).backchannel)
    .map(({ role, text, start_ms, end_ms }) => ({ role, text, ms: end_ms - start_ms }));

void t.test('in a pause of a caller who goes on the agent shows that it listens', async (t) => {
  const call = listener();
  await call.wait(GREETED_MS);
  const sent = call.phone.sent.length;
  await speaks(call, 'I would like to book', 2000, 440);
  t.equal(call.phone.sent.length, sent, 'not in every gap between words');
  await call.wait(400);
  t.ok(call.phone.sent.length > sent, 'heard');
  t.ok(call.phone.maxBufferedMs <= 300);
  // The caller goes on while it is being said.
  await speaks(call, 'I would like to book a table for two', 800, 700);
  t.same(backchannels(call), [{ role: 'agent', text: 'Mhm.', ms: 600 }], 'one for so much speech');
  await speaks(call, 'I would like to book a table for two and then', 1400, 900);
  await call.wait(200, true);
  call.stt.onTurnEnd(words('I would like to book a table for two and then one more.'));
  await call.wait(2500);
  t.same(
    backchannels(call).map(({ text }) => text),
    ['Mhm.', 'I see.'],
    'another one each time',
  );
  t.same(
    call.texts().filter((text) => text.startsWith('caller')),
    ['caller: I would like to book a table for two and then one more.'],
    'one turn, which was not ended by it',
  );
  t.notOk(call.types().includes('interruption'));
  t.notOk(
    call.events.some(({ data }) => data['action'] === 'stop'),
    'nothing of the agent was stopped',
  );
  t.same(
    call.requests
      .at(-1)!
      .messages.slice(1)
      .map(({ content }) => content),
    ['Hello there friend.', 'I would like to book a table for two and then one more.'],
    'the model is not told',
  );
  const [, first] = call.recorded.agent.reduce<[number, number][]>((stretches, { atMs, ms }) => {
    const last = stretches.at(-1);
    if (last && atMs - last[0] - last[1] < 5) last[1] += ms;
    else stretches.push([atMs, ms]);
    return stretches;
  }, []);
  t.equal(first![1], 600, 'it is recorded where it was heard');
  call.call.end({ ended_by: 'api' });
});

void t.test('a far end that takes audio of replies alone, as browsers do, hears none', async (t) => {
  const call = listener();
  Object.assign(call.phone, { ambience: false });
  await call.wait(GREETED_MS);
  await speaks(call, 'I would like to book', 2000, 900);
  await call.wait(1000, true);
  t.same(backchannels(call), []);
  call.call.end({ ended_by: 'api' });
});

void t.test('a reply does not wait for one, and what was heard of it is written down', async (t) => {
  const call = listener();
  await call.wait(GREETED_MS);
  await speaks(call, 'I would like to book', 2000, 600);
  const clears = call.phone.clears.length;
  call.stt.onTurnEnd(words('I would like to book.'));
  await call.wait(220);
  t.equal(
    call.phone.clears.length,
    clears + 1,
    'the rest is dropped when the first sound of the reply is there',
  );
  await call.wait(2000);
  const [cut] = backchannels(call);
  t.ok(cut!.ms > 100 && cut!.ms < 600, `${cut!.ms} ms`);
  t.equal(call.texts().at(-1), 'agent: All right then.');
  t.match(call.turns().at(-1), { interrupted: false });
  call.call.end({ ended_by: 'api' });
});

void t.test(
  'as often as the agent is set, in its own words, and never without being asked for',
  async (t) => {
    const count = async (change: Parameters<typeof listener>[0], greetedMs = GREETED_MS) => {
      const call = listener(change);
      await call.wait(greetedMs);
      for (let pause = 1; pause <= 6; pause++)
        await speaks(call, Array(pause).fill('and then').join(' '), 1600, 700);
      await call.wait(1000, true);
      const said = backchannels(call).map(({ text }) => text);
      call.call.end({ ended_by: 'api' });
      return said;
    };
    t.same(await count({ phrases: ['Aha.'] }), Array(6).fill('Aha.'));
    t.same(await count({ frequency: 0.5 }), ['Mhm.', 'I see.', 'Right.']);
    t.same(await count({ frequency: 0 }), []);
    t.same(await count({ enabled: false }), []);
  },
);

void t.test('while the agent speaks it says none', async (t) => {
  const call = fakeCall({
    plan: wirePlan((_plan, config) => {
      config.turn_taking.backchannel = { enabled: true, frequency: 1, phrases: [] };
      config.interruption.enabled = false;
      config.filler.enabled = false;
    }),
    llm: () => ({ events: [{ type: 'text', text: Array(30).fill('word').join(' ') }] }),
  });
  await call.wait(GREETED_MS);
  await call.hears('Tell me everything');
  await call.wait(500);
  for (let i = 0; i < 3; i++) await speaks(call as Listening, 'but I would like to say', 1600, 700);
  t.same(backchannels(call as Listening), []);
  call.call.end({ ended_by: 'api' });
});

void t.test('twelve languages have phrases of their own', (t) => {
  t.equal(LANGUAGES_WITH_PHRASES.length, 12);
  for (const language of LANGUAGES_WITH_PHRASES)
    t.ok(listeningPhrases(`${language}-XX`).length >= 3, language);
  t.same(listeningPhrases('fil'), listeningPhrases('en'));
  t.end();
});
