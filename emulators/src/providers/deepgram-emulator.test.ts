import { DeepgramClient } from '@deepgram/sdk';
import t from 'tap';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { ListenClient, RefusedError, transcriptOf } from '../../test/fixtures/listen-client.ts';
import type { Message } from '../../test/fixtures/listen-client.ts';
import { openDeepgramEmulator } from './deepgram-emulator.ts';
import type { DeepgramEmulatorOptions } from './deepgram-emulator.ts';

const AT_ONCE = {
  interim: 0,
  speechStarted: 0,
  speechFinal: 0,
  finalize: 0,
  utteranceEnd: 0,
  endOfTurn: 260,
};
const NOVA = '/v1/listen?model=nova-3&encoding=mulaw&sample_rate=8000';
const FLUX = '/v2/listen?model=flux-general-en&encoding=mulaw&sample_rate=8000';
const AGENT = `${NOVA}&interim_results=true&endpointing=300&utterance_end_ms=1000&vad_events=true&punctuate=true`;

async function emulator(t: Test, options: Partial<DeepgramEmulatorOptions> = {}) {
  const opened = await openDeepgramEmulator({
    mode: 'script',
    sentences: ['Hello, I would like a table for two.', 'Tomorrow at seven.'],
    delays: AT_ONCE,
    ...options,
  });
  t.teardown(() => opened[Symbol.asyncDispose]());
  return opened;
}

/** A square wave well above the threshold. */
function voice(ms: number): Buffer {
  return Buffer.from(Array.from({ length: ms * 8 }, (_, at) => (at % 16 < 8 ? 0x90 : 0x10)));
}

function silence(ms: number): Buffer {
  return Buffer.alloc(ms * 8, 0xff);
}

/** In frames of 20 ms, as carriers send them. */
function send(client: ListenClient, audio: Buffer): void {
  for (let at = 0; at < audio.length; at += 160) client.send(audio.subarray(at, at + 160));
}

const results = (messages: Message[]) => messages.filter(({ type }) => type === 'Results');
const finals = (messages: Message[]) => results(messages).filter((message) => message['is_final']);

