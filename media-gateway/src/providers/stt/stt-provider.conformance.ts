import type { Test } from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import type { ProviderError } from '@parley/shared/errors/provider-error';
import type { SttListener, SttOptions, SttProvider, SttTranscript } from './stt-provider.ts';
import { until } from '../../../test/fixtures/until.ts';

/** What goes wrong at the emulator; the words are those of its fault plan. */
export interface SttFault {
  kind: 'refuse' | 'rate_limit' | 'slow_handshake' | 'stall' | 'cut' | 'reset' | 'garbage';
  count?: number;
  status?: number;
  after?: number;
  delayMs?: number;
}

/** A provider in front of an emulator that hears `SENTENCES` one after another, on each connection anew. */
export interface SttBench {
  provider: SttProvider;
  /** Connections so far, those open now, and frames without bytes. */
  counts(): { connections: number; open: number; emptyFrames: number };
  setFaults(faults: SttFault[]): void;
}

export const SENTENCES = ['Hello, I would like a table for two.', 'Tomorrow at seven.'] as const;
const FORMAT = { encoding: 'pcmu', sampleRate: 8000 } as const;
export const OPTIONS: SttOptions = { format: FORMAT, language: 'en-US', keywords: [], endpointingMs: null };

/** Runs what every speech-to-text provider has to pass. */
export function sttProviderConformance(
  t: Test,
  name: string,
  openBench: (t: Test, clock: Clock) => Promise<SttBench>,
): void {
  async function listen(t: Test, faults: SttFault[] = [], clock: Clock = systemClock) {
    const bench = await openBench(t, clock);
    bench.setFaults(faults);
    const heard = new Heard();
    const stream = bench.provider.open(OPTIONS, heard);
    t.teardown(() => stream[Symbol.asyncDispose]());
    const say = (audio: Uint8Array, bytes = 160) => {
      for (let at = 0; at < audio.length; at += bytes) stream.write(audio.subarray(at, at + bytes));
    };
    return { ...bench, heard, stream, say };
  }

  void t.test(`${name}: speech becomes its start, interims and one end of turn`, async (t) => {
    const { heard, say, counts } = await listen(t);
    say(speech(300, 900));
    await heard.turns(1);
    say(speech(300, 900));
    await heard.turns(2);
    t.same(heard.turnTexts, SENTENCES);
    const kinds = heard.events.map(({ type }) => type);
    t.equal(kinds[0], 'speech', 'the start of speech comes first');
    t.ok(kinds.indexOf('interim') < kinds.indexOf('turn'), 'interims come before the end');
    t.equal(kinds.filter((kind) => kind === 'speech').length, 2, 'the start of speech is told once a turn');
    t.ok(Math.abs(heard.speechStarts[0]! - 300) <= 100, 'speech starts where it is in the audio');
    const [first, second] = heard.ended;
    t.ok(Math.abs(first!.endMs! - 1200) <= 100, 'the last word ends where it is in the audio');
    t.ok(second!.endMs! > first!.endMs!, 'time goes on');
    for (const { text, words } of heard.ended) t.equal(words!.map((word) => word.text).join(' '), text);
    const times = heard.ended.flatMap(({ words }) =>
      words!.flatMap(({ startMs, endMs }) => [startMs, endMs]),
    );
    t.same(
      times.toSorted((a, b) => a - b),
      times,
      'words come one after the other',
    );
    t.ok(Math.abs(times[0]! - 300) <= 100, 'the first word begins where it is in the audio');
    t.equal(first!.words!.at(-1)!.endMs, first!.endMs);
    t.ok(first!.confidence! > 0.5 && first!.confidence! <= 1);
    t.equal(counts().connections, 1);
  });

  void t.test(`${name}: audio in pieces of odd sizes, and of none`, async (t) => {
    const { heard, stream, say, counts } = await listen(t);
    stream.write(new Uint8Array(0));
    say(speech(200, 1000), 37);
    stream.write(new Uint8Array(0));
    await heard.turns(1);
    t.same(heard.turnTexts, [SENTENCES[0]]);
    t.equal(counts().emptyFrames, 0, 'a frame without bytes would end the stream');
  });

  void t.test(`${name}: bytes may be reused as soon as they were written`, async (t) => {
    const { heard, stream } = await listen(t);
    const frame = new Uint8Array(160);
    const audio = speech(200, 1000);
    for (let at = 0; at < audio.length; at += 160) {
      frame.set(audio.subarray(at, at + 160));
      stream.write(frame);
      frame.fill(0xff);
      if (at % 16_000 === 0) await turn();
    }
    await heard.turns(1);
    t.same(heard.turnTexts, [SENTENCES[0]]);
  });

  void t.test(`${name}: finalize ends a turn that has not ended`, async (t) => {
    const { heard, stream, say } = await listen(t);
    say(voice(1500));
    await heard.until(() => heard.interims.length > 0);
    stream.finalize();
    await heard.turns(1);
    t.ok(SENTENCES[0].startsWith(heard.turnTexts[0]!.split(' ')[0]!), 'with what was said so far');
    t.not(heard.turnTexts[0], '');
  });

  void t.test(`${name}: finalize is answered even when nothing was said`, async (t) => {
    const { heard, stream, say } = await listen(t);
    say(quiet(40));
    stream.finalize();
    await heard.turns(1);
    t.same(heard.turnTexts, ['']);
  });

  void t.test(`${name}: what is said before the connection stands is heard`, async (t) => {
    const { heard, say } = await listen(t, [{ kind: 'slow_handshake', delayMs: 200, count: 1 }]);
    say(speech(100, 1000));
    await heard.turns(1);
    t.same(heard.turnTexts, [SENTENCES[0]]);
  });

  const refusals = [
    [401, 'auth'],
    [403, 'auth'],
    [402, 'rate_limit'],
    [429, 'rate_limit'],
    [400, 'protocol'],
  ] as const;
  for (const [status, fault] of refusals) {
    void t.test(`${name}: a refusal with ${status} is final`, async (t) => {
      const { heard, stream, counts } = await listen(t, [{ kind: 'refuse', status }]);
      await heard.until(() => heard.failures.length > 0);
      t.match(heard.failures, [{ name: 'ProviderError', fault }]);
      t.equal(counts().connections, 0);
      stream.write(quiet(20));
      stream.finalize();
      await stream[Symbol.asyncDispose]();
      t.equal(heard.failures.length, 1, 'told once');
    });
  }

  void t.test(`${name}: a provider that is down is tried again, then given up`, async (t) => {
    const clock = new ManualClock();
    const { heard } = await listen(t, [{ kind: 'refuse', status: 503 }], clock);
    await until(() => {
      clock.advance(20);
      return heard.failures.length > 0;
    });
    t.match(heard.failures, [{ fault: 'unavailable' }]);
  });

  void t.test(`${name}: a provider that comes back is used again`, async (t) => {
    const clock = new ManualClock();
    const { heard, say } = await listen(t, [{ kind: 'refuse', status: 503, count: 2 }], clock);
    say(speech(100, 1000));
    await until(() => {
      clock.advance(20);
      return heard.ended.length > 0;
    });
    t.same(heard.turnTexts, [SENTENCES[0]]);
    t.same(heard.failures, []);
  });

  for (const kind of ['cut', 'reset'] as const) {
    void t.test(`rule 30: ${name}: a connection ${kind} in mid-speech costs no word`, async (t) => {
      const { heard, say, counts } = await listen(t, [{ kind, after: 2, count: 1 }]);
      say(Uint8Array.from([...quiet(200), ...voice(800)]));
      await heard.until(() => counts().connections === 2);
      say(Uint8Array.from([...voice(400), ...quiet(700)]));
      await heard.turns(1);
      t.same(heard.turnTexts, [SENTENCES[0]]);
      t.ok(Math.abs(heard.ended[0]!.endMs! - 1400) <= 100, 'times go on over the reconnect');
      t.equal(heard.ended[0]!.words!.map(({ text }) => text).join(' '), SENTENCES[0]);
      t.same(heard.failures, []);
    });
  }

  void t.test(`${name}: a message that is none is passed over`, async (t) => {
    const { heard, say, counts } = await listen(t, [{ kind: 'garbage', after: 1, count: 1 }]);
    say(speech(200, 1000));
    await heard.turns(1);
    t.same(heard.turnTexts, [SENTENCES[0]]);
    t.equal(counts().connections, 1);
  });

  void t.test(`rule 30: ${name}: a connection that says nothing any more is replaced`, async (t) => {
    const clock = new ManualClock();
    const { heard, say, counts } = await listen(t, [{ kind: 'stall', after: 2, count: 1 }], clock);
    say(Uint8Array.from([...quiet(200), ...voice(300)]));
    await until(() => heard.interims.length > 0);
    for (let second = 0; second < 7; second += 1) {
      // Somebody speaks on, and no answer comes.
      say(voice(20));
      clock.advance(1000);
      await turn();
    }
    await until(() => {
      clock.advance(10);
      return counts().connections >= 2;
    });
    say(quiet(700));
    await until(() => {
      clock.advance(20);
      return heard.ended.length > 0;
    });
    t.same(heard.turnTexts, [SENTENCES[0]]);
    t.same(heard.failures, []);
  });

  void t.test(`${name}: an upgrade that is never answered is given up`, async (t) => {
    const clock = new ManualClock();
    const { heard } = await listen(t, [{ kind: 'slow_handshake', delayMs: 600_000 }], clock);
    await until(() => {
      clock.advance(1000);
      return heard.failures.length > 0;
    });
    t.match(heard.failures, [{ fault: 'timeout' }]);
    t.equal(clock.pendingTimers, 0);
  });

  void t.test(`${name}: nothing is told after disposal, and no connection stays`, async (t) => {
    const { heard, stream, say, counts } = await listen(t);
    say(speech(200, 1000));
    await heard.until(() => heard.interims.length > 0);
    const closing = stream[Symbol.asyncDispose]();
    const told = heard.events.length;
    await Promise.all([closing, stream[Symbol.asyncDispose]()]);
    stream.write(quiet(20));
    stream.finalize();
    await until(() => counts().open === 0);
    t.equal(heard.events.length, told);
    t.equal(counts().connections, 1);
  });

  void t.test(`${name}: disposal before the connection stands`, async (t) => {
    const clock = new ManualClock();
    const { heard, stream, counts } = await listen(t, [{ kind: 'slow_handshake', delayMs: 50 }], clock);
    await stream[Symbol.asyncDispose]();
    t.same(heard.events, []);
    t.equal(counts().open, 0);
    t.equal(clock.pendingTimers, 0, 'no timer is left');
  });
}

