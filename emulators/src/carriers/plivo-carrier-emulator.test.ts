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
import { openPlivoCarrierEmulator } from './plivo-carrier-emulator.ts';
import { signPlivoRequest, signPlivoUpgrade } from './plivo-webhook-signature.ts';

const TOKEN = 'plivo-fake-auth-token-0001';
const NONCE = '12345678901234567890';

void t.test('signatures are those of the vendor’s own SDK', async (t) => {
  const requests: [string, Record<string, string>, string][] = [
    [
      'https://voice.example.com/plivo/answer?tenant=acme%20co&b=2',
      {
        CallUUID: '0c1f2b3a-1111-4222-8333-444455556666',
        From: '919876543210',
        To: '918012345678',
        Direction: 'inbound',
        CallStatus: 'ringing',
        Event: 'StartApp',
      },
      '5ZvxdBsPSSdgjqk2mwEb7FE0R283GsVKB/I8V5AuJYs=',
    ],
    [
      'https://voice.example.com/plivo/hangup',
      { CallUUID: 'u-1', Event: 'Hangup' },
      'Teg698AN5M/pnEvFF2rNO0ivAh53B4xlxMPORGAHfgA=',
    ],
    ['https://voice.example.com/plivo/answer?z=1&a=2', {}, 'kPDNL6bWBZxk5n6mi8yWGwKPHCKy3krLXvQshE1m5h8='],
    ['https://voice.example.com/plivo/hangup', {}, 'i7zEJPGPzkZrYAesWSoKe2kiPh1z/fuuRmVRLhL1JMA='],
  ];
  for (const [url, fields, expected] of requests) {
    t.equal(signPlivoRequest(TOKEN, url, fields, NONCE), expected, url);
  }
  const upgrades: [string, string][] = [
    ['wss://media.example.com/ws/plivo/T1', 'qNuqrUxDDrpIlOpGHdf5MP9RfLeg6erOSomYZOGZ1Zc='],
    ['wss://media.example.com:8080/ws/plivo?ticket=T1', '/cVQiHj6OcxvOTOmtETj0uFQWceX72zLGN4uXQFrHtw='],
  ];
  for (const [url, expected] of upgrades) t.equal(signPlivoUpgrade(TOKEN, url, NONCE), expected, url);
});

const xml = (...elements: string[]) => `<?xml version="1.0"?>\n<Response>${elements.join('')}</Response>`;
const streamElement = (platform: StubPlatform, attributes = '') =>
  `<Stream bidirectional="true" keepCallAlive="true" contentType="audio/x-mulaw;rate=8000" statusCallbackUrl="${platform.url}/stream?a=1&amp;b=2" ${attributes}>${platform.wsUrl}/media/T1?x=1&amp;y=2</Stream>`;

