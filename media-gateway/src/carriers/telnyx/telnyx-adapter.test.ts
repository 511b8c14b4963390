import { readFile } from 'node:fs/promises';
import t from 'tap';
import { carrierConformance } from '../carrier-adapter.conformance.ts';
import { TelnyxAdapter } from './telnyx-adapter.ts';

const fixtures = new URL('fixtures/', import.meta.url);
const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;
const AUDIO = Uint8Array.of(0xff, 0xfe, 0xfe, 0xff);
const STARTED = {
  type: 'started',
  streamId: '32de0dea-0000-4000-8000-00000000abcd',
  carrierCallId: 'v3:fake',
} as const;

carrierConformance(t, {
  create: () => new TelnyxAdapter(),
  fixtures,
  received: {
    'received-connected': undefined,
    'received-start': STARTED,
    'received-start-pcma': STARTED,
    'received-start-l16': STARTED,
    'received-media': { type: 'audio', bytes: AUDIO, chunk: 2, timestampMs: 5 },
    'received-dtmf': { type: 'dtmf', digit: '1' },
    'received-mark': { type: 'played', mark: 'utt-3' },
    'received-error': { type: 'complaint', code: 'malformed_frame' },
    'received-stop': { type: 'stopped' },
  },
  sent: {
    'sent-media': { type: 'play', bytes: new Uint8Array(160).fill(0x7f) },
    'sent-mark': { type: 'mark', name: 'utt-3' },
    'sent-clear': { type: 'clear' },
  },
  formats: [
    { encoding: 'PCMU', sampleRate: 8000, input: PCMU, output: PCMU },
    { encoding: 'PCMA', sampleRate: 8000, input: { encoding: 'pcma', sampleRate: 8000 }, output: PCMU },
    ...[8000, 16_000, 24_000].map((sampleRate) => ({
      encoding: 'L16',
      sampleRate,
      input: { encoding: 'pcm16', sampleRate } as const,
      output: PCMU,
      isNetworkOrder: true,
    })),
  ],
});

const started = async (fixture = 'received-start'): Promise<TelnyxAdapter> => {
  const adapter = new TelnyxAdapter();
  adapter.decode(await readFile(new URL(`${fixture}.json`, fixtures)));
  return adapter;
};

void t.test('an A-law leg is heard as A-law, while we speak the mu-law we asked for', async (t) => {
  const adapter = await started('received-start-pcma');
  t.same(adapter.inputFormat, { encoding: 'pcma', sampleRate: 8000 });
  t.same(adapter.outputFormat, { encoding: 'pcmu', sampleRate: 8000 });
});

void t.test('L16 comes in network byte order, on the fast path and off it', async (t) => {
  const adapter = await started('received-start-l16');
  t.same(adapter.inputFormat, { encoding: 'pcm16', sampleRate: 16_000 });
  const media = '{"event":"media","media":{"track":"inbound","payload":"EjQ="}}';
  const bytes = Uint8Array.of(0x34, 0x12);
  t.match(adapter.decode(new TextEncoder().encode(media)), { bytes });
  t.match(adapter.decode(new TextEncoder().encode(` ${media}`)), { bytes });
});

void t.test('nothing that is sent names the stream', async (t) => {
  const adapter = await started();
  for (const command of [
    { type: 'play', bytes: AUDIO },
    { type: 'mark', name: 'm' },
    { type: 'clear' },
  ] as const) {
    t.notMatch(adapter.encode(command), /stream_?(id|Sid)/i);
  }
});

void t.test('audio below 20 ms is filled up with silence', async (t) => {
  const adapter = await started();
  const { media } = JSON.parse(adapter.encode({ type: 'play', bytes: AUDIO })) as {
    media: { payload: string };
  };
  const bytes = Buffer.from(media.payload, 'base64');
  t.equal(bytes.length, 160);
  t.same(Uint8Array.from(bytes.subarray(0, 4)), AUDIO);
  t.ok(bytes.subarray(4).every((byte) => byte === 0xff));
});

void t.test('codecs of mobile legs that we can not read are refused as such', async (t) => {
  const text = await readFile(new URL('received-start.json', fixtures), 'utf8');
  for (const codec of ['G722', 'OPUS', 'AMR-WB']) {
    const start = new TextEncoder().encode(text.replace('PCMU', codec));
    t.throws(() => new TelnyxAdapter().decode(start), { code: 'codec_not_agreed' });
  }
});
