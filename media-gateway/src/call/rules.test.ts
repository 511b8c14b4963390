import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { fakeCall, wirePlan, WORD_MS } from './fakes.ts';

// Rules of docs/rules.md that are about whole calls and have no test of a part. The others stand with their parts.

const source = fileURLToPath(new URL('../', import.meta.url));
const text = (words: string) => ({ events: [{ type: 'text' as const, text: words }] });
const heard = (words: string) => ({
  ...{ text: words, confidence: 0.9 },
  ...{ endMs: undefined, language: undefined },
});

void t.test(
  'rule 1: a stop is at the carrier in the tick in which it is decided, by the playout alone',
  async (t) => {
    const call = fakeCall();
    await call.wait(600);
    let ticks = 0;
    // No turn of the event loop in between.
    while (call.phone.clears.length === 0 && ticks < 10) {
      call.phone.tick(true);
      call.clock.advance(20);
      ticks++;
    }
    t.ok(ticks <= 4, `${ticks * 20} ms of voice`);
    t.equal(call.phone.bufferedMs, 0);
    call.call.end({ ended_by: 'api' });

    const senders = globSync('**/*.ts', { cwd: source }).filter(
      (file) =>
        !/\.test\.ts$|fakes\.ts$|participants\//.test(file) &&
        /[pP]articipant\.(?:play|clear|mark)\(/.test(readFileSync(path.join(source, file), 'utf8')),
    );
    // The playout owns the other two: what plays behind the agent, and the sounds that say it listens.
    t.same(senders.sort(), ['speech/background-bed.ts', 'speech/interjection.ts', 'speech/playout.ts']);
  },
);

void t.test('rule 2: audio of a reply that was interrupted never comes, however late it is', async (t) => {
  const codes: Record<string, number> = {};
  const call = fakeCall({
    ttsIgnoresAbort: true,
    ttsMs: 1500,
    llm: ({ messages }) =>
      text(
        String(messages.at(-1)!.content).includes('Friday')
          ? 'Then on Friday.'
          : 'On Monday we open at nine.',
      ),
    speak: (words) => {
      const code = (codes[words] ??= 0x20 + Object.keys(codes).length);
      return new Uint8Array(words.split(' ').length * WORD_MS * 8).fill(code);
    },
  });
  await call.wait(3200);
  await call.hears('When do you open?');
  await call.wait(400);
  // The voice has the sentence, and is not heard yet.
  await call.hears('I mean on Friday, please.');
  await call.wait(4000);
  t.ok(call.spoken.includes('On Monday we open at nine.'), 'the voice has made it');
  const sent = new Set(call.phone.sent.map((bytes) => bytes[0]));
  t.notOk(sent.has(codes['On Monday we open at nine.']));
  t.ok(sent.has(codes['Then on Friday.']));
  t.same(call.texts().slice(1), [
    'caller: When do you open?',
    'caller: I mean on Friday, please.',
    'agent: Then on Friday.',
  ]);
  call.call.end({ ended_by: 'api' });
});

void t.test('rule 7: what a reply took counts from the last voice of its own turn', async (t) => {
  const call = fakeCall({ llm: () => text('Until six.') });
  await call.wait(1600);
  for (const pause of [400, 6000]) {
    await call.wait(pause);
    await call.hears('When do you close?');
    await call.wait(2000);
  }
  const taken = call.turns().flatMap(({ latency }) => latency?.['e2e'] ?? []);
  t.equal(taken.length, 2);
  // 300 ms of silence until the turn is over, 100 ms of the model, 50 ms of the voice.
  for (const ms of taken) t.ok(ms >= 450 && ms <= 600, `${ms} ms`);
  call.call.end({ ended_by: 'api' });
});

void t.test('rule 8: a turn has one answer, though another was thought of before', async (t) => {
  const plan = wirePlan((_plan, config) => (config.turn_taking.preemptive_generation = true));
  const call = fakeCall({
    plan,
    llm: ({ messages }) => text(`You said ${String(messages.at(-1)!.content)}`),
  });
  await call.wait(1600);
  await call.wait(600, true);
  call.stt.onInterim(heard('book a table'));
  await call.wait(180);
  t.equal(call.requests.length, 1, 'thought of ahead');
  call.stt.onTurnEnd(heard('Book a table for two.'));
  await call.wait(4000);
  t.equal(call.requests.length, 2);
  t.same(call.texts().slice(1), ['caller: Book a table for two.', 'agent: You said Book a table for two.']);
  call.call.end({ ended_by: 'api' });
});
