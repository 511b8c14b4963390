import t from 'tap';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';

interface Registered {
  access_token: string;
  refresh_token: string;
}
interface Profile {
  name: string;
  timezone: string;
}

interface Entries {
  items: { org_id: string; actor: string; action: string; target: string }[];
}

const password = 'correct horse battery';

function register(cp: TestControlPlane, email: string, more: object = {}) {
  return cp.call<Registered & { code?: string }>('POST', '/auth/v1/register', {
    token: null,
    body: { email, password, name: 'Somebody', ...more },
  });
}

const first = (cp: TestControlPlane) =>
  register(cp, 'first@example.com', { setup_code: cp.app.services.userAccounts.setupCode() });

/** The token of the newest mail. */
async function mailed(cp: TestControlPlane): Promise<string> {
  await cp.app.services.background[Symbol.asyncDispose]();
  return /token=(\S+)/.exec(cp.mails.at(-1)!.text)![1]!;
}

function invite(cp: TestControlPlane, token: string, email: string) {
  return cp.call('POST', `/v1/orgs/${cp.first.org._id}/invites`, { token, body: { email, role: 'editor' } });
}

function accept(cp: TestControlPlane, body: object, token: string | null = null) {
  return cp.call<Record<string, unknown>>('POST', '/auth/v1/invites/accept', { token, body });
}

void t.test('an account from sign-in to its end', async (t) => {
  const cp = await openTestControlPlane({ env: { REGISTRATION: 'open' } });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const owner = (await first(cp)).body;
  const ed = (await register(cp, 'ed@example.com')).body;
  const me = (token: string) => cp.call('GET', '/v1/me', { token });
  const login = (secret: string) =>
    cp.call<Registered>('POST', '/auth/v1/login', {
      token: null,
      body: { email: 'ed@example.com', password: secret },
    });

  void t.test('an invite of somebody who has an account is accepted by that account alone', async (t) => {
    await invite(cp, owner.access_token, 'ed@example.com');
    const body = { token: await mailed(cp) };
    t.equal((await accept(cp, body)).status, 401);
    t.match(await accept(cp, body, owner.access_token), { status: 403 });
    const joined = await accept(cp, body, ed.access_token);
    t.match(joined, { status: 200, body: { org_id: cp.first.org._id, role: 'editor' } });
    t.notOk('access_token' in joined.body);
    t.match(await invite(cp, owner.access_token, 'ed@example.com'), {
      status: 409,
      body: { code: 'duplicate' },
    });
  });

  void t.test('a wrong password says no more than an unknown address', async (t) => {
    const wrong = await login('not the password');
    const unknown = await cp.call<{ detail: string }>('POST', '/auth/v1/login', {
      token: null,
      body: { email: 'nobody@example.com', password },
    });
    t.equal(wrong.status, 401);
    t.same({ ...unknown.body, request_id: '' }, { ...wrong.body, request_id: '' });
  });

  void t.test('changing the password ends the other sign-ins', async (t) => {
    const here = (await login(password)).body;
    const change = (current_password: string) =>
      cp.call('POST', '/auth/v1/password', {
        token: here.access_token,
        body: { current_password, new_password: 'an even better one' },
      });
    t.equal((await change('wrong')).status, 401);
    t.equal((await change(password)).status, 204);
    t.equal((await me(here.access_token)).status, 200);
    t.equal((await me(ed.access_token)).status, 401);
    t.equal((await login(password)).status, 401);
    t.equal((await login('an even better one')).status, 200);
  });

  void t.test('a profile is read and changed', async (t) => {
    const { access_token: token } = (await login('an even better one')).body;
    const changed = await cp.call<Profile>('PATCH', '/auth/v1/profile', {
      token,
      body: { name: 'Eddie', timezone: 'Asia/Kolkata' },
    });
    t.match(changed, { status: 200, body: { name: 'Eddie', timezone: 'Asia/Kolkata' } });
    const odd = await cp.call('PATCH', '/auth/v1/profile', { token, body: { timezone: 'Mars/Base' } });
    t.equal(odd.status, 422);
  });

  void t.test('signing out ends the sign-in, and twice is harmless', async (t) => {
    const signedIn = (await login('an even better one')).body;
    const out = () =>
      cp.call('POST', '/auth/v1/logout', { token: null, body: { refresh_token: signedIn.refresh_token } });
    t.equal((await out()).status, 204);
    t.equal((await me(signedIn.access_token)).status, 401);
    t.equal((await out()).status, 204);
  });

  void t.test('all of it is in the audit trail, and no secret', async (t) => {
    const entries = await cp.app.services.database.model(auditCollection).find().limit(1000).lean();
    const actions = new Set(entries.map(({ action }) => action));
    for (const action of [
      'sign_in.registered',
      'sign_in.succeeded',
      'sign_in.failed',
      'sign_in.ended',
      'password.changed',
      'invite.created',
      'member.joined',
    ]) {
      t.ok(actions.has(action), action);
    }
    t.notMatch(JSON.stringify(entries), /correct horse|better one|example\.com/);
    t.ok(
      entries.every(
        ({ actor, address, target }) => actor !== '' && target !== '' && typeof address === 'string',
      ),
    );
  });

  void t.test('who administers the whole org reads what was done in it, and nobody else', async (t) => {
    const path = (query = '') => `/v1/orgs/${cp.first.org._id}/audit-entries${query}`;
    const token = owner.access_token;
    const read = async (query: string) => {
      const { status, body } = await cp.call<Entries>('GET', path(query), { token });
      t.equal(status, 200, query);
      return body.items;
    };
    const all = await read('?limit=200&sort=created_at');
    t.same([...new Set(all.map(({ org_id }) => org_id))], [cp.first.org._id]);
    t.same(await read('?limit=200'), all.toReversed());
    for (const field of ['actor', 'action', 'target'] as const) {
      const one = all.find(({ action }) => action === 'member.joined')!;
      const those = all.filter((other) => other[field] === one[field]);
      t.ok(those.length < all.length);
      t.same(await read(`?${field}=${one[field]}&sort=created_at`), those);
    }
    t.match(await cp.call('GET', path()), { status: 403, body: { code: 'user_required' } });

    const { items: members } = (
      await cp.call<{ items: { id: string; role: string }[] }>(
        'GET',
        `/v1/orgs/${cp.first.org._id}/members`,
        { token },
      )
    ).body;
    const { id } = members.find(({ role }) => role === 'editor')!;
    const as = async (role: string) => {
      await cp.call('PATCH', `/v1/members/${id}`, { token, body: { role } });
      return cp.call('GET', path(), { token: (await login('an even better one')).body.access_token });
    };
    t.match(await as('editor'), { status: 403, body: { code: 'role_too_low' } });
    t.match(await as('admin'), { status: 200 });
  });
});
