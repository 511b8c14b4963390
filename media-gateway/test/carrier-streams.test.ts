import { once } from 'node:events';
import type net from 'node:net';
import t from 'tap';
import WebSocket from 'ws';
import { credentialDigest } from '@parley/shared/contracts/admission';
import { callEventSchema } from '@parley/shared/contracts/call-events';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { closeOf, openTestGateway, refusalOf, wire } from './fixtures/test-gateway.ts';
import { until } from './fixtures/until.ts';

const { plivo, telnyx } = wire;

async function message(client: WebSocket): Promise<{ event: string; [key: string]: unknown }> {
  const [data] = (await once(client, 'message')) as [Buffer];
  return JSON.parse(data.toString()) as { event: string };
}

void t.test('a call from the upgrade to its report', async (t) => {
  const { gateway, api, connect, events, calls } = await openTestGateway(t);
  const { ticket, sessionId } = api.issue({ carrier: 'plivo' });
  const client = connect('plivo', ticket);
  await once(client, 'open');
  client.send(plivo.start('call-7'));
  client.send(plivo.media(3));
  const played = await message(client);
  t.same(played, {
    event: 'playAudio',
    media: {
      contentType: 'audio/x-mulaw',
      sampleRate: 8000,
      payload: Buffer.alloc(160, 3).toString('base64'),
    },
  });
  t.equal(gateway.calls, 1);

  client.send(plivo.dtmf('2'));
  const checkpoint = await message(client);
  t.match(checkpoint, { event: 'checkpoint', streamId: 'stream-1' });
  client.send(JSON.stringify({ event: 'playedStream', name: checkpoint['name'] }));
  t.match((await events.next('turn_decision')).data, { rule: 'played' });
  client.send(plivo.dtmf('3'));
  t.match(await message(client), { event: 'clearAudio' });

  client.close(1000);
  const ended = await events.next('call_ended', sessionId);
  await until(() => gateway.calls === 0);
  t.match(ended.data, { ended_by: 'caller', hangup_reason: 'caller_hangup' });
  const mine = events.all.filter((event) => event.session_id === sessionId);
  t.same(
    mine.map(({ type, index }) => [index, type]),
    [
      [0, 'call_started'],
      [1, 'dtmf'],
      [2, 'turn_decision'],
      [3, 'dtmf'],
      [4, 'call_ended'],
    ],
  );
  for (const event of mine) callEventSchema.parse(event);
  t.match(mine[0]!.data, { carrier_call_id: 'call-7', stream_id: 'stream-1', encoding: 'pcmu' });
  t.equal(mine[0]!.gateway_id, gateway.gatewayId);
  t.equal(mine[0]!.claim_id, api.redeems[0]!.claim_id);
  t.match(api.checks[0], {
    kind: 'ticket',
    digest: credentialDigest(ticket),
    carrier: 'plivo',
    path: `/media/v1/streams/plivo/${ticket}`,
  });
  t.match(api.redeems[0], {
    gateway_id: gateway.gatewayId,
    start: {
      carrier: 'plivo',
      carrier_call_id: 'call-7',
      stream_id: 'stream-1',
      encoding: 'pcmu',
      sample_rate: 8000,
    },
  });
  t.equal(calls.length, 1);
});

void t.test('the headers a carrier signs with are passed on, and no others', async (t) => {
  const { gateway, api } = await openTestGateway(t);
  const { ticket } = api.issue();
  const { default: Client } = await import('ws');
  const client = new Client(`${gateway.url}/media/v1/streams/twilio/${ticket}?x=1`, {
    headers: { 'X-Twilio-Signature': 'sig', 'X-Other': 'no' },
  });
  await once(client, 'open');
  t.same(api.checks[0]!.signature_headers, { 'x-twilio-signature': 'sig' });
  t.equal(api.checks[0]!.path, `/media/v1/streams/twilio/${ticket}?x=1`);
  client.terminate();
});

