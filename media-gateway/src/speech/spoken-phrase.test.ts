import t from 'tap';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { TtsListener, TtsProvider } from '../providers/tts/tts-provider.ts';
import { spokenPhrase } from './spoken-phrase.ts';

const PCM = { encoding: 'pcm16', sampleRate: 8000 } as const;

function phrase({ maxMs = 1000, aborted = false } = {}) {
  const clock = new ManualClock();
  const abort = new AbortController();
  if (aborted) abort.abort(new Error('no longer wanted'));
  const asked: string[] = [];
  let listener!: TtsListener;
  let voiceSignal!: AbortSignal;
  const voice = {
    name: 'some-voice',
    format: PCM,
    open(events: TtsListener, signal: AbortSignal) {
      listener = events;
      voiceSignal = signal;
      return { push: (text: string) => void asked.push(text), end: () => void asked.push('end') };
    },
  } as unknown as TtsProvider;
  const spoken = spokenPhrase('Mm-hmm.', { voice, output: PCM, maxMs, clock, signal: abort.signal });
  spoken.catch(() => undefined);
  return { clock, abort, asked, spoken, listener, voiceSignal };
}

void t.test('a phrase is all audio that the voice made of it, its own copy', async (t) => {
  const { clock, asked, spoken, listener, voiceSignal } = phrase();
  const audio = Uint8Array.from([1, 0, 2, 0]);
  listener.onAudio(audio);
  audio.fill(9);
  listener.onAudio(Buffer.from([3, 0]));
  t.notOk(voiceSignal.aborted);
  listener.onDone();
  t.same([...(await spoken)], [1, 0, 2, 0, 3, 0]);
  t.same(asked, ['Mm-hmm.', 'end']);
  t.equal(clock.pendingTimers, 0);
  t.ok(voiceSignal.aborted, 'the voice is let go of');
});

void t.test('a voice has five seconds', async (t) => {
  const { clock, spoken, voiceSignal } = phrase();
  clock.advance(4999);
  t.equal(clock.pendingTimers, 1);
  clock.advance(1);
  await t.rejects(spoken, { name: 'ProviderError', provider: 'some-voice', fault: 'timeout' });
  t.ok(voiceSignal.aborted);
});

void t.test('a phrase that is too long is none', async (t) => {
  const long = phrase({ maxMs: 10 });
  long.listener.onAudio(Buffer.alloc(160));
  long.listener.onAudio(Buffer.alloc(2));
  await t.rejects(long.spoken, { name: 'ProviderError', fault: 'timeout' });
  const just = phrase({ maxMs: 10 });
  just.listener.onAudio(Buffer.alloc(160));
  just.listener.onDone();
  t.equal((await just.spoken).length, 160);
});

void t.test('what fails, and what is no longer wanted, says why', async (t) => {
  const failed = phrase();
  const failure = new ProviderError('some-voice', 'auth', 'No.');
  failed.listener.onFailed(failure);
  await t.rejects(failed.spoken, failure);
  const stopped = phrase();
  stopped.abort.abort(new Error('no longer wanted'));
  await t.rejects(stopped.spoken, /no longer wanted/);
  t.ok(stopped.voiceSignal.aborted);
  await t.rejects(phrase({ aborted: true }).spoken, /no longer wanted/);
});
