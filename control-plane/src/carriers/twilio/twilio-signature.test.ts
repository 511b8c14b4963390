import { createHmac } from 'node:crypto';
import t from 'tap';
import type { CarrierRequest } from '../carrier.ts';
import { verifyTwilioUpgrade, verifyTwilioWebhook } from './twilio-signature.ts';

// Vectors made with the vendor's Node SDK.
const TOKEN = '0123456789abcdef0123456789abcdef';

const T1: CarrierRequest = {
  method: 'POST',
  url: 'https://voice.example.com/twilio/answer?tenant=acme',
  headers: {
    'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
    'x-twilio-signature': 'GqudvktBi0lh+1O56tsnYI2bt/U=',
  },
  body: Buffer.from(
    new URLSearchParams({
      To: '+15553334444',
      AccountSid: 'AC00000000000000000000000000000001',
      ApiVersion: '2010-04-01',
      CallSid: 'CA00000000000000000000000000000002',
      CallStatus: 'ringing',
      Direction: 'inbound',
      From: '+15551112222',
    }).toString(),
  ),
};

const T3: CarrierRequest = {
  method: 'POST',
  url: 'https://voice.example.com/twilio/json?bodySHA256=015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862',
  headers: { 'content-type': 'application/json', 'x-twilio-signature': 'oTwkXIasw4FewPiuYxI4IaMllNI=' },
  body: Buffer.from('{"a":1}'),
};

void t.test('requests signed as the vendor signs them pass', (t) => {
  t.ok(verifyTwilioWebhook(T1, TOKEN), 'form');
  t.ok(verifyTwilioWebhook(T3, TOKEN), 'JSON by digest');
  t.end();
});

void t.test('a field that comes several times is signed with each of its values once, in order', (t) => {
  const signed = (fields: string, text: string) => {
    const signature = createHmac('sha1', TOKEN)
      .update(T1.url + text)
      .digest('base64');
    const request = {
      ...T1,
      headers: { ...T1.headers, 'x-twilio-signature': signature },
      body: Buffer.from(fields),
    };
    return verifyTwilioWebhook(request, TOKEN);
  };
  // https://www.twilio.com/docs/usage/security#validating-requests, and `toFormUrlEncodedParam` of the vendor's SDK.
  t.ok(signed('Digits=5&Tag=b&Tag=a', 'Digits5TagaTagb'));
  t.ok(signed('Tag=a&Digits=5&Tag=a', 'Digits5Taga'));
  t.ok(signed('b=1&B=2&a=3', 'B2a3b1'), 'names in the order of their codes');
  t.notOk(signed('Digits=5&Tag=b&Tag=a', 'Digits5TagbTaga'));
  t.notOk(signed('Digits=5&Tag=b&Tag=a', 'Digits5Taga'));
  t.notOk(signed('Tag=a&Tag=a', 'TagaTaga'));
  t.end();
});

void t.test('upgrades are signed over the wss URL, with or without the port', (t) => {
  const headers = { 'x-twilio-signature': 'Yz2Lj3OPofOrmn2RZ3w8UFQdFwA=' };
  const path = '/ws/twilio/T1';
  t.ok(verifyTwilioUpgrade(`wss://media.example.com${path}`, headers, TOKEN));
  t.ok(verifyTwilioUpgrade(`wss://media.example.com:443${path}`, headers, TOKEN));
  t.notOk(verifyTwilioUpgrade(`https://media.example.com${path}`, headers, TOKEN), 'another scheme');
  t.notOk(verifyTwilioUpgrade(`wss://media.example.com${path}2`, headers, TOKEN), 'another ticket');
  t.notOk(verifyTwilioUpgrade(`wss://media.example.com${path}`, {}, TOKEN), 'no signature');
  t.end();
});

void t.test('anything changed is refused', (t) => {
  const cases: [string, CarrierRequest, string][] = [
    ['another token', T1, `${TOKEN}0`],
    ['a field more', { ...T1, body: Buffer.from(`${T1.body.toString()}&X=1`) }, TOKEN],
    ['another query', { ...T1, url: `${T1.url}x` }, TOKEN],
    ['a body that is not the digest’s', { ...T3, body: Buffer.from('{"a":2}') }, TOKEN],
    ['a body without a digest', { ...T3, url: 'https://voice.example.com/twilio/json' }, TOKEN],
    ['no signature', { ...T1, headers: { 'content-type': 'application/x-www-form-urlencoded' } }, TOKEN],
  ];
  for (const [name, changed, token] of cases) t.notOk(verifyTwilioWebhook(changed, token), name);
  t.end();
});
