import { once } from 'node:events';
import t from 'tap';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { decodeAlaw, decodeMulaw } from '@parley/shared/audio/g711';
import { openFlite } from '@parley/shared/speech/flite';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { decodeToneWords } from '../speech/tone-words.ts';
import { openElevenLabsEmulator } from './elevenlabs-emulator.ts';
import type { ElevenLabsEmulator, ElevenLabsEmulatorOptions } from './elevenlabs-emulator.ts';

const VOICE = '21m00Tcm4TlvDq8ikWAM';
const FAST = { firstAudio: 0, realTimeFactor: Infinity };

interface Alignment {
  chars: string[];
  charStartTimesMs: number[];
  charDurationsMs: number[];
}
interface ServerMessage {
  audio?: string | null;
  isFinal?: boolean | null;
  contextId?: string;
  alignment?: Alignment | null;
  error?: string;
  message?: string;
  code?: number;
}

async function open(t: Test, options: Partial<ElevenLabsEmulatorOptions> = {}): Promise<ElevenLabsEmulator> {
  const emulator = await openElevenLabsEmulator({ speech: 'tones', delays: FAST, ...options });
  t.teardown(() => emulator[Symbol.asyncDispose]());
  return emulator;
}

/** A plain client that keeps what came and lets a test wait for more. */
class Client {
  readonly socket: WebSocket;
  readonly received: ServerMessage[] = [];
  readonly unreadable: string[] = [];
  readonly closed: Promise<{ code: number; reason: string }>;
  #onChange: () => void = () => undefined;

  constructor(
    emulator: ElevenLabsEmulator,
    kind: string,
    query = '',
    headers: Record<string, string> = { 'xi-api-key': 'k' },
    voice = VOICE,
  ) {
    const url = `${emulator.url.replace('http', 'ws')}/v1/text-to-speech/${voice}/${kind}?output_format=pcm_8000${query}`;
    this.socket = new WebSocket(url, { headers, perMessageDeflate: false });
    this.socket.on('error', () => undefined);
    this.socket.on('message', (data: Buffer, isBinary: boolean) => {
      try {
        if (isBinary) throw new Error('binary');
        this.received.push(JSON.parse(data.toString()) as ServerMessage);
      } catch {
        this.unreadable.push(data.toString());
      }
      this.#onChange();
    });
    this.closed = once(this.socket, 'close').then(([code, reason]) => {
      this.#onChange();
      return { code: code as number, reason: String(reason) };
    });
  }

  static async open(...args: ConstructorParameters<typeof Client>): Promise<Client> {
    const client = new Client(...args);
    await once(client.socket, 'open');
    return client;
  }

  send(message: object): void {
    this.socket.send(JSON.stringify(message));
  }

