import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { refreshTokenCollection } from '../src/identity/identity-model.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Tokens {
  access_token: string;
  refresh_token: string;
}
interface Profile {
  user_id: string;
  memberships: { org_id: string; role: string; project_ids: string[] | null }[];
}
interface Page<T> {
  items: T[];
  total: number;
}
interface Member {
  id: string;
  user_id: string;
  role: string;
  email: string;
}

const password = 'correct horse battery';

void t.test('people', async (t) => {
  // Near the real time: the database deletes by its own clock what has expired.
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({ clock });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const { org, project } = cp.first;
  const ownerBody = { email: 'Owner@Example.com', password, name: 'Olga' };
  let owner: Tokens;

  void t.test('the first registration needs the setup code and owns the first org', async (t) => {
    const without = await cp.call('POST', '/auth/v1/register', { token: null, body: ownerBody });
    t.equal(without.status, 403);
    t.match(without.body, { code: 'setup_code_required' });
    const body = { ...ownerBody, setup_code: cp.app.services.userAccounts.setupCode() };
    const answer = await cp.call<Tokens>('POST', '/auth/v1/register', { token: null, body });
    t.equal(answer.status, 201);
    owner = answer.body;
    const profile = await cp.call<Profile>('GET', '/auth/v1/profile', { token: owner.access_token });
    t.match(profile.body, { email: 'owner@example.com', memberships: [{ org_id: org._id, role: 'owner' }] });
    const second = await cp.call('POST', '/auth/v1/register', {
      token: null,
      body: { ...body, email: 'b@example.com' },
    });
    t.match(second.body, { code: 'registration_closed' });
  });

  void t.test('a user is a user and no project', async (t) => {
    const me = await cp.call('GET', '/v1/me', { token: owner.access_token });
    t.match(me.body, { auth: 'jwt', org_id: null, project_id: null, user_id: /^usr_/, api_key_id: null });
    const keys = await cp.call('GET', `/v1/projects/${project._id}/api-keys`, { token: owner.access_token });
    t.equal(keys.status, 200);
  });

  void t.test('a key is refused where a user is required, whatever the id', async (t) => {
    for (const path of [`/v1/members/mbr_nobody`, '/v1/members/%20', `/v1/invites/ivt_1`]) {
      const answer = await cp.call('DELETE', path);
      t.equal(answer.status, 403);
      t.match(answer.body, { code: 'user_required' });
    }
  });

  void t.test('access tokens end after 15 minutes, and tampered ones never start', async (t) => {
    clock.advance(16 * 60_000);
    const late = await cp.call('GET', '/v1/me', { token: owner.access_token });
    t.equal(late.status, 401);
    t.match(late.body, { code: 'token_expired' });
    const [head, body] = owner.access_token.split('.');
    const forged = await cp.call('GET', '/v1/me', { token: `${head}.${body}.AAAA` });
    t.match(forged.body, { code: 'unauthenticated' });
  });

  const refresh = (refresh_token: string) =>
    cp.call<Tokens>('POST', '/auth/v1/refresh', { token: null, body: { refresh_token } });

  void t.test('a refresh token works once; coming again later ends the sign-in', async (t) => {
    const fresh = await refresh(owner.refresh_token);
    t.equal(fresh.status, 200);
    t.equal((await cp.call('GET', '/v1/me', { token: fresh.body.access_token })).status, 200);
    const eleven = new Date(Date.now() - 11_000);
    await cp.app.services.database
      .model(refreshTokenCollection)
      .updateMany({ used_at: { $ne: null } }, { $set: { used_at: eleven } });
    t.equal((await refresh(owner.refresh_token)).status, 401);
    t.equal((await refresh(fresh.body.refresh_token)).status, 401, 'the whole sign-in is over');
    t.equal((await cp.call('GET', '/v1/me', { token: fresh.body.access_token })).status, 401);
  });

  void t.test('of twenty racing refreshes two get the same successor, and stay signed in', async (t) => {
    const login = await cp.call<Tokens>('POST', '/auth/v1/login', {
      token: null,
      body: { email: 'owner@example.com', password },
    });
    t.equal(login.status, 200);
    const answers = await Promise.all(Array.from({ length: 20 }, () => refresh(login.body.refresh_token)));
    const won = answers.filter((answer) => answer.status === 200);
    t.equal(won.length, 2);
    t.equal(new Set(won.map((answer) => answer.body.refresh_token)).size, 1);
    for (const { body } of won)
      t.equal((await cp.call('GET', '/v1/me', { token: body.access_token })).status, 200);
    t.equal((await refresh(won[0]!.body.refresh_token)).status, 200);
  });

  void t.test('an invited person joins with the invited role, and removal works at once', async (t) => {
    const login = await cp.call<Tokens>('POST', '/auth/v1/login', {
      token: null,
      body: { email: 'owner@example.com', password },
    });
    owner = login.body;
    const token = owner.access_token;
    const invited = await cp.call('POST', `/v1/orgs/${org._id}/invites`, {
      token,
      body: { email: 'ed@example.com', role: 'viewer', project_ids: [project._id] },
    });
    t.equal(invited.status, 201);
    t.equal(invited.body['status' as never], 'pending');
    t.notOk(JSON.stringify(invited.body).includes('digest'));
    await cp.app.services.background[Symbol.asyncDispose]();
    const link = /token=(\S+)/.exec(cp.mails.at(-1)!.text)![1]!;
    const accept = { token: link, name: 'Ed', password };
    const joined = await cp.call<Tokens>('POST', '/auth/v1/invites/accept', { token: null, body: accept });
    t.equal(joined.status, 200);
    const used = await cp.call('POST', '/auth/v1/invites/accept', { token: null, body: accept });
    t.equal(used.status, 401);

    const ed = joined.body.access_token;
    t.equal((await cp.call('GET', `/v1/projects/${project._id}`, { token: ed })).status, 200);
    const write = await cp.call('PATCH', `/v1/projects/${project._id}`, {
      token: ed,
      body: { description: 'x' },
    });
    t.match(write.body, { code: 'role_too_low' });
    const members = await cp.call<Page<Member>>('GET', `/v1/orgs/${org._id}/members`, { token });
    const member = members.body.items.find((one) => one.email === 'ed@example.com')!;
    const widened = await cp.call('PATCH', `/v1/members/${member.id}`, {
      token,
      body: { role: 'admin', project_ids: [project._id] },
    });
    t.equal(widened.status, 422);
    t.equal((await cp.call('DELETE', `/v1/members/${member.id}`, { token })).status, 204);
    t.equal((await cp.call('GET', `/v1/projects/${project._id}`, { token: ed })).status, 404);
  });

  void t.test('the last owner stays, even when two requests try', async (t) => {
    const token = owner.access_token;
    const members = await cp.call<Page<Member>>('GET', `/v1/orgs/${org._id}/members?role=owner`, { token });
    t.equal(members.body.total, 1);
    const path = `/v1/members/${members.body.items[0]!.id}`;
    t.equal((await cp.call('DELETE', path, { token })).status, 409);
    t.equal((await cp.call('PATCH', path, { token, body: { role: 'admin' } })).status, 409);
    t.equal((await cp.call('PATCH', path, { token, body: { status: 'suspended' } })).status, 409);
    t.equal((await cp.call('GET', `/v1/orgs/${org._id}/members`, { token })).status, 200);
  });

  void t.test('a forgotten password is replaced by mailed link, once, and ends all sign-ins', async (t) => {
    const before = cp.mails.length;
    const unknown = { email: 'nobody@example.com' };
    t.equal((await cp.call('POST', '/auth/v1/password/forgot', { token: null, body: unknown })).status, 202);
    const known = { email: 'owner@example.com' };
    t.equal((await cp.call('POST', '/auth/v1/password/forgot', { token: null, body: known })).status, 202);
    await cp.app.services.background[Symbol.asyncDispose]();
    t.equal(cp.mails.length, before + 1);
    const link = /token=(\S+)/.exec(cp.mails.at(-1)!.text)![1]!;
    const body = { token: link, new_password: 'a new and long one' };
    t.equal((await cp.call('POST', '/auth/v1/password/reset', { token: null, body })).status, 204);
    t.equal((await cp.call('POST', '/auth/v1/password/reset', { token: null, body })).status, 401);
    t.equal((await cp.call('GET', '/v1/me', { token: owner.access_token })).status, 401);
  });

  void t.test('public keys are published and nothing else of them', async (t) => {
    const jwks = await cp.call<{ keys: Record<string, string>[] }>('GET', '/.well-known/jwks.json', {
      token: null,
    });
    t.same(Object.keys(jwks.body.keys[0]!).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });
});
