import { createPublicKey, verify } from 'node:crypto';
import t from 'tap';
import type { Test } from 'tap';
import { request } from 'undici';
import {
  openStubPlatform,
  TONE,
  type StubPlatform,
  type StubRequest,
} from '../../test/fixtures/stub-platform.ts';
import { CallNotConnectedError } from '../callers/emulated-call.ts';
import type { TelnyxPlaceCallOptions } from './telnyx-call.ts';
import { openTelnyxCarrierEmulator } from './telnyx-carrier-emulator.ts';
import { signTelnyxWebhook, telnyxPrivateKey, telnyxPublicKey } from './telnyx-webhook-signature.ts';

const SEED = Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64');
const PUBLIC_KEY = 'A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=';

void t.test('signatures are those of the vendor’s own SDK', async (t) => {
  const body =
    '{"data":{"record_type":"event","event_type":"call.answered","id":"0ccc7b54-4df3-4bca-a65a-3da1ecc777f0","occurred_at":"2026-01-02T03:04:05.000000Z","payload":{"call_control_id":"v3:fake","state":"answered"}},"meta":{"attempt":1,"delivered_to":"https://voice.example.com/telnyx/events"}}';
  const key = telnyxPrivateKey(SEED);
  t.equal(telnyxPublicKey(key), PUBLIC_KEY);
  t.same(signTelnyxWebhook(key, '1767323045', body), {
    'telnyx-timestamp': '1767323045',
    'telnyx-signature-ed25519':
      'qj8yPASWVEaaLqyb4tnY3Bfp5oRnDsAPNfsJ+jLCtfM/lbgn3SAb5nhU9MJcQbxnumqgK5D3LbCorwosRVywBA==',
  });
});

interface TelnyxEvent {
  data: { id: string; event_type: string; payload: Record<string, unknown> };
}
const eventOf = ({ raw }: StubRequest) => (JSON.parse(raw) as TelnyxEvent).data;
const isEvent = (type: string) => (request: StubRequest) => eventOf(request).event_type === type;
const stream = (platform: StubPlatform) => ({
  stream_url: `${platform.wsUrl}/media/T1`,
  stream_track: 'inbound_track',
  stream_codec: 'PCMU',
  stream_bidirectional_mode: 'rtp',
  stream_bidirectional_codec: 'PCMU',
});

/** A platform that answers every incoming call with `answer`. */
async function open(
  t: Test,
  answer: (platform: StubPlatform) => [action: string, body: object] = (platform) => [
    'answer',
    stream(platform),
  ],
) {
  const act = async (callId: unknown, action: string, body: object = {}, key = 'KEY1') => {
    const { statusCode, body: answered } = await request(
      `${emulator.apiUrl}/v2/calls/${encodeURIComponent(String(callId))}/actions/${action}`,
      { method: 'POST', headers: { authorization: `Bearer ${key}` }, body: JSON.stringify(body) },
    );
    return { status: statusCode, body: await answered.json() };
  };
  const commands: number[] = [];
  const platform = await openStubPlatform(async (request, platform) => {
    const { event_type, payload } = eventOf(request);
    if (event_type === 'call.initiated' && payload['direction'] === 'incoming')
      commands.push((await act(payload['call_control_id'], ...answer(platform))).status);
    return '{}';
  });
  const emulator = await openTelnyxCarrierEmulator({ apiKey: 'KEY1', privateKey: SEED });
  t.teardown(async () => {
    await emulator[Symbol.asyncDispose]();
    await platform[Symbol.asyncDispose]();
  });
  const place = (more: Partial<TelnyxPlaceCallOptions> = {}) =>
    emulator.placeCall({
      voiceUrl: `${platform.url}/events`,
      statusUrl: `${platform.url}/unused`,
      from: '+14155550123',
      to: '+14155550103',
      ...more,
    });
  return { platform, emulator, place, act, commands };
}

const play = { event: 'media', media: { payload: Buffer.from(TONE).toString('base64') } };

