import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

void t.test('ten failures lock the account for this address, for a while', async (t) => {
  // Near the real time: the database deletes by its own clock what has expired.
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({ clock });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const wrong = { email: 'locked@example.com', password: 'wrong' };
  const statuses = [];
  for (let i = 0; i < 11; i++) {
    statuses.push((await cp.call('POST', '/auth/v1/login', { token: null, body: wrong })).status);
  }
  t.same(statuses, [...Array<number>(10).fill(401), 429]);
  clock.advance(15 * 60_000);
  t.equal((await cp.call('POST', '/auth/v1/login', { token: null, body: wrong })).status, 401);
});
