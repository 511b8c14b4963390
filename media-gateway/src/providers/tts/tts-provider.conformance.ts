import type { Test } from 'tap';
import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { ProviderError } from '@parley/shared/errors/provider-error';
import type { TtsListener, TtsProvider } from './tts-provider.ts';
import { until } from '../../../test/fixtures/until.ts';

export interface TtsBench {
  provider: TtsProvider;
  /** Replies that the provider still works on: 0 when everything was given back. */
  open(): number;
}

/** Runs what every text-to-speech provider has to pass. */
export function ttsProviderConformance(
  t: Test,
  name: string,
  openBench: (t: Test, output: AudioFormat) => Promise<TtsBench>,
): void {
  const formats: AudioFormat[] = [
    { encoding: 'pcmu', sampleRate: 8000 },
    { encoding: 'pcma', sampleRate: 8000 },
    { encoding: 'pcm16', sampleRate: 24_000 },
  ];
  for (const output of formats) {
    void t.test(`${name}: speaks ${output.encoding} at ${output.sampleRate} Hz`, async (t) => {
      const { provider } = await openBench(t, output);
      t.same(provider.format, output);
      const spoken = new Spoken();
      const utterance = provider.open(spoken, new AbortController().signal);
      utterance.push('Good morning.');
      utterance.end();
      await spoken.over;
      t.same(spoken.failures, []);
      t.equal(spoken.done, 1);
      const ms = spoken.bytes / bytesPerMs(output);
      t.ok(ms > 300 && ms < 5000, `about a second, not ${ms} ms`);
      if (output.encoding === 'pcm16')
        t.ok(
          spoken.sizes.every((size) => size % 2 === 0),
          'whole samples',
        );
      t.equal(spoken.afterEnd, 0);
    });
  }

  const telephone = formats[0]!;

  void t.test(`${name}: sentences follow each other in order, with their words`, async (t) => {
    const { provider } = await openBench(t, telephone);
    const spoken = new Spoken();
    const utterance = provider.open(spoken, new AbortController().signal);
    utterance.push('One two.');
    utterance.push('Three four.');
    utterance.push('Five six.');
    utterance.end();
    await spoken.over;
    t.equal(spoken.done, 1);
    t.same(
      spoken.words.map(({ text }) => text),
      ['One', 'two.', 'Three', 'four.', 'Five', 'six.'],
    );
    let before = 0;
    for (const { text, startMs, endMs } of spoken.words) {
      t.ok(startMs >= before - 1 && endMs >= startMs, `${text} comes after the one before`);
      before = startMs;
    }
    const lengthMs = spoken.bytes / bytesPerMs(telephone);
    t.ok(spoken.words.at(-1)!.endMs <= lengthMs + 60, 'the last word lies within the audio');
  });

  void t.test(`${name}: a second reply on the same provider`, async (t) => {
    const { provider } = await openBench(t, telephone);
    for (const text of ['First reply.', 'Second reply.']) {
      const spoken = new Spoken();
      const utterance = provider.open(spoken, new AbortController().signal);
      utterance.push(text);
      utterance.end();
      await spoken.over;
      t.equal(spoken.done, 1);
      t.ok(spoken.bytes > 0);
      t.ok(spoken.words[0]!.startMs < 100, 'times start anew');
    }
  });

  void t.test(`${name}: a reply without text is over at once`, async (t) => {
    const { provider, open } = await openBench(t, telephone);
    const spoken = new Spoken();
    const utterance = provider.open(spoken, new AbortController().signal);
    utterance.push('   ');
    utterance.end();
    utterance.end();
    t.equal(spoken.done, 0, 'but not before the call returns');
    await spoken.over;
    t.equal(spoken.done, 1);
    t.equal(spoken.bytes, 0);
    t.equal(open(), 0);
  });

  void t.test(`${name}: text without anything to say is no failure`, async (t) => {
    const { provider } = await openBench(t, telephone);
    const spoken = new Spoken();
    const utterance = provider.open(spoken, new AbortController().signal);
    utterance.push('…');
    utterance.end();
    await spoken.over;
    t.equal(spoken.done, 1);
    t.same(spoken.failures, []);
  });

  void t.test(`${name}: an abort midway stops it at once, and the next reply is not disturbed`, async (t) => {
    const { provider, open } = await openBench(t, telephone);
    const aborting = new AbortController();
    const cut = new Spoken();
    const utterance = provider.open(cut, aborting.signal);
    utterance.push('This is a long sentence that somebody is going to interrupt.');
    utterance.push('And this is another one.');
    await cut.firstAudio;
    aborting.abort();
    const told = cut.bytes;
    utterance.push('Too late.');
    utterance.end();

    const next = new Spoken();
    const reply = provider.open(next, new AbortController().signal);
    reply.push('Sorry.');
    reply.end();
    await next.over;
    t.equal(next.done, 1);
    t.same(
      next.words.map(({ text }) => text),
      ['Sorry.'],
      'nothing of the reply before',
    );
    t.equal(cut.bytes, told, 'nothing came after the abort');
    t.equal(cut.done + cut.failures.length, 0);
    await until(() => open() === 0);
  });

  void t.test(`${name}: an abort before the first text, and after the end`, async (t) => {
    const { provider, open } = await openBench(t, telephone);
    const early = new AbortController();
    const never = new Spoken();
    const first = provider.open(never, early.signal);
    early.abort();
    first.push('Hello.');
    first.end();
    const gone = provider.open(never, AbortSignal.abort());
    gone.push('Hello.');
    gone.end();

    const late = new AbortController();
    const spoken = new Spoken();
    const second = provider.open(spoken, late.signal);
    second.push('Hello.');
    second.end();
    await spoken.over;
    late.abort();
    t.equal(never.bytes + never.done + never.failures.length, 0);
    t.equal(spoken.done, 1);
    await until(() => open() === 0);
  });

  void t.test(`${name}: disposal midway ends everything quietly, twice too`, async (t) => {
    const { provider, open } = await openBench(t, telephone);
    provider.warm();
    const spoken = new Spoken();
    const utterance = provider.open(spoken, new AbortController().signal);
    utterance.push('This is a long sentence that nobody is going to hear to its end.');
    await spoken.firstAudio;
    const told = spoken.bytes;
    await provider[Symbol.asyncDispose]();
    await provider[Symbol.asyncDispose]();
    await until(() => open() === 0);
    t.equal(spoken.bytes, told);
    t.equal(spoken.done + spoken.failures.length, 0);
  });

  void t.test(`${name}: many replies at the same time`, async (t) => {
    const { provider, open } = await openBench(t, telephone);
    const replies = Array.from({ length: 12 }, (_, index) => {
      const spoken = new Spoken();
      const utterance = provider.open(spoken, new AbortController().signal);
      utterance.push(`Number ${'abcdefghijkl'[index]}.`);
      utterance.end();
      return spoken;
    });
    await Promise.all(replies.map((spoken) => spoken.over));
    t.same(
      replies.map((spoken) => spoken.failures),
      replies.map(() => []),
    );
    t.same(
      replies.map((spoken) => spoken.words.at(-1)?.text),
      replies.map((_, index) => `${'abcdefghijkl'[index]}.`),
    );
    await until(() => open() === 0);
  });
}

/** Keeps what an utterance tells. */
export class Spoken implements TtsListener {
  readonly sizes: number[] = [];
  readonly words: { text: string; startMs: number; endMs: number }[] = [];
  readonly failures: ProviderError[] = [];
  done = 0;
  bytes = 0;
  afterEnd = 0;
  readonly firstAudio: Promise<void>;
  readonly over: Promise<void>;
  #onFirst: () => void = () => undefined;
  #onOver: () => void = () => undefined;

  constructor() {
    this.firstAudio = new Promise((resolve) => (this.#onFirst = resolve));
    this.over = new Promise((resolve) => (this.#onOver = resolve));
  }

  onAudio(bytes: Uint8Array): void {
    if (this.done + this.failures.length > 0) this.afterEnd += 1;
    this.sizes.push(bytes.length);
    this.bytes += bytes.length;
    this.#onFirst();
  }

  onWords(words: readonly { text: string; startMs: number; endMs: number }[]): void {
    this.words.push(...words);
  }

  onDone(): void {
    this.done += 1;
    this.#onOver();
  }

  onFailed(error: ProviderError): void {
    this.failures.push(error);
    this.#onOver();
  }
}