void t.test(
  'a call is announced, answered by command, streamed and reported; all of it signed',
  async (t) => {
    const { platform, place, emulator } = await open(t);
    t.equal(emulator.credentials['public_key'], PUBLIC_KEY);
    const call = await place({ keepHeard: true });
    const socket = await platform.stream();
    t.match(socket.messages[0] ?? (await socket.event('connected')), {
      event: 'connected',
      version: '1.0.0',
    });
    t.match(await socket.event('start'), {
      sequence_number: '1',
      start: {
        call_control_id: call.callId,
        from: '+14155550123',
        to: '+14155550103',
        media_format: { encoding: 'PCMU', sample_rate: 8000, channels: 1 },
      },
    });
    socket.send(play);
    socket.send({ event: 'mark', mark: { name: 'one' } });
    t.match(await socket.event('mark'), { mark: { name: 'one' } });
    call.line.press('5');
    t.match(await socket.event('dtmf'), { dtmf: { digit: '5' } });
    call.hangUp();
    t.match(await call.ended, { source: 'caller', answered: true, cause: 'normal_clearing 200' });
    t.match(await socket.event('stop'), { stop: { call_control_id: call.callId } });
    t.same(call.line.heardAudio().subarray(-TONE.length), TONE);

    t.same(platform.requests.map((request) => eventOf(request).event_type).sort(), [
      'call.answered',
      'call.hangup',
      'call.initiated',
      'streaming.started',
      'streaming.stopped',
    ]);
    t.match(eventOf(platform.requests.find(isEvent('call.initiated'))!).payload, {
      call_control_id: call.callId,
      direction: 'incoming',
      state: 'parked',
    });
    const publicKey = createPublicKey(telnyxPrivateKey(SEED));
    for (const { raw, headers } of platform.requests) {
      const signed = Buffer.from(`${String(headers['telnyx-timestamp'])}|${raw}`);
      const signature = Buffer.from(String(headers['telnyx-signature-ed25519']), 'base64');
      t.ok(verify(null, signed, publicKey, signature));
    }
  },
);

void t.test('the socket may open while it rings: the stream starts with the answer', async (t) => {
  const { platform, place } = await open(t);
  const placed = place({ ringMs: 150 });
  const socket = await platform.stream();
  await socket.event('connected');
  t.notOk(platform.requests.some(isEvent('call.answered')), 'it still rings');
  t.notOk(socket.messages.some(({ event }) => event === 'start'));
  const call = await placed;
  await socket.event('start');
  call.hangUp();
  await call.ended;
});

void t.test('without rtp mode our audio is ignored', async (t) => {
  const violations: string[] = [];
  const { platform, place } = await open(t, (platform) => [
    'answer',
    { ...stream(platform), stream_bidirectional_mode: undefined },
  ]);
  const call = await place({ events: { onViolation: (what) => void violations.push(what) } });
  const socket = await platform.stream();
  socket.send(play);
  socket.send({ event: 'mark', mark: { name: 'one' } });
  await socket.event('mark');
  t.equal(call.line.playback.playedBytes, 0);
  t.match(violations, [/MP3/]);
  call.hangUp();
  await call.ended;
});

void t.test('an A-law leg and messages out of order', async (t) => {
  const { platform, place } = await open(t);
  const call = await place({ alaw: true, unordered: true });
  const socket = await platform.stream();
  t.match(await socket.event('start'), { start: { media_format: { encoding: 'PCMA' } } });
  await call.line.waitFor(() => socket.messages.filter(({ event }) => event === 'media').length >= 6, 5000);
  const media = socket.messages
    .filter(({ event }) => event === 'media')
    .map((message) => message['media'] as { chunk: string; payload: string });
  t.same(
    media.slice(0, 6).map(({ chunk }) => Number(chunk)),
    [1, 3, 2, 5, 4, 7],
  );
  t.equal(Buffer.from(media[0]!.payload, 'base64')[0], 0xd5, 'silence in A-law');
  call.hangUp();
  await call.ended;
});

void t.test(
  'a webhook that comes twice keeps its id; a command given twice is refused or ignored',
  async (t) => {
    const { platform, place, commands, act } = await open(t);
    const call = await place({ repeatWebhooks: true });
    await call.line.waitFor(() => commands.length === 2, 5000);
    t.same([...commands].sort(), [200, 422], 'the second answer is too late');
    const twice = { command_id: 'c1', digits: '1' };
    t.equal((await act(call.callId, 'send_dtmf', twice)).status, 200);
    t.equal((await act(call.callId, 'send_dtmf', twice)).status, 200);
    call.hangUp();
    await call.ended;
    const ids = platform.requests.filter(isEvent('call.initiated')).map((request) => eventOf(request).id);
    t.equal(ids.length, 2);
    t.equal(new Set(ids).size, 1);
  },
);

void t.test('a lost stream is dialled again on demand', async (t) => {
  const { platform, place } = await open(t);
  const call = await place({ reconnect: true });
  const first = call.line;
  const socket = await platform.stream();
  await socket.event('start');
  socket.socket.terminate();
  t.ok(await call.lineAfter(first));
  t.equal((await platform.stream(1)).path, '/media/T1');
  call.hangUp();
  await call.ended;
});

