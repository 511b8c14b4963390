import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { openDeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import { Secret } from '@parley/shared/config/secret';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { SocketAgents } from '../provider-socket.ts';
import { DeepgramStt } from './deepgram-stt.ts';
import {
  Heard,
  OPTIONS,
  quiet,
  SENTENCES,
  sttProviderConformance,
  voice,
} from './stt-provider.conformance.ts';
import { until } from '../../../test/fixtures/until.ts';
import type { SttBench } from './stt-provider.conformance.ts';
import type { SttOptions, SttTranscript } from './stt-provider.ts';

const AT_ONCE = {
  interimEveryMs: 200,
  interim: 0,
  speechStarted: 0,
  speechFinal: 0,
  finalize: 0,
  utteranceEnd: 0,
};

function plan(baseUrl: string, changes: Partial<PlanProvider> = {}): PlanProvider {
  return {
    id: 'stt_test',
    provider: 'deepgram',
    emulated: true,
    tenant_address: false,
    base_url: baseUrl,
    credential: new Secret('key-for-tests'),
    model: 'nova-3',
    language: 'en-US',
    options: {},
    ...changes,
  };
}

function provider(t: Test, baseUrl: string, changes: Partial<PlanProvider> = {}, clock: Clock = systemClock) {
  const agents = new SocketAgents();
  t.teardown(() => agents.dispose());
  return new DeepgramStt(plan(baseUrl, changes), { agents, clock, logger: silentLogger() });
}

function bench(changes: Partial<PlanProvider>) {
  return async (t: Test, clock: Clock): Promise<SttBench> => {
    const emulator = await openDeepgramEmulator({
      mode: 'script',
      sentences: SENTENCES,
      delays: AT_ONCE,
      keys: ['key-for-tests'],
    });
    t.teardown(() => emulator[Symbol.asyncDispose]());
    return {
      provider: provider(t, emulator.url, changes, clock),
      counts: () => ({
        connections: emulator.stats.connections,
        open: emulator.stats.open,
        emptyFrames: emulator.stats.empty_frames,
      }),
      setFaults: (faults) => emulator.setFaults(faults),
    };
  };
}

sttProviderConformance(t, 'nova', bench({ model: 'nova-3' }));
sttProviderConformance(t, 'flux', bench({ model: 'flux-general-en' }));

/** A server that plays the vendor's part by hand. */
async function peer(t: Test) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  const requests: IncomingMessage[] = [];
  const texts: string[] = [];
  const frames: Buffer[] = [];
  const sockets: WebSocket[] = [];
  server.on('connection', (socket, request) => {
    requests.push(request);
    // The client answers a ping only when the connection stands at its side too.
    socket.once('pong', () => sockets.push(socket));
    socket.ping();
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) frames.push(data);
      else texts.push(data.toString());
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    texts,
    frames,
    sockets,
    send: (message: object) => sockets.at(-1)!.send(JSON.stringify(message)),
  };
}

async function open(
  t: Test,
  {
    changes = {},
    options = {},
    clock = systemClock,
    heard = new Heard(),
  }: {
    changes?: Partial<PlanProvider>;
    options?: Partial<SttOptions>;
    clock?: Clock;
    heard?: Heard;
  } = {},
) {
  const vendor = await peer(t);
  const stream = provider(t, vendor.url, changes, clock).open({ ...OPTIONS, ...options }, heard);
  t.teardown(() => stream[Symbol.asyncDispose]());
  await until(() => vendor.sockets.length === 1);
  return { vendor, stream, heard };
}

function results(
  text: string,
  { start = 0, duration = 1, final = false, speechFinal = false, fromFinalize = false, language = '' } = {},
) {
  const words = text.split(' ').filter(Boolean);
  const each = duration / Math.max(1, words.length);
  return {
    type: 'Results',
    channel_index: [0, 1],
    start,
    duration,
    is_final: final,
    speech_final: speechFinal,
    from_finalize: fromFinalize,
    channel: {
      alternatives: [
        {
          transcript: text,
          confidence: words.length > 0 ? 0.9 : 0,
          words: words.map((word, index) => ({
            word: word.toLowerCase(),
            punctuated_word: word,
            start: start + index * each,
            end: start + (index + 1) * each,
            confidence: 0.9,
          })),
          ...(language ? { languages: [language] } : {}),
        },
      ],
    },
  };
}

