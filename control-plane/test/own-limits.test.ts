import t from 'tap';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { signInUser } from './fixtures/test-users.ts';

void t.test("an org's own limits on sessions hold", async (t) => {
  const cp = await openTestControlPlane({ env: { REGISTRATION: 'open' } });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const start = async (token: string) => {
    const answer = await cp.call<{ code?: string }>('POST', '/v1/sessions', { token, body: {} });
    return answer.body.code ?? answer.status;
  };

  void t.test('how many start', async (t) => {
    const { org, apiKey: token } = await cp.makeTenant();
    // A day's window: one that ended between two requests would count anew.
    const body = { resource: 'session_starts', limit: 2, window_seconds: 86_400 };
    t.equal((await cp.call('POST', `/v1/orgs/${org._id}/rate-limit-configs`, { token, body })).status, 201);
    t.same([await start(token), await start(token), await start(token)], [200, 200, 'rate_limited']);
    t.equal(await start(cp.first.apiKey), 200, 'others are not concerned');
  });

  void t.test('how many there are at a time', async (t) => {
    const { org, apiKey: token } = await cp.makeTenant();
    const body = { resource: 'concurrent_sessions', limit: 1 };
    t.equal((await cp.call('POST', `/v1/orgs/${org._id}/rate-limit-configs`, { token, body })).status, 201);
    t.same([await start(token), await start(token)], [200, 'concurrency_limit']);
  });

  void t.test('how many requests there are, of keys and of users, and it can be lifted again', async (t) => {
    const owner = await signInUser(cp, 'owner@example.com');
    const { org, apiKey } = await cp.makeTenant();
    await owner.join(org._id, 'owner');
    const configs = `/v1/orgs/${org._id}/rate-limit-configs`;
    const read = async (token: string) => (await cp.call('GET', `/v1/orgs/${org._id}`, { token })).status;
    const limit = async (token: string, most: number) => {
      const body = { resource: 'api_requests', limit: most, window_seconds: 86_400 };
      return `/v1/rate-limit-configs/${(await cp.call<{ id: string }>('POST', configs, { token, body })).body.id}`;
    };
    const own = await limit(apiKey, 1);
    t.same([await read(apiKey), await read(apiKey), await read(owner.token)], [200, 429, 200]);
    t.equal((await cp.call('DELETE', own, { token: apiKey })).status, 204, 'the key lifts its own limit');
    const whole = await limit(owner.token, 2);
    const all = [owner.token, apiKey, owner.token, apiKey];
    const statuses = [];
    for (const token of all) statuses.push(await read(token));
    t.same(statuses, [200, 200, 429, 429], 'users count, too');
    t.equal((await cp.call('DELETE', whole, { token: owner.token })).status, 204);
    t.equal(await read(apiKey), 200);
  });

  void t.test('none is above what the installation allows', async (t) => {
    const path = `/v1/orgs/${cp.first.org._id}/rate-limit-configs`;
    for (const body of [
      { resource: 'concurrent_sessions', limit: 100_000 },
      { resource: 'session_starts', limit: 1000, window_seconds: 1 },
      { resource: 'session_starts', limit: 10 },
      { resource: 'concurrent_sessions', limit: 10, window_seconds: 60 },
    ]) {
      t.equal((await cp.call('POST', path, { body })).status, 422, JSON.stringify(body));
    }
  });
});