void t.test('commands: digits, transfer with its own leg, hang-up, and what is refused', async (t) => {
  const digits: string[] = [];
  const { platform, place, act } = await open(t);
  const call = await place({
    events: { onDigits: (pressed) => void digits.push(pressed) },
    onTransfer: () => ({ status: 'answered', afterMs: 300 }),
    onTransferDigits: (pressed) => void digits.push(`for the target: ${pressed}`),
  });
  t.match(await act(call.callId, 'send_dtmf', { digits: '12#' }), {
    status: 200,
    body: { data: { result: 'ok' } },
  });
  t.same(digits, ['12#']);
  t.equal((await act(call.callId, 'hangup', {}, 'wrong')).status, 401);
  t.equal((await act('v3:unknown', 'hangup')).status, 404);
  t.match(await act(call.callId, 'transfer', { to: '442071234567' }), {
    status: 422,
    body: { errors: [{ code: '10016' }] },
  });
  const socket = await platform.stream();
  t.equal((await act(call.callId, 'streaming_stop')).status, 200);
  await socket.event('stop');
  await call.line.closed;
  const order = { to: '+442071234567', target_leg_client_state: 'bGVn' };
  t.equal((await act(call.callId, 'transfer', order)).status, 200);
  const taken = await platform.request(
    (request) => isEvent('call.answered')(request) && eventOf(request).payload['client_state'] === 'bGVn',
  );
  const target = String(eventOf(taken).payload['call_control_id']);
  t.equal((await act(target, 'send_dtmf', { digits: 'w7' })).status, 200);
  t.equal(digits.at(-1), 'for the target: w7');
  t.match(await call.ended, { source: 'target', transferredTo: '+442071234567' });
  t.equal(platform.requests.filter(isEvent('call.bridged')).length, 2);
  const legs = platform.requests.filter(isEvent('call.hangup')).map((request) => eventOf(request).payload);
  t.equal(legs.filter((payload) => payload['call_control_id'] === call.callId).length, 1);
  t.equal(legs.length, 2);
  t.match(await act(call.callId, 'hangup'), { status: 422, body: { errors: [{ code: '90018' }] } });
});

void t.test('two calls that are bridged end together', async (t) => {
  const { platform, place, act } = await open(t);
  const [caller, target] = [await place(), await place()];
  const other = { call_control_id: target.callId };
  t.match(await act(caller.callId, 'bridge', { call_control_id: 'v3:unknown' }), {
    status: 422,
    body: { errors: [{ code: '10005' }] },
  });
  t.equal((await act(caller.callId, 'bridge', { ...other, park_after_unbridge: 'self' })).status, 422);
  t.equal((await act(caller.callId, 'bridge', other)).status, 200);
  target.hangUp();
  t.match(await target.ended, { source: 'caller' });
  t.match(await caller.ended, { source: 'target' });
  t.equal(platform.requests.filter(isEvent('call.bridged')).length, 2);
});

void t.test('after a transfer that nobody took, the call streams again when told to', async (t) => {
  const { platform, place, act } = await open(t);
  const call = await place({ onTransfer: () => ({ status: 'busy', afterMs: 10 }) });
  const first = call.line;
  await act(call.callId, 'streaming_stop');
  await first.closed;
  await act(call.callId, 'transfer', { to: '+442071234567' });
  await platform.request((request) => eventOf(request).payload['hangup_cause'] === 'user_busy');
  const again = {
    ...stream(platform),
    stream_auth_token: 'secret',
    custom_parameters: [{ name: 'k', value: 'v' }],
  };
  t.equal((await act(call.callId, 'streaming_start', again)).status, 200);
  t.ok(await call.lineAfter(first));
  const socket = await platform.stream(1);
  t.equal(socket.headers['x-telnyx-streaming-auth-token'], 'secret');
  t.match(await socket.event('start'), { start: { custom_parameters: { k: 'v' } } });
  t.equal((await act(call.callId, 'hangup')).status, 200);
  t.match(await call.ended, { source: 'api', transferredTo: undefined });
});

void t.test('a call that is rejected, or whose stream nobody takes, is not connected', async (t) => {
  for (const [cause, expected] of [
    ['USER_BUSY', 'user_busy'],
    ['CALL_REJECTED', 'call_rejected'],
  ]) {
    const { platform, place } = await open(t, () => ['reject', { cause }]);
    await t.rejects(place(), CallNotConnectedError);
    t.match(eventOf(await platform.request(isEvent('call.hangup'))).payload, { hangup_cause: expected });
  }
  const { platform, place, act } = await open(t);
  platform.refuseUpgrades = 1;
  const placed = place();
  const { payload } = eventOf(await platform.request(isEvent('streaming.failed')));
  t.equal(payload['failure_reason'], 'connection_failed');
  await act(payload['call_control_id'], 'hangup');
  await t.rejects(placed, CallNotConnectedError);
});