async function refusal(attempt: Promise<unknown>): Promise<RefusedError> {
  try {
    await attempt;
  } catch (error) {
    if (error instanceof RefusedError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

void t.test('an upgrade is answered with a request id and says that this is an emulator', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, NOVA);
  t.match(client.headers, { 'dg-request-id': /^[0-9a-f-]{36}$/, 'x-parley-emulator': 'deepgram' });
  t.notOk(client.headers['sec-websocket-extensions'], 'no compression');
  client.terminate();
});

void t.test('credentials', async (t) => {
  const { url } = await emulator(t, { keys: ['right'] });
  for (const key of ['Token right', 'token right', 'Bearer right', 'BEARER right']) {
    const client = await ListenClient.open(url, NOVA, { key });
    t.pass(key);
    client.terminate();
  }
  for (const key of ['Token wrong', 'right', 'Basic right', '']) {
    const refused = await refusal(ListenClient.open(url, NOVA, { key }));
    t.match(refused, { status: 401, headers: { 'dg-error': /./, 'dg-request-id': /./ } }, key);
    t.match(JSON.parse(refused.body), { err_code: 'INVALID_AUTH', err_msg: String, request_id: String });
  }
  const browser = await ListenClient.open(url, NOVA, { protocols: ['token', 'right'] });
  t.equal(browser.protocol, 'token', 'a browser passes its key as a subprotocol');
  browser.terminate();

  const projects = await fetch(`${url}/v1/projects`, { headers: { authorization: 'Token right' } });
  t.equal(projects.status, 200);
  t.match(await projects.json(), { projects: [{ project_id: String, name: String }] });
  t.equal((await fetch(`${url}/v1/projects`, { headers: { authorization: 'Token wrong' } })).status, 401);
});

void t.test('queries that the vendor refuses', async (t) => {
  const { url } = await emulator(t);
  const raw = 'encoding=mulaw&sample_rate=8000';
  const refused = [
    `/v1/listen?model=flux-general-en&${raw}`,
    `/v1/listen?model=nova-3&${raw}&keywords=a:1`,
    `/v1/listen?model=nova-2&${raw}&keyterm=a`,
    `/v1/listen?model=nova-9&${raw}`,
    `/v1/listen?model=nova-3&encoding=mulaw`,
    `/v1/listen?model=nova-3&encoding=mp7&sample_rate=8000`,
    `/v1/listen?model=nova-3&${raw}&interim_results=yes`,
    `/v1/listen?model=nova-3&${raw}&endpointing=soon`,
    `/v2/listen?model=nova-3&${raw}`,
    `/v2/listen?${raw}`,
    `/v2/listen?model=flux-general-en&${raw}&interim_results=true`,
    `/v2/listen?model=flux-general-en&${raw}&eot_threshold=0.4`,
    `/v2/listen?model=flux-general-en&${raw}&eot_timeout_ms=100`,
    `/v2/listen?model=flux-general-en&${raw}&language_hint=de`,
  ];
  for (const path of refused) {
    const { status, headers } = await refusal(ListenClient.open(url, path));
    t.equal(status, 400, path);
    t.ok(headers['dg-error']);
  }
  t.equal((await refusal(ListenClient.open(url, '/v3/listen'))).status, 404);
  const client = await ListenClient.open(
    url,
    `/v1/listen?sample_rate=8000&keyterm=a&keyterm=b&encoding=alaw&model=nova-3`,
  );
  t.pass('parameters come in any order, and lists repeat their key');
  client.terminate();
});

void t.test('interims share the start of their segment and grow; the final closes it', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, AGENT);
  send(client, Buffer.concat([silence(500), voice(1500), silence(400)]));
  const all = await client.finish();

  t.equal(all[0]?.type, 'SpeechStarted');
  t.equal(all[0]?.['timestamp'], 0.5);
  const [final] = finals(all);
  const before = results(all).slice(0, results(all).indexOf(final!));
  t.ok(before.length >= 5, 'interims come every 200 ms of audio');
  for (const interim of before) {
    t.match(interim, { is_final: false, speech_final: false, from_finalize: false, channel_index: [0, 1] });
    t.equal(interim['start'], final?.['start']);
  }
  const durations = before.map((interim) => interim['duration'] as number);
  t.same(
    durations,
    [...durations].sort((a, b) => a - b),
  );
  const texts = before.map(transcriptOf);
  for (const [index, text] of texts.entries()) t.ok(transcriptOf(final).startsWith(text), `interim ${index}`);
  t.ok(new Set(texts).size > 3, 'the words grow');

  t.match(final, { is_final: true, speech_final: true, from_finalize: false, start: 0, duration: 2.3 });
  t.equal(transcriptOf(final), 'Hello, I would like a table for two.');
  const { words } = (final!['channel'] as { alternatives: [{ words: object[] }] }).alternatives[0];
  t.match(words[0], { word: 'hello', punctuated_word: 'Hello,', start: 0.5, confidence: Number });
  t.match(words.at(-1), { word: 'two', punctuated_word: 'two.', end: 2 });
  t.match(final!['metadata'], {
    request_id: client.headers['dg-request-id'],
    model_info: { name: /emulator$/ },
  });
});

void t.test('without interim_results only finals come, and without punctuate plain words', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, `${NOVA}&endpointing=300&utterance_end_ms=1000`);
  send(client, Buffer.concat([voice(800), silence(1500)]));
  const all = await client.finish();
  t.same(
    all.map(({ type }) => type),
    ['Results', 'Results', 'Metadata'],
    'no UtteranceEnd either: it is read off the interims',
  );
  t.equal(transcriptOf(all[0]), 'hello i would like a table for two');
  t.equal(transcriptOf(all[1]), '', 'the silence that was left when the stream closed');
});

void t.test('long speech yields several finals that make one utterance', async (t) => {
  const sentence = 'One two three four five six seven eight nine ten eleven twelve.';
  const { url } = await emulator(t, { sentences: [sentence] });
  const client = await ListenClient.open(url, AGENT);
  send(client, Buffer.concat([voice(12_000), silence(400)]));
  const all = finals(await client.finish()).filter((final) => transcriptOf(final) !== '');
  t.ok(all.length >= 2);
  t.same(
    all.map((final) => final['speech_final']),
    all.map((_, index) => index === all.length - 1),
  );
  t.equal(all.map(transcriptOf).join(' '), sentence);
  for (const [index, final] of all.entries()) {
    const previous = all[index - 1];
    if (!previous) continue;
    const end = (previous['start'] as number) + (previous['duration'] as number);
    t.ok(Math.abs((final['start'] as number) - end) < 0.001, 'a segment starts where the last final ended');
  }
});

