import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { systemClock } from '@parley/shared/time/clock';
import { openLoopbackServer, type LoopbackAnswer } from '../../test/fixtures/loopback-server.ts';
import { CarrierError, type Carrier } from '../carriers/carrier.ts';
import { carriers } from '../carriers/carriers.ts';
import { checkAccount } from './account-check.ts';

const VOICE = 'https://voice.example.com/voice';
const NUMBER = '+14155550100';
const publicKey = generateKeyPairSync('ed25519')
  .publicKey.export({ format: 'der', type: 'spki' })
  .subarray(-32);
const CREDENTIALS: Record<CarrierName, Record<string, string>> = {
  plivo: { auth_id: 'MA1', auth_token: 'token' },
  twilio: { account_sid: 'AC1', auth_token: 'token' },
  telnyx: { api_key: 'KEY', public_key: publicKey.toString('base64'), connection_id: '42' },
};

/** The vendors' answers by the end of the path that is asked for; 404 with the vendor's body for all else. */
let answers: Record<string, LoopbackAnswer> = {};
const NOT_FOUND = { status: 404, body: { error: 'not found', errors: [] } };
const api = await openLoopbackServer(({ path }) => {
  const known = Object.entries(answers).find(([end]) => decodeURIComponent(path).endsWith(end));
  return known?.[1] ?? NOT_FOUND;
});
t.teardown(() => api[Symbol.asyncDispose]());

const open = (name: CarrierName, credentials = CREDENTIALS[name]) =>
  carriers[name].open(credentials, { clock: systemClock, apiBaseUrl: api.url });
const expected = { voiceUrl: VOICE, numbers: [NUMBER], publicUrl: 'http://127.0.0.1:8080', apiIsOwn: true };

const ok = (body: object): LoopbackAnswer => ({ body });
const plivo = (number: object, application: object = {}) => ({
  'Account/MA1/': ok({}),
  'Number/14155550100/': ok({ number: '14155550100', voice_enabled: true, ...number }),
  'Application/7/': ok(application),
});
const twilio = (...numbers: object[]) => ({
  'Accounts/AC1.json': ok({}),
  [`IncomingPhoneNumbers.json?PhoneNumber=${NUMBER}`]: ok({ incoming_phone_numbers: numbers }),
});
const telnyx = (application: object | null, ...numbers: object[]) => ({
  '/v2/balance': ok({}),
  ...(application && { '/v2/call_control_applications/42': ok({ data: application }) }),
  [`/v2/phone_numbers?filter[phone_number]=${NUMBER}`]: ok({ data: numbers }),
});
const APPLICATION = '/v1/Account/MA1/Application/7/';

void t.test('what is wrong at a carrier is said in words', async (t) => {
  const good = { active: true, webhook_event_url: VOICE };
  const cases: [CarrierName, Record<string, LoopbackAnswer>, [code: string, says: RegExp][]][] = [
    ['plivo', plivo({ application: APPLICATION }, { answer_url: VOICE }), []],
    ['plivo', { 'Account/MA1/': ok({}) }, [['number_missing', /no number \+14155550100 at Plivo/]]],
    ['plivo', plivo({ voice_enabled: false }), [['number_without_voice', /voice is not enabled/]]],
    ['plivo', plivo({ application: null }), [['application_missing', /answer URL is https:\/\/voice/]]],
    [
      'plivo',
      plivo({ application: APPLICATION }, { answer_url: 'https://other.example.com' }),
      [['application_elsewhere', /another address/]],
    ],
    ['twilio', twilio({ voice_url: VOICE, capabilities: { voice: true } }), []],
    ['twilio', twilio(), [['number_missing', /at Twilio/]]],
    ['twilio', twilio({ capabilities: { voice: false } }), [['number_without_voice', /voice capability/]]],
    ['twilio', twilio({ voice_application_sid: 'AP1' }), [['application_elsewhere', /TwiML app/]]],
    ['twilio', twilio({ voice_url: '' }), [['number_elsewhere', /Set its voice URL/]]],
    ['telnyx', telnyx(good, { connection_id: '42' }), []],
    [
      'telnyx',
      telnyx(null, { connection_id: '42' }),
      [['connection_missing', /no Call Control Application/]],
    ],
    ['telnyx', telnyx({ ...good, active: false }, { connection_id: '42' }), [['connection_inactive', /off/]]],
    [
      'telnyx',
      telnyx({ active: true, webhook_event_url: 'https://other.example.com' }, { connection_id: '41' }),
      [
        ['connection_elsewhere', /webhook URL to https:\/\/voice/],
        ['number_elsewhere', /another connection/],
      ],
    ],
    ['telnyx', telnyx(good), [['number_missing', /at Telnyx/]]],
    ['telnyx', telnyx(good, { connection_id: '' }), [['connection_missing', /no connection/]]],
  ];
  for (const [name, given, problems] of cases) {
    answers = given;
    const verdict = await checkAccount(open(name), expected);
    const about = `${name}: ${problems.map(([code]) => code).join() || 'nothing'}`;
    t.equal(verdict.error, null, `${about}: the credentials are good`);
    t.same(
      verdict.problems.map(({ code }) => code),
      problems.map(([code]) => code),
      about,
    );
    for (const [index, [, says]] of problems.entries())
      t.match(verdict.problems[index]!.message, says, about);
  }
  const { connection_id: _, ...inboundOnly } = CREDENTIALS.telnyx;
  answers = telnyx(null, { connection_id: '9' });
  const verdict = await checkAccount(open('telnyx', inboundOnly), expected);
  t.match(verdict, { error: null, problems: [{ code: 'connection_missing', message: /not dialled/ }] });
  t.equal(verdict.problems.length, 1);
});

void t.test('what the carrier refuses or does not answer is told apart', async (t) => {
  for (const [status, code, says] of [
    [401, 'auth', /Plivo refused the credentials.*auth_id, auth_token/],
    [429, 'rate_limit', /too many/],
    [503, 'unavailable', /failed/],
    [404, 'refused', /HTTP 404/],
  ] as const) {
    answers = { 'Account/MA1/': { status, body: {} } };
    const verdict = await checkAccount(open('plivo'), expected);
    t.match(verdict, { error: code, problems: [{ code, message: says }] });
    t.equal(verdict.problems.length, 1);
  }
  const late = Object.create(open('plivo'), {
    verifyCredentials: { value: () => Promise.reject(new CarrierError('plivo', 'timeout')) },
  }) as Carrier;
  t.match(await checkAccount(late, expected), {
    error: 'timeout',
    problems: [{ code: 'timeout', message: /Plivo did not answer in time/ }],
  });
  answers = { 'Account/MA1/': ok({}), 'Number/14155550100/': { status: 403, body: {} } };
  const half = await checkAccount(open('plivo'), expected);
  t.match(half, { error: null, problems: [{ code: 'auth', message: /takes the credentials.*HTTP 403/ }] });
});

void t.test('carriers cannot reach an address that is not public', async (t) => {
  answers = plivo({ application: APPLICATION }, { answer_url: VOICE });
  const of = async (publicUrl: string, apiIsOwn = false) =>
    (await checkAccount(open('plivo'), { ...expected, publicUrl, apiIsOwn })).problems.map(
      ({ code }) => code,
    );
  t.same(await of('https://voice.example.com'), []);
  for (const url of [
    'http://voice.example.com',
    'https://localhost:8443',
    'https://10.1.2.3',
    'http://127.0.0.1',
  ])
    t.same(await of(url), ['public_url_not_public'], url);
  t.same(await of('http://127.0.0.1', true), [], 'an emulated carrier can');
});
