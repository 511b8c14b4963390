import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import { openDeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import { openElevenLabsEmulator } from '@parley/emulators/providers/elevenlabs-emulator';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { silentLogger } from '@parley/shared/logging/logger';
import { bareEnv } from '../../shared/test/fixtures/bare-env.ts';
import { openTestRedis, redisMissing } from '../../shared/test/fixtures/redis-server.ts';
import { INTERNAL_TOKEN, sessionPlan, startInternalApi } from './fixtures/internal-api.ts';
import { EventWatch, closeOf, wire } from './fixtures/test-gateway.ts';
import { until } from './fixtures/until.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

function run(env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN], {
    env: {
      ...bareEnv(),
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** Starts the gateway as a process of its own and waits until it is ready. */
async function start(
  t: Test,
  env: NodeJS.ProcessEnv,
): Promise<{ child: ChildProcess; url: string; log: string[] }> {
  const child = run(env);
  t.teardown(() => child.kill('SIGKILL'));
  const log: string[] = [];
  const lines = createInterface({ input: child.stderr! });
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => {
      log.push(line);
      if (line.includes('gateway is ready')) resolve((JSON.parse(line) as { url: string }).url);
    });
    child.once('exit', () => reject(new Error(log.join('\n'))));
  });
  return { child, url, log };
}

async function surroundings(t: Test) {
  const redis = await openTestRedis();
  t.teardown(() => redis[Symbol.asyncDispose]());
  const api = await startInternalApi();
  t.teardown(() => api[Symbol.asyncDispose]());
  const dataDir = await mkdtemp(path.join(tmpdir(), 'parley-process-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const bus = await openRedisBus({ url: redis.url, logger: silentLogger() });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const events = new EventWatch();
  const consumer = bus.events.consume({ consumer: 'test', handle: (event) => events.add(event) });
  t.teardown(() => consumer[Symbol.asyncDispose]());
  const env = {
    PORT: '0',
    INTERNAL_URL: api.url,
    INTERNAL_TOKEN,
    REDIS_URL: redis.url,
    DATA_DIR: dataDir,
    STORAGE_DIR: path.join(dataDir, 'storage'),
  };
  const deepgram = await openDeepgramEmulator({ mode: 'script' });
  t.teardown(() => deepgram[Symbol.asyncDispose]());
  const elevenLabs = await openElevenLabsEmulator({ speech: 'tones', voices: 'any' });
  t.teardown(() => elevenLabs[Symbol.asyncDispose]());
  const { stt, tts } = sessionPlan();
  const plan = {
    stt: [{ ...stt[0]!, base_url: deepgram.url, credential: 'key' }],
    tts: [{ ...tts[0]!, base_url: elevenLabs.url, credential: 'key', voice: 'any' }],
  };
  return { api, events, env, dataDir, issue: () => api.issue({ plan }) };
}

async function call(url: string, ticket: string): Promise<WebSocket> {
  const client = new WebSocket(`${url}/media/v1/streams/plivo/${ticket}`);
  await once(client, 'open');
  client.send(wire.plivo.start());
  const line = setInterval(() => client.send(wire.plivo.media(0xff)), 100);
  client.once('close', () => clearInterval(line));
  client.on('error', () => {});
  return client;
}

void t.test(
  'SIGTERM ends what still runs at the deadline, reports it, and exits with 0',
  { skip: redisMissing ?? false },
  async (t) => {
    const { issue, events, env } = await surroundings(t);
    const { child, url, log } = await start(t, { ...env, DRAIN_TIMEOUT_MS: '0' });
    const { ticket, sessionId } = issue();
    const client = await call(url, ticket);
    await events.next('call_started', sessionId);
    const closed = closeOf(client);
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    t.same(await closed, [1001, 'shutdown']);
    t.same(await exited, [0, null]);
    t.match((await events.next('call_ended', sessionId)).data, {
      ended_by: 'system',
      hangup_reason: 'shutdown',
    });
    t.notOk(
      log.some((line) => line.includes(ticket)),
      'no log line holds the ticket',
    );
  },
);

void t.test(
  'a gateway that was killed is reported by its successor',
  { skip: redisMissing ?? false },
  async (t) => {
    const { api, issue, events, env, dataDir } = await surroundings(t);
    const first = await start(t, env);
    const { ticket, sessionId } = issue();
    await call(first.url, ticket);
    await events.next('call_started', sessionId);
    await until(async () => (await readdir(path.join(dataDir, 'spool'))).includes(`${sessionId}.0.jsonl`));
    const exited = once(first.child, 'exit');
    first.child.kill('SIGKILL');
    await exited;
    const second = await start(t, env);
    t.match(await events.next('call_ended', sessionId), {
      claim_id: api.redeems[0]!.claim_id,
      data: { ended_by: 'system', failure_reason: 'internal' },
    });
    const stopped = once(second.child, 'exit');
    second.child.kill('SIGTERM');
    t.same(await stopped, [0, null]);
  },
);

void t.test('a configuration that can not work names every bad variable and no value', async (t) => {
  const child = run({ PORT: 'secret-port', INTERNAL_TOKEN: 'short-secret' });
  let text = '';
  child.stderr!.on('data', (data: Buffer) => (text += data.toString()));
  t.same(await once(child, 'close'), [1, null]);
  for (const name of ['PORT', 'INTERNAL_URL', 'INTERNAL_TOKEN', 'REDIS_URL']) t.match(text, `  ${name}:`);
  t.notMatch(text, 'secret');
});
