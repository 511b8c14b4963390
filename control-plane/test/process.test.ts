import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { callEvent } from '@parley/shared/bus/bus.conformance';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { eventPartition, redisKeys } from '@parley/shared/contracts/redis-keys';
import { uuidV7 } from '@parley/shared/ids/new-id';
import { silentLogger } from '@parley/shared/logging/logger';
import { bareEnv } from '../../shared/test/fixtures/bare-env.ts';
import { openTestRedis, redisMissing } from '../../shared/test/fixtures/redis-server.ts';
import { eventually } from './fixtures/loopback-server.ts';

const PARTITIONS = 16;
const MAIN = join(import.meta.dirname, '../src/main.ts');

void t.test(
  'as a process of its own it reads every partition, and ends in good order',
  { skip: redisMissing ?? false },
  async (t) => {
    const redis = await openTestRedis();
    t.teardown(() => redis[Symbol.asyncDispose]());
    const folder = t.testdir();
    const store = await openDocumentStore({ path: join(folder, 'parley.db') });
    t.teardown(() => store[Symbol.asyncDispose]());
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
      env: {
        ...bareEnv(),
        PUBLIC_URL: 'http://127.0.0.1:8080',
        PORT: '0',
        INTERNAL_PORT: '0',
        INTERNAL_TOKEN: 'internal-token-of-the-tests',
        MONGODB_URI: store.uri,
        REDIS_URL: redis.url,
        EVENT_PARTITIONS: String(PARTITIONS),
        ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
        JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'k' }]),
        STORAGE_DIR: join(folder, 'storage'),
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    t.teardown(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stderr }).on('line', (line) => {
        if (line.includes('control plane is ready')) resolve((JSON.parse(line) as { url: string }).url);
      });
      void exited.then(() => reject(new Error('It ended while starting.')));
    });
    t.equal((await fetch(`${url}/health/ready`)).status, 200);

    const bus = await openRedisBus({ url: redis.url, partitions: PARTITIONS, logger: silentLogger() });
    t.teardown(() => bus[Symbol.asyncDispose]());
    const client = new Redis(redis.url);
    t.teardown(() => client.disconnect());
    const sessions = new Map<number, string>();
    while (sessions.size < PARTITIONS) {
      const id = uuidV7();
      sessions.set(eventPartition(id, PARTITIONS), id);
    }
    await bus.events.append([...sessions.values()].map((id) => callEvent(id, 0)));
    for (const partition of sessions.keys()) {
      await eventually(async () => {
        const [group] = (await client.xinfo('GROUPS', redisKeys.events(partition))) as unknown[][];
        return group !== undefined && group[group.indexOf('lag') + 1] === 0;
      });
    }

    child.kill('SIGTERM');
    t.same(await exited, [0, null]);
  },
);
