import { Webhook } from 'standardwebhooks';
import t from 'tap';
import {
  newWebhookSecret,
  signWebhook,
  signWebhookBody,
  standardWebhooksHeaders,
  standardWebhooksSecret,
  verifyWebhook,
  type SignatureCheck,
} from './webhook-signature.ts';

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
const body = '{"phoneNumber":"+14155550100","variables":{"name":"Asha"}}';
const at = 1_767_225_600;
const nowMs = at * 1000;
const v1 = '76d0c6e17cfdbe45af9d163b3c10196095c4058787bc95dd80c5ada5cb2c0203';
const signed = `t=${at},v1=${v1}`;
const bodyOnly = 'sha256=240bf98b7baa688319b8620a97f1a1aeca205bc5b241a24aaa22a15f36909dbd';

void t.test('the published vectors hold', async (t) => {
  t.equal(signWebhook(secret, body, nowMs + 999), signed);
  t.equal(signWebhook([secret], Buffer.from(body), nowMs), signed);
  t.equal(signWebhookBody(secret, body), bodyOnly);
  t.same(verifyWebhook(secret, signed, Buffer.from(body), nowMs), { ok: true, form: 'timestamp' });
  t.same(verifyWebhook(secret, bodyOnly, body, nowMs, { allowBodyForm: true }), { ok: true, form: 'body' });
});

void t.test('the library of Standard Webhooks verifies the second scheme with the same secret', async (t) => {
  const receiver = new Webhook(standardWebhooksSecret(secret));
  // The library looks at the real time.
  const now = Date.now();
  const headers = standardWebhooksHeaders([newWebhookSecret(), secret], 'whd_1', body, now);
  t.same(receiver.verify(body, headers), JSON.parse(body), 'one of two secrets, while they overlap');
  const mistakes = [
    standardWebhooksHeaders([newWebhookSecret()], 'whd_1', body, now),
    standardWebhooksHeaders([secret], 'whd_1', body, now - 600_000),
    { ...headers, 'webhook-id': 'whd_2' },
  ];
  for (const wrong of mistakes) t.throws(() => receiver.verify(body, wrong));
  t.throws(() => receiver.verify(`${body} `, headers));
});

void t.test('a signature is accepted or refused for what it is', async (t) => {
  const other = newWebhookSecret();
  const wrong = '0'.repeat(64);
  const cases: [
    string,
    string | undefined,
    SignatureCheck,
    { now?: number; body?: string; secrets?: string[] }?,
  ][] = [
    ['absent', undefined, { ok: false, code: 'missing_signature' }],
    ['empty', '', { ok: false, code: 'missing_signature' }],
    ['upper-case digits', `t=${at},v1=${v1.toUpperCase()}`, { ok: true, form: 'timestamp' }],
    ['spaces between parts', `t=${at}, v1=${v1}`, { ok: true, form: 'timestamp' }],
    ['unknown parts', `t=${at},v0=abc,v1=${v1}`, { ok: true, form: 'timestamp' }],
    ['one match of several values', `t=${at},v1=${wrong},v1=${v1}`, { ok: true, form: 'timestamp' }],
    ['one match of several secrets', signed, { ok: true, form: 'timestamp' }, { secrets: [other, secret] }],
    ['no match', `t=${at},v1=${wrong}`, { ok: false, code: 'signature_mismatch' }],
    ['another secret', signed, { ok: false, code: 'signature_mismatch' }, { secrets: [other] }],
    ['no secret at all', signed, { ok: false, code: 'signature_mismatch' }, { secrets: [] }],
    ['another body', signed, { ok: false, code: 'signature_mismatch' }, { body: `${body} ` }],
    ['another time than signed', `t=${at + 1},v1=${v1}`, { ok: false, code: 'signature_mismatch' }],
    ['300 s late', signed, { ok: true, form: 'timestamp' }, { now: nowMs + 300_000 }],
    ['later', signed, { ok: false, code: 'stale_signature' }, { now: nowMs + 300_001 }],
    ['from the future', signed, { ok: false, code: 'stale_signature' }, { now: nowMs - 300_001 }],
    ['stale and wrong', `t=${at},v1=${wrong}`, { ok: false, code: 'signature_mismatch' }, { now: 0 }],
    ['no time', `v1=${v1}`, { ok: false, code: 'malformed_signature' }],
    ['two times', `t=${at},t=${at},v1=${v1}`, { ok: false, code: 'malformed_signature' }],
    ['a time that is no number', `t=now,v1=${v1}`, { ok: false, code: 'malformed_signature' }],
    ['a short value', `t=${at},v1=${v1.slice(1)}`, { ok: false, code: 'malformed_signature' }],
    ['too many values', `t=${at}${`,v1=${v1}`.repeat(11)}`, { ok: false, code: 'malformed_signature' }],
    ['the form without time', bodyOnly, { ok: false, code: 'malformed_signature' }],
    ['noise', 'hello', { ok: false, code: 'malformed_signature' }],
  ];
  for (const [name, header, expected, given = {}] of cases) {
    const check = verifyWebhook(given.secrets ?? secret, header, given.body ?? body, given.now ?? nowMs);
    t.same(check, expected, name);
  }
});

void t.test('the form without time needs the right secret too', async (t) => {
  const check = verifyWebhook(newWebhookSecret(), bodyOnly, body, nowMs, { allowBodyForm: true });
  t.same(check, { ok: false, code: 'signature_mismatch' });
  t.same(verifyWebhook([newWebhookSecret(), secret], bodyOnly, body, 0, { allowBodyForm: true }), {
    ok: true,
    form: 'body',
  });
});

void t.test('while a secret is being replaced both sign', async (t) => {
  const next = newWebhookSecret();
  const header = signWebhook([next, secret], body, nowMs);
  t.ok(verifyWebhook(secret, header, body, nowMs).ok);
  t.ok(verifyWebhook(next, header, body, nowMs).ok);
});

void t.test('secrets are 32 random bytes in base64url', async (t) => {
  const made = newWebhookSecret();
  t.match(made, /^whsec_[A-Za-z0-9_-]{43}$/);
  t.not(newWebhookSecret(), made);
});
