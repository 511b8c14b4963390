import t from 'tap';
import type { CarrierRequest } from '../carrier.ts';
import { verifyTelnyxWebhook } from './telnyx-signature.ts';

// Checked with the vendor's Node SDK. The private seed is the bytes 00 … 1f.
const publicKey = 'A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=';
const AT = 1767323045;
const VECTOR: CarrierRequest = {
  method: 'POST',
  url: 'https://voice.example.com/telnyx/events',
  headers: {
    'content-type': 'application/json',
    'telnyx-timestamp': String(AT),
    'telnyx-signature-ed25519':
      'qj8yPASWVEaaLqyb4tnY3Bfp5oRnDsAPNfsJ+jLCtfM/lbgn3SAb5nhU9MJcQbxnumqgK5D3LbCorwosRVywBA==',
  },
  body: Buffer.from(
    '{"data":{"record_type":"event","event_type":"call.answered","id":"0ccc7b54-4df3-4bca-a65a-3da1ecc777f0","occurred_at":"2026-01-02T03:04:05.000000Z","payload":{"call_control_id":"v3:fake","state":"answered"}},"meta":{"attempt":1,"delivered_to":"https://voice.example.com/telnyx/events"}}',
  ),
};

void t.test('a callback signed as the vendor signs it passes within five minutes', (t) => {
  for (const seconds of [0, 299, -299]) {
    t.ok(verifyTelnyxWebhook(VECTOR, { publicKey, nowMs: (AT + seconds) * 1000 }), `${seconds} s`);
  }
  for (const seconds of [302, -302]) {
    t.notOk(verifyTelnyxWebhook(VECTOR, { publicKey, nowMs: (AT + seconds) * 1000 }), `${seconds} s`);
  }
  t.end();
});

void t.test('anything changed is refused', (t) => {
  const nowMs = AT * 1000;
  const changed = (headers: Record<string, string>) => ({
    ...VECTOR,
    headers: { ...VECTOR.headers, ...headers },
  });
  const cases: [string, CarrierRequest, string][] = [
    ['another body', { ...VECTOR, body: Buffer.concat([VECTOR.body, Buffer.from(' ')]) }, publicKey],
    ['another time', changed({ 'telnyx-timestamp': String(AT + 1) }), publicKey],
    ['a time that is none', changed({ 'telnyx-timestamp': 'now' }), publicKey],
    ['no signature', changed({ 'telnyx-signature-ed25519': '' }), publicKey],
    ['a GET, whose query is not signed', { ...VECTOR, method: 'GET' }, publicKey],
    ['another key', VECTOR, Buffer.alloc(32, 7).toString('base64')],
    ['a key that is none', VECTOR, 'short'],
  ];
  for (const [name, request, key] of cases) {
    t.notOk(verifyTelnyxWebhook(request, { publicKey: key, nowMs }), name);
  }
  t.end();
});
