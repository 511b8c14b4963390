import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { openElevenLabsEmulator } from '@parley/emulators/providers/elevenlabs-emulator';
import type { ElevenLabsEmulatorOptions } from '@parley/emulators/providers/elevenlabs-emulator';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { Secret } from '@parley/shared/config/secret';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { SocketAgents } from '../provider-socket.ts';
import { ElevenLabsPools } from './elevenlabs-pool.ts';
import { ElevenLabsTts } from './elevenlabs-tts.ts';
import type { ElevenLabsVoice } from './elevenlabs-tts.ts';
import { Spoken, ttsProviderConformance } from './tts-provider.conformance.ts';
import { until } from '../../../test/fixtures/until.ts';

const TELEPHONE: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };
const VOICE = '21m00Tcm4TlvDq8ikWAM';

function plan(baseUrl: string, changes: Partial<PlanProvider> = {}): PlanProvider {
  return {
    id: 'tts_test',
    provider: 'elevenlabs',
    emulated: true,
    tenant_address: false,
    base_url: baseUrl,
    credential: new Secret('key-for-tests'),
    model: 'eleven_flash_v2_5',
    voice: VOICE,
    language: 'en-US',
    options: {},
    ...changes,
  };
}

function pools(t: Test, clock: Clock = systemClock) {
  const agents = new SocketAgents();
  const opened = new ElevenLabsPools({ agents, clock, logger: silentLogger() });
  t.teardown(async () => {
    await opened[Symbol.asyncDispose]();
    agents.dispose();
  });
  return opened;
}

async function emulator(t: Test, options: Partial<ElevenLabsEmulatorOptions> = {}) {
  const opened = await openElevenLabsEmulator({
    speech: 'tones',
    delays: { firstAudio: 0, realTimeFactor: 50 },
    keys: ['key-for-tests'],
    ...options,
  });
  t.teardown(() => opened[Symbol.asyncDispose]());
  return opened;
}

function tts(
  shared: ElevenLabsPools,
  baseUrl: string,
  {
    changes = {},
    voice = {},
    clock = systemClock,
  }: {
    changes?: Partial<PlanProvider>;
    voice?: Partial<ElevenLabsVoice>;
    clock?: Clock;
  } = {},
) {
  const chosen = { output: TELEPHONE, speed: 1, stability: null, ...voice };
  return new ElevenLabsTts(plan(baseUrl, changes), chosen, { pools: shared, clock });
}

ttsProviderConformance(t, 'elevenlabs', async (t, output) => {
  const service = await emulator(t);
  return {
    provider: tts(pools(t), service.url, { voice: { output } }),
    open: () => service.stats.openContexts,
  };
});

function say(provider: ElevenLabsTts, ...texts: string[]) {
  const spoken = new Spoken();
  const aborting = new AbortController();
  const utterance = provider.open(spoken, aborting.signal);
  for (const text of texts) utterance.push(text);
  return { spoken, utterance, abort: () => aborting.abort() };
}

async function sayAll(provider: ElevenLabsTts, ...texts: string[]): Promise<Spoken> {
  const { spoken, utterance } = say(provider, ...texts);
  utterance.end();
  await spoken.over;
  return spoken;
}

void t.test('calls share a socket, up to five replies at a time', async (t) => {
  const service = await emulator(t, { delays: { firstAudio: 50 } });
  const shared = pools(t);
  const calls = Array.from({ length: 5 }, () => tts(shared, service.url));
  calls[0]!.warm();
  calls[1]!.warm();
  await until(() => service.stats.openSockets === 1);
  const spoken = await Promise.all(calls.map((call) => sayAll(call, 'Hello.')));
  t.ok(spoken.every(({ done }) => done === 1));
  t.equal(service.stats.contexts, 5);
  t.ok(service.stats.sockets <= 2, 'the second one is the spare');
  t.equal(service.stats.refusals, 0);
  await until(() => service.stats.openContexts === 0);
});