void t.test('nova: what is asked for', async (t) => {
  const { vendor } = await open(t, {
    changes: { options: { tag: 'script-1', smart_format: true, unknown: 1, punctuate: null } },
    options: { keywords: ['Parley', 'New Delhi'], endpointingMs: 450 },
  });
  const url = new URL(vendor.requests[0]!.url!, vendor.url);
  t.equal(url.pathname, '/v1/listen');
  t.same(url.searchParams.getAll('keyterm'), ['Parley', 'New Delhi']);
  t.same(Object.fromEntries(url.searchParams), {
    model: 'nova-3',
    language: 'en-US',
    encoding: 'mulaw',
    sample_rate: '8000',
    channels: '1',
    interim_results: 'true',
    endpointing: '450',
    utterance_end_ms: '1000',
    vad_events: 'true',
    smart_format: 'true',
    keyterm: 'New Delhi',
    tag: 'script-1',
  });
  const { headers } = vendor.requests[0]!;
  t.equal(headers.authorization, 'Token key-for-tests');
  t.notOk(headers['sec-websocket-extensions'], 'no compression is offered');
});

void t.test('nova-2 takes keywords instead; other encodings keep their names', async (t) => {
  const { vendor } = await open(t, {
    changes: { model: 'nova-2' },
    options: { keywords: ['Parley'], format: { encoding: 'pcm16', sampleRate: 24_000 } },
  });
  const query = new URL(vendor.requests[0]!.url!, vendor.url).searchParams;
  t.same(
    ['keywords', 'keyterm', 'encoding', 'sample_rate'].map((key) => query.get(key)),
    ['Parley', null, 'linear16', '24000'],
  );
});

void t.test('flux: nothing that belongs to the other dialect is asked for', async (t) => {
  class Eager extends Heard {
    onEagerTurnEnd(): void {}
  }
  const { vendor } = await open(t, {
    changes: { model: 'flux-general-multi', options: { eot_timeout_ms: 3000, smart_format: true } },
    options: { language: 'hi-IN', keywords: ['Parley'], format: { encoding: 'pcma', sampleRate: 8000 } },
    heard: new Eager(),
  });
  const url = new URL(vendor.requests[0]!.url!, vendor.url);
  t.equal(url.pathname, '/v2/listen');
  t.same(Object.fromEntries(url.searchParams), {
    model: 'flux-general-multi',
    encoding: 'alaw',
    sample_rate: '8000',
    eager_eot_threshold: '0.5',
    language_hint: 'hi',
    keyterm: 'Parley',
    eot_timeout_ms: '3000',
  });
});

void t.test('nova: a turn is all its finals together', async (t) => {
  const { vendor, heard } = await open(t);
  vendor.send({ type: 'SpeechStarted', channel: [0, 1], timestamp: 0.2 });
  vendor.send(results('One two', { start: 0, duration: 1 }));
  vendor.send(results('One two', { start: 0, duration: 1, final: true }));
  vendor.send(results('three', { start: 1, duration: 1 }));
  vendor.send(results('three four.', { start: 1, duration: 1, final: true, language: 'en' }));
  vendor.send(results('', { start: 2, duration: 0.5, final: true, speechFinal: true }));
  await heard.turns(1);
  t.same(heard.turnTexts, ['One two three four.']);
  t.match(heard.ended[0], { endMs: 2000, language: 'en' });
  t.same(heard.ended[0]!.words, [
    { text: 'One', startMs: 0, endMs: 500 },
    { text: 'two', startMs: 500, endMs: 1000 },
    { text: 'three', startMs: 1000, endMs: 1500 },
    { text: 'four.', startMs: 1500, endMs: 2000 },
  ]);
  t.same(
    heard.interims.map(({ text }) => text),
    ['One two', 'One two', 'One two three', 'One two three four.'],
  );
  t.same(heard.speechStarts, [200]);
});

void t.test('nova: empty endpoints are no turns', async (t) => {
  const { vendor, heard } = await open(t);
  vendor.send({ type: 'SpeechStarted', channel: [0, 1], timestamp: 0.2 });
  vendor.send(results('', { final: true, speechFinal: true }));
  vendor.send({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 0.5 });
  vendor.send({ type: 'Metadata' });
  vendor.send({ type: 'SomethingNew' });
  vendor.send(results('Hello.', { start: 1, final: true, speechFinal: true }));
  await heard.turns(1);
  t.same(heard.turnTexts, ['Hello.']);
});

