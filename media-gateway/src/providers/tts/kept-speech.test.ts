import t from 'tap';
import { Secret } from '@parley/shared/config/secret';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { plan, provider, TELEPHONE } from '../../../test/fixtures/provider-plan.ts';
import { KeptSpeech, keepingTts, voiceKey } from './kept-speech.ts';
import { Spoken } from './tts-provider.conformance.ts';
import type { TtsListener, TtsProvider } from './tts-provider.ts';

const HOUR_MS = 3_600_000;

/** A voice that speaks at once, a byte for each character. */
function fakeVoice() {
  const asked: string[] = [];
  let last: { listener: TtsListener; text: string } | undefined;
  const tts: TtsProvider = {
    name: 'fake',
    format: TELEPHONE,
    warm() {},
    open(listener) {
      const utterance = { listener, text: '' };
      last = utterance;
      return {
        push(text) {
          asked.push(text);
          utterance.text += text;
          listener.onWords?.([{ text, startMs: 0, endMs: text.length / 8 }]);
          listener.onAudio(new Uint8Array(text.length).fill(7));
        },
        end() {},
      };
    },
    async [Symbol.asyncDispose]() {},
  };
  return {
    tts,
    asked,
    done: () => last?.listener.onDone(),
    fail: (error: ProviderError) => last?.listener.onFailed(error),
  };
}

function bench({ maxBytes, key = 'voice' }: { maxBytes?: number; key?: string } = {}) {
  const clock = new ManualClock();
  const kept = new KeptSpeech({ clock, ...(maxBytes === undefined ? {} : { maxBytes }) });
  const fake = fakeVoice();
  const open = (texts: string[], { keep = true, of = key, signal = new AbortController().signal } = {}) => {
    const spoken = new Spoken();
    const utterance = keepingTts(fake.tts, { kept, key: of }).open(spoken, signal, { keep });
    for (const text of texts) utterance.push(text);
    utterance.end();
    return { spoken, remembered: utterance.isRemembered ?? false };
  };
  /** Whether a voice was asked to speak. */
  const voices = (text: string, options: Parameters<typeof open>[1] = {}) => {
    const { remembered } = open([text], options);
    if (!remembered) fake.done();
    return !remembered;
  };
  return { ...fake, clock, kept, open, voices };
}

void t.test('a fixed text is spoken once, and heard as often as wanted', async (t) => {
  const { open, asked, done } = bench();
  const first = open(['Good day.']);
  done();
  await first.spoken.over;
  for (let i = 0; i < 2; i++) {
    const { spoken, remembered } = open(['Good day.']);
    t.ok(remembered);
    t.equal(spoken.done, 0, 'it begins behind the order, as a voice does');
    await spoken.over;
    t.same([spoken.bytes, spoken.words, spoken.done], [first.spoken.bytes, first.spoken.words, 1]);
  }
  t.same(asked, ['Good day.']);
  const stopped = new AbortController();
  const { spoken } = open(['Good day.'], { signal: stopped.signal });
  stopped.abort();
  await Promise.resolve();
  t.same([spoken.bytes, spoken.done], [0, 0], 'nothing is delivered to who has stopped it');
});

void t.test('what the listener does to the audio is not kept', async (t) => {
  const { kept, tts, done } = bench();
  const heard: number[] = [];
  for (let i = 0; i < 3; i++) {
    const over = Promise.withResolvers<void>();
    const listener = {
      onAudio(bytes: Uint8Array) {
        heard.push(bytes[0]!);
        bytes.fill(0);
      },
      onDone: over.resolve,
      onFailed: () => {},
    };
    const voice = keepingTts(tts, { kept, key: 'voice' });
    const utterance = voice.open(listener, new AbortController().signal, { keep: true });
    utterance.push('Good day.');
    utterance.end();
    if (i === 0) done();
    await over.promise;
  }
  t.same(heard, [7, 7, 7]);
});

void t.test('another text or voice, what breaks off, and what is not fixed is spoken', async (t) => {
  const { open, voices, fail, done } = bench();
  open(['Good day.']);
  fail(new ProviderError('fake', 'unavailable', 'gone'));
  t.ok(voices('Good day.'), 'the first time broke off');
  t.notOk(voices('Good day.'));
  t.ok(voices('Good day.', { keep: false }));
  t.ok(voices('Good day.', { of: 'other voice' }));
  t.ok(voices('Good evening.'));
  open(['One.', 'Two.']);
  done();
  t.ok(voices('One.'), 'pieces are not kept');
  const more = open(['Good day.', 'And more.']);
  t.equal(more.spoken.bytes, 'Good day.And more.'.length, 'all is said where more follows');
});

void t.test('an hour later it is spoken anew, and the oldest make room', async (t) => {
  const { voices, clock, kept } = bench({ maxBytes: 20 });
  t.ok(voices('12345678'));
  clock.advance(HOUR_MS - 1);
  t.notOk(voices('12345678'));
  t.ok(voices('abcdefgh'));
  clock.advance(1);
  t.ok(voices('12345678'));
  t.notOk(voices('abcdefgh'));
  t.ok(voices('ABCDEFGH'), 'more than there is room for');
  t.ok(voices('abcdefgh'), 'the oldest was dropped');
  t.notOk(voices('ABCDEFGH'));
  for (let i = 0; i < 2; i++) t.ok(voices('x'.repeat(21)), 'what is larger than all room is not kept');
  t.notOk(voices('ABCDEFGH'), 'and drops nothing');
  t.equal(kept.bytes, 16);
  clock.advance(HOUR_MS);
  t.equal(kept.bytes, 0, 'nothing is left where nobody calls any more');
  t.ok(voices('12345678'));
  kept[Symbol.dispose]();
  t.same([kept.bytes, clock.pendingTimers], [0, 0], 'nor behind its end');
});

void t.test('a voice is its org, model, voice, language, options, account, and how it speaks', async (t) => {
  const one = plan({
    stt: [provider('deepgram', 'http://127.0.0.1:1', 'nova-3')],
    llm: [provider('openai_compatible', 'http://127.0.0.1:1', 'm')],
    tts: [provider('elevenlabs', 'http://127.0.0.1:1', 'eleven_flash_v2_5')],
  });
  const tts = one.tts[0]!;
  const voice = { output: TELEPHONE, speed: 1, stability: null };
  const keys = [
    voiceKey('org_1', tts, voice),
    voiceKey('org_2', tts, voice),
    ...[
      { model: 'm2' },
      { voice: 'v2' },
      { language: 'de-DE' },
      { options: { style: 1 } },
      { base_url: 'x' },
    ].map((more) => voiceKey('org_1', { ...tts, ...more }, voice)),
    voiceKey('org_1', { ...tts, credential: new Secret('other') }, voice),
    voiceKey('org_1', tts, { ...voice, speed: 1.2 }),
    voiceKey('org_1', tts, { ...voice, stability: 0.4 }),
    voiceKey('org_1', tts, { ...voice, output: { encoding: 'pcm16', sampleRate: 24_000 } }),
  ];
  t.equal(new Set(keys).size, keys.length);
  t.equal(voiceKey('org_1', { ...tts }, { ...voice }), keys[0]);
});