void t.test('rule 32: rapid barge-ins never open a sixth context on a socket', async (t) => {
  const service = await emulator(t, { delays: { firstAudio: 100 } });
  const provider = tts(pools(t), service.url);
  provider.warm();
  await until(() => service.stats.openSockets === 1);
  for (let turn = 0; turn < 20; turn += 1) say(provider, 'I was going to say something.').abort();
  const spoken = await sayAll(provider, 'Hello.');
  t.equal(spoken.done, 1);
  t.equal(service.stats.refusals, 0);
  await until(() => service.stats.openContexts === 0);
});

void t.test('a reply that is aborted before the connection stands is never sent', async (t) => {
  const service = await emulator(t, { faults: [{ kind: 'slow_handshake', delayMs: 50, count: 1 }] });
  const provider = tts(pools(t), service.url);
  say(provider, 'Forget it.').abort();
  t.equal((await sayAll(provider, 'Hello.')).done, 1);
  t.equal(service.stats.contexts, 1);
});

const refusals = [
  [401, 'auth'],
  [429, 'rate_limit'],
  [503, 'unavailable'],
] as const;
for (const [status, fault] of refusals) {
  void t.test(`a refusal with ${status}, and a service that takes the next`, async (t) => {
    const service = await emulator(t, { faults: [{ kind: 'refuse', status, count: 1 }] });
    const provider = tts(pools(t), service.url);
    const refused = await sayAll(provider, 'Hello.');
    t.match(refused.failures, [{ name: 'ProviderError', provider: 'elevenlabs', fault }]);
    t.equal(refused.done, 0);
    t.equal((await sayAll(provider, 'Hello again.')).done, 1);
  });
}

void t.test('a voice that does not exist', async (t) => {
  const service = await emulator(t);
  const provider = tts(pools(t), service.url, { changes: { voice: 'nobody' } });
  t.match((await sayAll(provider, 'Hello.')).failures, [{ fault: 'protocol' }]);
});

void t.test('nobody listens at the address', async (t) => {
  const nowhere = tts(pools(t), 'http://127.0.0.1:1');
  t.match((await sayAll(nowhere, 'Hello.')).failures, [{ fault: 'unavailable' }]);
});

for (const kind of ['cut', 'reset', 'rate_limit'] as const) {
  void t.test(`a socket that ends with ${kind} fails its replies, not the next`, async (t) => {
    const service = await emulator(t, { faults: [{ kind, after: 1, count: 1 }] });
    const provider = tts(pools(t), service.url);
    const lost = await sayAll(provider, 'This is a sentence of some length.');
    t.match(lost.failures, [{ fault: kind === 'rate_limit' ? 'rate_limit' : 'unavailable' }]);
    t.equal(lost.afterEnd, 0);
    t.equal((await sayAll(provider, 'Hello.')).done, 1);
    await until(() => service.stats.openContexts === 0 && service.stats.openSockets === 1);
  });
}

void t.test('rule 31: an answer without a sound is a failure', async (t) => {
  const service = await emulator(t, { faults: [{ kind: 'zero_audio', count: 1 }] });
  const provider = tts(pools(t), service.url);
  t.match((await sayAll(provider, 'Hello.')).failures, [{ fault: 'unavailable' }]);
});

void t.test('messages that are none are passed over', async (t) => {
  const service = await emulator(t, { faults: [{ kind: 'garbage', after: 1, count: 1 }] });
  const spoken = await sayAll(tts(pools(t), service.url), 'This is a sentence of some length.');
  t.equal(spoken.done, 1);
});

