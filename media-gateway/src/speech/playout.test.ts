import t from 'tap';
import { MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { noRecorder } from '../recording/call-recorder.ts';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { bytesFromPcm16, pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { FakePhone, type PhoneLine } from '../call/fakes.ts';
import { Playout } from './playout.ts';
import type { HeardSpeech } from './speech.ts';

/** A phone that plays, and a speech of `seconds` whose every 100 ms is one word. */
function scene(options: { recorded?: { atMs: number; bytes: number }[]; line?: PhoneLine } = {}) {
  const clock = new ManualClock();
  const phone = new FakePhone(clock, options.line);
  phone.attach({ onAudio() {}, onMark: (name) => playout.onMark(name), onDtmf() {}, onGone() {} });
  const recorder = {
    ...noRecorder,
    agent: (bytes: Uint8Array, atMs: number) => void options.recorded?.push({ atMs, bytes: bytes.length }),
  };
  const playout = new Playout({ participant: phone, clock, recorder, answeredAtMonotonic: 0 });
  const finished: HeardSpeech[] = [];
  let started = 0;
  return {
    clock,
    phone,
    playout,
    finished,
    get started() {
      return started;
    },
    begin(words: string[], held = false) {
      playout.begin(
        { onStarted: () => void started++, onFinished: (heard) => finished.push(heard) },
        { held },
      );
      playout.addText(words.join(' '));
      playout.addWords(
        words.map((text, i) => ({ text, startMs: i * 100, endMs: (i + 1) * 100 })),
        0,
      );
      playout.write(new Uint8Array(words.length * 800).fill(0x20));
      playout.finish();
    },
    pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 20) {
        phone.tick(false);
        clock.advance(20);
        playout.pump();
      }
    },
  };
}

const WORDS = 'one two three four five six seven eight nine ten'.split(' ');

void t.test('a speech is sent a little ahead, with marks, and is finished when it was heard', (t) => {
  const { begin, pass, phone, finished, playout } = scene();
  begin(WORDS);
  t.ok(phone.bufferedMs >= 200 && phone.bufferedMs <= 300, `first: ${phone.bufferedMs} ms`);
  pass(900);
  t.equal(finished.length, 0);
  pass(160);
  t.match(finished, [{ text: WORDS.join(' '), complete: true, heardMs: 1000 }]);
  t.ok(phone.maxBufferedMs <= 300, `lead: ${phone.maxBufferedMs} ms`);
  t.equal(playout.audible, false);
  t.equal(playout.ledger.talkedMs, 1000);
  t.end();
});

void t.test(
  'chunks keep their distance whatever the phase of the ticks, and though these are uneven',
  (t) => {
    for (let phase = 0; phase < 20; phase++) {
      const { clock, phone, playout } = scene();
      const sentAt: number[] = [];
      phone.play = () => void sentAt.push(clock.monotonic());
      clock.advance(phase);
      // The voice comes in pieces of 30 ms, five times as fast as it is heard.
      playout.begin({ onStarted() {}, onFinished() {} }, { held: false });
      for (let at = phase, tick = 1, pieces = 0; tick < 250; at++) {
        clock.advance(at - clock.monotonic());
        if ((at - phase) % 6 === 0 && pieces++ < 200) playout.write(new Uint8Array(240).fill(0x20));
        // Ticks are late by up to 3 ms, differently each time.
        if (at >= tick * 20 + ((tick * 7) % 4)) {
          playout.pump();
          tick++;
        }
      }
      const steady = sentAt.filter((at) => at > phase + 450);
      const gaps = steady.slice(1).map((at, i) => at - steady[i]!);
      t.ok(gaps.length > 40, `${gaps.length} chunks`);
      t.ok(
        gaps.every((gap) => Math.abs(gap - 100) <= 4),
        `phase ${phase}: ${Math.min(...gaps)} to ${Math.max(...gaps)} ms`,
      );
    }
    t.end();
  },
);