async function open(t: Test, answer: Parameters<typeof openStubPlatform>[0]) {
  const platform = await openStubPlatform(answer);
  const emulator = await openPlivoCarrierEmulator({ authId: 'MA1', authToken: TOKEN });
  t.teardown(async () => {
    await emulator[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  const place = (more: Partial<PlaceCallOptions> = {}) =>
    emulator.placeCall({
      voiceUrl: `${platform.url}/voice`,
      statusUrl: `${platform.url}/status`,
      from: '+14155550123',
      to: '+14155550101',
      ...more,
    });
  const rest = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object, token = TOKEN) =>
    request(`${emulator.apiUrl}/v1/Account/MA1/${path}`, {
      method,
      headers: { authorization: `Basic ${Buffer.from(`MA1:${token}`).toString('base64')}` },
      body: body === undefined ? null : JSON.stringify(body),
    });
  return { platform, emulator, place, rest };
}

const isSigned = (platform: StubPlatform, { path, headers, fields }: StubRequest) =>
  headers['x-plivo-signature-v3'] ===
  signPlivoRequest(TOKEN, platform.url + path, fields, String(headers['x-plivo-signature-v3-nonce']));
const hangupOf = (platform: StubPlatform) => platform.request(({ fields }) => fields['Event'] === 'Hangup');

void t.test(
  'a call is asked for, streamed, and reported when the caller hangs up; all of it signed',
  async (t) => {
    const { platform, place } = await open(t, ({ path }, platform) =>
      path === '/voice' ? xml(streamElement(platform), '<Hangup/>') : xml(),
    );
    const call = await place({ keepHeard: true });
    const stream = await platform.stream();
    t.equal(stream.path, '/media/T1?x=1&y=2', 'the query is kept');
    t.equal(
      stream.headers['x-plivo-signature-v3'],
      signPlivoUpgrade(
        TOKEN,
        `${platform.wsUrl}/media/T1?x=1&y=2`,
        String(stream.headers['x-plivo-signature-v3-nonce']),
      ),
    );
    t.match(await stream.event('start'), {
      start: {
        callId: call.callId,
        accountId: 'MA1',
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000 },
      },
    });
    stream.send({
      event: 'playAudio',
      media: {
        contentType: 'audio/x-mulaw',
        sampleRate: 8000,
        payload: Buffer.from(TONE).toString('base64'),
      },
    });
    stream.send({ event: 'checkpoint', name: 'one' });
    t.match(await stream.event('playedStream'), { name: 'one' });
    call.line.press('5');
    t.match(await stream.event('dtmf'), { dtmf: { digit: '5' } });
    await platform.request(({ fields }) => fields['Event'] === 'StartStream');
    call.hangUp();
    t.match(await call.ended, { source: 'caller', answered: true, transferredTo: undefined });
    const heard = call.line.heardAudio();
    t.same(heard.subarray(heard.length - TONE.length), TONE);

    const [start, started, hangup] = platform.requests;
    t.match(start!.fields, {
      Event: 'StartApp',
      CallUUID: call.callId,
      From: '14155550123',
      To: '14155550101',
      Direction: 'inbound',
      CallStatus: 'ringing',
    });
    t.match(started!.fields, {
      Event: 'StartStream',
      CallUUID: call.callId,
      StreamID: call.line.ids.streamId,
    });
    t.match(hangup!.fields, {
      Event: 'Hangup',
      CallStatus: 'completed',
      HangupCause: 'NORMAL_CLEARING',
      HangupCauseCode: '4000',
      HangupSource: 'Caller',
    });
    for (const sent of platform.requests) t.ok(isSigned(platform, sent), `${sent.fields['Event']} is signed`);
  },
);

void t.test(
  'the first connect is tried three times, a stream that is closed leads to the next element',
  async (t) => {
    const { platform, place } = await open(t, ({ path }, platform) =>
      path === '/voice' ? xml(streamElement(platform), '<Hangup/>') : xml(),
    );
    platform.refuseUpgrades = 2;
    const call = await place();
    const stream = await platform.stream();
    await stream.event('media');
    stream.socket.close(1000);
    t.match(await call.ended, { source: 'document', cause: '4000 Normal Hangup' });
    await platform.request(({ fields }) => fields['Event'] === 'StopStream');
    t.equal((await hangupOf(platform)).fields['HangupSource'], 'Answer XML');
  },
);

void t.test('a stream that nobody takes is given up', async (t) => {
  const { platform, place } = await open(t, ({ path }, platform) =>
    path === '/voice' ? xml(streamElement(platform), '<Hangup/>') : xml(),
  );
  platform.refuseUpgrades = 3;
  await t.rejects(place(), CallNotConnectedError);
  t.match((await platform.request(({ fields }) => fields['Event'] === 'DroppedStream')).fields, {
    StatusReason: 'connection_failed',
  });
});

void t.test('a document that ends with the stream, and one that does not hold the call', async (t) => {
  for (const attributes of ['', 'keepCallAlive="false"']) {
    const { platform, place } = await open(t, ({ path }, platform) =>
      path === '/voice'
        ? xml(
            attributes === ''
              ? streamElement(platform)
              : streamElement(platform).replace('keepCallAlive="true"', attributes),
          )
        : xml(),
    );
    const call = await place();
    if (attributes === '') (await platform.stream()).socket.close(1000);
    await call.ended;
    t.match((await hangupOf(platform)).fields, { HangupCauseCode: '4010' }, attributes);
  }
});

void t.test(
  'a transfer is fetched when the stream has ended, dialled, and reported to the action',
  async (t) => {
    const { platform, place, rest } = await open(t, ({ path }, platform) => {
      if (path === '/voice') return xml(streamElement(platform), '<Hangup/>');
      if (path === '/transfer?id=1')
        return xml(
          `<Dial callerId="14155550101" timeout="30" action="${platform.url}/result"><Number sendDigits="ww7">442071234567</Number></Dial>`,
        );
      return path === '/result' ? xml('<Hangup/>') : xml();
    });
    const dialled: string[] = [];
    const call = await place({
      onTransferDigits: (digits) => void dialled.push(digits),
      onTransfer: (to) => {
        dialled.push(to);
        return { status: 'answered', afterMs: 20 };
      },
    });
    const stream = await platform.stream();
    const answer = await rest('POST', `Call/${call.callId}/`, {
      legs: 'aleg',
      aleg_url: `${platform.url}/transfer?id=1`,
      aleg_method: 'POST',
    });
    t.equal(answer.statusCode, 202);
    t.equal(answer.headers['x-parley-emulator'], 'plivo');
    t.match(await answer.body.json(), { message: 'call transferred', call_uuids: [call.callId] });
    t.notOk(
      platform.requests.some(({ path }) => path.startsWith('/transfer')),
      'the stream still holds the document',
    );
    stream.socket.close(1000);
    t.match(await call.ended, { source: 'target', transferredTo: '+442071234567' });
    t.same(dialled, ['+442071234567', 'ww7']);
    const result = await platform.request(({ path }) => path === '/result');
    t.match(result.fields, { CallUUID: call.callId, DialStatus: 'completed', DialALegUUID: call.callId });
    t.ok(isSigned(platform, result));
  },
);

void t.test('two calls talk in a conference, and who leaves it ends it for both', async (t) => {
  const { platform, place, rest } = await open(t, ({ path }, platform) => {
    if (path === '/voice') return xml(streamElement(platform), '<Hangup/>');
    if (path === '/room') return xml('<Conference endConferenceOnExit="true">tr-1</Conference>', '<Hangup/>');
    return path === '/odd' ? xml('<Conference muted="true">tr-1</Conference>') : xml();
  });
  let inside = 0;
  const both = Promise.withResolvers<void>();
  const onConference = () => ++inside === 2 && both.resolve();
  const calls = [await place({ onConference }), await place({ onConference })];
  for (const [i, call] of calls.entries()) {
    await rest('POST', `Call/${call.callId}/`, { legs: 'aleg', aleg_url: `${platform.url}/room` });
    (await platform.stream(i)).socket.close(1000);
  }
  await both.promise;
  calls[1]!.hangUp();
  t.match(await calls[1]!.ended, { source: 'caller' });
  t.match(await calls[0]!.ended, { source: 'target' });

  const odd = await place();
  await rest('POST', `Call/${odd.callId}/`, { legs: 'aleg', aleg_url: `${platform.url}/odd` });
  (await platform.stream(2)).socket.close(1000);
  t.match(await odd.ended, { source: 'network' }, 'nothing is ignored that it does not know');
});

void t.test('a transfer that nobody takes comes back with a stream of its own', async (t) => {
  const { platform, place, rest } = await open(t, ({ path }, platform) => {
    if (path === '/transfer')
      return xml(`<Dial action="${platform.url}/voice"><Number>442071234567</Number></Dial>`);
    return path === '/voice' ? xml(streamElement(platform), '<Hangup/>') : xml();
  });
  const call = await place({ onTransfer: () => ({ status: 'busy', afterMs: 10 }) });
  const first = call.line;
  await rest('POST', `Call/${call.callId}/`, { legs: 'aleg', aleg_url: `${platform.url}/transfer` });
  (await platform.stream()).socket.close(1000);
  const second = await call.lineAfter(first);
  t.ok(second && second !== first);
  t.match(await (await platform.stream(1)).event('start'), { start: { callId: call.callId } });
  t.match(platform.requests.find(({ fields }) => fields['DialStatus'])?.fields, {
    DialStatus: 'busy',
    DialHangupCause: 'USER_BUSY',
  });
  call.hangUp();
  t.equal(await call.lineAfter(second!), undefined);
  t.equal((await call.ended).transferredTo, undefined);
});

void t.test('the call API hangs up, sends digits, and knows its account', async (t) => {
  const digits: string[] = [];
  const { platform, place, rest } = await open(t, ({ path }, platform) =>
    path === '/voice' ? xml(streamElement(platform), '<Hangup/>') : xml(),
  );
  const call = await place({ events: { onDigits: (pressed) => void digits.push(pressed) } });
  t.equal((await rest('GET', '')).statusCode, 200);
  t.equal((await rest('GET', '', undefined, 'wrong')).statusCode, 401);
  t.equal((await rest('DELETE', 'Call/unknown/')).statusCode, 404);
  t.equal((await rest('POST', `Call/${call.callId}/DTMF/`, { digits: '12#', leg: 'aleg' })).statusCode, 200);
  t.same(digits, ['12#']);
  t.equal((await rest('DELETE', `Call/${call.callId}/`)).statusCode, 204);
  t.match(await call.ended, { source: 'api' });
  t.equal((await hangupOf(platform)).fields['HangupSource'], 'API Request');
  t.equal((await rest('DELETE', `Call/${call.callId}/`)).statusCode, 404);
});

void t.test(
  'documents that refuse the call, or that Plivo would not take, end it with the code for that',
  async (t) => {
    const cases: [string, string | number, Record<string, string>][] = [
      [
        'rejected',
        xml('<Hangup reason="rejected"/>'),
        { HangupCauseCode: '3020', HangupCause: 'CALL_REJECTED' },
      ],
      ['busy', xml('<Hangup reason="busy"/>'), { HangupCauseCode: '3010', CallStatus: 'busy' }],
      ['not found', 404, { HangupCauseCode: '7011', CallStatus: 'failed' }],
      ['an element of another carrier', xml('<Reject/>'), { HangupCauseCode: '8011' }],
      ['no XML', 'hello', { HangupCauseCode: '8011' }],
      ['not closed', '<Response><Hangup></Response>', { HangupCauseCode: '8011' }],
      ['two responses', '<Response/><Response/>', { HangupCauseCode: '8011' }],
      ['a bare ampersand', xml('<Stream>ws://x/?a=1&b=2</Stream>'), { HangupCauseCode: '8011' }],
      [
        'a codec Plivo lacks',
        xml('<Stream contentType="audio/opus">ws://x/</Stream>'),
        { HangupCauseCode: '8011' },
      ],
      ['an empty response', xml(), { HangupCauseCode: '4010' }],
      [
        'a redirect to nowhere',
        xml('<Redirect>http://127.0.0.1:9/nobody</Redirect>'),
        { HangupCauseCode: '7014' },
      ],
    ];
    for (const [name, document, expected] of cases) {
      const { platform, place } = await open(t, ({ path }) => (path === '/voice' ? document : xml()));
      await t.rejects(place(), CallNotConnectedError, name);
      t.match((await hangupOf(platform)).fields, expected, name);
    }
  },
);

void t.test('L16 and extra headers come as the document asked for them', async (t) => {
  const { platform, place } = await open(t, ({ path }, platform) =>
    path === '/voice'
      ? xml(
          streamElement(platform, 'extraHeaders="tenant=acme,agent=a1"').replace(
            'audio/x-mulaw;rate=8000',
            'audio/x-l16;rate=16000',
          ),
        )
      : xml(),
  );
  const call = await place();
  const stream = await platform.stream();
  t.match(await stream.event('start'), {
    start: { mediaFormat: { encoding: 'audio/x-l16', sampleRate: 16000 } },
    extra_headers: 'tenant=acme;agent=a1',
  });
  const media = await stream.event('media');
  t.equal(media['extra_headers'], 'tenant=acme;agent=a1');
  await call.line.say(TONE);
  await call.line.waitFor(() => stream.messages.length > 5, 5000);
  const sizes = stream.messages
    .filter(({ event }) => event === 'media')
    .slice(1)
    .map((message) => Buffer.from((message['media'] as { payload: string }).payload, 'base64').length);
  t.ok(
    sizes.every((size) => size === 640),
    `640 bytes are 20 ms: ${sizes.join()}`,
  );
  call.hangUp();
  await call.ended;
});

void t.test('complaints are listed in pages, read, and answered with a proof', async (t) => {
  const { emulator, rest } = await open(t, () => '');
  const get = async (path: string) => {
    const answer = await rest('GET', path);
    return { status: answer.statusCode, body: (await answer.body.json()) as Record<string, unknown> };
  };
  for (let n = 1; n <= 21; n++) emulator.complaints.set({ reference_id: `R${n}` });
  emulator.complaints.set({ reference_id: 'R21', status: 'rejected', rejection_reason: 'No logo.' });
  const ids = ({ body }: { body: Record<string, unknown> }) =>
    (body['objects'] as { reference_id: string }[]).map(({ reference_id }) => reference_id);
  t.equal(ids(await get('Ucc/')).length, 20);
  const rest21 = await get('Ucc/?limit=20&offset=20');
  t.match(rest21.body, { meta: { limit: 20, offset: 20, total_count: 21 } });
  t.same(ids(rest21), ['R21']);
  t.same(ids(await get('Ucc/?status=rejected')), ['R21']);
  t.match(await get('Ucc/R21/'), {
    status: 200,
    body: { reference_id: 'R21', rejection_reason: 'No logo.' },
  });
  t.equal((await get('Ucc/?limit=21')).status, 400);
  t.equal((await get('Ucc/R22/')).status, 404);
  t.equal((await rest('POST', 'Ucc/R21/', { file: 'x' })).statusCode, 400, 'no multipart body');
  t.equal((await rest('GET', 'Ucc/', undefined, 'wrong')).statusCode, 401);

  const form = new FormData();
  form.append('file', new File(['%PDF'], 'proof.pdf', { type: 'application/pdf' }));
  const url = `${emulator.apiUrl}/v1/Account/MA1/Ucc/R21/`;
  const authorization = `Basic ${Buffer.from(`MA1:${TOKEN}`).toString('base64')}`;
  const taken = await fetch(url, { method: 'POST', headers: { authorization }, body: form });
  t.equal(taken.status, 200);
  t.match(await get('Ucc/R21/'), { body: { status: 'proof_submitted' } });
  const [{ referenceId, file } = { referenceId: '', file: new File([], '') }] = emulator.complaints.handedIn;
  t.same([referenceId, file.name, await file.text()], ['R21', 'proof.pdf', '%PDF']);
});