/** Keeps what a stream tells, and lets a test wait for it. */
export class Heard implements SttListener {
  readonly events: { type: string; value?: unknown }[] = [];
  readonly speechStarts: number[] = [];
  readonly interims: SttTranscript[] = [];
  readonly ended: SttTranscript[] = [];
  readonly failures: ProviderError[] = [];
  #wake: () => void = () => undefined;

  get turnTexts(): string[] {
    return this.ended.map(({ text }) => text);
  }

  onSpeechStarted(atMs: number): void {
    this.speechStarts.push(atMs);
    this.note('speech', atMs);
  }

  onInterim(transcript: SttTranscript): void {
    this.interims.push(transcript);
    this.note('interim', transcript.text);
  }

  onTurnEnd(transcript: SttTranscript): void {
    this.ended.push(transcript);
    this.note('turn', transcript.text);
  }

  onFailed(error: ProviderError): void {
    this.failures.push(error);
    this.note('failed', error.fault);
  }

  note(type: string, value?: unknown): void {
    this.events.push({ type, value });
    this.#wake();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await Promise.race([new Promise<void>((resolve) => (this.#wake = resolve)), pause()]);
    }
  }

  turns(count: number): Promise<void> {
    return this.until(() => this.ended.length >= count || this.failures.length > 0);
  }
}

/** Mu-law, 8 kHz: a square wave that no threshold misses. */
export function voice(ms: number): Uint8Array {
  return Uint8Array.from({ length: ms * 8 }, (_, at) => (at % 16 < 8 ? 0x90 : 0x10));
}

export function quiet(ms: number): Uint8Array {
  return new Uint8Array(ms * 8).fill(0xff);
}

/** Silence, speech, and a pause long enough to end it. */
function speech(beforeMs: number, speechMs: number): Uint8Array {
  return Uint8Array.from([...quiet(beforeMs), ...voice(speechMs), ...quiet(700)]);
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
