import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

void t.test('ten failures lock the account for this address, for a while', async (t) => {
  // Near the real time: the database deletes by its own clock what has expired.
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({ clock });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const wrong = { email: 'locked@example.com', password: 'wrong' };
  const guesses = await Promise.all(
    Array.from({ length: 40 }, () => cp.call('POST', '/auth/v1/login', { token: null, body: wrong })),
  );
  const statuses = guesses.map(({ status }) => status).sort();
  t.same(
    statuses,
    [...Array<number>(10).fill(401), ...Array<number>(30).fill(429)],
    'at once as well as in turn',
  );
  clock.advance(15 * 60_000);
  t.equal((await cp.call('POST', '/auth/v1/login', { token: null, body: wrong })).status, 401);
});

void t.test('a password is changed within limits, and not to a common one', async (t) => {
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({ clock });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const user = {
    email: 'asha@example.com',
    name: 'Asha',
    setup_code: cp.app.services.userAccounts.setupCode(),
  };
  const register = (password: string) =>
    cp.call<{ access_token: string }>('POST', '/auth/v1/register', {
      token: null,
      body: { ...user, password },
    });
  for (const common of ['password1234', 'qwertyuiop12', 'aaaaaaaaaaaa'])
    t.match(await register(common), {
      status: 422,
      body: { detail: [{ loc: ['body', 'password'], type: 'password_too_weak' }] },
    });
  const registered = await register('correct horse battery');
  t.equal(registered.status, 201, 'the setup code was not used up');
  const token = registered.body.access_token;
  const change = (current_password: string, new_password: string) =>
    cp.call('POST', '/auth/v1/password', { token, body: { current_password, new_password } });
  t.match(await change('correct horse battery', 'password1234'), {
    status: 422,
    body: { detail: [{ loc: ['body', 'new_password'] }] },
  });
  t.equal((await change('correct horse battery', 'another horse battery')).status, 204);
  const guesses = await Promise.all(
    Array.from({ length: 12 }, () => change('wrong', 'correct horse battery')),
  );
  t.same(guesses.map(({ status }) => status).sort(), [...Array<number>(10).fill(401), 429, 429]);
  t.equal((await change('another horse battery', 'correct horse battery')).status, 429);
});
