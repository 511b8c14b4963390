import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes, randomInt, randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import type { Bus } from '@parley/shared/bus/bus';
import { callEvent, until } from '@parley/shared/bus/bus.conformance';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { silentLogger } from '@parley/shared/logging/logger';
import { openDocumentStore } from '@parley/document-store/document-store';
import { bareEnv } from '../../shared/test/fixtures/bare-env.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openTestRedis, redisMissing } from '../../shared/test/fixtures/redis-server.ts';

// Each command is a process.
t.setTimeout(600_000);

const run = promisify(execFile);
const source = (name: string) => join(import.meta.dirname, '../src', name);
const node = (file: string, args: string[], env: NodeJS.ProcessEnv) =>
  run(process.execPath, ['--disable-warning=ExperimentalWarning', source(file), ...args], {
    env: {
      ...bareEnv(),
      ...env,
    },
    maxBuffer: 16 * 1024 * 1024,
  });

const RATES = JSON.stringify({
  currency: 'EUR',
  calls: [{ channel: 'telephony', direction: 'outbound', prefix: '+49', per_minute: '0.0127' }],
});

function environment(databaseUri: string): NodeJS.ProcessEnv {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    PUBLIC_URL: 'http://127.0.0.1:8080',
    MONGODB_URI: databaseUri,
    INTERNAL_TOKEN: 'internal-token-of-the-tests',
    ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
    JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'k' }]),
  };
}

void t.test('a reader that has seen enough of the description is no failure', async (t) => {
  const command = `"${process.execPath}" --disable-warning=ExperimentalWarning "${source('openapi.ts')}" | head -c 9`;
  const { stdout, stderr } = await run('sh', ['-c', command], { env: bareEnv() });
  t.match(stdout, /^\{\s+"open/);
  t.equal(stderr, '');
});

void t.test('a start without configuration names what is missing and nothing more', async (t) => {
  const failed = await node('main.ts', [], { INTERNAL_TOKEN: 'too-short' }).catch((error: unknown) => error);
  const { code, stderr } = failed as { code: number; stderr: string };
  t.equal(code, 1);
  for (const name of ['PUBLIC_URL', 'MONGODB_URI', 'ENCRYPTION_KEYS', 'JWT_PRIVATE_KEYS', 'INTERNAL_TOKEN']) {
    t.match(stderr, name);
  }
  t.notMatch(stderr, /too-short|at .*\.ts/);
});

void t.test('an operator makes keys: the first one brings an org and a project', async (t) => {
  const store = await openDocumentStore({ path: join(t.testdir(), 'parley.db') });
  t.teardown(() => store[Symbol.asyncDispose]());
  const env = environment(store.uri);
  const first = await node('admin.ts', ['create-key'], env);
  t.match(first.stdout, /^sk-svc-[0-9A-Za-z]{40}\n$/, 'the key alone, for scripts');
  t.match(first.stderr, /^Made org org_\S+ \(My organisation\) and project prj_\S+ \(Default\)/);
  const second = await node('admin.ts', ['create-key', '--role', 'viewer'], env);
  t.match(second.stdout, /^sk-svc-[0-9A-Za-z]{40}\n$/);
  t.equal(second.stderr, '', 'of the same project');

  const made = await node('admin.ts', ['create-org', '--name', 'Acme'], env);
  const project = /prj_\S+/.exec(made.stdout)![0];
  t.match(made.stdout, /sk-svc-[0-9A-Za-z]{40}/);
  const unclear = await node('admin.ts', ['create-key'], env).catch((error: unknown) => error);
  t.match(unclear, { code: 1, stderr: new RegExp(`several projects[^]*${project}`) });
  const key = await node('admin.ts', ['create-key', '--project-id', project], env);
  t.match(key.stdout, /^sk-svc-[0-9A-Za-z]{40}\n$/);

  const of = ['--org-id', /org_\S+/.exec(made.stdout)![0]];
  const rates = join(t.testdirName, 'rates.json');
  await writeFile(rates, RATES);
  t.equal((await node('admin.ts', ['rates', 'set', rates], env)).stdout, 'done\n');
  const paid = await node('admin.ts', ['wallet', 'top-up', '12.50', '--reference', 'a 1', ...of], env);
  t.equal(paid.stdout, 'done\n');
  const wallet = await node('admin.ts', ['wallet', 'show', ...of], env);
  t.match(wallet.stdout, /unlimited[^]*EUR[^]*balance +12\.500000/);
});

/** Where dead letters are: one of both in `npm test`, another one each time. */
const WHERE = Number(process.env['DEAD_LETTERS'] ?? randomInt(2));
const skipped = (at: number) => !LONG && at !== WHERE && 'npm run test:long';

void t.test('an operator lists dead letters and plays them again', async (t) => {
  await t.test('in the file of an embedded installation', { skip: skipped(0) }, async (t) => {
    const events = join(t.testdir(), 'events.db');
    await tryDeadLetters(t, {
      open: () => openLocalBus({ path: events, logger: silentLogger() }),
      args: ['--events', events],
      env: {},
    });
    const wrong = await node('admin.ts', ['dead-letters', 'list', '--events', `${events}.none`], {}).catch(
      (error: unknown) => error,
    );
    t.match(wrong, { code: 1, stderr: /File not found/ });
  });
  await t.test('in Redis', { skip: redisMissing ?? skipped(1) }, async (t) => {
    const redis = await openTestRedis();
    t.teardown(() => redis[Symbol.asyncDispose]());
    await tryDeadLetters(t, {
      open: () => openRedisBus({ url: redis.url, logger: silentLogger() }),
      args: [],
      // No database is needed to read them.
      env: { ...environment('mongodb://127.0.0.1:1/none'), REDIS_URL: redis.url },
    });
  });
});

async function tryDeadLetters(
  t: Test,
  log: { open: () => Promise<Bus>; args: string[]; env: NodeJS.ProcessEnv },
): Promise<void> {
  const admin = async (...args: string[]) =>
    (await node('admin.ts', ['dead-letters', ...args, ...log.args], log.env)).stdout;
  const events = [0, 1, 2].map((i) => callEvent(randomUUID(), i, { data: { text: 'what was said' } }));
  const before = await log.open();
  const refusing = before.events.consume({
    consumer: 'one',
    maxDeliveries: 1,
    handle: () => Promise.reject(new Error('Not today.')),
  });
  await before.events.append(events);
  await until('all given up', async () => (await before.events.deadLetters.count()) === events.length);
  await refusing[Symbol.asyncDispose]();
  await before[Symbol.asyncDispose]();

  const list = await admin('list');
  for (const { id, session_id } of events) t.match(list, `session ${session_id}  event ${id}  Not today.`);
  t.notMatch(list, /what was said/);
  const [one, other] = list.split('\n').map((line) => line.split(' ')[0]!);
  t.equal(await admin('replay', one!), '1 replayed\n');
  t.equal(await admin('remove', other!), 'done\n');
  t.equal(await admin('replay'), '1 replayed\n');

  const after = await log.open();
  t.equal(await after.events.deadLetters.count(), 0);
  const got: string[] = [];
  after.events.consume({ consumer: 'two', handle: async (event) => void got.push(event.id) });
  await until('both', () => got.length === 2);
  await after[Symbol.asyncDispose]();
  t.equal(
    new Set([...got, ...events.map(({ id }) => id)]).size,
    events.length,
    'the replayed ones, once each',
  );
}
