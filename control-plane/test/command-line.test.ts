import { execFile } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { KEPT_LOGS_VARIABLE } from '@parley/shared/logging/kept-logs';
import { openDocumentStore } from '@parley/embedded/document-store/document-store';

const run = promisify(execFile);
const source = (name: string) => join(import.meta.dirname, '../src', name);
const node = (file: string, args: string[], env: NodeJS.ProcessEnv) =>
  run(process.execPath, ['--disable-warning=ExperimentalWarning', source(file), ...args], {
    env: {
      PATH: process.env['PATH'],
      [KEPT_LOGS_VARIABLE]: process.env[KEPT_LOGS_VARIABLE],
      ...env,
    },
    maxBuffer: 16 * 1024 * 1024,
  });

void t.test('the description is printed without any configuration', async (t) => {
  const { stdout } = await node('openapi.ts', [], {});
  const document = JSON.parse(stdout) as {
    openapi: string;
    info: { version: string };
    paths: Record<string, object>;
  };
  t.equal(document.openapi, '3.1.0');
  t.equal(document.info.version, '0.1.0');
  t.ok(document.paths['/v1/agents/{agent_id}']);
});

void t.test('a reader that has seen enough of it is no failure', async (t) => {
  const command = `"${process.execPath}" --disable-warning=ExperimentalWarning "${source('openapi.ts')}" | head -c 9`;
  const { stdout, stderr } = await run('sh', ['-c', command], { env: { PATH: process.env['PATH'] } });
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

void t.test('an operator makes an org and a key on the command line', async (t) => {
  const store = await openDocumentStore({ path: join(t.testdir(), 'parley.db') });
  t.teardown(() => store[Symbol.asyncDispose]());
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const env = {
    PUBLIC_URL: 'http://127.0.0.1:8080',
    MONGODB_URI: store.uri,
    INTERNAL_TOKEN: 'internal-token-of-the-tests',
    ENCRYPTION_KEYS: `k:${randomBytes(32).toString('base64')}`,
    JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'k' }]),
  };
  const made = await node('admin.ts', ['create-org', '--name', 'Acme'], env);
  const project = /prj_\S+/.exec(made.stdout)![0];
  t.match(made.stdout, /sk-svc-[0-9A-Za-z]{40}/);
  const key = await node('admin.ts', ['create-key', '--project-id', project, '--role', 'viewer'], env);
  t.match(key.stdout, /^sk-svc-[0-9A-Za-z]{40}\n$/);
});