void t.test('nova: the end of an utterance stands in for a missing speech_final', async (t) => {
  const { vendor, heard } = await open(t);
  vendor.send(results('Yes please', { final: true }));
  vendor.send(results('now', { start: 1, duration: 0.5 }));
  vendor.send({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 1.5 });
  // The final of what was taken from the interim comes after all, with one word more.
  vendor.send(results('now then', { start: 1, duration: 1, final: true, speechFinal: true }));
  await heard.turns(2);
  t.same(heard.turnTexts, ['Yes please now', 'then']);
});

void t.test('nova: an end of utterance that comes late does not end the next turn', async (t) => {
  const { vendor, heard } = await open(t);
  vendor.send(results('First.', { final: true, speechFinal: true }));
  vendor.send(results('Second', { start: 2, duration: 1 }));
  vendor.send({ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 1 });
  vendor.send(results('Second one.', { start: 2, duration: 1.5, final: true, speechFinal: true }));
  await heard.turns(2);
  t.same(heard.turnTexts, ['First.', 'Second one.']);
});

void t.test(
  'nova: a Finalize without an answer is answered by us, and the late answer adds nothing',
  async (t) => {
    const clock = new ManualClock();
    const { vendor, stream, heard } = await open(t, { clock });
    vendor.send(results('I am here', { duration: 1.5 }));
    await until(() => heard.interims.length === 1);
    stream.finalize();
    stream.finalize();
    await until(() => vendor.texts.length > 0);
    t.same(vendor.texts, ['{"type":"Finalize"}'], 'asked once');
    clock.advance(400);
    t.same(heard.turnTexts, ['I am here']);
    vendor.send(results('I am here', { duration: 1.5, final: true, fromFinalize: true }));
    vendor.send(results('Next.', { start: 3, final: true, speechFinal: true }));
    await heard.turns(2);
    t.same(heard.turnTexts, ['I am here', 'Next.']);
  },
);

void t.test('nova: a quiet connection is kept alive', async (t) => {
  const clock = new ManualClock();
  const { vendor, stream } = await open(t, { clock });
  stream.write(quiet(20));
  await until(() => vendor.frames.length === 1);
  for (let second = 0; second < 9; second += 1) clock.advance(1000);
  await until(() => vendor.texts.length >= 2);
  t.same(vendor.texts, ['{"type":"KeepAlive"}', '{"type":"KeepAlive"}']);
  t.equal(vendor.frames.length, 1);
});

void t.test('nova: a connection without any audio gets a little silence, which takes no time', async (t) => {
  const clock = new ManualClock();
  const { vendor, heard } = await open(t, { clock });
  for (let second = 0; second < 5; second += 1) clock.advance(1000);
  await until(() => vendor.frames.length === 1);
  t.ok(vendor.frames[0]!.every((byte) => byte === 0xff));
  vendor.send(results('Hello.', { start: 0.1, duration: 1, final: true, speechFinal: true }));
  await heard.turns(1);
  t.match(heard.ended, [{ endMs: 1000 }]);
});

void t.test('a frame leaves as it came', async (t) => {
  const { vendor, stream } = await open(t);
  stream.write(voice(20));
  stream.write(quiet(20));
  await until(() => vendor.frames.length === 2);
  t.same(
    vendor.frames.map((frame) => frame.length),
    [160, 160],
  );
});

void t.test('frames that may wait leave with the next, in order and whole', async (t) => {
  const clock = new ManualClock();
  const { vendor, stream } = await open(t, { clock });
  const lengths = () => vendor.frames.map((frame) => frame.length);
  stream.write(quiet(20), true);
  stream.write(voice(20), true);
  stream.write(quiet(20));
  await until(() => vendor.frames.length === 1);
  t.same(vendor.frames[0], Buffer.concat([quiet(20), voice(20), quiet(20)]));
  stream.write(voice(20), true);
  clock.advance(1000);
  t.same(lengths(), [480], 'audio still came');
  clock.advance(1000);
  await until(() => vendor.frames.length === 2);
  t.same(lengths(), [480, 160], 'nothing waits for longer than a second without audio');
  stream.write(voice(40), true);
  stream.finalize();
  await until(() => vendor.texts.length === 1);
  t.same(lengths(), [480, 160, 320], 'the end of a turn is asked for behind all that was said');
  stream.write(voice(20), true);
  await stream[Symbol.asyncDispose]();
  t.same(lengths(), [480, 160, 320, 160], 'nor is anything lost at the end');
});

