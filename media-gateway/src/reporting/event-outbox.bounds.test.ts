import t from 'tap';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { EventOutbox } from './event-outbox.ts';

let events = 0;
const event = (type: string): CallEvent =>
  ({ v: 1, id: `evt_${events++}`, session_id: 's', type, data: {} }) as unknown as CallEvent;

/** An outbox, and a log whose answers are given by the test. */
function scene(limit?: number) {
  const clock = new ManualClock();
  const appends: { events: readonly CallEvent[]; done: () => void; fail: () => void }[] = [];
  const outbox = new EventOutbox({
    clock,
    logger: silentLogger(),
    ...(limit === undefined ? {} : { limit }),
    events: {
      append: (some) =>
        new Promise((resolve, reject) =>
          appends.push({ events: [...some], done: resolve, fail: () => reject(new Error('down')) }),
        ),
    },
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { clock, appends, outbox, settle };
}

void t.test('what comes while others are on their way follows them', async (t) => {
  const { clock, appends, outbox, settle } = scene();
  outbox.push(event('turn'));
  await clock.advanceAsync(19);
  t.equal(appends.length, 0);
  await clock.advanceAsync(1);
  t.equal(appends.length, 1);
  outbox.push(event('turn'));
  await clock.advanceAsync(1000);
  t.equal(appends.length, 1, 'one at a time');
  t.same([outbox.size, outbox.pushed, outbox.settled], [2, 2, 0]);
  appends[0]!.done();
  await settle();
  t.equal(appends.length, 2);
  t.same([outbox.size, outbox.pushed, outbox.settled], [1, 2, 1]);
  appends[1]!.done();
  await settle();
  t.same([outbox.size, outbox.settled, clock.pendingTimers], [0, 2, 0]);
});

void t.test('no more than 256 go at a time', async (t) => {
  const { clock, appends, outbox, settle } = scene();
  for (let i = 0; i < 300; i++) outbox.push(event('turn'));
  await clock.advanceAsync(20);
  appends[0]!.done();
  await settle();
  t.same(
    appends.map(({ events }) => events.length),
    [256, 44],
  );
});

void t.test('what failed is the first to be sent again, with nothing added to it', async (t) => {
  const { clock, appends, outbox, settle } = scene();
  outbox.push(event('turn'));
  await clock.advanceAsync(20);
  outbox.push(event('dtmf'));
  appends[0]!.fail();
  await settle();
  t.equal(outbox.size, 2);
  await clock.advanceAsync(200);
  t.same(appends[1]!.events, appends[0]!.events);
  appends[1]!.done();
  await settle();
  t.match(appends[2]!.events, [{ type: 'dtmf' }]);
});

void t.test('reports are told apart from others, and wait for room', async (t) => {
  const { clock, appends, outbox, settle } = scene();
  const reports = Array.from({ length: 65 }, () => event('call_ended'));
  let room = 0;
  const task = () => void room++;
  for (const report of reports.slice(0, 64)) t.ok(outbox.pushReport(report));
  t.notOk(outbox.hasRoomForReport);
  t.notOk(outbox.pushReport(reports[64]!));
  t.notOk(outbox.holdsReport(reports[64]!.id));
  outbox.onceReportRoom(task);
  outbox.onceReportRoom(task);
  await clock.advanceAsync(20);
  t.equal(room, 0);
  appends[0]!.done();
  await settle();
  t.equal(room, 1, 'once');
  t.notOk(outbox.holdsReport(reports[0]!.id));
  const other = event('turn');
  outbox.push(other);
  t.notOk(outbox.holdsReport(other.id));
});

void t.test('a report that was dropped may be pushed again', (t) => {
  const { outbox } = scene(1);
  const report = event('call_ended');
  outbox.pushReport(report);
  for (let i = 0; i < 4; i++) outbox.push(event('turn'));
  t.equal(outbox.dropped, 0, 'what is never dropped may exceed the bound');
  t.ok(outbox.holdsReport(report.id));
  outbox.push(event('turn'));
  t.equal(outbox.dropped, 1);
  t.notOk(outbox.holdsReport(report.id), 'but five times the bound is the end');
  t.end();
});

void t.test('a flush does not wait to gather, and no longer than it may', async (t) => {
  const { clock, appends, outbox, settle } = scene();
  t.equal(await outbox.flush(10), true, 'there is nothing');
  outbox.push(event('turn'));
  const flushed = outbox.flush(60_000);
  await settle();
  t.equal(appends.length, 1);
  t.equal(clock.pendingTimers, 0);
  appends[0]!.done();
  t.equal(await flushed, true);
  outbox.push(event('turn'));
  t.equal(await outbox.flush(1), false);
});

void t.test('an outbox that is closed takes and schedules nothing', async (t) => {
  const { clock, appends, outbox, settle } = scene();
  await outbox[Symbol.asyncDispose]();
  outbox.push(event('turn'));
  t.same([outbox.size, outbox.pushed, clock.pendingTimers], [0, 0, 0]);
  await outbox[Symbol.asyncDispose]();
  const busy = scene();
  busy.outbox.push(event('turn'));
  const closing = busy.outbox[Symbol.asyncDispose]();
  await settle();
  busy.appends[0]!.fail();
  await closing;
  t.equal(busy.clock.pendingTimers, 0, 'what failed is not tried again');
  t.equal(appends.length, 0);
});
