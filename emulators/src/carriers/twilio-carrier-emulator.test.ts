import t from 'tap';
import type { Test } from 'tap';
import { request } from 'undici';
import {
  openStubPlatform,
  TONE,
  type StubPlatform,
  type StubRequest,
} from '../../test/fixtures/stub-platform.ts';
import { CallNotConnectedError, type PlaceCallOptions } from '../callers/emulated-call.ts';
import { openTwilioCarrierEmulator } from './twilio-carrier-emulator.ts';
import { signTwilioRequest, withBodyDigest } from './twilio-webhook-signature.ts';

const TOKEN = '0123456789abcdef0123456789abcdef';
const ACCOUNT = 'AC00000000000000000000000000000001';

void t.test('signatures are those of the vendor’s own SDK', async (t) => {
  t.equal(
    signTwilioRequest(TOKEN, 'https://voice.example.com/twilio/answer?tenant=acme', {
      AccountSid: ACCOUNT,
      ApiVersion: '2010-04-01',
      CallSid: 'CA00000000000000000000000000000002',
      CallStatus: 'ringing',
      Direction: 'inbound',
      From: '+15551112222',
      To: '+15553334444',
    }),
    'GqudvktBi0lh+1O56tsnYI2bt/U=',
  );
  t.equal(signTwilioRequest(TOKEN, 'wss://media.example.com/ws/twilio/T1'), 'Yz2Lj3OPofOrmn2RZ3w8UFQdFwA=');
  t.equal(
    signTwilioRequest(TOKEN, withBodyDigest('https://voice.example.com/twilio/json', '{"a":1}')),
    'oTwkXIasw4FewPiuYxI4IaMllNI=',
  );
});

const xml = (...elements: string[]) => `<?xml version="1.0"?>\n<Response>${elements.join('')}</Response>`;
const connect = (platform: StubPlatform) =>
  `<Connect><Stream url="${platform.wsUrl}/media/T1?lost=1" name="main" statusCallback="${platform.url}/stream"><Parameter name="tenant" value="a &amp; b"/></Stream></Connect>`;

