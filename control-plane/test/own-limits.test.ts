import t from 'tap';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

void t.test("an org's own limits on sessions hold", async (t) => {
  const cp = await openTestControlPlane();
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
