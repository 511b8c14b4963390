import { randomUUID } from 'node:crypto';
import t from 'tap';
import { mulawToAlaw } from '@parley/shared/audio/g711';
import { dialects, type CarrierDialect } from '@parley/emulators/callers/carrier-dialect';
import { CarrierLine } from '@parley/emulators/callers/carrier-line';
import { toL16, withEncoding, withStart } from '@parley/emulators/callers/stream-dialect';
import { CALLER_LINES } from '../src/demonstration/script.ts';
import type { NewSession } from './fixtures/system/installation.ts';
import { openTestPlatform } from './fixtures/system/test-platform.ts';

// A whole call in every form that a carrier's stream may have: what the caller says is understood, and the agent is
// heard. Some of them at once.

const test = await openTestPlatform({ env: { VOICE_MODEL: 'on' } });
t.teardown(() => test[Symbol.asyncDispose]());
const { installation } = test;
t.jobs = 4;

const plivoL16 = (sampleRate: number) =>
  withStart(withEncoding(dialects.plivo, toL16(sampleRate)), ({ start }) => {
    start['mediaFormat'] = { encoding: 'audio/x-l16', sampleRate };
  });
/** RTP's payload: network byte order. */
const telnyxL16 = (sampleRate: number) => {
  const convert = toL16(sampleRate);
  return telnyx('L16', sampleRate, (mulaw) => Buffer.from(convert(mulaw)).swap16());
};
const telnyx = (encoding: string, sampleRate: number, convert: (mulaw: Uint8Array) => Uint8Array) =>
  withStart(withEncoding(dialects.telnyx, convert), ({ start }) => {
    start['media_format'] = { encoding, sample_rate: sampleRate, channels: 1 };
  });

const formats: [string, CarrierDialect, { encoding: string; sample_rate: number }][] = [
  ['PCMU', dialects.plivo, { encoding: 'pcmu', sample_rate: 8000 }],
  ['PCMU', dialects.twilio, { encoding: 'pcmu', sample_rate: 8000 }],
  ['PCMU', dialects.telnyx, { encoding: 'pcmu', sample_rate: 8000 }],
  ['PCMA', telnyx('PCMA', 8000, mulawToAlaw), { encoding: 'pcma', sample_rate: 8000 }],
  ...[8000, 16_000, 24_000].flatMap(
    (rate): [string, CarrierDialect, { encoding: string; sample_rate: number }][] => [
      ['L16', plivoL16(rate), { encoding: 'pcm16', sample_rate: rate }],
      ['L16', telnyxL16(rate), { encoding: 'pcm16', sample_rate: rate }],
    ],
  ),
];

for (const [name, dialect, expected] of formats) {
  void t.test(
    `${dialect.name}: a call in ${name} at ${expected.sample_rate} Hz`,
    { buffered: true },
    async (t) => {
      const agentId = await installation.agent();
      const session = await installation.rest.post<NewSession>('/v1/sessions', {
        agent_id: agentId,
        channel: 'telephony',
        provider: dialect.name,
      });
      const violations: string[] = [];
      const line = await CarrierLine.open({
        url: `${session.media_ws_url}/${session.ws_ticket}`,
        carrier: dialect,
        ids: {
          callId: randomUUID(),
          streamId: randomUUID(),
          accountId: 'ACCOUNT',
          from: '+14155550177',
          to: '+14155550178',
          sequence: 0,
        },
        events: { onViolation: (what) => void violations.push(what) },
      });
      await installation.converse(line, CALLER_LINES.hours);
      t.ok(line.playback.lastVoiceAt > 0, 'the agent was heard');
      t.same(violations, [], 'in a form that the carrier takes');
      line.hangUp();
      await line.closed;
      t.match(await installation.ended(session.session_id), { hangup_reason: 'caller_hangup' });
      const texts = (await installation.transcript(session.session_id)).map(({ role, text }) => [role, text]);
      t.same(texts.slice(0, 2), [
        ['agent', 'Hello.'],
        ['caller', CALLER_LINES.hours],
      ]);
      t.match(texts[2], ['agent', /until eleven/]);
      const events = await installation.events(session.session_id);
      t.match(events.find(({ type }) => type === 'call_started')?.data, expected);
    },
  );
}