void t.test('tickets that are not admitted get 401 and no WebSocket', async (t) => {
  const { api, connect } = await openTestGateway(t);
  const spent = api.issue({ carrier: 'plivo' });
  const first = connect('plivo', spent.ticket);
  await once(first, 'open');
  first.send(plivo.start());
  first.send(plivo.media(1));
  await once(first, 'message');
  const cases: [string, CarrierName, string][] = [
    ['unknown', 'plivo', 'A'.repeat(43)],
    ['of a wrong form', 'plivo', 'short'],
    ['expired', 'plivo', api.issue({ lifeMs: -1 }).ticket],
    ['spent', 'plivo', spent.ticket],
    ['of another carrier', 'twilio', api.issue({ carrier: 'plivo' }).ticket],
  ];
  for (const [name, carrier, ticket] of cases) {
    t.equal(await refusalOf(connect(carrier, ticket)), 401, name);
  }
  t.equal(await refusalOf(connect('other' as 'plivo', 'A'.repeat(43))), 404, 'an unknown carrier');
  t.equal(api.checks.length, 5, 'what can not be a ticket is not asked about');
  first.terminate();
});

void t.test('of two sockets with one ticket the second loses, and the call goes on', async (t) => {
  const { gateway, api, connect, events } = await openTestGateway(t);
  const { ticket, sessionId } = api.issue();
  const winner = connect('plivo', ticket);
  const loser = connect('plivo', ticket);
  await Promise.all([once(winner, 'open'), once(loser, 'open')]);
  winner.send(plivo.start());
  winner.send(plivo.media(1));
  await once(winner, 'message');
  loser.send(plivo.start());
  t.same(await closeOf(loser), [4409, 'in_use']);
  winner.send(plivo.media(2));
  await once(winner, 'message');
  t.equal(gateway.calls, 1);
  winner.close(1000);
  await events.next('call_ended', sessionId);
  t.equal(events.all.filter(({ type }) => type === 'call_ended').length, 1);
});

void t.test('what comes before and around start is refused with its code, and claims nothing', async (t) => {
  const { api, connect } = await openTestGateway(t, { env: { MAX_MESSAGE_BYTES: '5000' } });
  const cases: [string, (client: WebSocket) => void, [number, string]][] = [
    ['media arrived before the start message', (c) => c.send(plivo.media(1)), [4400, 'media_before_start']],
    ['malformed JSON', (c) => c.send('{"event":'), [4400, 'malformed']],
    ['wrong types', (c) => c.send('{"event":"start","start":{"callId":{}}}'), [4400, 'malformed']],
    ['a binary frame', (c) => c.send(Buffer.from(plivo.start()), { binary: true }), [4400, 'binary_frame']],
    ['an oversized frame', (c) => c.send('x'.repeat(5001)), [1009, 'frame_too_large']],
    ['another codec', (c) => c.send(plivo.start('c', 'audio/opus')), [4415, 'codec_not_agreed']],
    ['stop before start', (c) => c.send('{"event":"stop"}'), [1000, 'stopped']],
  ];
  for (const [name, send, expected] of cases) {
    const client = connect('plivo', api.issue().ticket);
    await once(client, 'open');
    send(client);
    t.same(await closeOf(client), expected, name);
  }
  t.equal(api.redeems.length, 0);
});

void t.test('unknown messages before start are waited through', async (t) => {
  const { api, connect } = await openTestGateway(t);
  const client = connect('telnyx', api.issue().ticket);
  await once(client, 'open');
  client.send(telnyx.connected());
  client.send('{"event":"later"}');
  client.send(telnyx.start());
  client.send('{"event":"media","media":{"track":"inbound","chunk":"1","payload":"f39/fw=="}}');
  t.match(await message(client), { event: 'media' });
  client.terminate();
});

