import { readFile } from 'node:fs/promises';
import t from 'tap';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { PlivoAdapter } from '../carriers/plivo/plivo-adapter.ts';
import { TelnyxAdapter } from '../carriers/telnyx/telnyx-adapter.ts';
import { TwilioAdapter } from '../carriers/twilio/twilio-adapter.ts';
import type { Gone } from './participant.ts';
import { PhoneParticipant } from './phone-participant.ts';

const ADAPTERS = { plivo: PlivoAdapter, twilio: TwilioAdapter, telnyx: TelnyxAdapter };

/** A participant on a socket that only writes down. */
function open(carrier: keyof typeof ADAPTERS = 'twilio') {
  const clock = new ManualClock();
  const sent: { event: string; [key: string]: unknown }[] = [];
  const ended: [number, string][] = [];
  let pings = 0;
  const participant = new PhoneParticipant({
    socket: {
      cork: (task) => task(),
      send: (text) => void sent.push(JSON.parse(text) as (typeof sent)[0]),
      ping: () => void pings++,
      end: (code, reason) => void ended.push([code, reason]),
      bufferedBytes: 7,
    },
    adapter: new ADAPTERS[carrier](),
    clock,
    logger: silentLogger(),
  });
  const receive = (message: object) =>
    participant.onMessage(new TextEncoder().encode(JSON.stringify(message)));
  const start = async (fixture = 'received-start') =>
    participant.onMessage(
      await readFile(new URL(`../carriers/${carrier}/fixtures/${fixture}.json`, import.meta.url)),
    );
  const media = (value: number, more: object = {}, bytes = 160) =>
    receive({
      event: 'media',
      media: { track: 'inbound', payload: Buffer.alloc(bytes, value).toString('base64'), ...more },
    });
  return { participant, clock, sent, ended, receive, start, media, pings: () => pings };
}

