import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { Participant } from '../participants/participant.ts';
import { Playout } from './playout.ts';
import type { HeardSpeech } from './speech.ts';

/** A far end that plays nothing by itself: the test says which marks come back. A byte is an eighth of a millisecond. */
function scene({ marks = true, leadMs }: { marks?: boolean; leadMs?: number } = {}) {
  const clock = new ManualClock();
  const zero = clock.monotonic();
  /** Each message: when, how many ms, where in the speech, and its mark. */
  const sent: { at: number; ms: number; from: number | undefined; mark: string | undefined }[] = [];
  const clears: number[] = [];
  const echo: unknown[] = [];
  const recorded: [ms: number, at: number][] = [];
  const participant = {
    outputFormat: { encoding: 'pcmu', sampleRate: 8000 },
    marks,
    ...(leadMs === undefined ? {} : { leadMs }),
    play: (bytes: Uint8Array, from: number, mark?: string) =>
      void sent.push({ at: clock.monotonic() - zero, ms: bytes.length / 8, from, mark }),
    clear: () => void clears.push(clock.monotonic() - zero),
  } as unknown as Participant;
  const playout = new Playout({
    participant,
    clock,
    recorder: {
      agent: (bytes: Uint8Array, at: number) => void recorded.push([bytes.length / 8, at]),
    } as never,
    answeredAtMonotonic: zero,
    echo: {
      agentSaid: (bytes, _format, at) => void echo.push(['said', bytes.length / 8, at - zero]),
      agentCleared: (at) => void echo.push(['cleared', at - zero]),
    },
  });
  const told: string[] = [];
  const finished: HeardSpeech[] = [];
  const begin = (held = false) =>
    playout.begin(
      {
        onStarted: (at) => void told.push(`started ${at - zero}`),
        onSent: () => void told.push(`sent ${clock.monotonic() - zero}`),
        onFinished: (heard) => (finished.push(heard), void told.push(`finished ${clock.monotonic() - zero}`)),
      },
      { held },
    );
  const write = (ms: number) => playout.write(new Uint8Array(ms * 8).fill(0x20));
  const wait = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20) {
      clock.advance(20);
      playout.pump();
    }
  };
  return { clock, zero, sent, clears, echo, recorded, playout, told, finished, begin, write, wait };
}

const lengths = (sent: { ms: number }[]) => sent.map(({ ms }) => ms);

void t.test('a speech goes out in chunks, the first one soon, with a mark each 200 ms', (t) => {
  const { begin, write, sent, playout, told, wait } = scene();
  begin();
  write(1000);
  playout.finish();
  t.same(lengths(sent), [40, 100, 100]);
  t.same(
    sent.map(({ from }) => from),
    [0, 40, 140],
  );
  t.same(
    sent.map(({ mark }) => mark),
    [undefined, undefined, '1:1920'],
  );
  t.equal(playout.queuedMs, 760);
  wait(800);
  t.same(lengths(sent), [40, ...Array.from({ length: 9 }, () => 100), 60]);
  t.same(
    sent.flatMap(({ mark }) => mark ?? []),
    ['1:1920', '1:3520', '1:5120', '1:6720', '1:8000'],
    'and one at the end',
  );
  const gaps = sent.slice(4).map(({ at }, i) => at - sent[i + 3]!.at);
  t.ok(
    gaps.every((gap) => gap === 100),
    gaps.join(),
  );
  t.same(told, ['started 0', `sent ${sent.at(-1)!.at}`]);
  t.end();
});

void t.test('a far end may want another lead', (t) => {
  const { begin, write, sent } = scene({ leadMs: 500 });
  begin();
  write(1000);
  t.equal(
    lengths(sent).reduce((sum, ms) => sum + ms),
    440,
  );
  t.end();
});