void t.test('an endpoint whose words were already finalised has an empty transcript', async (t) => {
  const { url } = await emulator(t, { sentences: ['Yes'] });
  const client = await ListenClient.open(url, AGENT);
  send(client, voice(500));
  client.say({ type: 'Finalize' });
  const answer = await client.next((message) => message['from_finalize'] === true);
  t.match(answer, { is_final: true, speech_final: false });
  t.equal(transcriptOf(answer), 'Yes');
  send(client, Buffer.concat([voice(100), silence(400)]));
  const end = await client.next((message) => message['speech_final'] === true);
  t.equal(transcriptOf(end), '');
  t.same((end?.['channel'] as { alternatives: unknown[] }).alternatives, [
    { transcript: '', confidence: 0, words: [] },
  ]);
  client.terminate();
});

void t.test('UtteranceEnd follows a word gap, once, and cancels nothing', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, AGENT);
  send(client, Buffer.concat([voice(1000), silence(2500), voice(500), silence(400)]));
  const all = await client.finish();
  const ends = all.filter(({ type }) => type === 'UtteranceEnd');
  t.same(ends, [{ type: 'UtteranceEnd', channel: [0, 1], last_word_end: 1 }]);
  const first = all.findIndex((message) => message['speech_final'] === true);
  t.ok(first >= 0 && first < all.indexOf(ends[0]!), 'after speech_final');
  t.ok(finals(all).some((final) => transcriptOf(final) === 'Tomorrow at seven.'));
});

void t.test('endpointing=false reports no endpoint', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, `${AGENT}&endpointing=false`.replace('endpointing=300&', ''));
  send(client, Buffer.concat([voice(1000), silence(3000)]));
  const all = await client.finish();
  t.ok(finals(all).some((final) => transcriptOf(final) !== ''));
  t.notOk(all.some((message) => message['speech_final']));
  t.ok(all.some(({ type }) => type === 'UtteranceEnd'));
});

void t.test('smart_format holds a number back, no_delay does not', async (t) => {
  const { url } = await emulator(t, { sentences: ['My number is five five five'] });
  for (const [extra, atSeconds] of [
    ['&smart_format=true', 4],
    ['&smart_format=true&no_delay=true', 1.3],
  ] as const) {
    const client = await ListenClient.open(url, AGENT + extra);
    send(client, Buffer.concat([voice(1000), silence(3500)]));
    const end = await client.next((message) => message['speech_final'] === true);
    t.equal(end?.['duration'], atSeconds, extra);
    client.terminate();
  }
});

void t.test('CloseStream brings the rest, then Metadata once, then close code 1000', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, AGENT);
  send(client, voice(900));
  const all = await client.finish();
  t.equal(transcriptOf(finals(all)[0]), 'Hello, I would like a table for two.');
  t.match(all.at(-1), {
    type: 'Metadata',
    request_id: client.headers['dg-request-id'],
    duration: 0.9,
    channels: 1,
  });
  t.equal(all.filter(({ type }) => type === 'Metadata').length, 1);
  t.same(await client.closed, { code: 1000, reason: '' });

  const unused = await ListenClient.open(url, NOVA);
  t.match(await unused.finish(), [{ type: 'Metadata', duration: 0 }]);
});

void t.test('an empty binary frame ends the stream, so an agent must not send one', async (t) => {
  const { url, stats } = await emulator(t);
  const client = await ListenClient.open(url, NOVA);
  client.send(new Uint8Array(0));
  t.equal((await client.closed).code, 1000);
  t.equal(stats.empty_frames, 1);
});

void t.test('Finalize with nothing new to say is not answered', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, AGENT);
  send(client, voice(60));
  client.say({ type: 'Finalize' });
  const all = await client.finish();
  t.notOk(all.some((message) => message['from_finalize']));
});