/** Writes down what a call would be told. */
function listener() {
  const heard: unknown[] = [];
  return {
    heard,
    onAudio: (bytes: Uint8Array, timestampMs: number | undefined) =>
      void heard.push(['audio', bytes[0], bytes.length, timestampMs]),
    onMark: (name: string) => void heard.push(['mark', name]),
    onDtmf: (digit: string) => void heard.push(['dtmf', digit]),
    onGone: (gone: Gone) => void heard.push(['gone', gone]),
  };
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

void t.test('tells the ids of the stream once it starts', async (t) => {
  const { participant, start, clock } = open();
  await start();
  t.same(await participant.started, {
    carrierCallId: 'CA00000000000000000000000000000002',
    streamId: 'MZ00000000000000000000000000000003',
    at: clock.now(),
  });
  t.same(participant.inputFormat, { encoding: 'pcmu', sampleRate: 8000 });
});

void t.test('keeps the last second of what the caller says until somebody listens', async (t) => {
  const { participant, start, media, receive } = open();
  await start();
  for (let i = 0; i < 60; i++) media(i, { timestamp: String(i * 20) });
  receive({ event: 'dtmf', dtmf: { digit: '5' } });
  receive({ event: 'dtmf', dtmf: { digit: 'nonsense' } });
  const call = listener();
  participant.attach(call);
  t.same(call.heard, [], 'not while the call is being made');
  await settled();
  media(99, { timestamp: '1200' });
  t.equal(call.heard.length, 52);
  t.same(call.heard[0], ['audio', 10, 160, 200], 'the oldest 200 ms were dropped');
  t.same(call.heard[50], ['dtmf', '5']);
  t.same(call.heard[51], ['audio', 99, 160, 1200]);
});

void t.test('a caller who hung up before somebody listened is gone when somebody does', async (t) => {
  const { participant, start, media, receive } = open();
  await start();
  media(1);
  receive({ event: 'stop' });
  participant.onClose(1000);
  const call = listener();
  participant.attach(call);
  await settled();
  t.same(call.heard, [
    ['audio', 1, 160, undefined],
    ['gone', { by: 'caller', lost: false }],
  ]);
});

void t.test('the end is told once, with how it came', async (t) => {
  const cases: [number, Gone][] = [
    [1000, { by: 'caller', lost: false }],
    [1001, { by: 'caller', lost: false }],
    [1005, { by: 'caller', lost: false }],
    [1006, { by: 'carrier', lost: true }],
    [1013, { by: 'carrier', lost: false }],
  ];
  for (const [code, gone] of cases) {
    const { participant, start } = open();
    await start();
    const call = listener();
    participant.attach(call);
    await settled();
    participant.onClose(code);
    participant.onClose(code);
    t.same(call.heard, [['gone', gone]]);
  }
});

void t.test('a participant that closes is told nothing more and sends nothing more', async (t) => {
  const { participant, start, media, sent, ended, clock } = open();
  await start();
  const call = listener();
  participant.attach(call);
  await settled();
  participant.close(1000, 'agent_hangup');
  participant.close(1000, 'again');
  media(1);
  participant.play(new Uint8Array(160), 0, 'm');
  participant.clear();
  participant.onClose(1000);
  t.same(call.heard, []);
  t.same(sent, []);
  t.same(ended[0], [1000, 'agent_hangup']);
  t.equal(clock.pendingTimers, 0);
});

void t.test('closed before it was listened to, it tells nobody', async (t) => {
  const { participant, start, receive } = open();
  await start();
  receive({ event: 'stop' });
  participant.close(4409, 'credential_in_use');
  const call = listener();
  participant.attach(call);
  await settled();
  t.same(call.heard, []);
});

void t.test('a connection that ends before its start has no start', async (t) => {
  const lost = open();
  lost.participant.onClose(1006);
  t.equal(await lost.participant.started, undefined);
  const stopped = open();
  stopped.receive({ event: 'stop' });
  t.equal(await stopped.participant.started, undefined);
  t.same(stopped.ended, [[1000, 'stopped']]);
});

void t.test('what breaks the format closes the stream with its code', async (t) => {
  const cases: [string, (phone: ReturnType<typeof open>) => void | Promise<void>, [number, string]][] = [
    ['media arrived before the start message', ({ media }) => media(1), [4400, 'media_before_start']],
    ['no JSON', ({ participant }) => participant.onMessage(Buffer.from('{"event"')), [4400, 'malformed']],
    ['wrong types', ({ receive }) => receive({ event: 'start', start: 7 }), [4400, 'malformed']],
    [
      'another codec',
      ({ receive }) =>
        receive({
          event: 'start',
          start: {
            callSid: 'CA1',
            streamSid: 'MZ1',
            mediaFormat: { encoding: 'audio/opus', sampleRate: 8000 },
          },
        }),
      [4415, 'codec_not_agreed'],
    ],
  ];
  for (const [name, send, expected] of cases) {
    const phone = open();
    await send(phone);
    t.same(phone.ended, [expected], name);
    t.equal(await phone.participant.started, undefined);
    t.equal(phone.clock.pendingTimers, 0);
  }
  const live = open();
  await live.start();
  const call = listener();
  live.participant.attach(call);
  await settled();
  live.receive({ event: 'media', media: { payload: '***' } });
  t.same(live.ended, [[4400, 'malformed']]);
  t.same(call.heard, [['gone', { by: 'carrier', lost: false }]]);
});

void t.test('rule 21: marks of before a clear prove nothing', async (t) => {
  for (const carrier of ['plivo', 'twilio', 'telnyx'] as const) {
    const { participant, start, sent, receive } = open(carrier);
    await start();
    const call = listener();
    participant.attach(call);
    await settled();
    const back = (message: { event: string; name?: unknown; mark?: unknown }) =>
      receive(
        carrier === 'plivo'
          ? { event: 'playedStream', name: message.name }
          : { event: 'mark', mark: message.mark },
      );
    const audio = new Uint8Array(160);
    participant.play(audio, 0, 'a.b');
    participant.play(audio, 20, 'c');
    const [, first, , second] = sent.splice(0);
    back(first!);
    participant.clear();
    back(second!);
    participant.play(audio, 40, 'd');
    t.equal(sent[0]!.event, carrier === 'plivo' ? 'clearAudio' : 'clear');
    back(sent[2]!);
    back({ event: '', name: 'unknown', mark: { name: 'unknown' } });
    t.same(call.heard, [
      ['mark', 'a.b'],
      ['mark', 'd'],
    ]);
  }
});

void t.test('a long stretch of audio goes out in messages the carrier takes', async (t) => {
  const { participant, start, sent } = open('plivo');
  await start('received-start-l16');
  const bytes = Uint8Array.from({ length: 32_000 }, (_, i) => i & 0xff);
  participant.play(bytes, 0);
  const parts = sent.map(({ media }) => Buffer.from((media as { payload: string }).payload, 'base64'));
  t.ok(parts.every((part) => part.length <= 12_000 && part.length % 2 === 0));
  t.ok(Buffer.concat(parts).equals(bytes));
});

void t.test('half a sample is left out', async (t) => {
  const { participant, start, media } = open('plivo');
  await start('received-start-l16');
  const call = listener();
  participant.attach(call);
  await settled();
  media(1, {}, 641);
  t.same(call.heard, [['audio', 1, 640, undefined]]);
});

void t.test('media of Telnyx is put in order', async (t) => {
  const { participant, start, media } = open('telnyx');
  await start();
  const call = listener();
  participant.attach(call);
  await settled();
  for (const chunk of [1, 3, 2, 4]) media(chunk, { chunk: String(chunk) });
  t.same(
    call.heard.map((item) => (item as unknown[])[1]),
    [1, 2, 3, 4],
  );
});

void t.test('rule 37: digits go out on the stream where the carrier has a message for them', async (t) => {
  const { participant, start, sent } = open('plivo');
  await start();
  t.equal(participant.dtmfOut, 'socket');
  participant.sendDtmf('1#');
  t.same(sent, [{ event: 'sendDTMF', dtmf: '1#' }]);
  t.equal(open('twilio').participant.dtmfOut, 'tones');
  t.equal(open('telnyx').participant.dtmfOut, 'carrier_command');
});

void t.test('a silent line is pinged, and a pong is a sign of life', async (t) => {
  const { participant, start, media, clock, pings, ended } = open();
  await start();
  for (let i = 0; i < 5; i++) {
    clock.advance(1000);
    media(1);
  }
  t.equal(pings(), 0, 'audio is sign enough');
  clock.advance(4000);
  t.equal(pings(), 1);
  clock.advance(4000);
  t.equal(pings(), 3, 'again, while nothing comes');
  participant.onPong();
  clock.advance(8000);
  t.same(ended, [], 'silent for eight seconds twice, and for twelve never');
  clock.advance(4000);
  t.same(ended, [[1001, 'media_timeout']]);
});

void t.test(
  'rule 19: a line that gives no sign of life is given up, one that answers pings is not',
  async (t) => {
    const { participant, start, clock, ended } = open();
    await start();
    const call = listener();
    participant.attach(call);
    await settled();
    for (let i = 0; i < 30; i++) {
      clock.advance(2000);
      participant.onPong();
    }
    t.same(call.heard, []);
    clock.advance(12_000);
    t.same(call.heard, [['gone', { by: 'carrier', lost: true }]]);
    t.same(ended, [[1001, 'media_timeout']]);
    t.equal(clock.pendingTimers, 0);
  },
);
