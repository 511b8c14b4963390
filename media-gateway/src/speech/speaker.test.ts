import t from 'tap';
import { NOTHING_USED } from '@parley/shared/contracts/call-prices';
import { ProviderError, type ProviderFault } from '@parley/shared/errors/provider-error';
import type { TtsListener, TtsProvider } from '../providers/tts/tts-provider.ts';
import type { Playout } from './playout.ts';
import { CallVoices, Speaker } from './speaker.ts';
import { AS_WRITTEN, type ToSpoken } from './spoken-form/spoken-form.ts';

const PCM = { encoding: 'pcm16', sampleRate: 8000 } as const;
interface Opened {
  voice: string;
  listener: TtsListener;
  pushed: string[];
  ended: number;
  keep: boolean | undefined;
}

/** A speaker of some voices, that are told what to do. A millisecond is 16 bytes. */
function scene(
  names = ['first'],
  {
    last,
    keep = false,
    remembered = false,
    toSpoken = AS_WRITTEN,
  }: { last?: string; keep?: boolean; remembered?: boolean; toSpoken?: ToSpoken } = {},
) {
  const opened: Opened[] = [];
  const closed: string[] = [];
  const make = (name: string) => (): TtsProvider =>
    ({
      ...{ name, model: { model_id: name }, format: PCM },
      open(listener: TtsListener, _signal: AbortSignal, options?: { keep: boolean }) {
        const one: Opened = { voice: name, listener, pushed: [], ended: 0, keep: options?.keep };
        opened.push(one);
        return {
          isRemembered: remembered,
          push: (text: string) => void one.pushed.push(text),
          end: () => void one.ended++,
        };
      },
      [Symbol.asyncDispose]: () => Promise.resolve(void closed.push(name)),
    }) as unknown as TtsProvider;
  const voices = new CallVoices(names.map(make), last === undefined ? undefined : make(last));
  const written: number[] = [];
  const texts: string[] = [];
  const words: unknown[] = [];
  const playout = {
    get writtenMs() {
      return written.reduce((sum, bytes) => sum + bytes, 0) / 16;
    },
    room: () => Promise.resolve(),
    addText: (text: string) => void texts.push(text),
    addWords: (some: readonly { text: string }[], from: number) =>
      void (some.length > 0 && words.push([some.map(({ text }) => text), from])),
    write: (bytes: Uint8Array) => void (bytes.length > 0 && written.push(bytes.length)),
  };
  const abort = new AbortController();
  const told: string[] = [];
  const amplified: number[] = [];
  const speaker = new Speaker({
    voices,
    playout: playout as unknown as Playout,
    output: PCM,
    style: () => ({ toSpoken, amplify: (bytes) => void amplified.push(bytes.length) }),
    keep,
    signal: abort.signal,
    events: {
      onFirstText: () => void told.push('text'),
      onFirstAudio: () => void told.push('audio'),
      onTrouble: ({ fault }) => void told.push(`trouble ${fault}`),
    },
  });
  const now = () => opened.at(-1)!;
  const audio = (ms: number) => now().listener.onAudio(new Uint8Array(ms * 16));
  const fail = (fault: ProviderFault = 'unavailable') =>
    now().listener.onFailed(new ProviderError(now().voice, fault, 'No.'));
  const used = () => {
    const usage = structuredClone(NOTHING_USED);
    speaker.count(usage);
    return usage;
  };
  return {
    speaker,
    voices,
    make,
    opened,
    closed,
    now,
    audio,
    fail,
    used,
    told,
    texts,
    words,
    written,
    abort,
    amplified,
  };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

void t.test('one utterance of a voice speaks all pieces, in order', async (t) => {
  const { speaker, opened, told, texts, words, audio, now, written, used, amplified } = scene(['first'], {
    keep: true,
  });
  await speaker.say('One.');
  await speaker.say('Two.');
  t.equal(opened.length, 1);
  t.match(now(), { pushed: ['One.', 'Two.'], ended: 0, keep: true });
  t.same(texts, ['One.', 'Two.']);
  audio(10);
  audio(10);
  t.same(told, ['text', 'audio'], 'once');
  t.same(amplified.slice(0, 2), [160, 160]);
  now().listener.onWords?.([{ text: 'One.', startMs: 0, endMs: 10 }]);
  t.same(words, [[['One.'], 0]]);
  const flushed = speaker.flush();
  t.equal(now().ended, 1);
  now().listener.onDone();
  await flushed;
  t.equal(written.length, 2);
  t.equal(used().tts_characters, 8);
  await speaker.say('Three.');
  t.equal(opened.length, 2, 'more may be said');
  now().listener.onWords?.([{ text: 'Three.', startMs: 0, endMs: 10 }]);
  t.same(words[1], [['Three.'], 20], 'behind what was said');
  await scene().speaker.flush();
});

void t.test(
  'what is heard from memory costs nothing, and nothing is said for what has no words',
  async (t) => {
    const kept = scene(['first'], { remembered: true });
    await kept.speaker.say('One.');
    t.equal(kept.used().tts_characters, 0);
    const silent = scene(['first'], {
      toSpoken: (text) => ({ text: '', units: [{ written: text, spoken: '' }] }),
    });
    await silent.speaker.say('(!)');
    t.equal(silent.opened.length, 0);
    t.same(silent.texts, ['(!)']);
  },
);

void t.test('a voice that fails is tried once more, then the next, and nothing is said twice', async (t) => {
  const { speaker, opened, now, audio, fail, told, used } = scene(['first', 'second']);
  await speaker.say('one two three four.');
  now().listener.onWords?.([
    { text: 'one', startMs: 0, endMs: 10 },
    { text: 'two', startMs: 10, endMs: 20 },
  ]);
  audio(20);
  const flushed = speaker.flush();
  fail();
  await settled();
  t.match(opened[1], { voice: 'first', pushed: ['three four.'] });
  fail();
  await settled();
  t.match(opened[2], { voice: 'second', pushed: ['three four.'] });
  audio(5);
  await settled();
  t.equal(now().ended, 1);
  now().listener.onDone();
  await flushed;
  t.same(told, ['text', 'audio', 'trouble unavailable', 'trouble unavailable']);
  const usage = used();
  t.equal(usage.tts_characters, 'one two three four.'.length, 'who failed to speak it did not');
});

void t.test('a refused credential is refused again: the next voice is asked at once, or none', async (t) => {
  const { speaker, opened, fail, now } = scene(['first', 'second']);
  await speaker.say('one two.');
  const flushed = speaker.flush();
  fail('auth');
  await settled();
  t.match(opened[1], { voice: 'second', pushed: ['one two.'] });
  now().listener.onDone();
  await flushed;
  const alone = scene();
  await alone.speaker.say('one.');
  const lost = alone.speaker.flush();
  alone.fail('auth');
  await t.rejects(lost, { name: 'ProviderError', fault: 'auth' } as never);
  const twice = scene();
  await twice.speaker.say('one.');
  const both = twice.speaker.flush();
  twice.fail();
  await settled();
  twice.fail();
  await t.rejects(both, { name: 'ProviderError' });
  t.equal(twice.opened.length, 2);
});

void t.test('without times of words what was said is reckoned from its audio', async (t) => {
  const left = async (ms: number) => {
    const { speaker, opened, audio, fail } = scene();
    await speaker.say('aaaa bbbb cccc');
    audio(ms);
    const flushed = speaker.flush();
    flushed.catch(() => undefined);
    fail();
    await settled();
    return opened[1]?.pushed[0];
  };
  t.equal(await left(199), 'aaaa bbbb cccc', 'that is no word yet');
  t.equal(await left(330), 'aaaa bbbb cccc');
  t.equal(await left(334), 'bbbb cccc', 'fifteen characters a second');
  t.equal(await left(667), 'cccc');
  t.equal(await left(1000), undefined, 'all of it');
});

void t.test('a failure between two pieces is met by the next', async (t) => {
  const { speaker, opened, fail, audio, now } = scene();
  await speaker.say('one.');
  fail();
  const next = speaker.say('two.');
  await settled();
  t.match(opened[1], { pushed: ['one.'] });
  audio(5);
  await next;
  t.same(now().pushed, ['one.', 'two.']);
});

void t.test('what was begun in one voice ends in it when the voices change', async (t) => {
  const { speaker, voices, make, opened, now } = scene();
  await speaker.say('one.');
  voices.use([make('other')]);
  const next = speaker.say('two.');
  await settled();
  t.equal(now().ended, 1);
  now().listener.onDone();
  await next;
  t.match(opened[1], { voice: 'other', pushed: ['two.'] });
});

void t.test('a reply that was cancelled says and writes nothing more', async (t) => {
  const { speaker, abort, audio, now, written, told, words } = scene();
  await speaker.say('one.');
  const flushed = speaker.flush();
  abort.abort(new Error('cut off'));
  await t.rejects(flushed, /cut off/);
  audio(10);
  now().listener.onWords?.([{ text: 'one.', startMs: 0, endMs: 1 }]);
  now().listener.onDone();
  t.same([written, told, words], [[], ['text'], []]);
  await t.rejects(speaker.say('two.'), /cut off/);
});

void t.test('voices stand in for each other in order, the last one once', async (t) => {
  const { voices, make, closed } = scene(['first', 'second'], { last: 'local' });
  const { current } = voices;
  t.equal(current.name, 'first');
  t.equal(voices.current, current, 'opened once');
  t.equal(voices.changes, 0);
  t.ok(voices.fallBack());
  t.equal(voices.current.name, 'second');
  t.notOk(voices.fallBack());
  t.equal(voices.changes, 0, 'nobody has asked for that');
  t.ok(voices.useLast());
  t.equal(voices.current.name, 'local');
  t.equal(voices.changes, 1);
  t.notOk(voices.useLast());
  voices.use([make('other'), make('its stand-in')]);
  t.equal(voices.current.name, 'other');
  t.ok(voices.fallBack());
  await voices[Symbol.asyncDispose]();
  t.same(closed, ['first', 'second', 'local', 'other'], 'those that were opened');
  t.notOk(scene().voices.useLast());
});