  async until(what: (messages: ServerMessage[]) => boolean): Promise<void> {
    while (!what(this.received)) {
      if (this.socket.readyState === WebSocket.CLOSED)
        throw new Error(`Closed after ${JSON.stringify(this.received)}`);
      await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
  }

  audio(contextId?: string): Buffer {
    return Buffer.concat(
      this.received
        .filter((message) => message.audio && message.contextId === contextId)
        .map((message) => Buffer.from(message.audio!, 'base64')),
    );
  }

  words(vocabulary: string, contextId?: string): (string | undefined)[] {
    return decodeToneWords(pcm16FromBytes(this.audio(contextId)), 8000, vocabulary.split(' ')).map(
      ({ word }) => word,
    );
  }

  finals(contextId?: string): number {
    return this.received.filter((message) => message.isFinal === true && message.contextId === contextId)
      .length;
  }
}

const hasFinal = (contextId?: string) => (messages: ServerMessage[]) =>
  messages.some((message) => message.isFinal === true && message.contextId === contextId);
const hasAudio = (contextId?: string) => (messages: ServerMessage[]) =>
  messages.some((message) => message.audio && message.contextId === contextId);

/** Lets what is on its way through the local sockets arrive. */
async function settle(client: Client): Promise<void> {
  for (let i = 0; i < 2; i++) {
    client.socket.ping();
    await once(client.socket, 'pong');
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

void t.test('stream-input speaks the text and ends with one final message', async (t) => {
  const client = await Client.open(await open(t), 'stream-input', '&sync_alignment=true');
  client.send({ text: ' ', voice_settings: { stability: 0.5 } });
  client.send({ text: 'Hello there ' });
  client.send({ text: 'my friend. ' });
  client.send({ text: '' });
  t.equal((await client.closed).code, 1000);
  t.same(client.words('hello there my friend'), ['hello', 'there', 'my', 'friend']);
  t.equal(client.finals(), 1);
  t.same(client.received.at(-1), { audio: null, isFinal: true });
  const first = client.received[0]!;
  t.same(Object.keys(first).sort(), ['alignment', 'audio', 'isFinal', 'normalizedAlignment']);
  t.equal(first.isFinal, null);
});

void t.test('alignment gives each character its time within its chunk', async (t) => {
  const client = await Client.open(await open(t), 'stream-input', '&sync_alignment=true');
  client.send({ text: ' ' });
  client.send({ text: 'Hello there', flush: true });
  client.send({ text: '' });
  await client.closed;
  let offsetMs = 0;
  const starts: number[] = [];
  const chars: string[] = [];
  for (const { audio, alignment } of client.received.filter((message) => message.audio)) {
    chars.push(...alignment!.chars);
    starts.push(...alignment!.charStartTimesMs.map((ms) => ms + offsetMs));
    for (const ms of alignment!.charDurationsMs) t.ok(Math.abs(ms - 60) <= 1);
    const chunkMs = Buffer.from(audio!, 'base64').length / 16;
    t.ok(chunkMs <= 200, 'chunks are no longer than 200 ms');
    offsetMs += chunkMs;
  }
  t.equal(chars.join(''), ' Hello there'.slice(1));
  starts.forEach((ms, i) => t.ok(Math.abs(ms - i * 60) <= 1, `character ${i} at ${ms} ms`));
});

void t.test('without sync_alignment there is none', async (t) => {
  const client = await Client.open(await open(t), 'stream-input');
  client.send({ text: ' ' });
  client.send({ text: 'Hello' });
  client.send({ text: '' });
  await client.closed;
  t.equal(client.received[0]?.alignment, null);
});

void t.test('nothing is generated before the schedule, a flush or auto mode says so', async (t) => {
  const emulator = await open(t);
  const buffered = await Client.open(emulator, 'stream-input');
  buffered.send({ text: ' ', generation_config: { chunk_length_schedule: [50, 500] } });
  buffered.send({ text: 'under fifty characters ' });
  await settle(buffered);
  t.same(buffered.received, []);
  buffered.send({ text: 'and now there are more than fifty of them ' });
  await buffered.until(hasAudio());
  const count = () => emulator.stats.utterances;
  t.equal(count(), 1);
  buffered.send({ text: 'the next step of the schedule wants five hundred characters, not fifty of them ' });
  await settle(buffered);
  t.equal(count(), 1);
  buffered.send({ text: 'now. ', flush: true });
  await settle(buffered);
  t.equal(count(), 2);
  t.equal(buffered.finals(), 0, 'a flush has no final message');
  buffered.send({ text: 'short ', try_trigger_generation: true });
  await settle(buffered);
  t.equal(count(), 2);
  const auto = await Client.open(emulator, 'stream-input', '&auto_mode=true');
  auto.send({ text: ' ' });
  auto.send({ text: 'Hi. ' });
  await auto.until(hasAudio());
});

void t.test('a stream must be opened with a space, keep its settings, and end once', async (t) => {
  const emulator = await open(t);
  for (const [messages, error] of [
    [[{ text: 'Hello' }], 'invalid_first_message'],
    [['not an object'], 'invalid_message'],
    [
      [
        { text: ' ', voice_settings: { speed: 1 } },
        { text: 'a', voice_settings: { speed: 1.1 } },
      ],
      'settings_changed',
    ],
    [[{ text: ' ' }, { text: 'x'.repeat(40_001) }], 'max_character_limit_exceeded'],
  ] as const) {
    const client = await Client.open(emulator, 'stream-input');
    for (const message of messages) client.send(message as object);
    t.equal((await client.closed).code, 1008, error);
    t.equal(client.received.at(-1)?.error, error);
    t.equal(client.received.at(-1)?.code, 1008);
  }
});

void t.test(
  'an idle stream is closed with the reason of the vendor, cut to fit; text keeps it open',
  async (t) => {
    const clock = new ManualClock();
    const client = await Client.open(await open(t, { clock }), 'stream-input');
    client.send({ text: ' ' });
    await settle(client);
    clock.advance(19_000);
    client.send({ text: ' ' });
    await settle(client);
    clock.advance(19_999);
    await settle(client);
    t.equal(client.socket.readyState, WebSocket.OPEN);
    clock.advance(1);
    const { code, reason } = await client.closed;
    t.equal(code, 1008);
    t.ok(reason.startsWith('Have not received a new text input within the timeout of 20 seconds.'));
    t.equal(Buffer.byteLength(reason), 123);
    t.equal(clock.pendingTimers, 0);
  },
);

void t.test(
  'contexts are spoken apart, and each closed one is final exactly once after its audio',
  async (t) => {
    const emulator = await open(t);
    const client = await Client.open(emulator, 'multi-stream-input');
    client.send({ text: ' ', context_id: 'a', voice_settings: { stability: 0.4 } });
    client.send({ text: 'apples and pears ', context_id: 'a', flush: true });
    client.send({ text: 'other words ', context_id: 'b' });
    client.send({ context_id: 'b', flush: true });
    await client.until((messages) => hasAudio('a')(messages) && hasAudio('b')(messages));
    await settle(client);
    t.equal(client.finals('a') + client.finals('b'), 0, 'a flush has no final message');
    client.send({ context_id: 'a', close_context: true });
    client.send({ context_id: 'b', closeContext: true });
    client.send({ context_id: 'b', close_context: true });
    await client.until((messages) => hasFinal('a')(messages) && hasFinal('b')(messages));
    await settle(client);
    t.same(client.words('apples and pears', 'a'), ['apples', 'and', 'pears']);
    t.same(client.words('other words', 'b'), ['other', 'words']);
    t.equal(client.finals('a'), 1);
    t.equal(client.finals('b'), 1);
    t.equal(client.received.filter(({ contextId }) => contextId === 'a').at(-1)?.isFinal, true);
    t.equal(emulator.stats.openContexts, 0);
    client.send({ close_socket: true });
    t.equal((await client.closed).code, 1000);
  },
);

void t.test(
  'the blank that opens a context is not spoken, and what is said twice is said the same',
  async (t) => {
    const client = await Client.open(await open(t), 'multi-stream-input', '&sync_alignment=true');
    for (const context of ['a', 'b', 'größer']) {
      client.send({ text: ' ', context_id: context, voice_settings: {} });
      client.send({ text: 'apples and pears ', context_id: context, flush: true });
      client.send({ context_id: context, close_context: true });
    }
    await client.until((messages) => ['a', 'b', 'größer'].every((context) => hasFinal(context)(messages)));
    const heard = (context: string) => {
      const messages = client.received.filter((message) => message.contextId === context && message.audio);
      return {
        audio: messages.map(({ audio }) => audio).join(),
        chars: messages.flatMap(({ alignment }) => alignment!.chars).join(''),
      };
    };
    t.equal(heard('a').chars, 'apples and pears ');
    t.equal(client.words('apples and pears', 'a').length, 3);
    t.same(heard('b'), heard('a'));
    t.same(heard('größer'), heard('a'));
  },
);

void t.test('closing a context gives up what was not flushed and still sends what was', async (t) => {
  const clock = new ManualClock();
  const emulator = await open(t, { clock, delays: { firstAudio: 100, realTimeFactor: 5 } });
  const client = await Client.open(emulator, 'multi-stream-input');
  client.send({ text: 'flushed words are heard to their end ', context_id: 'a', flush: true });
  client.send({ text: 'never these ', context_id: 'a' });
  await settle(client);
  await clock.advanceAsync(100);
  await client.until(hasAudio('a'));
  client.send({ context_id: 'a', close_context: true });
  await settle(client);
  const before = client.received.length;
  t.equal(client.finals('a'), 0);
  await clock.advanceAsync(3000);
  await client.until(hasFinal('a'));
  t.ok(client.received.length > before + 2, 'late chunks came');
  t.same(
    client.words('flushed words are heard to their end never these', 'a'),
    'flushed words are heard to their end'.split(' '),
  );
});

void t.test('a name may be used again at once, for an unrelated context', async (t) => {
  const client = await Client.open(await open(t), 'multi-stream-input');
  for (const word of ['one', 'two']) {
    client.send({ text: ' ', context_id: 'a', voice_settings: {} });
    client.send({ text: `${word} `, context_id: 'a', flush: true });
    client.send({ context_id: 'a', close_context: true });
  }
  await client.until(() => client.finals('a') === 2);
  // Both are under way at the same time, and nothing tells their chunks apart.
  t.same(new Set(client.words('one two', 'a')), new Set(['one', 'two']));
});

void t.test('a sixth context kills the socket; a closed one counts until it is final', async (t) => {
  const clock = new ManualClock();
  const emulator = await open(t, { clock, delays: { firstAudio: 500, realTimeFactor: Infinity } });
  const client = await Client.open(emulator, 'multi-stream-input');
  for (const id of ['1', '2', '3', '4']) client.send({ text: ' ', context_id: id });
  client.send({ text: 'five ', context_id: '5', flush: true });
  client.send({ context_id: '5', close_context: true });
  await settle(client);
  clock.advance(500);
  await client.until(hasFinal('5'));
  client.send({ text: 'six ', context_id: '6', flush: true });
  client.send({ context_id: '6', close_context: true });
  await settle(client);
  t.equal(client.socket.readyState, WebSocket.OPEN);
  client.send({ text: ' ', context_id: '7' });
  t.equal((await client.closed).code, 1008);
  t.same(client.received.at(-1), {
    message:
      'Maximum simultaneous contexts per WebSocket connection exceeded (5). Please close an existing context before opening a new one.',
    error: 'max_active_conversations',
    code: 1008,
  });
  t.equal(emulator.stats.openContexts, 0);
});

void t.test('a flush or empty text for an unknown name opens it, so settings come too late', async (t) => {
  const emulator = await open(t);
  for (const first of [
    { context_id: 'a', flush: true },
    { context_id: 'a', text: '' },
  ]) {
    const client = await Client.open(emulator, 'multi-stream-input');
    client.send(first);
    client.send({ text: ' ', context_id: 'a', voice_settings: { stability: 0.5 } });
    t.equal((await client.closed).code, 1008);
    t.equal(client.received.at(-1)?.error, 'settings_changed');
  }
});

void t.test('each context has its own patience, and the socket has one while there is none', async (t) => {
  const clock = new ManualClock();
  const emulator = await open(t, { clock });
  const client = await Client.open(emulator, 'multi-stream-input', '&inactivity_timeout=60');
  client.send({ text: ' ', context_id: 'a' });
  client.send({ text: ' ', context_id: 'b' });
  await settle(client);
  clock.advance(59_000);
  client.send({ text: '', context_id: 'a' });
  client.send({ close_context: true, context_id: 'b' });
  await client.until(hasFinal('b'));
  clock.advance(59_000);
  client.send({ close_context: true, context_id: 'a' });
  await client.until(hasFinal('a'));
  clock.advance(59_000);
  client.send({ text: '' });
  await settle(client);
  t.equal(emulator.stats.openContexts, 0, 'keeping the connection alive opens nothing');
  clock.advance(59_000);
  client.send({ text: 'hello ' });
  await settle(client);
  t.equal(emulator.stats.openContexts, 1, 'text without a name goes to a default context');
  clock.advance(60_000);
  t.match(await client.closed, { code: 1008, reason: /timeout of 60 seconds/ });
});

void t.test('the first audio waits for its delay, the rest for five times real time', async (t) => {
  const clock = new ManualClock();
  const emulator = await open(t, { clock, delays: { firstAudio: 200 } });
  const client = await Client.open(emulator, 'multi-stream-input', '&auto_mode=true');
  client.send({ text: 'some words that take two seconds. ', context_id: 'a' });
  await settle(client);
  clock.advance(199);
  await settle(client);
  t.same(client.received, []);
  clock.advance(1);
  await client.until(hasAudio('a'));
  await settle(client);
  t.equal(client.received.length, 1);
  await clock.advanceAsync(200, 1);
  await settle(client);
  const heardMs = client.audio('a').length / 16;
  t.ok(heardMs >= 900 && heardMs <= 1400, `${heardMs} ms after 200 ms`);
});

void t.test('the same seed gives the same chunks and delays', async (t) => {
  const sizes = async (seed: number) => {
    const client = await Client.open(await open(t, { seed }), 'stream-input');
    client.send({ text: ' ' });
    client.send({ text: 'quite some text to be cut into chunks' });
    client.send({ text: '' });
    await client.closed;
    return client.received.map(({ audio }) => audio?.length);
  };
  t.same(await sizes(4), await sizes(4));
  t.notSame(await sizes(4), await sizes(5));
});

void t.test('every output format speaks the same words', async (t) => {
  const emulator = await open(t);
  const decoders = {
    ulaw_8000: decodeMulaw,
    alaw_8000: decodeAlaw,
    pcm_8000: pcm16FromBytes,
    pcm_16000: pcm16FromBytes,
    pcm_24000: pcm16FromBytes,
  };
  for (const [format, decode] of Object.entries(decoders)) {
    const response = await fetch(
      `${emulator.url}/v1/text-to-speech/${VOICE}/stream?output_format=${format}`,
      {
        method: 'POST',
        headers: { 'xi-api-key': 'k', 'content-type': 'application/json' },
        body: JSON.stringify({ text: 'one fine day', model_id: 'eleven_flash_v2_5' }),
      },
    );
    t.equal(response.status, 200);
    t.equal(response.headers.get('x-parley-emulator'), 'elevenlabs');
    const bytes = new Uint8Array(await response.arrayBuffer());
    const heard = decodeToneWords(decode(bytes), Number(format.split('_')[1]), ['one', 'fine', 'day']);
    t.same(
      heard.map(({ word }) => word),
      ['one', 'fine', 'day'],
      format,
    );
  }
});

void t.test('with a voice it really speaks, on the socket and over HTTP', async (t) => {
  const speech = await openFlite();
  t.teardown(() => speech[Symbol.asyncDispose]());
  const emulator = await open(t, { speech });
  const client = await Client.open(emulator, 'multi-stream-input', '&auto_mode=true&sync_alignment=true');
  client.send({ text: 'Hello there. How are you? ', context_id: 'a' });
  client.send({ close_context: true, context_id: 'a' });
  await client.until(hasFinal('a'));
  const samples = pcm16FromBytes(client.audio('a'));
  t.ok(samples.length > 8000, `${samples.length / 8000} s`);
  t.ok(samples.some((sample) => Math.abs(sample) > 3000));
  const chars = client.received.flatMap(({ alignment }) => alignment?.chars ?? []);
  t.equal(chars.join(''), 'Hello there. How are you? ');
  const response = await fetch(`${emulator.url}/v1/text-to-speech/${VOICE}?output_format=pcm_16000`, {
    method: 'POST',
    headers: { 'xi-api-key': 'k' },
    body: JSON.stringify({ text: 'Hello there. How are you? ' }),
  });
  t.equal((await response.arrayBuffer()).byteLength, samples.length * 4);
});

void t.test('keys, voices, models and formats are checked', async (t) => {
  const emulator = await open(t, { keys: ['good'], voices: ['mine'] });
  const refused = async (query: string, headers: Record<string, string>) => {
    const client = new Client(emulator, 'stream-input', query, headers);
    const [request, response] = (await once(client.socket, 'unexpected-response')) as [
      { destroy(): void },
      { statusCode: number },
    ];
    request.destroy();
    return response.statusCode;
  };
  t.equal(await refused('', { 'xi-api-key': 'bad' }), 401);
  t.equal(await refused('&inactivity_timeout=1000', { 'xi-api-key': 'good' }), 422);
  t.equal(await refused('&output_format=mp3_44100_128', { 'xi-api-key': 'good' }), 400);
  for (const [kind, message, query, voice, error] of [
    ['stream-input', { text: ' ' }, '', VOICE, 'invalid_api_key'],
    ['multi-stream-input', { text: ' ', xi_api_key: 'bad' }, '', VOICE, 'invalid_api_key'],
    ['multi-stream-input', { text: ' ', xi_api_key: 'good' }, '', 'nobody', 'voice_not_found'],
    ['stream-input', { text: ' ', 'xi-api-key': 'good' }, '&model_id=eleven_v3', VOICE, 'model_not_found'],
  ] as const) {
    const client = await Client.open(emulator, kind, query, {}, voice);
    client.send(message);
    t.equal((await client.closed).code, 1008);
    t.equal(client.received.at(-1)?.error, error);
  }
  const client = await Client.open(emulator, 'stream-input', '', {}, 'mine');
  client.send({ text: ' ', 'xi-api-key': 'good' });
  client.send({ text: '' });
  t.equal((await client.closed).code, 1000);
  const speak = (key: string, body: string, query = 'output_format=pcm_8000', voice = VOICE) =>
    fetch(`${emulator.url}/v1/text-to-speech/${voice}/stream?${query}`, {
      method: 'POST',
      headers: { 'xi-api-key': key },
      body,
    });
  t.equal((await speak('bad', '{}')).status, 401);
  t.equal((await speak('good', '{"text":""}')).status, 422);
  t.equal((await speak('good', '{"text":"a"}', '')).status, 400);
  t.equal((await speak('good', '{"text":"a"}', undefined, 'nobody')).status, 404);
  t.equal((await speak('good', JSON.stringify({ text: 'a'.repeat(10_001) }))).status, 400);
  t.equal((await fetch(`${emulator.url}/v1/nothing`, { headers: { 'xi-api-key': 'good' } })).status, 404);
});

void t.test('voices are made, changed, found and deleted', async (t) => {
  const emulator = await open(t);
  const call = async (method: string, path: string, body?: FormData | string) => {
    const response = await fetch(`${emulator.url}${path}`, {
      method,
      headers: { 'xi-api-key': 'k' },
      ...(body ? { body } : {}),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  };
  const form = new FormData();
  form.set('name', 'Front desk');
  t.equal((await call('POST', '/v1/voices/add', form)).status, 422, 'no file');
  form.append('files', new File([new Uint8Array(10)], 'a.wav', { type: 'audio/wav' }));
  form.set('labels', '{"accent":"plain"}');
  const added = await call('POST', '/v1/voices/add', form);
  t.match(added.body, { voice_id: String, requires_verification: false });
  const path = `/v1/voices/${String(added.body.voice_id)}`;
  t.match((await call('GET', path)).body, {
    name: 'Front desk',
    category: 'cloned',
    labels: { accent: 'plain' },
    samples: [{ file_name: 'a.wav', size_bytes: 10 }],
  });
  const edit = new FormData();
  edit.set('name', 'Night desk');
  t.same((await call('POST', `${path}/edit`, edit)).body, { status: 'ok' });
  t.same((await call('POST', `${path}/settings/edit`, '{"stability":0.9}')).body, { status: 'ok' });
  t.equal((await call('POST', `${path}/settings/edit`, '{"stability":9}')).status, 422);
  t.match((await call('GET', `${path}/settings`)).body, { stability: 0.9, similarity_boost: 0.75 });
  t.match((await call('GET', '/v2/voices?search=night')).body, {
    total_count: 1,
    has_more: false,
    voices: [{ name: 'Night desk' }],
  });
  const page = (await call('GET', '/v2/voices?page_size=2')).body;
  t.match(page, { has_more: true, next_page_token: '2' });
  t.match((await call('GET', '/v2/voices?page_size=100&next_page_token=2')).body, {
    has_more: false,
    next_page_token: null,
  });
  t.same((await call('DELETE', path)).body, { status: 'ok' });
  t.match(await call('GET', path), { status: 404, body: { detail: { status: 'voice_not_found' } } });
  const models = (await call('GET', '/v1/models')).body as unknown as { model_id: string; name: string }[];
  t.ok(models.some(({ model_id }) => model_id === 'eleven_flash_v2_5'));
  t.ok(models.every(({ name }) => name.includes('emulator')));
});

void t.test('faults strike the socket on demand, and then no more', async (t) => {
  const emulator = await open(t);
  const say = async () => {
    const client = await Client.open(emulator, 'multi-stream-input', '&auto_mode=true');
    client.send({ text: 'these are enough words for some chunks ', context_id: 'a' });
    client.send({ close_context: true, context_id: 'a' });
    return client;
  };
  emulator.setFaults([{ kind: 'cut', count: 1, after: 1 }]);
  const cut = await say();
  t.equal((await cut.closed).code, 1011);
  t.equal(cut.received.length, 1);
  emulator.setFaults([{ kind: 'reset', count: 1, after: 2 }]);
  t.equal((await (await say()).closed).code, 1006);
  emulator.setFaults([{ kind: 'rate_limit', count: 1, after: 1 }]);
  const limited = await say();
  t.equal((await limited.closed).code, 1008);
  t.equal(limited.received.at(-1)?.error, 'too_many_concurrent_requests');
  emulator.setFaults([{ kind: 'garbage', count: 1, after: 1 }]);
  const garbled = await say();
  await garbled.until(hasFinal('a'));
  t.equal(garbled.unreadable.length, 2);
  emulator.setFaults([{ kind: 'zero_audio', count: 1 }]);
  const mute = await say();
  await mute.until(hasFinal('a'));
  t.equal(mute.audio('a').length, 0);
  emulator.setFaults([{ kind: 'stall', count: 1, after: 1 }]);
  const stalled = await say();
  await stalled.until(hasAudio('a'));
  await settle(stalled);
  t.equal(stalled.received.length, 1);
  stalled.socket.terminate();
  await stalled.closed;
  const well = await say();
  await well.until(hasFinal('a'));
  t.ok(well.audio('a').length > 0);
});

void t.test('faults strike the HTTP stream too, and a refusal has the body of the vendor', async (t) => {
  const emulator = await open(t);
  const speak = () =>
    fetch(`${emulator.url}/v1/text-to-speech/${VOICE}/stream?output_format=pcm_8000`, {
      method: 'POST',
      headers: { 'xi-api-key': 'k' },
      body: JSON.stringify({ text: 'these are enough words for some chunks' }),
    });
  const whole = (await (await speak()).arrayBuffer()).byteLength;
  emulator.setFaults([{ kind: 'rate_limit', count: 1, retryAfterMs: 3000 }]);
  const refused = await speak();
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '3');
  t.match(await refused.json(), { detail: { status: 'too_many_concurrent_requests' } });
  emulator.setFaults([{ kind: 'cut', count: 1, after: 2 }]);
  t.ok((await (await speak()).arrayBuffer()).byteLength < whole / 2);
  emulator.setFaults([{ kind: 'zero_audio', count: 1 }]);
  t.equal((await (await speak()).arrayBuffer()).byteLength, 0);
  emulator.setFaults([{ kind: 'reset', count: 1, after: 1 }]);
  await t.rejects(speak().then((response) => response.arrayBuffer()));
  t.equal((await (await speak()).arrayBuffer()).byteLength, whole);
});

void t.test('a stall ends when its time is over, or when the client goes', async (t) => {
  const clock = new ManualClock();
  const emulator = await open(t, { clock });
  emulator.setFaults([
    { kind: 'stall', count: 1, after: 1, delayMs: 500 },
    { kind: 'stall', count: 1, after: 1 },
  ]);
  const client = await Client.open(emulator, 'multi-stream-input', '&auto_mode=true');
  client.send({ text: 'a hiccup and then the rest ', context_id: 'a' });
  client.send({ close_context: true, context_id: 'a' });
  await client.until(hasAudio('a'));
  await settle(client);
  t.equal(client.received.length, 1);
  clock.advance(500);
  await client.until(hasFinal('a'));
  client.send({ text: 'never to be finished ', context_id: 'b' });
  await client.until(hasAudio('b'));
  client.socket.close();
  await client.closed;
  while (emulator.stats.abandoned === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  t.equal(clock.pendingTimers, 0);
});

void t.test('closing the emulator ends its sockets, and may be repeated', async (t) => {
  const emulator = await open(t, { delays: {} });
  const client = await Client.open(emulator, 'multi-stream-input', '&auto_mode=true');
  client.send({ text: 'words ', context_id: 'a' });
  await settle(client);
  await emulator[Symbol.asyncDispose]();
  await emulator[Symbol.asyncDispose]();
  t.equal((await client.closed).code, 1006);
  t.equal(emulator.stats.openSockets, 0);
});