void t.test('what has waited leaves in pieces of at most 200 ms', async (t) => {
  const { vendor, stream } = await open(t);
  for (let frame = 0; frame < 9; frame++) stream.write(quiet(20), true);
  stream.write(quiet(20));
  stream.write(quiet(400), true);
  stream.write(voice(20));
  await until(() => vendor.frames.length === 4);
  t.same(
    vendor.frames.map((frame) => frame.length / 8),
    [200, 200, 200, 20],
  );
});

void t.test('nova: after a loss only audio that was not settled is sent again', async (t) => {
  const { vendor, stream, heard } = await open(t);
  // Once a frame came through, nothing waits for the connection any more.
  stream.write(voice(20));
  await until(() => vendor.frames.length === 1);
  stream.write(voice(2980));
  vendor.send(results('One two', { start: 0, duration: 2.5, final: true }));
  await until(() => heard.interims.length === 1);
  await until(() => vendor.frames.length === 2);
  const before = vendor.frames.length;
  vendor.sockets[0]!.terminate();
  // Audio comes over the new connection before it has answered its ping.
  await until(() => vendor.frames.length > before && vendor.sockets.length === 2);
  stream.write(quiet(20));
  const bytes = () => vendor.frames.slice(before).reduce((sum, frame) => sum + frame.length, 0);
  await until(() => bytes() >= 520 * 8);
  t.equal(bytes(), 520 * 8, 'from 2.5 s on');
  vendor.send(results('three.', { start: 0, duration: 0.4, final: true, speechFinal: true }));
  await heard.turns(1);
  t.match(heard.ended, [{ text: 'One two three.', endMs: 2900 }]);
});

void t.test(
  'nova: a connection that owes an answer is given up, and what was said is sent again',
  async (t) => {
    const clock = new ManualClock();
    const { vendor, stream } = await open(t, { clock });
    stream.write(voice(1000));
    await until(() => vendor.frames.length === 1);
    stream.finalize();
    for (let second = 0; second < 6 && vendor.sockets.length === 1; second++) {
      stream.write(voice(1000));
      clock.advance(1000);
    }
    const sent = vendor.frames.length;
    await until(() => {
      clock.advance(200);
      return vendor.sockets.length === 2 && vendor.frames.length > sent;
    });
    const bytes = () => vendor.frames.reduce((sum, frame) => sum + frame.length, 0);
    // Once over the first connection, and once over the second.
    await until(() => bytes() >= 2 * 6 * 8000);
    t.equal(vendor.sockets.length, 2);
  },
);

void t.test('audio the vendor cannot decode is no case for another try', async (t) => {
  const { vendor, heard } = await open(t);
  vendor.sockets[0]!.close(1008, 'DATA-0000: The payload cannot be decoded as audio.');
  await heard.until(() => heard.failures.length > 0);
  t.match(heard.failures, [{ fault: 'protocol' }]);
});

/** `TurnInfo` as the vendor sends it. */
function turnInfo(event: string, text: string, { turn = 0, start = 0, end = 1, timed = false } = {}) {
  const words = text.split(' ').filter(Boolean);
  return {
    type: 'TurnInfo',
    request_id: 'r',
    sequence_id: 0,
    event,
    turn_index: turn,
    audio_window_start: start,
    audio_window_end: end,
    transcript: text,
    words: words.map((word, at) => ({ word, confidence: 0.8, ...(timed && { start: at, end: at + 1 }) })),
    end_of_turn_confidence: 0.5,
  };
}

void t.test('flux: early ends, second thoughts and the end', async (t) => {
  class Eager extends Heard {
    onEagerTurnEnd({ text }: SttTranscript): void {
      this.note('eager', text);
    }
    onTurnResumed(): void {
      this.note('resumed');
    }
  }
  const { vendor, heard } = await open(t, { changes: { model: 'flux-general-en' }, heard: new Eager() });
  vendor.send({ type: 'Connected', request_id: 'r', sequence_id: 0 });
  vendor.send(turnInfo('Update', ''));
  vendor.send(turnInfo('StartOfTurn', 'Yes', { start: 0.5 }));
  vendor.send(turnInfo('Update', 'Yes'));
  vendor.send(turnInfo('EagerEndOfTurn', 'Yes I'));
  vendor.send(turnInfo('TurnResumed', 'Yes I'));
  vendor.send(turnInfo('Update', 'Yes I do'));
  vendor.send(turnInfo('EagerEndOfTurn', 'Yes I do.'));
  vendor.send(turnInfo('EndOfTurn', 'Yes I do.'));
  vendor.send(turnInfo('Update', '', { turn: 1 }));
  vendor.send(turnInfo('StartOfTurn', 'And', { turn: 1, start: 3 }));
  await heard.until(() => heard.speechStarts.length === 2);
  t.same(heard.events, [
    { type: 'speech', value: 500 },
    { type: 'interim', value: 'Yes' },
    { type: 'eager', value: 'Yes I' },
    { type: 'resumed', value: undefined },
    { type: 'interim', value: 'Yes I do' },
    { type: 'eager', value: 'Yes I do.' },
    { type: 'turn', value: 'Yes I do.' },
    { type: 'speech', value: 3000 },
    { type: 'interim', value: 'And' },
  ]);
});