async function open(t: Test, answer: Parameters<typeof openStubPlatform>[0]) {
  const platform = await openStubPlatform(answer);
  const emulator = await openTwilioCarrierEmulator({ accountSid: ACCOUNT, authToken: TOKEN });
  t.teardown(async () => {
    await emulator[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  const place = (more: Partial<PlaceCallOptions> = {}) =>
    emulator.placeCall({
      voiceUrl: `${platform.url}/voice?tenant=acme%20co`,
      statusUrl: `${platform.url}/status`,
      from: '+14155550123',
      to: '+14155550102',
      ...more,
    });
  const rest = (method: 'GET' | 'POST', path: string, form?: Record<string, string>, token = TOKEN) =>
    request(`${emulator.apiUrl}/2010-04-01/Accounts/${ACCOUNT}${path}`, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`${ACCOUNT}:${token}`).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: form === undefined ? null : new URLSearchParams(form).toString(),
    });
  return { platform, emulator, place, rest };
}

const isVoice = ({ path }: { path: string }) => path.startsWith('/voice');
const isSigned = (platform: StubPlatform, { path, headers, fields }: StubRequest) =>
  headers['x-twilio-signature'] === signTwilioRequest(TOKEN, platform.url + path, fields);
const statuses = (platform: StubPlatform) =>
  platform.requests
    .filter(({ path }) => path === '/status')
    .sort((a, b) => Number(a.fields['SequenceNumber']) - Number(b.fields['SequenceNumber']))
    .map(({ fields }) => fields['CallStatus']);

void t.test('a call is asked for, streamed and reported; all of it signed', async (t) => {
  const { platform, place } = await open(t, (request, platform) =>
    isVoice(request) ? xml(connect(platform), '<Hangup/>') : xml(),
  );
  const call = await place({ keepHeard: true });
  const stream = await platform.stream();
  t.equal(stream.path, '/media/T1', 'the query is lost');
  t.equal(stream.headers['x-twilio-signature'], signTwilioRequest(TOKEN, `${platform.wsUrl}/media/T1`));
  await stream.event('connected');
  t.match(await stream.event('start'), {
    sequenceNumber: '1',
    start: { callSid: call.callId, accountSid: ACCOUNT, customParameters: { tenant: 'a & b' } },
  });
  const streamSid = call.line.ids.streamId;
  stream.send({ event: 'media', streamSid, media: { payload: Buffer.from(TONE).toString('base64') } });
  stream.send({ event: 'mark', streamSid, mark: { name: 'one' } });
  t.match(await stream.event('mark'), { mark: { name: 'one' } });
  call.line.press('5');
  t.match(await stream.event('dtmf'), { dtmf: { digit: '5', track: 'inbound_track' } });
  call.hangUp();
  t.match(await call.ended, { source: 'caller', answered: true });
  t.match(await stream.event('stop'), { stop: { callSid: call.callId } });
  t.same(call.line.heardAudio().subarray(-TONE.length), TONE);

  const voice = platform.requests.find(isVoice)!;
  t.match(voice.fields, {
    CallSid: call.callId,
    AccountSid: ACCOUNT,
    From: '+14155550123',
    To: '+14155550102',
    CallStatus: 'ringing',
    Direction: 'inbound',
  });
  t.same(statuses(platform), ['initiated', 'ringing', 'in-progress', 'completed']);
  t.match(
    platform.requests.flatMap(({ fields }) => fields['StreamEvent'] ?? []),
    ['stream-started', 'stream-stopped'],
  );
  const tokens = platform.requests.map(({ headers }) => headers['i-twilio-idempotency-token']);
  t.equal(new Set(tokens).size, platform.requests.length, 'each webhook has an idempotency token');
  for (const sent of platform.requests) t.ok(isSigned(platform, sent), `${sent.path} is signed`);
});

void t.test('a repeated webhook keeps its idempotency token', async (t) => {
  const { platform, place } = await open(t, (request, platform) =>
    isVoice(request) ? xml(connect(platform)) : xml(),
  );
  const call = await place({ repeatWebhooks: true });
  const [first, second, ...more] = platform.requests.filter(isVoice);
  t.equal(first!.headers['i-twilio-idempotency-token'], second!.headers['i-twilio-idempotency-token']);
  t.same(first!.fields, second!.fields);
  t.same(more, []);
  t.equal(platform.sockets.length, 1, 'only one answer is obeyed');
  call.hangUp();
  await call.ended;
});

void t.test('new TwiML ends the stream and is obeyed at once', async (t) => {
  const { platform, place, rest } = await open(t, (request, platform) =>
    isVoice(request) ? xml(connect(platform), '<Hangup/>') : xml('<Hangup/>'),
  );
  const digits: string[] = [];
  const call = await place({
    onTransfer: () => ({ status: 'answered', afterMs: 20 }),
    events: { onDigits: (pressed) => void digits.push(pressed) },
    onTransferDigits: (pressed) => void digits.push(`for the target: ${pressed}`),
  });
  const answer = await rest('POST', `/Calls/${call.callId}.json`, {
    Twiml: xml(
      '<Play digits="ww12#"/>',
      `<Dial callerId="+14155550102" action="${platform.url}/result"><Number sendDigits="ww7">+442071234567</Number></Dial>`,
    ),
  });
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['x-parley-emulator'], 'twilio');
  t.match(await answer.body.json(), { sid: call.callId, status: 'in-progress' });
  await (await platform.stream()).event('stop');
  t.match(await call.ended, { source: 'target', transferredTo: '+442071234567' });
  t.same(digits, ['ww12#', 'for the target: ww7']);
  const result = await platform.request(({ path }) => path === '/result');
  t.match(result.fields, { DialCallStatus: 'completed', CallSid: call.callId, CallStatus: 'in-progress' });
  t.ok(isSigned(platform, result));
});

void t.test('two calls talk in a conference, and who leaves it ends it for both', async (t) => {
  const { place, rest } = await open(t, (request, platform) =>
    isVoice(request) ? xml(connect(platform)) : xml(),
  );
  let inside = 0;
  const both = Promise.withResolvers<void>();
  const onConference = () => ++inside === 2 && both.resolve();
  const calls = [await place({ onConference }), await place({ onConference })];
  const room = '<Dial><Conference endConferenceOnExit="true">tr-1</Conference></Dial>';
  for (const call of calls)
    await rest('POST', `/Calls/${call.callId}.json`, { Twiml: xml(room, '<Hangup/>') });
  await both.promise;
  calls[1]!.hangUp();
  t.match(await calls[1]!.ended, { source: 'caller' });
  t.match(await calls[0]!.ended, { source: 'target' });
});

