import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { UserRecord } from './identity-model.ts';
import { PasswordSignIn } from './password-sign-in.ts';

const TOKENS = { access_token: 'a', token_type: 'bearer', expires_in: 1, refresh_token: 'r' } as const;
const OWNER = { auth: 'jwt', user_id: 'usr_asha', sign_in_id: 'sgn_1' } as const;

/** Sign-in where Asha's password is "right", and what it asked for on the way. */
function open() {
  const clock = new ManualClock();
  const counts = new Map<string, number>();
  const judged: (string | undefined)[] = [];
  const actions: string[] = [];
  const user: UserRecord = {
    _id: 'usr_asha',
    email: 'asha@example.com',
    name: 'Asha',
    password_hash: 'hash',
    locale: 'en',
    timezone: 'UTC',
    reset_digest: null,
    reset_expires_at: null,
    created_at: new Date(0),
    updated_at: new Date(0),
  };
  let breaks = false;
  const signIn = new PasswordSignIn({
    clock,
    accounts: {
      user: () => Promise.resolve(user),
      userByEmail: (email) => Promise.resolve(email.toLowerCase() === user.email ? user : null),
      verifyPassword(who, password) {
        judged.push(who?._id);
        return breaks
          ? Promise.reject(new Error('busy'))
          : Promise.resolve(who !== null && password === 'right');
      },
      setPassword: (id) => Promise.resolve(void actions.push(`set ${id}`)),
    },
    signIns: {
      start: () => Promise.resolve(TOKENS),
      end: (which) => Promise.resolve(void actions.push(`end ${JSON.stringify(which)}`)),
    },
    bus: {
      rates: {
        hit(bucket, _seconds, cost = 1) {
          counts.set(bucket, (counts.get(bucket) ?? 0) + cost);
          return Promise.resolve({ count: counts.get(bucket)!, resetAt: clock.now() + 90_000 });
        },
      },
    },
    audit: { record: ({ action, target }) => Promise.resolve(void actions.push(`${action} ${target}`)) },
  });
  const login = async (password: string, address = '10.0.0.1', email = 'asha@example.com') => {
    try {
      await signIn.login(email, password, { address });
      return 200;
    } catch (error) {
      return (error as { status?: number }).status;
    }
  };
  return {
    counts,
    judged,
    actions,
    login,
    signIn,
    set breaks(value: boolean) {
      breaks = value;
    },
  };
}

void t.test(
  'an address has ten failures at an account, and then even the right password waits',
  async (t) => {
    const { login, judged, counts, signIn } = open();
    for (let i = 0; i < 10; i++) t.equal(await login('wrong'), 401);
    t.equal(await login('right'), 429);
    t.equal(await login('right', '10.0.0.1', ' ASHA@example.com'), 429, 'however it is written');
    t.equal(judged.length, 10, 'what is refused is not judged');
    t.same([...counts.values()], [10, 10], 'and is no failure');
    const refused = signIn.login('asha@example.com', 'right', { address: '10.0.0.1' });
    t.match(await refused.catch((error: unknown) => error), { retryAfterSeconds: 90 });
    t.equal(await login('right', '10.0.0.2'), 200, 'from elsewhere');
    t.same([...counts.values()], [10, 10, 0], 'what was right is no failure');
  },
);

void t.test('an account has a hundred failures over all addresses', async (t) => {
  const { login, judged } = open();
  for (let i = 0; i < 100; i++) t.equal(await login('wrong', `10.0.1.${i}`), 401);
  t.equal(await login('right', '10.0.2.1'), 429);
  t.equal(judged.length, 100);
  t.equal(await login('wrong', '10.0.2.1', 'ravi@example.com'), 401, 'others are not concerned');
});

void t.test('somebody who does not exist is judged, limited and told as anybody is', async (t) => {
  const { login, judged, actions } = open();
  for (let i = 0; i < 10; i++) t.equal(await login('right', '10.0.0.1', 'nobody@example.com'), 401);
  t.same(judged, Array.from({ length: 10 }), 'so that it takes as long');
  t.equal(await login('right', '10.0.0.1', 'nobody@example.com'), 429);
  t.same(new Set(actions), new Set(['sign_in.failed unknown']));
});

void t.test('a password that could not be judged is no failure', async (t) => {
  const scene = open();
  scene.breaks = true;
  for (let i = 0; i < 20; i++) t.equal(await scene.login('wrong'), undefined);
  scene.breaks = false;
  t.equal(await scene.login('right'), 200);
});

void t.test('a change wants the current password, within limits, and ends the other sign-ins', async (t) => {
  const { signIn, actions } = open();
  const change = (current: string) => signIn.changePassword(OWNER, current, 'next', { address: '10.0.0.1' });
  await change('right');
  t.same(actions, [
    'set usr_asha',
    'end {"user_id":"usr_asha","except":"sgn_1"}',
    'password.changed usr_asha',
  ]);
  for (let i = 0; i < 10; i++) await t.rejects(change('wrong'), { code: 'unauthenticated' });
  await t.rejects(change('right'), { code: 'rate_limited' });
  t.equal(actions.length, 3);
});
