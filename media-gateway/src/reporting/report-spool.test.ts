import { appendFile, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import * as nodeFs from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import type { Test } from 'tap';
import { MAX_REPORT_BYTES } from '@parley/shared/contracts/call-events';
import type { CallEvent, CallEventData, CallReport } from '@parley/shared/contracts/call-events';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { EventOutbox } from './event-outbox.ts';
import { ReportSpool, emptyReport, fitReport } from './report-spool.ts';
import type { SpoolFs } from './spool-file.ts';
import { lockSpool } from './spool-lock.ts';
import { SpooledCallReporter } from './spooled-call-reporter.ts';
import { until } from '../../test/fixtures/until.ts';

const SESSION = '01890000-0000-7000-8000-000000000001';

async function open(t: Test, options: { dir?: string; gatewayId?: string; fs?: SpoolFs } = {}) {
  const dir = options.dir ?? (await mkdtemp(path.join(tmpdir(), 'parley-spool-')));
  if (!options.dir) t.teardown(() => rm(dir, { recursive: true, force: true }));
  const clock = new ManualClock();
  const sent: CallEvent[] = [];
  const log = { up: true };
  const logger = silentLogger();
  const gatewayId = options.gatewayId ?? 'gw_1';
  const outbox = new EventOutbox({
    clock,
    logger,
    events: {
      append(events) {
        if (!log.up) return Promise.reject(new Error('down'));
        sent.push(...events);
        return Promise.resolve();
      },
    },
  });
  const spool = await ReportSpool.open({
    dir,
    gatewayId,
    outbox,
    clock,
    logger,
    ...(options.fs ? { fs: options.fs } : {}),
  });
  t.teardown(() => spool[Symbol.asyncDispose]());
  const reporter = (leg = 0) =>
    new SpooledCallReporter({
      plan: { session_id: SESSION, claim_id: 'claim_1', leg, first_event_index: leg * 100_000 },
      gatewayId,
      answeredAt: clock.now(),
      spool,
      outbox,
      clock,
      logger,
    });
  const report = (more: Partial<CallReport> = {}): CallReport => {
    const { failure_reason: _, ...rest } = emptyReport({
      answeredAt: clock.now(),
      endedAt: clock.now() + 1000,
    });
    return { ...rest, ended_by: 'caller', hangup_reason: 'caller_hangup', ...more };
  };
  return { dir, clock, sent, log, outbox, spool, reporter, report };
}

const STARTED: CallEventData<'call_started'> = {
  answered_at: '2026-01-01T00:00:00.000Z',
  encoding: 'pcmu',
  sample_rate: 8000,
  emulated: [],
};

const turn = (index: number, text = 'one'): CallReport['turns'][0] => ({
  turn_index: index,
  role: 'caller',
  text,
  start_ms: 0,
  end_ms: 10,
  interrupted: false,
  redacted: false,
});

void t.test('events are numbered from the first index of their leg, with one id each', async (t) => {
  const { clock, sent, reporter } = await open(t);
  const calls = reporter(2);
  calls.emit('call_started', STARTED, 0);
  const data = { code: 'a' };
  calls.emit('warning', data, 12.4);
  data.code = 'changed afterwards';
  await clock.advanceAsync(20);
  t.match(sent, [
    { index: 200_000, type: 'call_started', session_id: SESSION, claim_id: 'claim_1', gateway_id: 'gw_1' },
    { index: 200_001, type: 'warning', offset_ms: 12, data: { code: 'a' } },
  ]);
  t.not(sent[0]!.id, sent[1]!.id);
  t.equal(calls.lastIndex, 200_001);
});

void t.test(
  'a report is on disk, for its owner alone, until it is confirmed, and is sent again until then',
  async (t) => {
    const { dir, clock, sent, reporter, report, spool } = await open(t);
    const calls = reporter();
    const file = path.join(dir, `${SESSION}.0.jsonl`);
    await until(async () => (await readdir(dir)).includes(`${SESSION}.0.jsonl`));
    t.equal((await stat(file)).mode & 0o777, 0o600);
    calls.emit('call_started', STARTED, 0);
    await calls.end(report({ turns: [turn(0)] }));
    await calls.end(report());
    const onDisk = JSON.parse((await readFile(file, 'utf8')).split('\n').at(-1)!) as { event: CallEvent };
    await clock.advanceAsync(20);
    t.same(
      sent.map(({ type }) => type),
      ['call_started', 'call_ended'],
    );
    t.same(sent[1], onDisk.event);
    t.match(sent[1]!.data, { ended_by: 'caller', last_index: 1, turns: [{ text: 'one' }] });

    clock.advance(35_000);
    await until(async () => (clock.advance(20), sent.length === 3));
    t.equal(sent[2]!.id, sent[1]!.id, 'the very same event');

    spool.stored('evt_other');
    t.equal(spool.unconfirmed, 1);
    spool.stored(sent[1]!.id);
    t.equal(spool.unconfirmed, 0);
    await until(async () => (await readdir(dir)).length === 0);
    await clock.advanceAsync(60_000, 5000);
    t.equal(sent.length, 3);
  },
);

void t.test(
  'while the log is down the report waits, and nothing is sent twice when it is back',
  async (t) => {
    const { clock, sent, log, reporter, report } = await open(t);
    log.up = false;
    await reporter().end(report());
    await clock.advanceAsync(120_000, 1000);
    log.up = true;
    await clock.advanceAsync(6000, 20);
    t.equal(sent.filter(({ type }) => type === 'call_ended').length, 1);
  },
);

void t.test('a process that died after the end of a call leaves how it ended', async (t) => {
  const first = await open(t);
  const calls = first.reporter();
  calls.saveProgress(first.report({ turns: [turn(0, 'so far')], ended_by: 'system' }));
  calls.saveProgress(first.report({ turns: [turn(0)], duration_ms: 7000 }), { over: true });
  const file = path.join(first.dir, `${SESSION}.0.jsonl`);
  await until(async () => (await readFile(file, 'utf8').catch(() => '')).includes('7000'));

  const second = await open(t, { dir: first.dir, gatewayId: 'gw_2' });
  await second.clock.advanceAsync(20);
  t.match(second.sent, [
    {
      type: 'call_ended',
      index: 99_999,
      data: {
        ended_by: 'caller',
        hangup_reason: 'caller_hangup',
        duration_ms: 7000,
        last_index: 99_999,
        turns: [{ text: 'one' }],
      },
    },
  ]);
  t.notOk('failure_reason' in second.sent[0]!.data);
});

void t.test('a process that died leaves what was said; the next one reports it with an end', async (t) => {
  const first = await open(t);
  const calls = first.reporter();
  calls.saveProgress(first.report({ turns: [turn(0)], duration_ms: 5000 }));
  calls.saveProgress(first.report({ turns: [turn(0), turn(1)], duration_ms: 7000 }));
  const file = path.join(first.dir, `${SESSION}.0.jsonl`);
  await until(async () => (await readFile(file, 'utf8').catch(() => '')).includes('7000'));
  // The process died in the middle of a line.
  await appendFile(file, '\n{"progress":{"answered_at');

  const second = await open(t, { dir: first.dir, gatewayId: 'gw_2' });
  await second.clock.advanceAsync(20);
  t.equal(second.sent.length, 1);
  const [end] = second.sent;
  t.match(end, {
    type: 'call_ended',
    session_id: SESSION,
    claim_id: 'claim_1',
    gateway_id: 'gw_2',
    index: 99_999,
    data: { ended_by: 'system', failure_reason: 'internal', duration_ms: 7000, turns: [{}, {}] },
  });
  t.notOk('hangup_reason' in end!.data);

  const third = await open(t, { dir: first.dir, gatewayId: 'gw_3' });
  await third.clock.advanceAsync(20);
  t.same(
    third.sent.map(({ id, gateway_id }) => [id, gateway_id]),
    [[end!.id, 'gw_3']],
    'the same event again, answered to whoever sends it',
  );
  third.spool.stored(end!.id);
  await until(async () => (await readdir(first.dir)).length === 0);
});

void t.test(
  'a call that never had a turn is reported too, and an unreadable file harms nobody',
  async (t) => {
    const first = await open(t);
    first.reporter();
    await until(async () => (await readdir(first.dir)).length === 1);
    const bad = '01890000-0000-7000-8000-00000000000b.0.jsonl';
    await writeFile(path.join(first.dir, bad), '{"v":1}');
    const second = await open(t, { dir: first.dir });
    await second.clock.advanceAsync(20);
    t.match(second.sent, [{ type: 'call_ended', data: { turns: [], failure_reason: 'internal' } }]);
    t.ok((await readdir(first.dir)).includes(`${bad}.bad`));
  },
);

void t.test('of a turn only what is new is written, and what was changed later counts', async (t) => {
  const first = await open(t);
  const calls = first.reporter();
  const [one, two] = [turn(0), turn(1)];
  calls.saveProgress(first.report({ turns: [one] }));
  calls.saveProgress(first.report({ turns: [one, two] }));
  calls.saveProgress(first.report({ turns: [one, { ...two, text: 'what was heard' }] }));
  const file = path.join(first.dir, `${SESSION}.0.jsonl`);
  await until(async () => (await readFile(file, 'utf8').catch(() => '')).includes('what was heard'));
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  t.same(
    lines.map((line) => (JSON.parse(line) as { progress?: CallReport }).progress?.turns.length),
    [undefined, 1, 1, 1],
  );
  const second = await open(t, { dir: first.dir });
  await second.clock.advanceAsync(20);
  t.match(second.sent, [{ data: { turns: [{ text: 'one' }, { text: 'what was heard' }] } }]);
});

void t.test(
  'when hundreds of calls end at once, every report goes out without waiting to be resent',
  async (t) => {
    const { clock, sent, outbox, spool, report, dir } = await open(t);
    const logger = silentLogger();
    const sessions = Array.from(
      { length: 300 },
      (_, i) => `01890000-0000-7000-8000-${String(i).padStart(12, '0')}`,
    );
    await Promise.all(
      sessions.map((session_id) =>
        new SpooledCallReporter({
          plan: { session_id, claim_id: 'claim_1', leg: 0, first_event_index: 0 },
          gatewayId: 'gw_1',
          answeredAt: clock.now(),
          spool,
          outbox,
          clock,
          logger,
        }).end(report({ turns: [turn(0)] })),
      ),
    );
    // What did not fit into memory is read from disk, which takes real time: the clock stands still meanwhile.
    await until(async () => {
      if (outbox.size > 0) await clock.advanceAsync(20);
      return sent.length >= 300;
    });
    t.equal(new Set(sent.map(({ session_id }) => session_id)).size, 300);
    t.equal(sent.length, 300, 'once each');
    for (const { id } of sent) spool.stored(id);
    await until(async () => (await readdir(dir)).length === 0);
  },
);

void t.test('a full disk keeps no report from being sent', async (t) => {
  const full: SpoolFs = {
    ...nodeFs,
    open: () => Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })),
  };
  const { clock, sent, reporter, report } = await open(t, { fs: full });
  const calls = reporter();
  calls.saveProgress(report());
  await calls.end(report());
  await clock.advanceAsync(20);
  t.equal(sent.length, 1);
  await clock.advanceAsync(36_000, 1000);
  t.equal(sent.length, 2, 'again, from memory');
});

