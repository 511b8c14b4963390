import t from 'tap';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { LocalSpeechError, openFlite } from '@parley/shared/speech/flite';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import { systemClock } from '@parley/shared/time/clock';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { LocalTts } from './local-tts.ts';
import { Spoken, ttsProviderConformance } from './tts-provider.conformance.ts';
import { until } from '../../../test/fixtures/until.ts';

const TELEPHONE: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };

const flite = await openFlite();
t.teardown(() => flite[Symbol.asyncDispose]());

ttsProviderConformance(t, 'flite', (_t, format) =>
  Promise.resolve({
    provider: new LocalTts(format, { speech: () => Promise.resolve(flite), clock: systemClock }),
    open: () => 0,
  }),
);

/** A voice whose answers the test gives. */
function voice(synthesize: LocalSpeech['synthesize']): LocalSpeech {
  return { synthesize, [Symbol.asyncDispose]: () => Promise.resolve() };
}

function say(speech: () => Promise<LocalSpeech>, clock = systemClock, ...texts: string[]) {
  const spoken = new Spoken();
  const aborting = new AbortController();
  const utterance = new LocalTts(TELEPHONE, { speech, clock }).open(spoken, aborting.signal);
  for (const text of texts) utterance.push(text);
  utterance.end();
  return { spoken, aborting };
}

const failures = [
  [() => Promise.reject(new LocalSpeechError('busy', 'x')), 'rate_limit'],
  [() => Promise.reject(new LocalSpeechError('failed', 'x')), 'unavailable'],
  [() => Promise.reject(new RangeError('x')), 'protocol'],
  [() => Promise.resolve(new Int16Array(0)), 'unavailable'],
] as const;
void t.test('what goes wrong with the voice', async (t) => {
  for (const [synthesize, fault] of failures) {
    const { spoken } = say(() => Promise.resolve(voice(synthesize)), systemClock, 'Hello.');
    await spoken.over;
    t.match(spoken.failures, [{ provider: 'flite', fault }]);
    t.equal(spoken.done, 0);
  }
  const { spoken } = say(() => Promise.reject(new Error('no such file')), systemClock, 'Hello.');
  await spoken.over;
  t.match(spoken.failures, [{ provider: 'flite', fault: 'unavailable' }], 'it does not even start');
});

void t.test('a voice that does not answer is given up', async (t) => {
  const clock = new ManualClock();
  const never = voice(() => new Promise(() => undefined));
  const { spoken } = say(() => Promise.resolve(never), clock, 'Hello.');
  await until(() => clock.pendingTimers > 0);
  clock.advance(10_000);
  await spoken.over;
  t.match(spoken.failures, [{ fault: 'timeout' }]);
});

void t.test('sentences are worked on ahead, a few at a time, and not after an abort', async (t) => {
  const asked: string[] = [];
  const signals: AbortSignal[] = [];
  const slow = voice((text, options) => {
    asked.push(text);
    signals.push(options!.signal!);
    return new Promise(() => undefined);
  });
  const { aborting } = say(
    () => Promise.resolve(slow),
    systemClock,
    'One.',
    'Two.',
    'Three.',
    'Four.',
    'Five.',
  );
  await until(() => asked.length === 3);
  t.same(asked, ['One.', 'Two.', 'Three.']);
  aborting.abort();
  t.ok(signals.every((signal) => signal.aborted));
  t.equal(asked.length, 3);
});