void t.test('little audio waits for more as long as the far end has something to play', (t) => {
  const { begin, write, sent, wait, playout } = scene();
  begin();
  write(19);
  t.same(sent, [], 'less than a frame');
  write(11);
  t.same(lengths(sent), [20]);
  write(60);
  t.same(lengths(sent), [20, 60], 'what is left is less than a frame');
  write(30);
  t.same(lengths(sent), [20, 60], 'it has 80 ms');
  wait(40);
  t.same(lengths(sent), [20, 60, 40]);
  playout.finish();
  t.equal(playout.writtenMs, 120);
  t.end();
});

void t.test('the last frame is filled up with silence', (t) => {
  const { begin, write, sent, playout } = scene();
  begin();
  write(33);
  playout.finish();
  t.equal(
    lengths(sent).reduce((sum, ms) => sum + ms),
    40,
  );
  playout.finish();
  t.equal(playout.writtenMs, 40, 'once');
  t.equal(sent.at(-1)!.mark, '1:320');
  t.end();
});

void t.test('a speech is over when its last mark is back, or has had its time', (t) => {
  const { begin, write, playout, finished, wait } = scene();
  begin();
  write(100);
  playout.finish();
  for (const name of ['2:800', '1:801', '0:800', '800', ':800', '1:x']) playout.onMark(name);
  t.equal(finished.length, 0);
  playout.onMark('1:800');
  t.match(finished, [{ complete: true, heardMs: 100 }]);
  t.notOk(playout.audible);
  begin();
  write(100);
  playout.finish();
  wait(2180);
  t.equal(finished.length, 1);
  wait(20);
  t.equal(finished.length, 2, 'two seconds after it was due');
  t.equal(playout.heardMs, 0, 'nothing is being said');
  const blind = scene({ marks: false });
  blind.begin();
  blind.write(100);
  blind.playout.finish();
  t.ok(blind.sent.every(({ mark }) => mark === undefined));
  blind.wait(80);
  t.equal(blind.finished.length, 0);
  blind.wait(20);
  t.equal(blind.finished.length, 1, 'without marks as soon as it was played');
  t.end();
});

void t.test('what is heard is recorded once, at its time, and told to who listens for its echo', (t) => {
  const { begin, write, playout, recorded, echo, wait, clears } = scene();
  begin();
  write(100);
  playout.finish();
  t.same(echo, [
    ['said', 40, 0],
    ['said', 60, 40],
  ]);
  wait(40);
  t.equal(playout.heardMs, 40);
  playout.onMark('1:800');
  t.same(recorded, [[100, 0]]);
  begin();
  write(200);
  wait(60);
  t.match(
    playout.cancel(),
    { heardMs: 0, complete: false },
    'the far end plays the rest of the first one yet',
  );
  t.same(clears, [100]);
  t.same(echo.at(-1), ['cleared', 100]);
  t.equal(playout.ledger.talkedMs, 100);
  t.equal(playout.cancel(), undefined);
  t.end();
});

void t.test('what was held is sent again from where it was heard', (t) => {
  const { begin, write, playout, sent, wait, clears, recorded, told } = scene();
  begin();
  write(1000);
  playout.finish();
  wait(100);
  const before = sent.length;
  playout.hold();
  playout.hold();
  t.equal(clears.length, 1, 'once');
  t.ok(playout.held && playout.silent && playout.audible);
  t.equal(playout.heardMs, 100);
  t.equal(
    recorded.reduce((sum, [ms]) => sum + ms, 0),
    100,
  );
  wait(500);
  t.equal(sent.length, before);
  playout.onMark('1:1920');
  t.equal(playout.heardMs, 100, 'a mark of what was cleared proves nothing');
  playout.resume();
  t.notOk(playout.held);
  t.match(sent[before], { from: 100, ms: 100, at: 600 });
  t.ok(
    sent.slice(before).every(({ mark }) => mark === undefined || mark.startsWith('2:')),
    'marks are others',
  );
  playout.resume();
  t.equal(told.filter((one) => one.startsWith('started')).length, 1);
  t.end();
});