void t.test('flux: after finalize only what is said from then on is told', async (t) => {
  const clock = new ManualClock();
  const { vendor, stream, heard } = await open(t, { changes: { model: 'flux-general-en' }, clock });
  vendor.send(turnInfo('StartOfTurn', 'One two', { timed: true }));
  await until(() => heard.interims.length === 1);
  stream.finalize();
  clock.advance(300);
  vendor.send(turnInfo('Update', 'One two', { end: 2 }));
  vendor.send(turnInfo('Update', 'One two three', { end: 3 }));
  vendor.send(turnInfo('EndOfTurn', 'One two three', { end: 4, timed: true }));
  vendor.send(turnInfo('EndOfTurn', 'So.', { turn: 1 }));
  await heard.turns(3);
  t.same(heard.turnTexts, ['One two', 'three', 'So.']);
  t.same(
    heard.ended.map(({ words }) => words!.map(({ text, startMs }) => [text, startMs])),
    [
      [
        ['One', 0],
        ['two', 1000],
      ],
      [['three', 2000]],
      [],
    ],
  );
  t.same(vendor.texts, [], 'nothing is sent that has to be enabled first');
});

void t.test('flux: where it is enabled, the turn is ended at the vendor', async (t) => {
  const { vendor, stream, heard } = await open(t, {
    changes: { model: 'flux-general-en', options: { force_end_turn: true } },
  });
  vendor.send(turnInfo('StartOfTurn', 'One'));
  await until(() => heard.interims.length === 1);
  stream.finalize();
  await until(() => vendor.texts.length === 1);
  t.same(vendor.texts, ['{"type":"ForceEndTurn"}']);
  vendor.send(turnInfo('EndOfTurn', 'One two.'));
  await heard.turns(1);
  t.same(heard.turnTexts, ['One two.']);
});

void t.test('flux: a turn whose audio stops is ended by silence', async (t) => {
  const clock = new ManualClock();
  const { vendor, stream, heard } = await open(t, { changes: { model: 'flux-general-en' }, clock });
  stream.write(voice(100));
  vendor.send(turnInfo('StartOfTurn', 'One'));
  await until(() => heard.interims.length === 1 && vendor.frames.length === 1);
  clock.advance(1000);
  clock.advance(1000);
  await until(() => vendor.frames.length === 2);
  t.equal(vendor.frames[1]!.length, 8000);
});

void t.test('flux: words of a turn that is too long to be sent again are kept', async (t) => {
  const { vendor, stream, heard } = await open(t, { changes: { model: 'flux-general-en' } });
  stream.write(voice(20));
  await until(() => vendor.frames.length === 1);
  stream.write(voice(10_980));
  vendor.send(turnInfo('StartOfTurn', 'One two', { end: 3 }));
  vendor.send(turnInfo('Update', 'One two three', { end: 4.5, timed: true }));
  await until(() => heard.interims.length === 2 && vendor.frames.length === 2);
  const before = vendor.frames.length;
  vendor.sockets[0]!.terminate();
  // Audio comes over the new connection before it has answered its ping.
  await until(() => vendor.frames.length > before && vendor.sockets.length === 2);
  vendor.send(turnInfo('StartOfTurn', 'four', { end: 0.5 }));
  vendor.send(turnInfo('EndOfTurn', 'four.', { end: 0.5, timed: true }));
  await heard.turns(1);
  t.same(heard.turnTexts, ['One two three four.']);
  t.equal(heard.ended[0]!.words!.map(({ text }) => text).join(' '), 'One two three four.');
});

void t.test('an error message of the vendor ends the connection, not the stream', async (t) => {
  const { vendor, heard } = await open(t, { changes: { model: 'flux-general-en' } });
  vendor.send({ type: 'Error', sequence_id: 1, code: 'INTERNAL_SERVER_ERROR', description: 'x' });
  await until(() => vendor.sockets.length === 2);
  t.same(heard.failures, []);
});
