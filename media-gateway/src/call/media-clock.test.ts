import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { CallClock } from './call-clock.ts';
import { MediaClock } from './media-clock.ts';

function clocks(steady = true) {
  const clock = new ManualClock();
  const call = new CallClock(clock, clock.now());
  return { clock, call, media: new MediaClock(call, steady) };
}

void t.test('a call counts from its first answer, though this leg began later', (t) => {
  const clock = new ManualClock();
  const call = new CallClock(clock, clock.now() - 5000);
  t.equal(call.offset(), 5000);
  clock.advance(250.4);
  t.equal(call.offset(), 5250, 'in whole milliseconds');
  t.equal(call.offsetOf(call.zero - 1), 0, 'nothing lies before it');
  t.equal(call.offsetOf(call.zero + 1), 1);
  t.equal(call.offsetOf(-Infinity), 0, 'nor what never happened');
  t.equal(Math.round(call.now() - call.answeredAt), 5250);
  t.end();
});

void t.test('audio begins its own length before it came', (t) => {
  const { clock, call, media } = clocks();
  clock.advance(1000);
  t.equal(media.place(undefined, call.monotonic(), 20), 980);
  t.equal(media.placeOf(call.monotonic()), 1000);
  const early = clocks();
  early.clock.advance(5);
  t.equal(early.media.place(undefined, early.call.monotonic(), 20), 0, 'but not before the answer');
  t.equal(early.media.placeOf(early.call.monotonic()), 20, 'what is told of it agrees with that');
  t.end();
});

void t.test('the far end knows better when audio was said, within a second', (t) => {
  const { clock, call, media } = clocks();
  clock.advance(1000);
  const place = (timestamp: number) => media.place(timestamp, call.monotonic(), 20);
  t.equal(place(70_000), 980, 'its own zero is unknown');
  clock.advance(500);
  t.equal(place(70_020), 1000, 'it came late');
  t.equal(media.placeOf(call.monotonic()), 1020);
  clock.advance(520);
  t.equal(place(70_020), 1000, 'a second late');
  clock.advance(1);
  t.equal(place(70_020), 2001, 'later than that is another beginning');
  t.equal(place(70_040), 2021);
  t.equal(place(71_020), 3001, 'a second early');
  t.equal(place(71_021), 2001, 'and earlier than that is another one, too');
  t.end();
});

void t.test('a line of steady audio is lost after ten seconds without any', (t) => {
  const { clock, call, media } = clocks();
  clock.advance(9999);
  t.notOk(media.isMissing(call.monotonic()));
  clock.advance(1);
  t.ok(media.isMissing(call.monotonic()));
  t.notOk(media.isOff(call.monotonic()), 'it has no microphone to switch off');
  media.touch();
  t.notOk(media.isMissing(call.monotonic()));
  clock.advance(10_000);
  media.place(undefined, call.monotonic(), 20);
  t.notOk(media.isMissing(call.monotonic()));
  t.end();
});

void t.test('elsewhere a microphone that sends nothing for two seconds is off', (t) => {
  const { clock, call, media } = clocks(false);
  clock.advance(2000);
  t.notOk(media.isOff(call.monotonic()));
  clock.advance(1);
  t.ok(media.isOff(call.monotonic()));
  clock.advance(60_000);
  t.notOk(media.isMissing(call.monotonic()));
  media.place(undefined, call.monotonic(), 20);
  t.notOk(media.isOff(call.monotonic()));
  t.end();
});