for (const after of [0, 2]) {
  void t.test(`audio that stops after ${after} pieces is given up`, async (t) => {
    const service = await emulator(t, { faults: [{ kind: 'stall', after, count: 1 }] });
    const clock = new ManualClock();
    const provider = tts(pools(t, clock), service.url, { clock });
    provider.warm();
    await until(() => service.stats.openSockets === 1);
    const { spoken, utterance } = say(provider, 'This is a sentence of some length.');
    utterance.end();
    if (after > 0) await until(() => spoken.sizes.length === after);
    await until(() => service.stats.contexts === 1);
    clock.advance(4000);
    t.match(spoken.failures, [{ fault: 'timeout' }]);
    t.equal(spoken.sizes.length, after);
  });
}

void t.test('sockets go some time after the last call', async (t) => {
  const service = await emulator(t);
  const clock = new ManualClock();
  const provider = tts(pools(t, clock), service.url, { clock });
  provider.warm();
  t.equal((await sayAll(provider, 'Hello.')).done, 1);
  await provider[Symbol.asyncDispose]();
  clock.advance(10_000);
  t.equal(service.stats.openSockets, 1, 'the next call may come');
  clock.advance(30_000);
  await until(() => service.stats.openSockets === 0);
  await until(() => clock.pendingTimers === 0);
});

void t.test('disposing of the pools leaves no socket', async (t) => {
  const service = await emulator(t);
  const shared = pools(t);
  const provider = tts(shared, service.url);
  t.equal((await sayAll(provider, 'Hello.')).done, 1);
  const { spoken } = say(provider, 'This goes on.');
  await spoken.firstAudio;
  await Promise.all([shared[Symbol.asyncDispose](), shared[Symbol.asyncDispose]()]);
  await until(() => service.stats.openSockets === 0);
  t.match(spoken.failures, [{ fault: 'unavailable' }]);
});