void t.test(
  'held before its first sample it is silent, resumed it is whole, cancelled nothing of it was heard',
  (t) => {
    const held = scene();
    held.begin(WORDS, true);
    held.pass(500);
    t.equal(held.phone.bufferedMs, 0);
    t.equal(held.started, 0);
    held.playout.resume();
    held.pass(1100);
    t.match(held.finished, [{ complete: true }]);

    const cancelled = scene();
    cancelled.begin(WORDS, true);
    t.match(cancelled.playout.cancel(), { text: '', complete: false, heardMs: 0 });
    t.equal(cancelled.phone.clears.length, 0, 'there was nothing to clear');
    t.end();
  },
);

void t.test('rule 16: without marks the clock says what was heard', (t) => {
  const { begin, pass, phone, playout } = scene();
  Object.defineProperty(phone, 'marks', { value: false });
  begin(WORDS);
  pass(500);
  t.equal(playout.cancel()!.text, 'one two three four five');
  t.end();
});

void t.test('words have the times at which they were heard, whatever stopped them', (t) => {
  const { begin, pass, playout, finished } = scene();
  begin(WORDS);
  pass(460);
  playout.hold();
  pass(300);
  playout.resume();
  pass(1000);
  const times = finished[0]!.words!.map(({ text, startedAt, endedAt }) => [text, startedAt, endedAt]);
  t.same(times.slice(3, 6), [
    ['four', 300, 400],
    ['five', 400, 800],
    ['six', 800, 900],
  ]);
  t.same(times.at(-1), ['ten', 1200, 1300]);

  begin(WORDS);
  pass(260);
  const { text, words } = playout.cancel()!;
  t.equal(words!.map((word) => word.text).join(' '), text);
  t.equal(words!.length, 3, 'what was not heard has no time');
  t.equal(words!.at(-1)!.endedAt - words![0]!.startedAt, 260);
  t.equal(playout.reconsider(130)!.words!.length, 1);

  playout.begin({ onStarted() {}, onFinished: (heard) => finished.push(heard) }, { held: false });
  playout.addWords(
    ['one', 'two'].map((text, i) => ({ text, startMs: i * 100, endMs: (i + 1) * 100, estimated: i === 1 })),
    0,
  );
  playout.write(new Uint8Array(1600));
  playout.finish();
  pass(300);
  t.same(
    finished.at(-1)!.words!.map((word) => word.text),
    ['one'],
    'a time that is reckoned is not told',
  );
  t.end();
});

void t.test('held softly, a speech goes on at once, softer, and loses no sample', (t) => {
  const { begin, pass, phone, playout, finished } = scene();
  const sent: { ms: number; sample: number }[] = [];
  const play = phone.play.bind(phone);
  phone.play = (bytes, atMs, mark) => {
    sent.push({ ms: bytes.length / 8, sample: MULAW_TO_PCM16[bytes[0]!]! });
    play(bytes, atMs, mark);
  };
  begin(WORDS);
  pass(400);
  const loud = sent[0]!.sample;
  const before = sent.length;
  playout.hold({ soft: true });
  t.equal(phone.clears.length, 1, 'what is on its way is too loud');
  t.ok(playout.held && !playout.silent);
  pass(200);
  const soft = sent.slice(before);
  t.ok(soft.length > 0 && soft.every(({ sample }) => Math.abs(loud / sample - 10 ** (15 / 20)) < 0.3));
  const after = sent.length;
  playout.resume();
  t.equal(phone.clears.length, 1);
  pass(600);
  t.ok(sent.slice(after).every(({ sample }) => sample === loud));
  t.match(finished, [{ text: WORDS.join(' '), heardMs: 1000 }]);

  begin(WORDS, true);
  playout.hold({ soft: true });
  pass(100);
  t.ok(playout.silent, 'what was not begun is not begun softly');
  playout.cancel();
  t.end();
});