void t.test('a transfer that nobody takes comes back with a stream of its own', async (t) => {
  const { platform, place, rest } = await open(t, (request, platform) => {
    if (request.path === '/transfer')
      return xml(`<Dial action="${platform.url}/voice"><Number>+442071234567</Number></Dial>`);
    return isVoice(request) ? xml(connect(platform), '<Hangup/>') : xml();
  });
  const call = await place({ onTransfer: () => ({ status: 'no-answer', afterMs: 10 }) });
  const first = call.line;
  await rest('POST', `/Calls/${call.callId}.json`, { Url: `${platform.url}/transfer`, Method: 'POST' });
  const second = await call.lineAfter(first);
  t.ok(second && second !== first);
  t.match(await (await platform.stream(1)).event('start'), { start: { callSid: call.callId } });
  t.ok(platform.requests.some(({ fields }) => fields['DialCallStatus'] === 'no-answer'));
  call.hangUp();
  t.equal((await call.ended).transferredTo, undefined);
});

void t.test('the REST API hangs up, and knows its account', async (t) => {
  const { platform, place, rest } = await open(t, (request, platform) =>
    isVoice(request) ? xml(connect(platform), '<Hangup/>') : xml(),
  );
  const call = await place();
  const path = `/Calls/${call.callId}.json`;
  t.equal((await rest('GET', '.json')).statusCode, 200);
  const refused = await rest('POST', path, { Status: 'completed' }, 'wrong');
  t.equal(refused.statusCode, 401);
  t.match(await refused.body.json(), { code: 20003 });
  t.equal((await rest('POST', path, { Twiml: 'x'.repeat(4001) })).statusCode, 400);
  t.equal((await rest('POST', path, { Status: 'completed' })).statusCode, 200);
  t.match(await call.ended, { source: 'api', cause: 'completed' });
  const gone = await rest('POST', path, { Status: 'completed' });
  t.equal(gone.statusCode, 404);
  t.match(await gone.body.json(), { code: 20404 });
  t.equal(statuses(platform).at(-1), 'completed');
});

void t.test('a stream that is closed or refused leads to the next verb', async (t) => {
  const { platform, place } = await open(t, (request, platform) =>
    isVoice(request) ? xml(connect(platform)) : xml(),
  );
  const call = await place();
  const stream = await platform.stream();
  await stream.event('start');
  stream.socket.close(1000);
  t.match(await call.ended, { source: 'document' });
  platform.refuseUpgrades = 1;
  await t.rejects(place(), CallNotConnectedError);
  t.ok(platform.requests.some(({ fields }) => fields['StreamEvent'] === 'stream-error'));
});

void t.test('TwiML that refuses the call, or that Twilio would not take, ends it', async (t) => {
  const cases: [string, string | number, Record<string, string>][] = [
    ['busy', xml('<Reject reason="busy"/>'), { CallStatus: 'busy', SipResponseCode: '486' }],
    ['rejected', xml('<Reject/>'), { CallStatus: 'failed', SipResponseCode: '603' }],
    ['an error', 500, { CallStatus: 'failed' }],
    ['no XML', 'hello', { CallStatus: 'failed' }],
    ['a verb of another carrier', xml('<Stream>wss://a/b</Stream>'), { CallStatus: 'failed' }],
    ['http', xml('<Connect><Stream url="https://a/b"/></Connect>'), { CallStatus: 'failed' }],
    [
      'both tracks of a connected stream',
      xml('<Connect><Stream url="wss://a/b" track="both_tracks"/></Connect>'),
      { CallStatus: 'failed' },
    ],
    ['nothing', xml(), { CallStatus: 'completed' }],
  ];
  for (const [name, document, expected] of cases) {
    const { platform, place } = await open(t, (request) => (isVoice(request) ? document : xml()));
    await t.rejects(place(), CallNotConnectedError, name);
    const last = await platform.request(({ fields }) => fields['CallDuration'] !== undefined);
    t.match(last.fields, expected, name);
  }
});

void t.test('what is sent on a stream that was only started is not heard', async (t) => {
  const violations: string[] = [];
  const { platform, place } = await open(t, (request, platform) =>
    isVoice(request) ? xml(connect(platform).replaceAll('Connect', 'Start'), '<Pause length="60"/>') : xml(),
  );
  const call = await place({ events: { onViolation: (what) => void violations.push(what) } });
  const stream = await platform.stream();
  stream.send({ event: 'media', streamSid: 'x', media: { payload: Buffer.from(TONE).toString('base64') } });
  stream.send({ event: 'mark', streamSid: 'x', mark: { name: 'one' } });
  await stream.event('mark');
  t.equal(call.line.playback.playedBytes, 0);
  t.match(violations, [/one-way/]);
  call.hangUp();
  await call.ended;
});