void t.test('ten seconds without audio or text close the connection with the exact reason', async (t) => {
  const reason =
    'Deepgram did not receive audio data or a text message within the timeout window. See https://dpgr.am/net0001';
  const clock = new ManualClock();
  const { url, stats } = await emulator(t, { clock });
  const silent = await ListenClient.open(url, NOVA);
  const alive = await ListenClient.open(url, NOVA);
  const without = await ListenClient.open(url, NOVA);
  send(silent, voice(20));
  send(alive, voice(20));
  await Promise.all([silent.ping(), alive.ping()]);

  clock.advance(9000);
  for (const client of [alive, without]) client.say({ type: 'KeepAlive' });
  await Promise.all([alive.ping(), without.ping()]);
  t.equal(stats.idle_closes, 0);
  clock.advance(1000);
  t.same(await silent.closed, { code: 1011, reason });
  t.same(await without.closed, { code: 1011, reason }, 'KeepAlive saves no connection that never had audio');

  clock.advance(8999);
  await alive.ping();
  t.equal(stats.idle_closes, 2, 'it saves one that had');
  clock.advance(1);
  t.same(await alive.closed, { code: 1011, reason });
});

void t.test('bytes that are no audio of the announced kind close with 1008', async (t) => {
  const { url } = await emulator(t);
  for (const [path, payload] of [
    [NOVA, Buffer.from('OggS and so on')],
    ['/v1/listen?model=nova-3', Buffer.from('raw audio without an encoding')],
  ] as const) {
    const client = await ListenClient.open(url, path);
    client.send(payload);
    t.match(await client.closed, { code: 1008, reason: /DATA-0000/ }, path);
  }
  const client = await ListenClient.open(url, NOVA);
  client.say('no json');
  t.equal((await client.closed).code, 1008);
});

void t.test(
  'the clock is the audio, in every encoding and rate and whatever the sizes of the pieces',
  async (t) => {
    const { url } = await emulator(t);
    const pcm = (ms: number, rate: number) => {
      const samples = Int16Array.from({ length: (ms * rate) / 1000 }, (_, at) =>
        at % 16 < 8 ? 8000 : -8000,
      );
      return Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
    };
    for (const [encoding, rate, speech, quiet] of [
      ['mulaw', 8000, voice(1000), silence(400)],
      ['alaw', 8000, Buffer.from(voice(1000).map((byte) => byte ^ 0x3a)), Buffer.alloc(3200, 0xd5)],
      ['linear16', 16_000, pcm(1000, 16_000), Buffer.alloc(12_800)],
      ['linear16', 44_100, pcm(1000, 44_100), Buffer.alloc(35_280)],
    ] as const) {
      const client = await ListenClient.open(
        url,
        `/v1/listen?model=nova-3&encoding=${encoding}&sample_rate=${rate}&endpointing=300`,
      );
      const audio = Buffer.concat([speech, quiet]);
      for (let at = 0, size = 1; at < audio.length; at += size, size = (size * 7 + 3) % 1999) {
        client.send(audio.subarray(at, at + size));
      }
      const end = await client.next((message) => message['speech_final'] === true);
      const seconds = end?.['duration'] as number;
      t.ok(Math.abs(seconds - 1.3) < 0.021, `${encoding} at ${rate} Hz: ${seconds} s`);
      client.terminate();
    }
  },
);

void t.test('multichannel hears each channel by itself', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, `${NOVA}&channels=2&multichannel=true&endpointing=300`);
  const left = Buffer.concat([voice(600), silence(800)]);
  const right = Buffer.concat([silence(400), voice(600), silence(400)]);
  client.send(
    Buffer.from(Array.from({ length: left.length * 2 }, (_, at) => (at % 2 ? right : left)[at >> 1]!)),
  );
  const ends = (await client.finish()).filter((message) => message['speech_final'] === true);
  t.same(
    ends.map((message) => [message['channel_index'], message['duration']]),
    [
      [[0, 2], 0.9],
      [[1, 2], 1.3],
    ],
  );
});

void t.test('the n-th utterance is the n-th line, and the tag chooses the script', async (t) => {
  const { url } = await emulator(t, { sentences: { default: ['Yes', ''], other: ['No'] } });
  const speak = Buffer.concat([voice(400), silence(400)]);
  const hear = async (tag: string) => {
    const client = await ListenClient.open(url, `${NOVA}&endpointing=300${tag}`);
    for (let turn = 0; turn < 3; turn++) send(client, speak);
    const all = await client.finish();
    return all.filter((message) => message['speech_final'] === true).map(transcriptOf);
  };
  t.same(await hear(''), ['yes', '', 'yes'], 'an empty line is noise');
  t.same(await hear('&tag=other'), ['no', 'no', 'no']);
});

