import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { newId } from '@parley/shared/ids/new-id';
import { RestClient } from '../src/demonstration/rest-client.ts';
import { CALLER_LINES } from '../src/demonstration/script.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { hasRedis, RedisProcess } from './fixtures/system/redis-process.ts';
import { spooled } from './fixtures/system/spooled.ts';
import { openTestPlatform, temporaryFolder } from './fixtures/system/test-platform.ts';

t.setTimeout(120_000);
const skip = hasRedis ? false : 'needs redis-server on the path';

void t.test('the platform over a real Redis', { skip }, async (t) => {
  const owned = new DisposableList();
  t.teardown(() => owned.dispose());
  const redis = owned.add(new RedisProcess(temporaryFolder(owned)));
  await redis.start();
  const dataDir = temporaryFolder(owned);
  const env = { REDIS_URL: redis.url };
  const test = owned.add(await openTestPlatform({ env, dataDir }));
  const { installation, receiver } = test;
  const agentId = await installation.agent({ config: { recording: { enabled: true } } });
  await installation.webhook(agentId, `${receiver.origin}/ended`);

  let heldSession = '';

  await t.test('a whole call, from the greeting to the webhook', async (t) => {
    const { session, line } = await installation.call(agentId);
    await installation.converse(line, CALLER_LINES.goodbye);
    t.match(await line.closed, { code: 1000, reason: 'agent_hangup' });
    t.match(await installation.ended(session.session_id), {
      status: 'ended',
      ended_by: 'agent',
      hangup_reason: 'agent_hangup',
    });
    const { body } = await receiver.one('/ended', session.session_id);
    t.match(JSON.parse(body), { call_session_id: session.session_id });
    await eventually('the recording', async () => {
      const { status } = await installation.recording(session.session_id);
      return status === 'ready';
    });
    t.match(
      (await installation.transcript(session.session_id)).map(({ role }) => role),
      ['agent', 'caller', 'agent'],
    );
    const types = (await installation.events(session.session_id)).map(({ type }) => type);
    t.equal(types.filter((type) => type === 'call_ended').length, 1);
    await eventually('an empty spool', async () => (await spooled(dataDir)).length === 0);
    heldSession = session.session_id;
  });

  for (const memory of ['keeps', 'loses'] as const) {
    await t.test(
      `Redis goes away and ${memory} its memory: the call goes on, its report waits`,
      async (t) => {
        const { session, line } = await installation.call(agentId);
        await redis.kill();
        if (memory === 'loses') redis.forget();
        await installation.converse(line, CALLER_LINES.booking);
        line.hangUp();
        await line.closed;
        await eventually('the report on disk', async () =>
          (await spooled(dataDir)).some((file) => file.startsWith(session.session_id)),
        );
        t.equal((await installation.session(session.session_id)).status, 'in_progress');
        await redis.start();
        t.match(await installation.ended(session.session_id), {
          status: 'ended',
          hangup_reason: 'caller_hangup',
        });
        t.match(
          (await installation.transcript(session.session_id)).map(({ role }) => role),
          ['agent', 'caller', 'agent'],
        );
        await receiver.one('/ended', session.session_id);
        await eventually('an empty spool', async () => (await spooled(dataDir)).length === 0);
      },
    );
  }

  await t.test('what a dead consumer had taken is taken again', async (t) => {
    await test.platform[Symbol.asyncDispose]();
    const client = new Redis(redis.url);
    t.teardown(() => client.disconnect());
    const [stream] = await client.keys('parley:events:?');
    const event = {
      v: 1,
      id: newId('evt'),
      session_id: heldSession,
      gateway_id: 'gw_dead',
      claim_id: randomUUID(),
      index: 99_000,
      at: new Date().toISOString(),
      offset_ms: 1,
      type: 'warning',
      data: { code: 'left_behind' },
    };
    const partition = stream!;
    const id = await client.xadd(partition, '*', 's', heldSession, 'e', JSON.stringify(event));
    await client.xreadgroup('GROUP', 'control-plane', 'dead', 'COUNT', 10, 'STREAMS', partition, '>');
    // It has been silent for long.
    await client.xclaim(partition, 'control-plane', 'dead', 0, id!, 'IDLE', 120_000);
    const again = await openTestPlatform({ env, dataDir });
    t.teardown(() => again[Symbol.asyncDispose]());
    await eventually('the entry', async () => {
      const [pending] = (await client.xpending(partition, 'control-plane')) as [number];
      return pending === 0;
    });
    const rest = new RestClient(again.platform.publicUrl, installation.apiKey);
    const { items } = await rest.get<{ items: { type: string; data: object }[] }>(
      `/v1/sessions/${heldSession}/events?limit=200`,
    );
    t.equal(items.filter(({ data }) => 'code' in data && data.code === 'left_behind').length, 1);
  });
});
