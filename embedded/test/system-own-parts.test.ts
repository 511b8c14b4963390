import { existsSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { loadControlPlaneConfig } from '@parley/control-plane/config';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { silentLogger } from '@parley/shared/logging/logger';
import { openFlite } from '@parley/shared/speech/flite';
import { openDeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import { openElevenLabsEmulator } from '@parley/emulators/providers/elevenlabs-emulator';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { CALLER_LINES, DEMONSTRATION_LLM_SCRIPT } from '../src/demonstration/script.ts';
import { openDocumentStore } from '@parley/document-store/document-store';
import { openEmulators } from '../src/emulators.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { openTestPlatform, temporaryFolder } from './fixtures/system/test-platform.ts';

// What an operator brings along takes the place of what the platform would start itself.

const KEYS = { DEEPGRAM_API_KEY: 'dg-own', OPENAI_API_KEY: 'sk-own', ELEVENLABS_API_KEY: 'el-own' };

void t.test('a key means the vendor itself, and no emulator', async (t) => {
  const emulators = await openEmulators(KEYS, { logger: silentLogger(), fast: true });
  t.teardown(() => emulators[Symbol.asyncDispose]());
  t.same(emulators.parts, []);
  t.match(
    emulators.providers.map(({ what, emulated }) => [what, emulated]),
    [
      ['the real one, with your key', false],
      ['the real one, with your key', false],
      ['the real one, with your key', false],
    ],
  );
  const key = { kty: 'EC', crv: 'P-256', kid: 'k', x: 'x', y: 'y', d: 'd' };
  const config = loadControlPlaneConfig({
    PUBLIC_URL: 'http://127.0.0.1',
    INTERNAL_TOKEN: 'internal-token-of-the-tests',
    MONGODB_URI: 'mongodb://127.0.0.1/parley',
    ENCRYPTION_KEYS: `k:${Buffer.alloc(32).toString('base64')}`,
    JWT_PRIVATE_KEYS: JSON.stringify([key]),
    ...KEYS,
    ...emulators.env,
  });
  t.match(config, {
    DEEPGRAM_BASE_URL: 'https://api.deepgram.com',
    OPENAI_BASE_URL: 'https://api.openai.com/v1',
    ELEVENLABS_BASE_URL: 'https://api.elevenlabs.io',
    EMULATED_PROVIDERS: [],
  });
  t.equal(config.OPENAI_API_KEY?.reveal(), 'sk-own');
});

void t.test('one key leaves the other two emulated', async (t) => {
  const emulators = await openEmulators(
    { OPENAI_API_KEY: 'sk-own', DEEPGRAM_API_KEY: '' },
    { logger: silentLogger(), fast: true },
  );
  t.teardown(() => emulators[Symbol.asyncDispose]());
  t.equal(emulators.openai, undefined);
  t.same(
    emulators.parts.map(({ name }) => name),
    ['Speech to text (Deepgram)', 'Text to speech (ElevenLabs)'],
  );
  t.notMatch(Object.keys(emulators.env).join(), /OPENAI/);
});

void t.test('a call over providers, a database and an address of the operator’s own', async (t) => {
  const owned = new DisposableList();
  t.teardown(() => owned.dispose());
  const database = owned.add(await openDocumentStore({ path: path.join(temporaryFolder(owned), 'own.db') }));
  const speech = owned.add(await openFlite());
  const deepgram = owned.add(
    await openDeepgramEmulator({
      mode: 'recognise',
      sentences: [CALLER_LINES.hours],
      keys: [KEYS.DEEPGRAM_API_KEY],
    }),
  );
  const openai = owned.add(
    await openOpenAiEmulator({ script: parseScript(DEMONSTRATION_LLM_SCRIPT), keys: [KEYS.OPENAI_API_KEY] }),
  );
  const elevenlabs = owned.add(
    await openElevenLabsEmulator({ speech, voices: 'any', keys: [KEYS.ELEVENLABS_API_KEY] }),
  );
  const test = owned.add(
    await openTestPlatform({
      env: {
        ...KEYS,
        DEEPGRAM_BASE_URL: deepgram.url,
        OPENAI_BASE_URL: `${openai.url}/v1`,
        ELEVENLABS_BASE_URL: elevenlabs.url,
        MONGODB_URI: database.uri.replace('/?', '/own?'),
        REDIS_URL: '',
        PUBLIC_URL: '',
      },
    }),
  );
  const { platform, installation, dataDir } = test;
  t.notOk(existsSync(path.join(dataDir, 'parley.db')), 'no store of its own');
  t.match(
    platform.parts.map(({ name, what, emulated }) => ({ name, what, emulated })),
    [
      { name: 'Console', emulated: false },
      { name: 'REST API and webhooks', emulated: false },
      { name: 'Media gateway', emulated: false },
      { name: 'Documents', what: 'MongoDB', emulated: false },
      { name: 'Event log', what: /events\.db$/, emulated: false },
      { what: deepgram.url, emulated: false },
      { what: `${openai.url}/v1`, emulated: false },
      { what: elevenlabs.url, emulated: false },
    ],
  );

  const { session, line } = await installation.call(await installation.agent());
  await installation.converse(line, CALLER_LINES.hours);
  await eventually('the answer', async () =>
    (await installation.transcript(session.session_id)).some(({ text }) => text.includes('until eleven')),
  );
  line.hangUp();
  t.match(await installation.ended(session.session_id), {
    hangup_reason: 'caller_hangup',
    failure_reason: null,
  });
  const started = (await installation.events(session.session_id)).find(({ type }) => type === 'call_started');
  t.same(started?.data['emulated'], []);
});