void t.test('a whole file is answered at once', async (t) => {
  const { url } = await emulator(t);
  const post = (path: string, body: Buffer | string, type: string) =>
    fetch(url + path, {
      method: 'POST',
      body: typeof body === 'string' ? body : new Uint8Array(body),
      headers: { authorization: 'Token k', 'content-type': type },
    });
  const speech = Buffer.concat([voice(600), silence(600), voice(600), silence(100)]);
  const answer = await post(`${NOVA}&punctuate=true&endpointing=300`, speech, 'audio/mulaw');
  t.match(await answer.json(), {
    metadata: { request_id: String, duration: 1.9, channels: 1 },
    results: {
      channels: [
        { alternatives: [{ transcript: 'Hello, I would like a table for two. Tomorrow at seven.' }] },
      ],
    },
  });
  t.equal((await post('/v1/listen?model=nova-3', 'what is this?', 'audio/wav')).status, 400);
  t.equal((await post(NOVA, '{"url":"http://example.com/a.wav"}', 'application/json')).status, 400);
});

void t.test('Flux: a turn may need some voice before it starts', async (t) => {
  const { url } = await emulator(t, { delays: { ...AT_ONCE, startOfTurnMs: 120 } });
  const client = await ListenClient.open(url, FLUX);
  send(client, Buffer.concat([silence(100), voice(400)]));
  const all = await client.finish();
  const start = all.find((message) => message['event'] === 'StartOfTurn');
  t.equal(start?.['audio_window_end'], 0.22, '120 ms after the voice began');
});

void t.test(
  'Flux: a turn goes from StartOfTurn over EagerEndOfTurn and TurnResumed to EndOfTurn',
  async (t) => {
    const { url } = await emulator(t);
    const client = await ListenClient.open(url, `${FLUX}&eager_eot_threshold=0.4`);
    send(client, Buffer.concat([silence(500), voice(1000), silence(200), voice(500), silence(400)]));
    send(client, Buffer.concat([voice(500), silence(400)]));
    const all = await client.finish();
    t.match(all[0], { type: 'Connected', request_id: client.headers['dg-request-id'], sequence_id: 0 });
    t.same(
      all.map((message) => message['sequence_id']),
      all.map((_, index) => index),
    );
    const events = all.filter((message) => message.type === 'TurnInfo' && message['event'] !== 'Update');
    t.same(
      events.map((message) => [message['event'], message['turn_index']]),
      [
        ['StartOfTurn', 0],
        ['EagerEndOfTurn', 0],
        ['TurnResumed', 0],
        ['EagerEndOfTurn', 0],
        ['EndOfTurn', 0],
        ['StartOfTurn', 1],
        ['EagerEndOfTurn', 1],
        ['EndOfTurn', 1],
      ],
    );
    t.match(events[0], { transcript: 'Hello,', audio_window_end: 0.51 });
    t.match(events[4], { trigger: 'model', transcript: 'Hello, I would like a table for two.' });
    t.equal(events[4]?.['transcript'], events[3]?.['transcript'], 'an eager end may be trusted');
    t.ok((events[4]?.['end_of_turn_confidence'] as number) >= 0.7);
    t.equal(events[4]?.['audio_window_end'], 2.46, '260 ms after the last voice');
    t.match(events[7], {
      transcript: 'Tomorrow at seven.',
      words: [{ word: 'Tomorrow' }, {}, { word: 'seven.' }],
    });
    const updates = all.filter((message) => message['event'] === 'Update');
    t.ok(updates.length >= 4, 'Update about every 250 ms of audio');
    t.equal(updates[0]?.['transcript'], '', 'empty between turns');
  },
);

