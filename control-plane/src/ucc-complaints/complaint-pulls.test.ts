import t from 'tap';
import type { Leases } from '@parley/shared/bus/bus';
import { LocalLeases } from '@parley/shared/bus/local-state';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { PeriodicTask } from '../jobs/periodic-task.ts';
import type { ComplaintAccount } from './complaint-accounts.ts';
import { ComplaintPulls } from './complaint-pulls.ts';

const HOUR_MS = 3_600_000;
const accounts = Array.from(
  { length: 230 },
  (_, n) =>
    ({
      _id: `tel_${String(n).padStart(3, '0')}`,
      org_id: n === 7 ? 'org_off' : 'org_on',
    }) as ComplaintAccount,
);

/** A process that pulls on the hour, and the accounts that it has pulled. */
function worker(owner: string, shared: { clock: ManualClock; leases: Leases }) {
  const pulled: string[] = [];
  const pulls = new ComplaintPulls({
    ...shared,
    accounts: {
      withFeed: ({ after, limit }) =>
        Promise.resolve(accounts.filter(({ _id }) => _id > after).slice(0, limit)),
    },
    feed: {
      pull: ([account], endMs) => {
        pulled.push(account!._id);
        t.equal(endMs, shared.clock.now() + 60_000, 'an account has a minute');
        return Promise.resolve(undefined);
      },
    },
    directory: {
      org: (id) => Promise.resolve({ status: 'active', feature_flags: { ucc: id !== 'org_off' } } as never),
    },
    owner,
    everyMs: HOUR_MS,
  });
  return { pulled, pulls };
}

void t.test('one process pulls every account on the interval, another goes on when it dies', async (t) => {
  const clock = new ManualClock(Date.parse('2026-01-05T00:00:00Z'));
  const shared = { clock, leases: new LocalLeases(clock) };
  const [first, second] = [worker('cp_1', shared), worker('cp_2', shared)];
  const task = new PeriodicTask({
    ...{ name: 'complaints', everyMs: HOUR_MS, clock, logger: silentLogger() },
    work: (signal) => first.pulls.run(signal),
  });
  const { signal } = new AbortController();
  clock.advance(HOUR_MS - 1);
  t.equal(first.pulled.length, 0);
  clock.advance(1);
  await task.runNow();
  t.equal(first.pulled.length % 229, 0, 'all but those of the org that has them off');
  t.ok(first.pulled.length > 0);
  t.notOk(first.pulled.includes('tel_007'));
  clock.advance(HOUR_MS);
  await second.pulls.run(signal);
  t.equal(second.pulled.length, 0, 'one at a time');
  await task[Symbol.asyncDispose]();
  clock.advance(HOUR_MS * 2);
  await second.pulls.run(signal);
  t.equal(second.pulled.length, 229);
  t.same([...second.pulled].sort(), second.pulled, 'in order');
});

void t.test('a round ends with its interval', async (t) => {
  const clock = new ManualClock(Date.parse('2026-01-05T00:00:00Z'));
  let asked = 0;
  const slow = new ComplaintPulls({
    accounts: { withFeed: () => Promise.resolve(accounts.slice(0, 100)) },
    feed: {
      pull: () => {
        asked++;
        clock.advance(60_000);
        return Promise.resolve(undefined);
      },
    },
    directory: { org: () => Promise.resolve({ status: 'active', feature_flags: {} } as never) },
    ...{ leases: new LocalLeases(clock), owner: 'cp_1', everyMs: HOUR_MS, clock },
  });
  await slow.run(new AbortController().signal);
  t.equal(asked, 60);
});