void t.test('an answer is expected after a question, and when the agent is about to end', (t) => {
  const { begin, pass, playout } = scene();
  t.notOk(playout.expectsAnswer);
  begin(
    'Shall I book it? We have one two three four five six seven eight nine ten eleven twelve.'.split(' '),
  );
  const expected: number[] = [];
  for (let ms = 0; ms < 1800; ms += 100) {
    if (playout.expectsAnswer) expected.push(ms);
    pass(100);
  }
  // The question is over after 400 ms, the speech after 1800.
  t.same(expected, [400, 500, 600, 700, 800, 900, 1000, 1100, 1200, 1300, 1400, 1500, 1600, 1700]);
  t.end();
});

void t.test('a far end that says it played less is believed', (t) => {
  const { begin, pass, playout } = scene();
  begin(WORDS);
  pass(500);
  playout.hold();
  playout.limitHeard(300);
  t.equal(playout.cancel()!.text, 'one two three');
  t.equal(playout.reconsider(130)?.text, 'one', 'even afterwards');
  t.equal(playout.reconsider(5000), undefined, 'but not that it played more');
  t.end();
});

void t.test('what it said it played does not count any more once it plays on', (t) => {
  const { begin, pass, playout } = scene();
  begin(WORDS);
  pass(500);
  playout.hold();
  playout.limitHeard(300);
  playout.resume();
  pass(200);
  t.match(playout.cancel(), { heardMs: 700, text: 'one two three four five six seven' });
  t.end();
});

void t.test('a far end that plays late is known to by its marks', (t) => {
  const { begin, pass, phone, playout } = scene({ line: { lagMs: 200 } });
  begin(WORDS);
  pass(700);
  t.match(playout.cancel(), { heardMs: phone.playedMs + 20, text: 'one two three four five' });
  t.end();
});

void t.test(
  'rule 21: a last mark that is late is waited for, and one that is lost is not waited for long',
  (t) => {
    const late = scene({ line: { markDelayMs: () => 500 } });
    late.begin(WORDS);
    late.pass(1460);
    t.equal(late.finished.length, 0);
    late.pass(40);
    t.match(late.finished, [{ complete: true, heardMs: 1000 }]);

    const lost = scene({ line: { losesMarks: true } });
    lost.begin(WORDS);
    lost.pass(2980);
    t.equal(lost.finished.length, 0, 'two seconds longer than it takes');
    lost.pass(60);
    t.match(lost.finished, [{ complete: true, heardMs: 1000 }]);
    t.end();
  },
);

void t.test('a mark of another speech, of what was cleared, or beyond what was sent proves nothing', (t) => {
  const { begin, pass, playout } = scene();
  begin(WORDS);
  pass(100);
  const sentBytes = 8 * 100 + 8 * 300;
  for (const name of ['1:8000', `1:${sentBytes + 1}`, '2:1600', '0:1600', 'other', '1:', '1:x']) {
    playout.onMark(name);
    t.equal(playout.heardMs, 100, name);
  }
  playout.hold();
  playout.resume();
  playout.onMark('1:1600');
  t.equal(playout.heardMs, 100, 'of what was cleared');
  playout.onMark('2:1600');
  t.equal(playout.heardMs, 200);
  t.end();
});

void t.test('audio of 16 bits is never cut within a sample', (t) => {
  const { clock, phone, playout, pass } = scene({
    line: { format: { encoding: 'pcm16', sampleRate: 8000 } },
  });
  playout.begin({ onStarted() {}, onFinished() {} }, { held: false });
  playout.write(bytesFromPcm16(Int16Array.from({ length: 8000 }, (_, i) => i)));
  for (let stop = 0; stop < 8; stop++) {
    pass(40);
    clock.advance(0.07 * (stop + 1));
    const before = phone.sent.length;
    playout.hold();
    const from = playout.heardMs * 8;
    t.equal(from, Math.floor(from), `stopped at sample ${from}`);
    playout.resume();
    t.equal(pcm16FromBytes(phone.sent[before]!)[0], from, 'and it goes on with that sample');
  }
  t.end();
});

