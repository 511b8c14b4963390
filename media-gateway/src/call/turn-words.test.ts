import t from 'tap';
import { MAX_TIMED_WORD_LENGTH, MAX_TIMED_WORDS } from '@parley/shared/contracts/turn';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { fakeCall, wirePlan, WORD_MS } from './fakes.ts';
import { toTimedWords } from './turn-words.ts';

void t.test('a turn of the agent has the times of the words that were heard, the report none', async (t) => {
  const fake = fakeCall({
    llm: () => ({ events: [{ type: 'text', text: 'All right, then I look it up.' }] }),
  });
  await fake.wait(2000);
  await fake.hears('I want a table');
  await fake.wait(1500);
  await fake.hears('No, stop');
  await fake.wait(300);
  fake.call.end({ ended_by: 'caller', hangup_reason: 'caller_hangup' });
  await fake.call.ended;
  const [greeting, reply] = fake.turns().filter(({ role }) => role === 'agent');
  t.same(
    greeting!.words,
    ['Hello', 'there', 'friend.'].map((text, i) => ({
      text,
      start_ms: greeting!.start_ms + i * WORD_MS,
      end_ms: greeting!.start_ms + (i + 1) * WORD_MS,
    })),
  );
  t.equal(reply!.interrupted, true);
  t.equal(reply!.words!.map(({ text }) => text).join(' '), reply!.text);
  t.ok(reply!.words!.length < 7);
  t.equal(reply!.words![0]!.start_ms, reply!.start_ms);
  t.ok(reply!.words!.at(-1)!.end_ms <= reply!.end_ms);
  t.notMatch(JSON.stringify([fake.report, fake.saved]), /"words"/);
});

void t.test(
  'words of the caller stand where the recording has them, whichever STT has heard them',
  async (t) => {
    const fake = fakeCall({ fallbacks: true });
    await fake.wait(2000);
    // The line is silent: nothing comes.
    fake.clock.advance(500);
    await fake.wait(600, true);
    const text = 'I want a table';
    const words = text
      .split(' ')
      .map((word, i) => ({ text: word, startMs: 2000 + i * 100, endMs: 2090 + i * 100 }));
    const ended = { text, confidence: 0.9, endMs: 2390, language: undefined };
    fake.stt.onTurnEnd({ ...ended, words });
    await fake.wait(3000);
    const heard = fake.recorded.caller;
    const recordedAt = (ms: number) => heard[Math.floor(ms / 20)]!.atMs + (ms % 20);
    t.equal(recordedAt(2000), 2480, 'behind the gap');
    t.same(
      fake.turns().find(({ role }) => role === 'caller')!.words,
      words.map(({ text, startMs, endMs }) => ({
        text,
        start_ms: recordedAt(startMs),
        end_ms: recordedAt(endMs),
      })),
    );

    fake.stt.onFailed(new ProviderError('fake-stt', 'unavailable', 'gone'));
    const before = heard.length * 20;
    await fake.wait(600, true);
    fake.stt.onTurnEnd({ ...ended, words: words.map((word) => ({ ...word, startMs: 100, endMs: 140 })) });
    await fake.wait(200);
    const second = fake.turns().findLast(({ role }) => role === 'caller')!;
    t.match(second.words, [
      { start_ms: recordedAt(before + 100), end_ms: recordedAt(before + 140) },
      {},
      {},
      {},
    ]);
    fake.call.end({ ended_by: 'caller' });
    await fake.call.ended;
  },
);

void t.test('a turn of several ends has the words of all', async (t) => {
  const fake = fakeCall({ plan: wirePlan((_, config) => (config.turn_taking.mode = 'semantic')) });
  await fake.wait(2000);
  await fake.wait(400, true);
  const said = (text: string, startMs: number) => ({
    ...{ text, confidence: 0.9, endMs: undefined, language: undefined },
    words: [{ text, startMs, endMs: startMs + 100 }],
  });
  fake.stt.onTurnEnd(said('I want a table and', 2000));
  await fake.wait(200, true);
  fake.stt.onTurnEnd(said('a chair.', 2400));
  await fake.wait(500);
  t.match(fake.turns().at(-1), {
    text: 'I want a table and a chair.',
    words: [{ text: 'I want a table and' }, { text: 'a chair.', start_ms: 2400, end_ms: 2500 }],
  });
  fake.call.end({ ended_by: 'caller' });
  await fake.call.ended;
});

void t.test('of a voice that tells no times, turns have none', async (t) => {
  const fake = fakeCall({ words: false });
  await fake.wait(2000);
  t.same(
    fake.turns().map(({ text, words }) => [text, words]),
    [['Hello there friend.', undefined]],
  );
  fake.call.end({ ended_by: 'caller' });
  await fake.call.ended;
});

void t.test('words are told within their bounds, or not at all', (t) => {
  const words = (count: number, text = 'so') =>
    Array.from({ length: count }, (_, i) => ({ text, startMs: i + 0.4, endMs: i + 0.6 }));
  t.same(toTimedWords([...words(1), { text: ' ', startMs: 3, endMs: 4 }]), [
    { text: 'so', start_ms: 0, end_ms: 1 },
  ]);
  t.same(toTimedWords([{ text: 'so', startMs: -3, endMs: -5 }]), [{ text: 'so', start_ms: 0, end_ms: 0 }]);
  t.equal(toTimedWords(words(MAX_TIMED_WORDS))!.length, MAX_TIMED_WORDS);
  t.equal(toTimedWords(words(MAX_TIMED_WORDS + 1)), undefined);
  t.equal(toTimedWords(words(1, 'x'.repeat(MAX_TIMED_WORD_LENGTH + 1))), undefined);
  t.equal(toTimedWords([]), undefined);
  t.end();
});
