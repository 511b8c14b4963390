import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import t from 'tap';
import { WebSocketServer } from 'ws';
import { openDeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import { openElevenLabsEmulator } from '@parley/emulators/providers/elevenlabs-emulator';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { createLogger } from '@parley/shared/logging/logger';
import { createProviderRegistry } from './create-provider-registry.ts';
import { request } from './llm/llm-provider.conformance.ts';
import { Heard, OPTIONS, quiet, voice } from './stt/stt-provider.conformance.ts';
import { KEY, plan, provider, TELEPHONE } from '../../test/fixtures/provider-plan.ts';
import type { WireProvider } from '../../test/fixtures/provider-plan.ts';
import { until } from '../../test/fixtures/until.ts';
import { Spoken } from './tts/tts-provider.conformance.ts';

void t.test('providers of a plan, in its order, over real connections', async (t) => {
  const deepgram = await openDeepgramEmulator({ mode: 'script', sentences: ['Hello there.'], keys: [KEY] });
  const openai = await openOpenAiEmulator({
    script: parseScript({ fallback: { text: 'Good morning.' } }),
    delays: { firstToken: 0, tokensPerSecond: Infinity },
    keys: [KEY],
  });
  const elevenlabs = await openElevenLabsEmulator({
    speech: 'tones',
    delays: { firstAudio: 0, realTimeFactor: 50 },
    keys: [KEY],
  });
  const lines: string[] = [];
  const logger = createLogger({
    name: 'test',
    level: 'trace',
    destination: { write: (line: string) => void lines.push(line) },
  });
  const registry = createProviderRegistry({ logger });
  t.teardown(async () => {
    await registry[Symbol.asyncDispose]();
    await Promise.all([deepgram, openai, elevenlabs].map((one) => one[Symbol.asyncDispose]()));
  });
  const providers = registry.forCall(
    plan({
      stt: [
        provider('deepgram', deepgram.url, 'nova-3'),
        provider('deepgram', deepgram.url, 'flux-general-en'),
      ],
      llm: [provider('openai_compatible', `${openai.url}/v1`, 'parley-emulated-model')],
      tts: [provider('elevenlabs', elevenlabs.url, 'eleven_flash_v2_5'), provider('flite', '', 'flite')],
    }),
    TELEPHONE,
  );
  t.same(
    [providers.stt.length, providers.llm.length, providers.tts.length],
    [2, 1, 2],
    'made when they are needed',
  );

  for (const make of providers.stt) {
    const heard = new Heard();
    const stream = make().open(OPTIONS, heard);
    stream.write(voice(800));
    stream.write(quiet(700));
    await heard.turns(1);
    t.same(heard.turnTexts, ['Hello there.']);
    await stream[Symbol.asyncDispose]();
  }

  const llm = providers.llm[0]!();
  llm.warm();
  let text = '';
  for await (const event of llm.stream(request('Hello.'), new AbortController().signal)) {
    if (event.type === 'text') text += event.text;
  }
  t.equal(text, 'Good morning.');

  for (const make of providers.tts) {
    const tts = make();
    t.same(tts.format, TELEPHONE);
    const spoken = new Spoken();
    const utterance = tts.open(spoken, new AbortController().signal);
    utterance.push(text);
    utterance.end();
    await spoken.over;
    t.equal(spoken.done, 1, tts.name);
    t.ok(spoken.bytes > 2000);
    await tts[Symbol.asyncDispose]();
  }

  // A fixed text is spoken once for all calls.
  const said = async (change: Partial<WireProvider> = {}) => {
    const own = { ...provider('elevenlabs', elevenlabs.url, 'eleven_flash_v2_5'), ...change };
    const { stt, llm } = {
      stt: [provider('deepgram', '', '')],
      llm: [provider('openai_compatible', '', '')],
    };
    const tts = registry.forCall(plan({ stt, llm, tts: [own] }), TELEPHONE).tts[0]!();
    const spoken = new Spoken();
    const utterance = tts.open(spoken, new AbortController().signal, { keep: true });
    utterance.push('Welcome.');
    utterance.end();
    await spoken.over;
    await tts[Symbol.asyncDispose]();
    return spoken.bytes;
  };
  const before = elevenlabs.stats.utterances;
  const bytes = await said();
  t.equal(await said(), bytes);
  t.equal(elevenlabs.stats.utterances, before + 1);
  await said({ language: 'de-DE' });
  t.equal(elevenlabs.stats.utterances, before + 2, 'what sounds otherwise is spoken itself');

  // A failure is logged, and its error goes up: neither holds the key.
  deepgram.setFaults([{ kind: 'refuse', status: 401 }]);
  elevenlabs.setFaults([{ kind: 'reset', after: 0 }]);
  const deaf = new Heard();
  const stream = providers.stt[0]!().open(OPTIONS, deaf);
  await deaf.until(() => deaf.failures.length > 0);
  await stream[Symbol.asyncDispose]();
  const mute = new Spoken();
  const tts = providers.tts[0]!();
  const utterance = tts.open(mute, new AbortController().signal);
  utterance.push('Hello.');
  utterance.end();
  await mute.over;
  await tts[Symbol.asyncDispose]();
  t.ok(lines.length > 0);
  const seen = [...lines, inspect([deaf.failures, mute.failures, providers, registry], { depth: 20 })].join(
    '\n',
  );
  t.notOk(seen.includes(KEY));

  await Promise.all([registry[Symbol.asyncDispose](), registry[Symbol.asyncDispose]()]);
  await until(() => deepgram.stats.open === 0 && elevenlabs.stats.openSockets === 0);
  t.equal(elevenlabs.stats.openContexts, 0);
});

void t.test('a name that fits no adapter is said so when it is needed', async (t) => {
  const registry = createProviderRegistry({ logger: createLogger({ name: 'test', level: 'silent' }) });
  t.teardown(() => registry[Symbol.asyncDispose]());
  const wrong = provider('flite', '', 'flite');
  const tts = provider('deepgram', 'http://127.0.0.1:1', 'aura-2');
  const providers = registry.forCall(plan({ stt: [wrong], llm: [wrong], tts: [tts] }), TELEPHONE);
  for (const make of [...providers.stt, ...providers.llm, ...providers.tts]) {
    t.throws(make, { name: 'ProviderError', fault: 'protocol' });
  }
  await registry[Symbol.asyncDispose]();
});

void t.test('the local voice is there for a plan that does not have it', async (t) => {
  const registry = createProviderRegistry({ logger: createLogger({ name: 'test', level: 'silent' }) });
  t.teardown(() => registry[Symbol.asyncDispose]());
  const stt = [provider('deepgram', 'http://127.0.0.1:1', 'nova-3')];
  const llm = [provider('openai_compatible', 'http://127.0.0.1:1', 'm')];
  const remote = provider('elevenlabs', 'http://127.0.0.1:1', 'eleven_flash_v2_5');
  const forVoices = (tts: WireProvider[]) => registry.forCall(plan({ stt, llm, tts }), TELEPHONE);
  t.equal(forVoices([remote, provider('flite', '', 'flite')]).lastVoice, undefined, 'it has been tried');
  const spoken = new Spoken();
  const voice = forVoices([remote]).lastVoice!();
  t.same(voice.format, TELEPHONE);
  const utterance = voice.open(spoken, new AbortController().signal);
  utterance.push('Please call again later.');
  utterance.end();
  await spoken.over;
  t.equal(spoken.done, 1);
  t.ok(spoken.bytes > 8000);
  await voice[Symbol.asyncDispose]();
});

void t.test('a voice is as fast and as even as the agent says', async (t) => {
  const vendor = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(vendor, 'listening');
  const said = new Promise<Record<string, unknown>>((resolve) =>
    vendor.on('connection', (socket) =>
      socket.once('message', (data: Buffer) =>
        resolve(JSON.parse(data.toString()) as Record<string, unknown>),
      ),
    ),
  );
  const registry = createProviderRegistry({ logger: createLogger({ name: 'test', level: 'silent' }) });
  t.teardown(async () => {
    await registry[Symbol.asyncDispose]();
    for (const client of vendor.clients) client.terminate();
    vendor.close();
  });
  const url = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`;
  const tts = [provider('elevenlabs', url, 'eleven_flash_v2_5')];
  const made = plan({
    stt: [provider('deepgram', url, 'nova-3')],
    llm: [provider('openai_compatible', url, 'm')],
    tts,
  });
  Object.assign(made.agent.config.tts, { speed: 0.9, stability: 0.3 });
  const speaker = registry.forCall(made, TELEPHONE).tts[0]!().open(
    new Spoken(),
    new AbortController().signal,
  );
  speaker.push('Hello.');
  t.match(await said, { voice_settings: { speed: 0.9, stability: 0.3 } });
});

void t.test("a tenant's own address may not be a private one", async (t) => {
  const registry = createProviderRegistry({ logger: createLogger({ name: 'test', level: 'silent' }) });
  t.teardown(() => registry[Symbol.asyncDispose]());
  const theirs = (name: WireProvider['provider'], url: string) => ({
    ...provider(name, url, 'nova-3'),
    tenant_address: true,
  });
  const forUrl = (url: string) =>
    registry.forCall(
      plan({
        stt: [theirs('deepgram', url)],
        llm: [theirs('openai_compatible', url)],
        tts: [theirs('elevenlabs', url)],
      }),
      TELEPHONE,
    );
  for (const url of [
    'http://127.0.0.1:1',
    'https://169.254.169.254',
    'https://[::1]:443',
    'https://localhost',
  ]) {
    const made = forUrl(url);
    for (const make of [made.stt[0]!, made.llm[0]!, made.tts[0]!])
      t.throws(make, { name: 'ProviderError', fault: 'auth' }, url);
  }
});
