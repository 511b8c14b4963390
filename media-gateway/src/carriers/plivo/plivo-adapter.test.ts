import { readFile } from 'node:fs/promises';
import t from 'tap';
import { carrierConformance } from '../carrier-adapter.conformance.ts';
import { PlivoAdapter } from './plivo-adapter.ts';

const fixtures = new URL('fixtures/', import.meta.url);
const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;
const AUDIO = Uint8Array.of(0xff, 0xfe, 0xfe, 0xff);

carrierConformance(t, {
  create: () => new PlivoAdapter(),
  fixtures,
  received: {
    'received-start': {
      type: 'started',
      streamId: '7d0e1f22-aaaa-4bbb-8ccc-000011112222',
      carrierCallId: '0c1f2b3a-1111-4222-8333-444455556666',
    },
    'received-start-l16': {
      type: 'started',
      streamId: '7d0e1f22-aaaa-4bbb-8ccc-000011112222',
      carrierCallId: '0c1f2b3a-1111-4222-8333-444455556666',
    },
    'received-media': { type: 'audio', bytes: AUDIO, chunk: 1, timestampMs: 1_767_323_045_123 },
    'received-dtmf': { type: 'dtmf', digit: '5' },
    'received-played-stream': { type: 'played', mark: 'utt-3' },
    'received-cleared-audio': undefined,
    'received-play-failed': { type: 'complaint', code: 'buffer_overflow' },
    'received-stop': { type: 'stopped' },
  },
  sent: {
    'sent-play-audio': { type: 'play', bytes: AUDIO },
    'sent-checkpoint': { type: 'mark', name: 'utt-3' },
    'sent-clear-audio': { type: 'clear' },
    'sent-dtmf': { type: 'dtmf', digits: '12#' },
  },
  formats: [
    { encoding: 'audio/x-mulaw', sampleRate: 8000, input: PCMU, output: PCMU },
    ...[8000, 16_000, 24_000].map((sampleRate) => {
      const format = { encoding: 'pcm16', sampleRate } as const;
      return { encoding: 'audio/x-l16', sampleRate, input: format, output: format };
    }),
  ],
});

const read = async (name: string): Promise<Uint8Array> => readFile(new URL(`${name}.json`, fixtures));

void t.test('a stream has the format its start names, for both directions', async (t) => {
  const mulaw = new PlivoAdapter();
  mulaw.decode(await read('received-start'));
  t.same(mulaw.inputFormat, { encoding: 'pcmu', sampleRate: 8000 });
  t.same(mulaw.outputFormat, mulaw.inputFormat);

  const l16 = new PlivoAdapter();
  l16.decode(await read('received-start-l16'));
  t.same(l16.inputFormat, { encoding: 'pcm16', sampleRate: 16_000 });
  const sent = JSON.parse(l16.encode({ type: 'play', bytes: Uint8Array.of(1, 0) })) as { media: unknown };
  t.same(sent.media, { contentType: 'audio/x-l16', sampleRate: 16_000, payload: 'AQA=' });
});

void t.test('L16 is little-endian and passes as it is', async (t) => {
  const adapter = new PlivoAdapter();
  adapter.decode(await read('received-start-l16'));
  const media = '{"event":"media","media":{"track":"inbound","payload":"NBI="}}';
  t.match(adapter.decode(new TextEncoder().encode(media)), { bytes: Uint8Array.of(0x34, 0x12) });
});

void t.test('a rate written into the content type is not minded', async (t) => {
  const text = (await read('received-start')).toString().replace('x-mulaw', 'x-mulaw;rate=8000');
  const adapter = new PlivoAdapter();
  t.match(adapter.decode(new TextEncoder().encode(text)), { type: 'started' });
  const sent = adapter.encode({ type: 'play', bytes: Uint8Array.of(0xff) });
  t.match(sent, '"contentType":"audio/x-mulaw","sampleRate":8000', 'and is not sent back');
});

void t.test('a stop without any contents is a stop', async (t) => {
  t.same(new PlivoAdapter().decode(new TextEncoder().encode('{"event":"stop"}')), { type: 'stopped' });
});

void t.test('mu-law exists at 8 kHz only', async (t) => {
  const text = (await read('received-start')).toString().replace('8000', '16000');
  t.throws(() => new PlivoAdapter().decode(new TextEncoder().encode(text)), { code: 'codec_not_agreed' });
});

void t.test('one play stays below 16 KB of base64', async (t) => {
  const adapter = new PlivoAdapter();
  adapter.decode(await read('received-start'));
  const message = adapter.encode({ type: 'play', bytes: new Uint8Array(adapter.maxAudioBytes) });
  t.ok(message.length <= 16_384 + 100);
});
