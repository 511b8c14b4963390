import t from 'tap';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { EventOutbox } from './event-outbox.ts';

let nextId = 0;
function event(type: string): CallEvent {
  const index = nextId++;
  return {
    v: 1,
    id: `evt_${String(index).padStart(26, '0')}`,
    session_id: '01890000-0000-7000-8000-000000000001',
    gateway_id: 'gw_1',
    claim_id: 'claim_1',
    index,
    at: new Date(0).toISOString(),
    offset_ms: 0,
    type,
    data: {},
  };
}

/** An outbox before a log that can be switched off. */
function open(limit?: number) {
  const clock = new ManualClock();
  const log = { up: true, appends: [] as CallEvent[][], tries: 0 };
  const outbox = new EventOutbox({
    clock,
    logger: silentLogger(),
    ...(limit === undefined ? {} : { limit }),
    events: {
      append(events) {
        log.tries++;
        if (!log.up) return Promise.reject(new Error('down'));
        log.appends.push([...events]);
        return Promise.resolve();
      },
    },
  });
  return { clock, log, outbox };
}

const types = (appends: CallEvent[][]) => appends.flat().map(({ type }) => type);

void t.test('events of 20 ms go out together, in order', async (t) => {
  const { clock, log, outbox } = open();
  for (const type of ['call_started', 'turn', 'dtmf']) outbox.push(event(type));
  t.equal(log.appends.length, 0);
  await clock.advanceAsync(20);
  t.equal(log.appends.length, 1);
  t.same(types(log.appends), ['call_started', 'turn', 'dtmf']);
  t.equal(outbox.size, 0);
  t.equal(clock.pendingTimers, 0, 'nothing runs while there is nothing to send');
});

void t.test('what the log refuses is sent again later, in the same order', async (t) => {
  const { clock, log, outbox } = open();
  log.up = false;
  outbox.push(event('call_started'));
  await clock.advanceAsync(1000);
  outbox.push(event('turn'));
  await clock.advanceAsync(10_000);
  t.ok(log.tries > 3 && log.tries < 20, `${log.tries} tries in 11 s: further and further apart`);
  t.equal(outbox.size, 2);
  log.up = true;
  await clock.advanceAsync(7000);
  t.same(types(log.appends), ['call_started', 'turn']);
  t.equal(outbox.size, 0);
});

void t.test(
  'when it is full, decisions go first, then what is only shown, and never what moves something',
  async (t) => {
    const { clock, log, outbox } = open(4);
    log.up = false;
    for (const type of ['call_started', 'dtmf', 'turn_decision', 'turn', 'turn', 'recording', 'call_ended']) {
      outbox.push(event(type));
    }
    t.equal(outbox.dropped, 2);
    outbox.push(event('warning'));
    t.equal(outbox.dropped, 3, 'the newcomer, if it is the only one that can go');
    log.up = true;
    await clock.advanceAsync(100);
    t.same(types(log.appends), ['call_started', 'turn', 'turn', 'recording', 'call_ended']);
  },
);

void t.test('decisions go before all else, and of the same kind the oldest', async (t) => {
  const cases = [
    { waiting: ['dtmf', 'turn_decision', 'turn_decision', 'warning'], goes: 1 },
    { waiting: ['turn', 'dtmf', 'warning', 'dtmf'], goes: 1 },
    { waiting: ['dtmf', 'turn', 'turn', 'turn_decision'], goes: 3 },
  ];
  for (const { waiting, goes } of cases) {
    const { clock, log, outbox } = open(3);
    log.up = false;
    const events = waiting.map(event);
    for (const one of events) outbox.push(one);
    log.up = true;
    await clock.advanceAsync(100);
    t.same(log.appends.flat(), events.toSpliced(goes, 1), waiting.join());
  }
});

void t.test('even what is never dropped has a bound', async (t) => {
  const { clock, log, outbox } = open(10);
  log.up = false;
  for (let i = 0; i < 100; i++) outbox.push(event('turn'));
  t.equal(outbox.size, 50);
  const last = event('turn');
  outbox.push(last);
  log.up = true;
  await clock.advanceAsync(1000);
  const sent = log.appends.flat();
  t.equal(sent.length, 50);
  t.equal(sent.at(-1), last, 'the oldest goes: what it said is in the report as well');
});

void t.test('a report that waits already is not queued twice, and many wait on disk instead', async (t) => {
  const { clock, log, outbox } = open();
  log.up = false;
  const report = event('call_ended');
  t.equal(outbox.pushReport(report), true);
  t.equal(outbox.pushReport(report), true);
  t.equal(outbox.holdsReport(report.id), true);
  t.equal(outbox.hasRoomForReport, true);
  t.equal(outbox.size, 1);
  for (let i = 0; i < 63; i++) outbox.pushReport(event('call_ended'));
  t.equal(outbox.pushReport(event('call_ended')), false);
  t.equal(outbox.hasRoomForReport, false);
  log.up = true;
  await clock.advanceAsync(1000);
  t.equal(outbox.size, 0);
  t.equal(outbox.pushReport(report), true, 'it can be sent again once it has left');
  t.equal(outbox.size, 1);
});

void t.test('the end sends what is left, and says when it could not', async (t) => {
  const { log, outbox } = open();
  outbox.push(event('turn'));
  t.equal(await outbox.flush(1000), true);
  t.same(types(log.appends), ['turn']);
  log.up = false;
  outbox.push(event('turn'));
  t.equal(await outbox.flush(1000), false);
  await outbox[Symbol.asyncDispose]();
  outbox.push(event('turn'));
  t.equal(outbox.size, 1, 'nothing is taken afterwards');
});
