import t from 'tap';
import { loopOf } from '@parley/shared/audio/mixer';
import { MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { FakePhone } from '../call/fakes.ts';
import { noRecorder } from '../recording/call-recorder.ts';
import { Playout } from './playout.ts';
import type { HeardSpeech } from './speech.ts';

/** A loop whose samples tell where they stand in it: 100 steps of 10 ms, louder and louder. */
const STEPS = Int16Array.from({ length: 8000 }, (_, i) => 1000 + 80 * Math.floor(i / 80));

function scene() {
  const clock = new ManualClock();
  const phone = new FakePhone(clock);
  phone.attach({ onAudio() {}, onMark: (name) => playout.onMark(name), onDtmf() {}, onGone() {} });
  const recorded: number[] = [];
  const playout = new Playout({
    participant: phone,
    clock,
    recorder: { ...noRecorder, agent: (bytes: Uint8Array) => void recorded.push(...bytes) },
    answeredAtMonotonic: 0,
  });
  const finished: HeardSpeech[] = [];
  return {
    clock,
    phone,
    playout,
    finished,
    recorded,
    say(words: string[], held = false) {
      playout.begin({ onStarted() {}, onFinished: (heard) => finished.push(heard) }, { held });
      playout.addText(words.join(' '));
      playout.addWords(
        words.map((text, i) => ({ text, startMs: i * 100, endMs: (i + 1) * 100 })),
        0,
      );
      playout.write(new Uint8Array(words.length * 800).fill(0x20));
      playout.finish();
    },
    /** @returns the least that the phone had left to play */
    pass(ms: number): number {
      let least = Infinity;
      for (let passed = 0; passed < ms; passed += 20) {
        phone.tick(false);
        clock.advance(20);
        playout.pump();
        least = Math.min(least, phone.bufferedMs);
      }
      return least;
    },
    /** All that was sent, as samples. */
    sent: () => phone.sent.flatMap((bytes) => [...bytes].map((code) => MULAW_TO_PCM16[code]!)),
  };
}

const WORDS = 'one two three four five six seven eight nine ten'.split(' ');

void t.test('a loop is heard without a hole, before a speech, under it and behind it', (t) => {
  const { playout, phone, pass, say, sent, finished, recorded } = scene();
  playout.bed.play(loopOf(STEPS, 1));
  pass(20);
  t.ok(pass(500) >= 80, 'always something left to play');
  t.ok(phone.maxBufferedMs <= 200, `${phone.maxBufferedMs} ms ahead`);
  t.ok(sent().every((sample) => sample > 900 && sample < 10_000));
  const before = phone.sent.length;
  say(WORDS);
  t.equal(phone.clears.length, 1, 'the speech does not wait behind the loop');
  t.ok(phone.bufferedMs >= 200 && phone.bufferedMs <= 300);
  t.ok(pass(980) >= 80);
  const plain = MULAW_TO_PCM16[0x20]!;
  const speech = phone.sent.slice(before).flatMap((bytes) => [...bytes].map((code) => MULAW_TO_PCM16[code]!));
  t.ok(
    speech.slice(0, 8000).every((sample) => sample > plain + 500),
    'the loop is under the speech',
  );
  pass(100);
  t.match(finished, [{ text: WORDS.join(' '), complete: true, heardMs: 1000 }]);
  t.ok(
    recorded.every((code) => code === 0x20),
    'the recording has the speech alone',
  );
  t.equal(playout.ledger.talkedMs, 1000);
  t.ok(pass(300) >= 80);
  t.equal(phone.clears.length, 1);
  playout.bed.play(undefined);
  pass(400);
  t.equal(phone.bufferedMs, 0);
  t.end();
});

void t.test(
  'rule 27: a barge-in clears at once, what was heard is right, and the loop goes on where it was',
  (t) => {
    const { playout, phone, pass, say, sent } = scene();
    playout.bed.play(loopOf(STEPS, 1));
    pass(300);
    say(WORDS);
    pass(500);
    const held = phone.bufferedMs;
    t.ok(held > 100);
    playout.hold();
    t.equal(phone.bufferedMs, 0, 'nothing is left, the loop neither');
    const at = phone.sent.length;
    pass(20);
    // 800 ms had been heard of the loop; what was dropped of it is heard now.
    const next = MULAW_TO_PCM16[phone.sent[at]![0]!]!;
    t.ok(Math.abs(next - STEPS[820 * 8 - 160]!) < 400, `goes on with ${next}`);
    t.equal(playout.heardMs, 500);
    pass(400);
    t.equal(playout.heardMs, 500, 'the loop is no speech');
    playout.resume();
    t.ok(phone.bufferedMs <= 300, 'the speech goes on at once');
    pass(200);
    t.match(playout.cancel(), { text: 'one two three four five six seven', heardMs: 700 });
    t.equal(phone.bufferedMs, 0);
    t.ok(sent().length > 0);
    t.end();
  },
);

void t.test('a voice that is late in the middle of a speech leaves no hole, and is heard at once', (t) => {
  const { playout, phone, pass, finished } = scene();
  playout.bed.play(loopOf(STEPS, 0.5));
  pass(100);
  playout.begin({ onStarted() {}, onFinished: (heard) => finished.push(heard) }, { held: false });
  playout.addText('one two');
  playout.write(new Uint8Array(1600).fill(0x20));
  t.ok(pass(600) >= 20, 'the loop fills the gap');
  t.ok(phone.bufferedMs <= 40);
  playout.write(new Uint8Array(1600).fill(0x20));
  t.ok(phone.bufferedMs >= 200 && phone.bufferedMs <= 240);
  playout.finish();
  pass(300);
  t.match(finished, [{ complete: true, heardMs: 400 }]);
  t.end();
});

void t.test('speeches that are prepared and dropped do not push the loop ahead', (t) => {
  const { playout, phone, pass, say } = scene();
  playout.bed.play(loopOf(STEPS, 1));
  for (let i = 0; i < 20; i++) {
    say(WORDS, true);
    pass(40);
    playout.cancel();
    pass(20);
  }
  t.ok(phone.maxBufferedMs <= 200);
  t.equal(phone.clears.length, 0);
  t.end();
});
