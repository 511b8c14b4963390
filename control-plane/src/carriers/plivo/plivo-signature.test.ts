import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';
import t from 'tap';
import type { CarrierRequest } from '../carrier.ts';
import { PlivoCarrier } from './plivo-carrier.ts';
import { signatureBase, verifyPlivoUpgrade, verifyPlivoWebhook } from './plivo-signature.ts';

/** What these tests ask of the vendor's Node SDK. Its own types are not those of its code. */
interface Sdk {
  validateV3Signature(
    method: string,
    url: string,
    nonce: string,
    token: string,
    signature: string,
    fields: Record<string, string>,
  ): boolean;
  Response: new () => {
    addStream(url: string, attributes: object): void;
    addHangup(attributes?: object): void;
    addSpeak(text: string, attributes: object): void;
    addDial(attributes: object): { addNumber(number: string, attributes?: { sendDigits: string }): void };
    toXML(): string;
  };
}
const sdk = createRequire(import.meta.url)('plivo') as Sdk;

// Vectors made with the vendor's Node SDK, `validateV3Signature`.
const TOKEN = 'plivo-fake-auth-token-0001';
const NONCE = '12345678901234567890';

function request(
  method: 'GET' | 'POST',
  url: string,
  signature: string,
  fields?: Record<string, string>,
): CarrierRequest {
  return {
    method,
    url,
    headers: {
      'x-plivo-signature-v3': signature,
      'x-plivo-signature-v3-nonce': NONCE,
      ...(fields ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    },
    body: Buffer.from(fields ? new URLSearchParams(fields).toString() : ''),
  };
}

const P1 = request(
  'POST',
  'https://voice.example.com/plivo/answer?tenant=acme%20co&b=2',
  '5ZvxdBsPSSdgjqk2mwEb7FE0R283GsVKB/I8V5AuJYs=',
  {
    CallUUID: '0c1f2b3a-1111-4222-8333-444455556666',
    From: '919876543210',
    To: '918012345678',
    Direction: 'inbound',
    CallStatus: 'ringing',
    Event: 'StartApp',
  },
);

void t.test('requests signed as the vendor signs them pass', (t) => {
  const cases: [string, CarrierRequest][] = [
    ['POST with fields and query', P1],
    [
      'POST with fields',
      request(
        'POST',
        'https://voice.example.com/plivo/hangup',
        'Teg698AN5M/pnEvFF2rNO0ivAh53B4xlxMPORGAHfgA=',
        {
          CallUUID: 'u-1',
          Event: 'Hangup',
        },
      ),
    ],
    [
      'GET with query',
      request(
        'GET',
        'https://voice.example.com/plivo/answer?z=1&a=2',
        'kPDNL6bWBZxk5n6mi8yWGwKPHCKy3krLXvQshE1m5h8=',
      ),
    ],
    [
      'POST without fields',
      request(
        'POST',
        'https://voice.example.com/plivo/hangup',
        'i7zEJPGPzkZrYAesWSoKe2kiPh1z/fuuRmVRLhL1JMA=',
      ),
    ],
  ];
  for (const [name, signed] of cases) t.ok(verifyPlivoWebhook(signed, TOKEN), name);
  t.end();
});

void t.test('the signed text sorts fields by key and writes them without separators', (t) => {
  t.equal(
    signatureBase(P1.url, new URLSearchParams(P1.body.toString())),
    'https://voice.example.com/plivo/answer?b=2&tenant=acme co.CallStatusringing' +
      'CallUUID0c1f2b3a-1111-4222-8333-444455556666DirectioninboundEventStartAppFrom919876543210To918012345678',
  );
  t.end();
});

void t.test('upgrades pass in each form the vendor has been seen to sign', (t) => {
  const url = 'wss://media.example.com/ws/plivo/T1';
  const cases: [string, string, string][] = [
    ['http', url, 'qNuqrUxDDrpIlOpGHdf5MP9RfLeg6erOSomYZOGZ1Zc='],
    ['wss', url, 'iJW0xr1NBe1zj9aP7VvUK4+MnM/pm10A/mw1/BVCwZ0='],
    ['https', url, 'cYDgysqQqXrXX4cj/EWhwIvJs+AAqf7NZJG551PJatk='],
    [
      'port and query kept',
      'wss://media.example.com:8080/ws/plivo?ticket=T1',
      '/cVQiHj6OcxvOTOmtETj0uFQWceX72zLGN4uXQFrHtw=',
    ],
  ];
  for (const [name, dialled, signature] of cases) {
    const headers = { 'x-plivo-signature-v3': signature, 'x-plivo-signature-v3-nonce': NONCE };
    t.ok(verifyPlivoUpgrade(dialled, headers, TOKEN), name);
    t.notOk(verifyPlivoUpgrade(`${dialled}x`, headers, TOKEN), `${name}, other ticket`);
  }
  t.end();
});

void t.test('the header may hold several signatures, and the main account’s counts too', (t) => {
  const signature = P1.headers['x-plivo-signature-v3']!;
  t.ok(
    verifyPlivoWebhook(
      { ...P1, headers: { ...P1.headers, 'x-plivo-signature-v3': `AAAA, ${signature}` } },
      TOKEN,
    ),
  );
  const { 'x-plivo-signature-v3': _own, ...others } = P1.headers;
  t.ok(verifyPlivoWebhook({ ...P1, headers: { ...others, 'x-plivo-signature-ma-v3': signature } }, TOKEN));
  t.end();
});

void t.test('anything changed is refused', (t) => {
  const without = (name: string) => ({ ...P1, headers: { ...P1.headers, [name]: undefined } });
  const cases: [string, CarrierRequest, string][] = [
    ['another token', P1, 'plivo-fake-auth-token-0002'],
    ['another body', { ...P1, body: Buffer.from(`${P1.body.toString()}&X=1`) }, TOKEN],
    ['another query', { ...P1, url: P1.url.replace('b=2', 'b=3') }, TOKEN],
    ['a trailing slash', { ...P1, url: P1.url.replace('/answer', '/answer/') }, TOKEN],
    ['no nonce', without('x-plivo-signature-v3-nonce'), TOKEN],
    ['no signature', without('x-plivo-signature-v3'), TOKEN],
    ['an empty signature', { ...P1, headers: { ...P1.headers, 'x-plivo-signature-v3': '' } }, TOKEN],
  ];
  for (const [name, changed, token] of cases) t.notOk(verifyPlivoWebhook(changed, token), name);
  t.end();
});

void t.test('the old signature that leaves the body out is no way in', (t) => {
  const { 'x-plivo-signature-v3': signature, ...others } = P1.headers;
  t.notOk(
    verifyPlivoWebhook(
      {
        ...P1,
        headers: { ...others, 'x-plivo-signature-v2': signature, 'x-plivo-signature-v2-nonce': NONCE },
      },
      TOKEN,
    ),
  );
  t.end();
});

void t.test("the vendor's SDK takes the same text for signed", async (t) => {
  const urls = [
    'https://voice.example.com/plivo/answer',
    'https://voice.example.com:8443/plivo/answer?z=1&a=2',
    'https://voice.example.com/plivo/answer?tenant=acme%20co&b=%C3%BC',
  ];
  const forms = [
    undefined,
    { To: '918012345678', From: '919876543210' },
    { Name: 'Jürgen & Söhne', Empty: '' },
  ];
  for (const url of urls)
    for (const fields of forms) {
      const method = fields ? 'POST' : 'GET';
      const base = signatureBase(url, fields && new URLSearchParams(fields));
      const signature = createHmac('sha256', TOKEN).update(`${base}.${NONCE}`).digest('base64');
      t.ok(
        sdk.validateV3Signature(method, url, NONCE, TOKEN, signature, fields ?? {}),
        `${method} ${url} ${JSON.stringify(fields)}`,
      );
    }
});

void t.test("documents are those that the vendor's SDK writes", async (t) => {
  const carrier = new PlivoCarrier({ authId: 'MA1', authToken: TOKEN });
  const withoutHead = ({ body }: { body: string }) => body.replace(/^<\?xml[^>]*>\n/, '');
  const [streamUrl, statusUrl] = [
    'wss://media.example.com/s/1?a=1&b=<2>',
    'https://voice.example.com/s?a=1&b=2',
  ];
  const stream = new sdk.Response();
  stream.addStream(streamUrl, {
    bidirectional: true,
    keepCallAlive: true,
    audioTrack: 'inbound',
    contentType: 'audio/x-mulaw;rate=8000',
    streamTimeout: 86400,
    statusCallbackUrl: statusUrl,
    statusCallbackMethod: 'POST',
  });
  stream.addHangup();
  t.equal(withoutHead(await carrier.answer('c-1', { streamUrl, statusUrl })), stream.toXML());

  const dial = new sdk.Response();
  const attributes = {
    callerId: '14155550100',
    timeout: 20,
    action: statusUrl,
    method: 'POST',
    redirect: true,
  };
  dial.addDial(attributes).addNumber('4915112345678', { sendDigits: 'ww12' });
  dial.addHangup();
  const transfer = carrier.transferDocument({
    transferId: 'tr-1',
    to: '+4915112345678',
    extension: 'ww12',
    callerId: '+14155550100',
    ringTimeoutSeconds: 20,
    resultUrl: statusUrl,
    documentUrl: statusUrl,
  });
  t.equal(withoutHead(transfer), dial.toXML());

  const spoken = new sdk.Response();
  spoken.addSpeak('Wir haben zu.', { voice: 'WOMAN', language: 'de-DE' });
  const result = { action: statusUrl, method: 'POST', redirect: true };
  spoken.addDial({ callerId: '14155550100', timeout: 30, ...result }).addNumber('4915112345678');
  spoken.addHangup();
  const treated = await carrier.treat('c-1', {
    say: { text: 'Wir haben zu.', language: 'de' },
    forward: { to: '+4915112345678', callerId: '+14155550100', ringTimeoutSeconds: 30, resultUrl: statusUrl },
  });
  t.equal(withoutHead(treated), spoken.toXML());

  const refusal = new sdk.Response();
  refusal.addHangup({ reason: 'busy' });
  t.equal(withoutHead(await carrier.refuse('c-1', 'busy')), refusal.toXML());
});