/** A server that plays the vendor's part by hand. */
async function peer(t: Test) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const requests: IncomingMessage[] = [];
  const messages: Record<string, unknown>[] = [];
  let socket: WebSocket | undefined;
  server.on('connection', (opened, request) => {
    requests.push(request);
    opened.once('pong', () => (socket = opened));
    opened.ping();
    opened.on('message', (data: Buffer) => {
      messages.push(JSON.parse(data.toString()) as Record<string, unknown>);
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    messages,
    isOpen: () => socket !== undefined,
    send: (message: object) => socket!.send(JSON.stringify(message)),
    socket: () => socket!,
  };
}

void t.test('what is asked for, and how a reply is said', async (t) => {
  const vendor = await peer(t);
  const provider = tts(pools(t), vendor.url, {
    changes: { options: { similarity_boost: 0.9, apply_text_normalization: 'on', unknown: 1 } },
    voice: { speed: 2, stability: 0.4, output: { encoding: 'pcma', sampleRate: 8000 } },
  });
  const { utterance } = say(provider, ' Hello there. ', 'Bye.');
  utterance.end();
  await until(() => vendor.messages.length === 5);
  const url = new URL(vendor.requests[0]!.url!, vendor.url);
  t.equal(url.pathname, `/v1/text-to-speech/${VOICE}/multi-stream-input`);
  t.same(Object.fromEntries(url.searchParams), {
    model_id: 'eleven_flash_v2_5',
    output_format: 'alaw_8000',
    auto_mode: 'true',
    sync_alignment: 'true',
    language_code: 'en',
    apply_text_normalization: 'on',
  });
  t.equal(vendor.requests[0]!.headers['xi-api-key'], 'key-for-tests');
  const id = vendor.messages[0]!['context_id'];
  t.same(vendor.messages, [
    { text: ' ', context_id: id, voice_settings: { similarity_boost: 0.9, stability: 0.4, speed: 1.2 } },
    { text: 'Hello there. ', context_id: id },
    { text: 'Bye. ', context_id: id },
    { context_id: id, flush: true },
    { context_id: id, close_context: true },
  ]);
});

void t.test('rule 26: samples cut in two by the provider are put together', async (t) => {
  const vendor = await peer(t);
  const provider = tts(pools(t), vendor.url, {
    voice: { output: { encoding: 'pcm16', sampleRate: 48_000 } },
  });
  t.same(provider.format, { encoding: 'pcm16', sampleRate: 24_000 }, 'as near as it can');
  const received: number[] = [];
  const spoken = new Spoken();
  spoken.onAudio = (bytes) => void received.push(...bytes, -1);
  const utterance = provider.open(spoken, new AbortController().signal);
  utterance.push('Hello.');
  utterance.end();
  await until(() => vendor.messages.length === 4);
  const contextId = vendor.messages[0]!['context_id'];
  for (const piece of [[1, 2, 3], [4], [], [5], [6, 7, 8, 9]]) {
    vendor.send({ contextId, audio: Buffer.from(piece).toString('base64') });
  }
  vendor.send({ contextId: 'r999', audio: Buffer.from([66, 66]).toString('base64') });
  vendor.send({ type: 'flush_done' });
  vendor.send({ contextId, isFinal: true });
  await spoken.over;
  t.same(received, [1, 2, -1, 3, 4, -1, 5, 6, 7, 8, -1], 'half a sample at the end is left out');
});

void t.test('words that go on in the next piece, and the older spelling', async (t) => {
  const vendor = await peer(t);
  const { spoken, utterance } = say(tts(pools(t), vendor.url), 'Hello you.');
  utterance.end();
  await until(() => vendor.messages.length === 4);
  const contextId = vendor.messages[0]!['context_id'];
  const audio = Buffer.alloc(800).toString('base64');
  vendor.send({
    contextId,
    audio,
    alignment: {
      chars: [...'Hel'],
      charStartTimesMs: [0, 30, 60],
      charDurationsMs: [30, 30, 40],
    },
  });
  vendor.send({
    contextId,
    audio,
    alignment: {
      chars: [...'lo yo'],
      charStartTimesMs: [0, 20, 40, 60, 80],
      charsDurationsMs: [20, 20, 20, 20, 20],
    },
  });
  vendor.send({ contextId, audio, alignment: { chars: ['u', '.'], charStartTimesMs: [0, 50] } });
  vendor.send({ contextId, audio, alignment: 'unheard of' });
  vendor.send({ contextId, audio: null, isFinal: true });
  await spoken.over;
  t.same(spoken.words, [
    { text: 'Hello', startMs: 0, endMs: 140 },
    { text: 'you.', startMs: 160, endMs: 250 },
  ]);
  t.equal(spoken.done, 1);
});

void t.test('waiting connections and replies are kept alive', async (t) => {
  const vendor = await peer(t);
  const clock = new ManualClock();
  const provider = tts(pools(t, clock), vendor.url, { clock });
  provider.warm();
  await until(vendor.isOpen);
  clock.advance(10_000);
  await until(() => vendor.messages.length === 1);
  t.same(vendor.messages, [{ text: '' }], 'this opens no context');
  const { spoken } = say(provider, 'One moment.');
  await until(() => vendor.messages.length === 3);
  const contextId = vendor.messages[1]!['context_id'];
  vendor.send({ contextId, audio: 'AAAA' });
  await spoken.firstAudio;
  vendor.socket().ping();
  clock.advance(10_000);
  await until(() => vendor.messages.length === 4);
  t.same(vendor.messages[3], { context_id: contextId, text: '' });
  t.same(spoken.failures, []);
});

void t.test('a socket that never confirms a cancelled reply gets no more', async (t) => {
  const vendor = await peer(t);
  const clock = new ManualClock();
  const provider = tts(pools(t, clock), vendor.url, { clock });
  provider.warm();
  await until(vendor.isOpen);
  say(provider, 'Never mind.').abort();
  await until(() => vendor.messages.length === 3);
  clock.advance(15_000);
  say(provider, 'Hello.');
  await until(() => vendor.requests.length === 2);
  t.pass('another connection was opened');
});