void t.test('Flux: Configure is acknowledged and takes effect, or fails without harm', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, FLUX);
  client.say({ type: 'Configure', thresholds: { eot_threshold: 3 } });
  client.say({
    type: 'Configure',
    thresholds: { eot_threshold: 1, eot_timeout_ms: 1000 },
    keyterms: ['Parley'],
  });
  await client.next();
  t.equal((await client.next())?.type, 'ConfigureFailure');
  t.match(await client.next(), {
    type: 'ConfigureSuccess',
    thresholds: { eot_threshold: 1, eager_eot_threshold: null, eot_timeout_ms: 1000 },
    keyterms: ['Parley'],
  });
  send(client, Buffer.concat([voice(500), silence(1200)]));
  const end = await client.next((message) => message['event'] === 'EndOfTurn');
  t.match(end, { trigger: 'timeout', audio_window_end: 1.5 });
  client.terminate();
});

void t.test('Flux: ForceEndTurn ends the turn where it is enabled', async (t) => {
  const { url } = await emulator(t);
  const client = await ListenClient.open(url, FLUX);
  send(client, voice(500));
  client.say({ type: 'ForceEndTurn' });
  const end = await client.next((message) => message['event'] === 'EndOfTurn');
  t.match(end, { trigger: 'manual', transcript: 'Hello, I would like a table for two.' });
  client.terminate();

  const without = await emulator(t, { forceEndTurn: false });
  const refused = await ListenClient.open(without.url, FLUX);
  refused.say({ type: 'ForceEndTurn' });
  t.match(await refused.next(({ type }) => type === 'Error'), { code: 'UNPARSABLE_CLIENT_MESSAGE' });
  await refused.closed;
});

void t.test('Flux: KeepAlive is no message of it, and pings hold the connection', async (t) => {
  const clock = new ManualClock();
  const { url } = await emulator(t, { clock });
  const client = await ListenClient.open(url, FLUX);
  client.say({ type: 'KeepAlive' });
  t.match(await client.next(({ type }) => type === 'Error'), { code: 'UNPARSABLE_CLIENT_MESSAGE' });
  await client.closed;

  const pinging = await ListenClient.open(url, FLUX);
  const idle = await ListenClient.open(url, FLUX);
  clock.advance(59_000);
  await pinging.ping();
  clock.advance(1000);
  t.equal((await idle.closed).code, 1011);
  pinging.say({ type: 'Configure' });
  t.ok(await pinging.next(({ type }) => type === 'ConfigureSuccess'), 'still open');
  clock.advance(60_000);
  t.equal((await pinging.closed).code, 1011);
});

