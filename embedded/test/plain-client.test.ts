import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { createLogger } from '@parley/shared/logging/logger';
import { openDemonstrationPlatform } from '../src/demonstration/demonstration-platform.ts';
import { waitForPostCall } from '../src/demonstration/follow-session.ts';
import { CALLER_LINES } from '../src/demonstration/script.ts';
import { TEST_SETTINGS } from './fixtures/system/test-platform.ts';

const CLIENTS = path.resolve(import.meta.dirname, '../../emulators/plain-clients');
const CALL_TIMEOUT_MS = 90_000;

async function runClient(file: string, env: Record<string, string>) {
  const client = spawn(process.execPath, [path.join(CLIENTS, file)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: CALL_TIMEOUT_MS,
  });
  const [output, errors, [code]] = await Promise.all([
    text(client.stdout),
    text(client.stderr),
    once(client, 'close') as Promise<[number | null]>,
  ]);
  return { output, errors, code };
}

void t.test('clients that share no code with the platform hold calls with it', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'parley-plain-client-'));
  const { platform, demonstration, ...running } = await openDemonstrationPlatform({
    env: { ...TEST_SETTINGS, PORT: '0', LOG_LEVEL: 'error' },
    dataDir,
    logger: createLogger({ name: 'plain-client-test', level: 'error' }),
    fastEmulators: true,
  });
  t.teardown(async () => {
    await running[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true, force: true });
  });
  const { rest, orgId, projectId } = demonstration;
  // Calls run at the pace of speech: the less is said, the sooner they are over.
  const agent = await rest.post<{ id: string }>(`/v1/orgs/${orgId}/projects/${projectId}/agents`, {
    name: 'Plain',
    system_prompt: 'You answer the telephone of a restaurant.',
    greeting: 'Hello.',
  });
  const env = { PARLEY_URL: platform.publicUrl, PARLEY_API_KEY: demonstration.apiKey, AGENT_ID: agent.id };

  const calls = await Promise.all([runClient('plivo-call.mjs', env), runClient('twilio-call.mjs', env)]);
  for (const { output, errors, code } of calls) {
    t.equal(code, 0, `${output}\n${errors}`);
    t.match(output, /greeting: heard [1-9]\d+ ms of speech/);
    t.match(output, /said hours: heard [1-9]\d+ ms/);
    t.match(output, /[1-9]\d* marks reached/);
    const sessionId = /^session (\S+):/.exec(output)?.[1] ?? '';
    await waitForPostCall(rest, sessionId, CALL_TIMEOUT_MS, AbortSignal.timeout(CALL_TIMEOUT_MS));
    const transcript = await rest.get<{ items: { role: string; text: string }[] }>(
      `/v1/sessions/${sessionId}/transcript`,
    );
    const texts = transcript.items.map((turn) => `${turn.role}: ${turn.text}`);
    t.ok(texts.includes('agent: Hello.'), texts.join('\n'));
    t.ok(texts.includes(`caller: ${CALLER_LINES.hours}`), 'what the recording says was understood');
  }
});