void t.test('a stream that never starts is closed, Telnyx only when its ticket ends', async (t) => {
  const clock = new ManualClock(Date.now());
  const { api, connect } = await openTestGateway(t, { deps: { clock } });
  // Tickets are issued by the real time, and opening took some of it.
  clock.advance(Date.now() - clock.now());
  const silent = connect('plivo', api.issue().ticket);
  const ringing = connect('telnyx', api.issue({ lifeMs: 40_000 }).ticket);
  await Promise.all([once(silent, 'open'), once(ringing, 'open')]);
  /** Pinged, and the answer has arrived. */
  const alive = async (pinged: Promise<unknown>) => {
    await pinged;
    ringing.ping();
    await once(ringing, 'pong');
  };
  const closed = closeOf(silent);
  const firstPing = once(ringing, 'ping');
  clock.advance(5000);
  t.same(await closed, [4408, 'no_start']);
  await alive(firstPing);
  for (let i = 0; i < 7; i++) {
    const pinged = once(ringing, 'ping');
    clock.advance(4000);
    await alive(pinged);
  }
  t.equal(ringing.readyState, ringing.OPEN, 'after 33 s');
  const late = closeOf(ringing);
  clock.advance(10_000);
  t.same(await late, [4408, 'no_start']);
});

void t.test('what the caller says while the ticket is redeemed is kept', async (t) => {
  const { api, connect, calls } = await openTestGateway(t);
  const gate = Promise.withResolvers<void>();
  api.gate = gate.promise;
  const client = connect('plivo', api.issue().ticket);
  await once(client, 'open');
  client.send(plivo.start());
  for (let i = 0; i < 70; i++) client.send(plivo.media(i));
  client.send(plivo.dtmf('9'));
  client.ping();
  await once(client, 'pong'); // everything before was read
  gate.resolve();
  const first = (await message(client)) as unknown as { media: { payload: string } };
  t.equal(Buffer.from(first.media.payload, 'base64')[0], 20, 'the last second, without what came before');
  t.equal(calls.length, 1);
  client.terminate();
});

void t.test('a lost answer is asked for again with the same claim', async (t) => {
  const { api, connect } = await openTestGateway(t);
  const client = connect('plivo', api.issue().ticket);
  await once(client, 'open');
  api.faults.push('lost', { status: 503, code: 'unavailable' });
  client.send(plivo.start());
  client.send(plivo.media(1));
  await message(client);
  t.equal(api.redeems.length, 3);
  t.equal(new Set(api.redeems.map(({ claim_id }) => claim_id)).size, 1);
  client.terminate();
});

void t.test('refusals of a claim have their close codes', async (t) => {
  const { gateway, api, connect } = await openTestGateway(t);
  const lost = { status: 503, code: 'unavailable' } as const;
  const cases: [(typeof api.faults)[0][], [number, string]][] = [
    [[{ status: 401, code: 'credential_invalid' }], [4401, 'credential_invalid']],
    [[{ status: 409, code: 'session_over' }], [4410, 'session_over']],
    [[{ status: 409, code: 'call_id_mismatch' }], [4401, 'call_id_mismatch']],
    [[{ status: 429, code: 'limit' }], [4429, 'limit']],
    [
      [lost, lost, lost],
      [1011, 'unavailable'],
    ],
    [[{ status: 200, code: 'limit' }], [1011, 'internal']],
  ];
  for (const [faults, expected] of cases) {
    const client = connect('plivo', api.issue().ticket);
    await once(client, 'open');
    api.faults.push(...faults);
    client.send(plivo.start());
    t.same(await closeOf(client), expected);
  }
  t.equal(gateway.calls, 0);
});

void t.test('a control plane that can not be asked is 503 before the upgrade', async (t) => {
  const { api, connect } = await openTestGateway(t);
  api.faults.push('lost');
  t.equal(await refusalOf(connect('plivo', api.issue().ticket)), 503);
});

void t.test('beyond MAX_CALLS upgrades get 503, and a race for the last slot ends with 4429', async (t) => {
  const { api, connect, gateway } = await openTestGateway(t, { env: { MAX_CALLS: '1' } });
  const racers = [connect('plivo', api.issue().ticket), connect('plivo', api.issue().ticket)] as const;
  await Promise.all(racers.map((client) => once(client, 'open')));
  racers[0].send(plivo.start());
  racers[0].send(plivo.media(1));
  await message(racers[0]);
  racers[1].send(plivo.start());
  t.same(await closeOf(racers[1]), [4429, 'limit']);
  t.equal(await refusalOf(connect('plivo', api.issue().ticket)), 503);
  racers[0].close(1000);
  await once(racers[0], 'close');
  await until(() => gateway.calls === 0);
  const next = connect('plivo', api.issue().ticket);
  await once(next, 'open');
  next.terminate();
});