void t.test('faults', async (t) => {
  const spoken = Buffer.concat([voice(1500), silence(400)]);

  await t.test('refused upgrades, as often as asked', async (t) => {
    const { url, setFaults } = await emulator(t, { faults: [{ kind: 'refuse', status: 402, count: 1 }] });
    const refused = await refusal(ListenClient.open(url, NOVA));
    t.match(refused, { status: 402, headers: { 'dg-error': /credits/ } });
    t.match(JSON.parse(refused.body), { err_code: 'ASR_PAYMENT_REQUIRED' });
    (await ListenClient.open(url, NOVA)).terminate();
    setFaults([{ kind: 'rate_limit', count: 1, retryAfterMs: 2000 }]);
    const limited = await refusal(ListenClient.open(url, NOVA));
    t.match(limited, { status: 429, headers: { 'retry-after': '2' } });
  });

  await t.test('stall takes audio and answers nothing', async (t) => {
    const { url, stats } = await emulator(t, { faults: [{ kind: 'stall' }] });
    const client = await ListenClient.open(url, AGENT);
    send(client, spoken);
    t.same(await client.finish(), [], 'not even Metadata, though the close is obeyed');
    t.ok(stats.audio_frames > 0);
  });

  await t.test('cut closes in the middle of an utterance', async (t) => {
    const { url } = await emulator(t, { faults: [{ kind: 'cut', after: 2, count: 1 }] });
    const client = await ListenClient.open(url, AGENT);
    send(client, spoken);
    t.match(await client.closed, { code: 1011, reason: /net0000/ });
    t.equal(client.messages.length, 2);
  });

  await t.test('reset breaks the connection', async (t) => {
    const { url } = await emulator(t, { faults: [{ kind: 'reset', after: 1 }] });
    const client = await ListenClient.open(url, AGENT);
    send(client, spoken);
    t.equal((await client.closed).code, 1006);
  });

  await t.test('garbage comes between the messages', async (t) => {
    const { url } = await emulator(t, { faults: [{ kind: 'garbage', after: 1, count: 1 }] });
    const client = await ListenClient.open(url, AGENT);
    send(client, spoken);
    const all = await client.finish();
    t.equal(client.garbage.length, 1);
    t.ok(
      all.some((message) => message['speech_final']),
      'and the stream goes on',
    );
  });

  await t.test(
    'never_speech_final finalises words but reports no endpoint; UtteranceEnd still comes',
    async (t) => {
      const { url } = await emulator(t, { faults: [{ kind: 'never_speech_final', count: 1 }] });
      const client = await ListenClient.open(url, AGENT);
      send(client, Buffer.concat([voice(600), silence(1500), voice(600), silence(400)]));
      const all = await client.finish();
      t.match(finals(all)[0], { is_final: true, speech_final: false });
      t.ok(all.some(({ type }) => type === 'UtteranceEnd'));
      t.equal(all.filter((message) => message['speech_final']).length, 1, 'the second utterance is spared');
    },
  );

  await t.test('finalize_unanswered ignores one Finalize', async (t) => {
    const { url } = await emulator(t, { faults: [{ kind: 'finalize_unanswered', count: 1 }] });
    const client = await ListenClient.open(url, AGENT);
    send(client, voice(600));
    client.say({ type: 'Finalize' });
    send(client, voice(200));
    client.say({ type: 'Finalize' });
    const answer = await client.next((message) => message['from_finalize'] === true);
    t.equal(answer?.['duration'], 0.8, 'the second is answered');
    client.terminate();
  });

  await t.test('slow_handshake delays the upgrade', async (t) => {
    const { url } = await emulator(t, { faults: [{ kind: 'slow_handshake', delayMs: 60_000, count: 1 }] });
    const slow = new WebSocket(url.replace('http', 'ws') + NOVA, { headers: { authorization: 'Token k' } });
    slow.on('error', () => undefined);
    const fast = await ListenClient.open(url, NOVA);
    t.equal(slow.readyState, WebSocket.CONNECTING, 'the one that came later is served first');
    fast.terminate();
    slow.terminate();
  });

  await t.test('may be set from another process, and counted', async (t) => {
    const { url } = await emulator(t);
    const answer = await fetch(`${url}/__emulator/faults`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ faults: [{ kind: 'refuse', status: 401, count: 1 }] }),
    });
    t.equal(answer.status, 200);
    t.equal((await refusal(ListenClient.open(url, NOVA))).status, 401);
    const stats = await (await fetch(`${url}/__emulator/stats`)).json();
    t.match(stats, { emulator: 'deepgram', refused: 1, faults_struck: { refuse: 1 } });
  });
});

void t.test("the vendor's own SDK finds what it expects", async (t) => {
  const { url } = await emulator(t);
  const sdk = new DeepgramClient({
    apiKey: 'dg-any',
    environment: { base: url, production: url.replace('http', 'ws'), agent: url, agentRest: url },
    maxRetries: 0,
  });
  const { projects } = await sdk.manage.v1.projects.list();
  t.equal(projects?.length, 1, 'as a check of credentials asks for them');

  const audio = Buffer.concat([voice(800), silence(1000)]);
  const recorded = await sdk.listen.v1.media.transcribeFile(
    audio,
    { model: 'nova-3', encoding: 'mulaw' },
    // The package's types lack it for files; the vendor's description has it.
    { queryParams: { sample_rate: 8000 } },
  );
  t.match(recorded, { results: { channels: [{ alternatives: [{ transcript: /^hello/i }] }] } });

  const stream = await sdk.listen.v1.connect({
    model: 'nova-3',
    encoding: 'mulaw',
    sample_rate: 8000,
    Authorization: 'Token dg-any',
  });
  const types: string[] = [];
  const over = new Promise<void>((resolve) => stream.on('close', () => resolve()));
  stream.on('message', (message) => {
    types.push(message.type);
    if (message.type === 'Results' && message.speech_final) stream.sendCloseStream({ type: 'CloseStream' });
  });
  stream.connect();
  await stream.waitForOpen();
  for (let at = 0; at < audio.length; at += 160) stream.sendMedia(audio.subarray(at, at + 160));
  await over;
  t.same(new Set(types), new Set(['Results', 'Metadata']), 'and a stream, from its first word to its end');
  stream.close();
});