void t.test('who waits for room is let go when enough was sent, or it is over', async (t) => {
  const { begin, write, playout, wait } = scene();
  const { signal } = new AbortController();
  await playout.room(signal);
  begin();
  write(2240);
  t.equal(playout.queuedMs, 2000);
  await playout.room(signal);
  write(20);
  let free = 0;
  const room = playout.room(signal).then(() => free++);
  const almost = playout.room(signal, 100).then(() => (free += 10));
  const stopped = new AbortController();
  const cut = playout.room(stopped.signal);
  stopped.abort(new Error('cut off'));
  await t.rejects(cut, /cut off/);
  await t.rejects(playout.room(AbortSignal.abort(new Error('gone'))), /gone/);
  t.equal(free, 0);
  wait(100);
  await room;
  t.equal(free, 1);
  wait(2000);
  await almost;
  t.equal(free, 11);
});

void t.test('the far end may say that it played less, but plays on from what is kept', (t) => {
  const { begin, write, playout, wait } = scene();
  playout.limitHeard(10);
  t.equal(playout.reconsider(10), undefined, 'nothing was said');
  begin();
  playout.addText('one two');
  playout.addWords([{ text: 'one', startMs: 0, endMs: 50 }], 0);
  playout.addWords([{ text: 'two', startMs: 0, endMs: 50 }], 50);
  write(1000);
  wait(200);
  playout.limitHeard(70);
  t.equal(playout.heardMs, 70);
  t.match(playout.cancel(), { heardMs: 70, text: 'one' });
  t.equal(playout.reconsider(70), undefined);
  t.match(playout.reconsider(60), { heardMs: 60, text: 'one' });
  t.equal(playout.textUntil(100), '', 'nothing is being said');
  t.throws(() => {
    begin();
    begin();
  }, /still playing/);
  t.end();
});

void t.test('a question that was just asked, or an end that is near, expects an answer', (t) => {
  const { begin, write, playout, wait } = scene();
  t.notOk(playout.expectsAnswer);
  begin();
  const words = ['Is', 'it?', 'Well', 'then.'];
  playout.addText(words.join(' '));
  playout.addWords(
    words.map((text, i) => ({ text, startMs: i * 1000, endMs: (i + 1) * 1000 })),
    0,
  );
  write(4000);
  playout.finish();
  wait(1900);
  t.notOk(playout.expectsAnswer);
  wait(100);
  t.ok(playout.expectsAnswer);
  wait(900);
  t.ok(playout.expectsAnswer, 'a second ago');
  wait(100);
  t.ok(playout.expectsAnswer, 'a second is left');
  t.end();
});

void t.test('an interjection is heard while nothing is said, and gives way to a speech', (t) => {
  const { begin, write, playout, sent, wait, clears, clock, zero, echo } = scene();
  const heard: { ms: number; at: number }[] = [];
  const play = (ms: number) =>
    playout.interjection.play(new Uint8Array(ms * 8).fill(0x30), clock.monotonic(), ({ bytes, startedAt }) =>
      heard.push({ ms: bytes.length / 8, at: startedAt - zero }),
    );
  play(0);
  t.notOk(playout.interjection.audible);
  play(250);
  t.ok(playout.interjection.audible);
  t.same(lengths(sent), [100, 100], 'not all at once');
  t.same(echo, [
    ['said', 100, 0],
    ['said', 100, 100],
  ]);
  play(50);
  t.equal(sent.length, 2, 'one at a time');
  wait(100);
  t.same(lengths(sent), [100, 100, 50]);
  wait(140);
  t.ok(playout.interjection.audible);
  wait(20);
  t.notOk(playout.interjection.audible);
  t.same(heard, [{ ms: 250, at: 0 }]);

  play(200);
  wait(60);
  begin();
  t.ok(playout.interjection.audible, 'until there is a sound of it');
  write(100);
  t.notOk(playout.interjection.audible);
  t.same(clears, [320]);
  t.same(heard[1], { ms: 60, at: 260 });
  t.equal(sent.at(-1)!.from, 40);
  play(100);
  t.end();
});