void t.test(
  'held after it ran dry, on a line that plays late, nothing is recorded twice or out of its time',
  (t) => {
    const recorded: { atMs: number; bytes: number }[] = [];
    const { pass, playout, finished } = scene({ recorded, line: { lagMs: 200 } });
    playout.begin({ onStarted() {}, onFinished: (heard) => finished.push(heard) }, { held: false });
    playout.addText('one two three four');
    playout.write(new Uint8Array(3200).fill(0x20));
    pass(700);
    playout.write(new Uint8Array(3200).fill(0x20));
    playout.finish();
    pass(100);
    playout.hold();
    pass(400);
    playout.resume();
    pass(3000);
    t.equal(finished.length, 1);
    t.equal(
      recorded.reduce((sum, part) => sum + part.bytes / 8, 0),
      finished[0]!.heardMs,
    );
    for (let i = 1; i < recorded.length; i++) {
      const last = recorded[i - 1]!;
      t.ok(recorded[i]!.atMs >= Math.floor(last.atMs + last.bytes / 8), 'one after the other');
    }
    t.end();
  },
);

void t.test('the recording holds what was heard, when it was heard', (t) => {
  const recorded: { atMs: number; bytes: number }[] = [];
  const { begin, pass, playout } = scene({ recorded });
  pass(1000);
  begin(WORDS);
  pass(400);
  playout.hold();
  pass(600);
  playout.resume();
  pass(300);
  playout.cancel();
  const total = recorded.reduce((sum, part) => sum + part.bytes / 8, 0);
  t.ok(Math.abs(total - 700) <= 20, `${total} ms`);
  t.equal(recorded[0]!.atMs, 1000);
  const gap = recorded.find((part) => part.atMs >= 1900);
  t.ok(gap && Math.abs(gap.atMs - 2000) <= 20, 'the second stretch begins when it was resumed');
  for (let i = 1; i < recorded.length; i++) t.ok(recorded[i]!.atMs >= recorded[i - 1]!.atMs, 'in order');
  t.end();
});

void t.test(
  'rule 13: however it is held, resumed and cancelled, no sample is lost, doubled or claimed',
  (t) => {
    // A small generator of its own, so that a failure can be run again.
    let seed = 7;
    const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
    const lines: PhoneLine[] = [{}, { markDelayMs: (index) => (index * 7) % 60 }, { losesMarks: true }];
    for (let round = 0; round < 300; round++) {
      const recorded: { atMs: number; bytes: number }[] = [];
      const { begin, pass, playout, phone, finished } = scene({ recorded, line: lines[round % 3]! });
      /** Late marks make it look as if a little less had been played: that is said again. */
      const againMs = round % 3 === 1 ? 40 : 0.001;
      begin(WORDS);
      for (let step = 0; step < 12 && finished.length === 0; step++) {
        const dice = random();
        if (dice < 0.5) pass(20 * Math.ceil(random() * 12));
        else if (dice < 0.7) playout.hold();
        else playout.resume();
      }
      const cancel = random() < 0.5 && finished.length === 0;
      const heard = cancel ? playout.cancel()! : undefined;
      if (!cancel) {
        playout.resume();
        pass(3000);
      }
      const final = heard ?? finished[0];
      if (!final) return t.fail(`round ${round}: never finished`);
      const playedMs = phone.playedMs;
      if (Math.abs(playedMs - final.heardMs) > 40)
        return t.fail(`round ${round}: played ${playedMs} ms, claimed ${final.heardMs} ms`);
      if (!cancel && Math.abs(playedMs - 1000) > againMs)
        return t.fail(`round ${round}: ${playedMs} ms played of a whole speech`);
      const words = final.text === '' ? 0 : final.text.split(' ').length;
      if (Math.abs(words - playedMs / 100) > 1.01)
        return t.fail(`round ${round}: ${words} words for ${playedMs} ms`);
      const recordedMs = recorded.reduce((sum, part) => sum + part.bytes / 8, 0);
      if (Math.abs(recordedMs - final.heardMs) > 1)
        return t.fail(`round ${round}: recorded ${recordedMs} ms of ${final.heardMs}`);
    }
    t.pass('300 rounds');
    t.end();
  },
);
