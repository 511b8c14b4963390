import t from 'tap';
import { AudioConverter } from '@parley/shared/audio/convert';
import { bytesFromPcm16, pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { decodeToneWords, normalizeWord, renderToneWord, toneSamples, wordTones } from './tone-words.ts';

const TEXT = 'Hello, I am the front desk. We open at 9 and close at six; a room is 120 euros.';
const WORDS = TEXT.split(' ').map(normalizeWord);

function say(text: string, rate: number): Int16Array {
  const parts = text
    .split(/(\s+)/)
    .map((part) =>
      part.trim() === '' ? new Int16Array(toneSamples(part.length, rate)) : renderToneWord(part, rate),
    );
  const all = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const heard = (samples: Int16Array, rate: number, vocabulary = WORDS) =>
  decodeToneWords(samples, rate, vocabulary).map(({ word }) => word);

void t.test('what was said is heard, at every rate', async (t) => {
  for (const rate of [8000, 16_000, 22_050, 24_000, 48_000]) {
    t.same(heard(say(TEXT, rate), rate), WORDS, `${rate} Hz`);
  }
});

void t.test('a word is heard where it was said', async (t) => {
  const [first, second] = decodeToneWords(say('hello front', 8000), 8000, WORDS);
  t.same([first?.word, second?.word], ['hello', 'front']);
  t.ok(Math.abs(first!.startMs) <= 20 && Math.abs(first!.endMs - 300) <= 20);
  t.ok(Math.abs(second!.startMs - 360) <= 20 && Math.abs(second!.endMs - 660) <= 20);
});

void t.test('telephone encodings and other rates on the way do no harm', async (t) => {
  const start: AudioFormat = { encoding: 'pcm16', sampleRate: 24_000 };
  for (const middle of [
    { encoding: 'pcmu', sampleRate: 8000 },
    { encoding: 'pcma', sampleRate: 8000 },
    { encoding: 'pcm16', sampleRate: 16_000 },
  ] as const) {
    const there = new AudioConverter(start, middle);
    const back = new AudioConverter(middle, start);
    const sent = [there.convert(bytesFromPcm16(say(TEXT, 24_000))), there.flush()];
    const received = [...sent.map((bytes) => back.convert(bytes)), back.flush()];
    t.same(heard(pcm16FromBytes(Uint8Array.from(Buffer.concat(received))), 24_000), WORDS, middle.encoding);
  }
});

void t.test('playback cut off in a word gives the words up to it', async (t) => {
  const samples = say('hello the room', 8000);
  t.same(heard(samples.subarray(0, toneSamples(8, 8000)), 8000), ['hello', 'the']);
  t.same(heard(samples.subarray(0, toneSamples(6, 8000)), 8000), ['hello']);
});

void t.test('words that touch are told apart', async (t) => {
  const samples = Int16Array.from([...renderToneWord('desk.', 8000), ...renderToneWord('We', 8000)]);
  t.same(heard(samples, 8000), ['desk', 'we']);
});

void t.test(
  'silence, noise and mere punctuation are no words; a strange word is reported as one',
  async (t) => {
    t.same(heard(new Int16Array(16_000), 8000), []);
    let state = 1;
    const noise = Int16Array.from({ length: 16_000 }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 16) / 4 - 8192;
    });
    t.same(heard(noise, 8000), []);
    t.same(heard(say('... --', 8000), 8000), []);
    t.same(heard(say('hello zebra', 8000), 8000), ['hello', undefined]);
  },
);

void t.test('two words of a vocabulary that sound the same are refused', async (t) => {
  const byTones = new Map<string, string>();
  let pair: [string, string] | undefined;
  for (let i = 0; !pair; i++) {
    const word = `word${i}`;
    const other = byTones.get(wordTones(word).join());
    if (other) pair = [other, word];
    byTones.set(wordTones(word).join(), word);
  }
  t.throws(() => decodeToneWords(new Int16Array(0), 8000, pair), RangeError);
  t.doesNotThrow(() => decodeToneWords(new Int16Array(0), 8000, ['Hello', 'hello,', '...']));
});