void t.test('a carrier that vanishes ends its call', async (t) => {
  const { gateway, api, connect, events } = await openTestGateway(t);
  const { ticket, sessionId } = api.issue();
  const client = connect('plivo', ticket);
  await once(client, 'open');
  client.send(plivo.start());
  client.send(plivo.media(1));
  await message(client);
  (client as unknown as { _socket: net.Socket })._socket.resetAndDestroy();
  t.match((await events.next('call_ended', sessionId)).data, {
    ended_by: 'carrier',
    hangup_reason: 'carrier_hangup',
  });
  await until(() => gateway.calls === 0);
});

void t.test('rule 19: a carrier whose connection is half open is noticed', async (t) => {
  const clock = new ManualClock(Date.now());
  const { gateway, api, connect, events } = await openTestGateway(t, { deps: { clock } });
  const { ticket, sessionId } = api.issue();
  const client = connect('plivo', ticket);
  await once(client, 'open');
  client.send(plivo.start());
  client.send(plivo.media(1));
  await message(client);
  client.pause(); // reads no ping, so answers none
  await until(async () => {
    await clock.advanceAsync(1000, 100);
    return events.all.some(({ type }) => type === 'call_ended');
  });
  t.match((await events.next('call_ended', sessionId)).data, { ended_by: 'carrier' });
  await until(() => gateway.calls === 0);
  client.terminate();
});

void t.test('a caller who hangs up while the ticket is redeemed leaves a reported call', async (t) => {
  const { api, connect, events } = await openTestGateway(t);
  const gate = Promise.withResolvers<void>();
  api.gate = gate.promise;
  const { ticket, sessionId } = api.issue();
  const client = connect('plivo', ticket);
  await once(client, 'open');
  client.send(plivo.start());
  client.close(1000);
  await once(client, 'close');
  gate.resolve();
  t.match((await events.next('call_ended', sessionId)).data, { ended_by: 'caller' });
});

void t.test('a call that can not begin is reported as failed and closed with 1011', async (t) => {
  const { gateway, api, connect, events } = await openTestGateway(t, {
    deps: {
      openCall() {
        throw new Error('bug');
      },
    },
  });
  const { ticket, sessionId } = api.issue();
  const client = connect('plivo', ticket);
  await once(client, 'open');
  client.send(plivo.start());
  t.same(await closeOf(client), [1011, 'internal']);
  t.match((await events.next('call_ended', sessionId)).data, {
    ended_by: 'system',
    failure_reason: 'internal',
  });
  t.equal(gateway.calls, 0);
});

void t.test('an address that guesses at tickets is refused without asking, others are not', async (t) => {
  const { api, gateway } = await openTestGateway(t, {
    env: { ADDRESS_REFUSALS_PER_MINUTE: '3', TRUSTED_PROXIES: '127.0.0.1' },
  });
  const from = (address: string, ticket: string) =>
    new WebSocket(`${gateway.url}/media/v1/streams/plivo/${ticket}`, {
      headers: { 'x-forwarded-for': address },
    });
  const guess = (n: number) => String(n).repeat(43);
  t.equal(await refusalOf(from('203.0.113.9', guess(1))), 401);
  t.equal(await refusalOf(from('203.0.113.9', guess(2))), 401);
  t.equal(await refusalOf(from('203.0.113.9', guess(2))), 401);
  t.equal(api.checks.length, 2, 'the same guess is looked up once');
  t.equal(await refusalOf(from('203.0.113.9', guess(3))), 429);
  t.equal(await refusalOf(from('203.0.113.9', api.issue().ticket)), 429);
  t.equal(api.checks.length, 2, 'nothing more is asked');
  const other = from('203.0.113.10', api.issue().ticket);
  await once(other, 'open');
  other.terminate();
});
