import t from 'tap';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';

interface Registered {
  access_token: string;
}
interface Profile {
  memberships: { org_id: string; role: string }[];
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

function accept(cp: TestControlPlane, body: object) {
  return cp.call('POST', '/auth/v1/invites/accept', { token: null, body });
}

void t.test('who may register: nobody, the invited, or everybody; the first user always', async (t) => {
  for (const mode of ['closed', 'invite', 'open'] as const) {
    const cp = await openTestControlPlane({ env: { REGISTRATION: mode } });
    t.teardown(() => cp[Symbol.asyncDispose]());
    const owner = await first(cp);
    t.equal(owner.status, 201, mode);
    const second = await register(cp, 'second@example.com', { org_name: 'Second' });
    const org = await cp.call('POST', '/v1/orgs', { token: owner.body.access_token, body: { name: 'Mine' } });
    await invite(cp, owner.body.access_token, 'invited@example.com');
    const joined = await accept(cp, { token: await mailed(cp), name: 'Invited', password });
    if (mode === 'open') {
      t.equal(second.status, 201);
      const profile = await cp.call<Profile>('GET', '/auth/v1/profile', { token: second.body.access_token });
      t.match(profile.body.memberships, [{ org_name: 'Second', role: 'owner' }]);
      t.not(profile.body.memberships[0]?.org_id, cp.first.org._id);
      t.equal((await register(cp, 'SECOND@example.com')).status, 409, 'addresses know no case');
    } else {
      t.match(second, { status: 403, body: { code: 'registration_closed' } }, mode);
    }
    t.equal(org.status, mode === 'closed' ? 403 : 201, mode);
    t.equal(joined.status, mode === 'closed' ? 403 : 200, mode);
  }
});