void t.test('what a full disk refused is written when there is room again', async (t) => {
  let free = false;
  const sometimes: SpoolFs = {
    ...nodeFs,
    open: (...args) =>
      free ? nodeFs.open(...args) : Promise.reject(Object.assign(new Error('no space'), { code: 'ENOSPC' })),
  };
  const first = await open(t, { fs: sometimes });
  const calls = first.reporter();
  calls.saveProgress(first.report({ turns: [turn(0)] }));
  await new Promise((resolve) => setImmediate(resolve));
  free = true;
  calls.saveProgress(first.report({ turns: [turn(1)] }));
  const file = path.join(first.dir, `${SESSION}.0.jsonl`);
  await until(async () => (await readFile(file, 'utf8').catch(() => '')).includes('"turn_index":1'));
  const second = await open(t, { dir: first.dir });
  await second.clock.advanceAsync(20);
  t.match(second.sent, [{ data: { turns: [{ turn_index: 0 }, { turn_index: 1 }] } }]);
});

void t.test('a report beyond its bound leaves out the oldest turns', async (t) => {
  const turns = Array.from({ length: 3000 }, (_, i) => turn(i, 'ü'.repeat(400)));
  const whole = { ...emptyReport({ answeredAt: 0, endedAt: 0 }), turns };
  const fitted = fitReport(whole);
  t.ok(Buffer.byteLength(JSON.stringify(fitted)) <= MAX_REPORT_BYTES);
  t.equal(fitted.turns_truncated, true);
  t.equal(fitted.turns.at(-1), turns.at(-1));
  t.ok(fitted.turns.length > 900, 'and no more than needed');
  const small = { ...whole, turns: [turn(0)] };
  t.equal(fitReport(small), small);
});

void t.test('a spool belongs to one process', async (t) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'parley-spool-'));
  t.teardown(() => rm(dir, { recursive: true, force: true }));
  const lock = lockSpool(dir);
  t.throws(() => lockSpool(dir), /Another gateway is using/);
  lock.release();
  lock.release();
  lockSpool(dir).release();
});
