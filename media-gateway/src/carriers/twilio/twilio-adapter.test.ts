import { readFile } from 'node:fs/promises';
import t from 'tap';
import { carrierConformance } from '../carrier-adapter.conformance.ts';
import { TwilioAdapter } from './twilio-adapter.ts';

const fixtures = new URL('fixtures/', import.meta.url);
const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;
const AUDIO = Uint8Array.of(0xff, 0xfe, 0xfe, 0xff);

carrierConformance(t, {
  create: () => new TwilioAdapter(),
  fixtures,
  received: {
    'received-connected': undefined,
    'received-start': {
      type: 'started',
      streamId: 'MZ00000000000000000000000000000003',
      carrierCallId: 'CA00000000000000000000000000000002',
    },
    'received-media': { type: 'audio', bytes: AUDIO, chunk: 1, timestampMs: 20 },
    'received-dtmf': { type: 'dtmf', digit: '5' },
    'received-mark': { type: 'played', mark: 'utt-3' },
    'received-stop': { type: 'stopped' },
  },
  sent: {
    'sent-media': { type: 'play', bytes: AUDIO },
    'sent-mark': { type: 'mark', name: 'utt-3' },
    'sent-clear': { type: 'clear' },
  },
  formats: [{ encoding: 'audio/x-mulaw', sampleRate: 8000, input: PCMU, output: PCMU }],
});

void t.test('digits are never sent on the stream, which has no message for them', async (t) => {
  const adapter = new TwilioAdapter();
  adapter.decode(await readFile(new URL('received-start.json', fixtures)));
  t.equal(adapter.dtmfOut, 'tones');
  t.throws(() => adapter.encode({ type: 'dtmf', digits: '1' }), /cannot send DTMF/);
});

void t.test('a digit on a track of another name is a digit', async (t) => {
  const adapter = new TwilioAdapter();
  const message = '{"event":"dtmf","dtmf":{"track":"inbound_track","digit":"#"}}';
  t.same(adapter.decode(new TextEncoder().encode(message)), { type: 'dtmf', digit: '#' });
});
