import t from 'tap';
import { newId } from '@parley/shared/ids/new-id';
import { apiKeyCollection } from '../src/api-keys/api-key-model.ts';
import { REVOKED_KEYS_KEPT } from '../src/api-keys/api-key-service.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Key {
  id: string;
  key: string | null;
  role: string;
  status: string;
}

void t.test('API keys', async (t) => {
  const cp = await openTestControlPlane();
  t.teardown(() => cp[Symbol.asyncDispose]());
  const path = `/v1/projects/${cp.first.project._id}/api-keys`;

  void t.test('a key tells who it is', async (t) => {
    const me = await cp.call('GET', '/v1/me');
    t.equal(me.status, 200);
    t.same(me.body, {
      auth: 'api_key',
      org_id: cp.first.org._id,
      project_id: cp.first.project._id,
      user_id: null,
      api_key_id: cp.first.apiKeyId,
    });
    t.match(me.headers.get('x-request-id'), /^req_/);
    t.ok(Number(me.headers.get('ratelimit-remaining')) > 0);
  });

  void t.test('no credential, a wrong one and x-api-key alone are 401', async (t) => {
    for (const headers of [{}, { 'x-api-key': cp.first.apiKey }, { authorization: 'Bearer sk-svc-nope' }]) {
      const answer = await cp.call('GET', '/v1/me', {
        token: null,
        headers: headers as Record<string, string>,
      });
      t.equal(answer.status, 401);
      t.match(answer.body, { code: 'unauthenticated', request_id: answer.headers.get('x-request-id') });
    }
  });

  void t.test('a key is made, works, is listed without its secret, and dies when revoked', async (t) => {
    const made = await cp.call<Key>('POST', path, { body: { name: 'CRM', role: 'viewer' } });
    t.equal(made.status, 201);
    t.match(made.body.key, /^sk-svc-[0-9A-Za-z]{40}$/);
    const token = made.body.key!;
    t.equal((await cp.call('GET', '/v1/me', { token })).status, 200);
    const list = await cp.call<{ items: Key[]; total: number }>('GET', `${path}?status=active`);
    t.equal(list.status, 200);
    t.ok(list.body.items.some((item) => item.id === made.body.id));
    t.notOk(JSON.stringify(list.body).includes(token));
    t.equal((await cp.call('DELETE', `${path}/${made.body.id}`)).status, 204);
    const refused = await cp.call('GET', '/v1/me', { token });
    t.equal(refused.status, 401);
    t.match(refused.body, { code: 'key_revoked' });
    t.equal((await cp.call('DELETE', `${path}/${made.body.id}`)).status, 204, 'revoking twice');
  });

  void t.test('of revoked keys the newest are remembered', async (t) => {
    const Key = cp.app.services.database.model(apiKeyCollection);
    const { _id: _known, ...like } = (await Key.findOne({ revoked_at: { $ne: null } }).lean())!;
    const day = (number: number) => new Date(Date.UTC(2020, 0, number));
    await Key.insertMany(
      Array.from({ length: REVOKED_KEYS_KEPT }, (_, index) => ({
        ...like,
        _id: newId('key'),
        digest: `digest-${index}`,
        created_at: day(index),
        revoked_at: day(index),
      })),
    );
    const made = await cp.call<Key>('POST', path, { body: { name: 'One more', role: 'viewer' } });
    await cp.call('DELETE', `${path}/${made.body.id}`);
    const kept = await cp.call<{ items: Key[]; total: number }>('GET', `${path}?status=revoked&limit=1`);
    t.equal(kept.body.total, REVOKED_KEYS_KEPT);
    t.match(kept.body.items, [{ id: made.body.id }], 'the newest first');
    t.equal(await Key.countDocuments({ digest: { $in: ['digest-0', 'digest-1'] } }), 0, 'not the oldest');
    t.equal(await Key.countDocuments({ digest: 'digest-2' }), 1);
  });

  void t.test('a key makes no key as strong as itself', async (t) => {
    const refused = await cp.call('POST', path, { body: { name: 'x', role: 'admin' } });
    t.equal(refused.status, 403);
    t.match(refused.body, { code: 'role_too_low' });
  });

  void t.test('an editor key may list but not make keys', async (t) => {
    const made = await cp.call<Key>('POST', path, { body: { name: 'editor' } });
    t.equal(made.body.role, 'editor');
    const token = made.body.key!;
    t.equal((await cp.call('GET', path, { token })).status, 200);
    t.match((await cp.call('POST', path, { token, body: { name: 'x' } })).body, { code: 'role_too_low' });
  });

  void t.test('a repeated request with the same key gives the first answer without the secret', async (t) => {
    const headers = { 'idempotency-key': 'make-one' };
    const first = await cp.call<Key>('POST', path, { body: { name: 'once' }, headers });
    const again = await cp.call<Key>('POST', path, { body: { name: 'once' }, headers });
    t.equal(again.status, 201);
    t.equal(again.headers.get('idempotency-replayed'), 'true');
    t.same(again.body, { ...first.body, key: null });
    const other = await cp.call('POST', path, { body: { name: 'twice' }, headers });
    t.equal(other.status, 409);
    t.match(other.body, { code: 'idempotency_key_reused' });
  });

  void t.test('another org sees nothing of it', async (t) => {
    const other = await cp.makeTenant();
    const answer = await cp.call('GET', path, { token: other.apiKey });
    t.equal(answer.status, 404);
  });
});
