import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import t from 'tap';
import type WebSocket from 'ws';
import { parseWav } from '@parley/shared/audio/wav';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import { silentLogger } from '@parley/shared/logging/logger';
import { closeOf, openTestGateway, refusalOf, wire } from './fixtures/test-gateway.ts';
import { until } from './fixtures/until.ts';
import { sessionPlan } from './fixtures/internal-api.ts';
import type { TestGateway } from './fixtures/test-gateway.ts';

const { plivo } = wire;

/** A call that is under way. */
async function start(
  { api, connect }: TestGateway,
  plan: Parameters<TestGateway['api']['issue']>[0] = {},
): Promise<{ client: WebSocket; sessionId: string }> {
  const { ticket, sessionId } = api.issue(plan);
  const client = connect('plivo', ticket);
  await once(client, 'open');
  client.send(plivo.start());
  client.send(plivo.media(1));
  await once(client, 'message');
  return { client, sessionId };
}

function command(sessionId: string, more: Partial<GatewayCommand> = {}): GatewayCommand {
  return {
    v: 1,
    command_id: randomUUID(),
    session_id: sessionId,
    type: 'event',
    args: { name: 'x' },
    expires_at: new Date(Date.now() + 60_000).toISOString(),
    ...more,
  };
}

void t.test('a gateway tells of itself and of the calls it holds', async (t) => {
  const test = await openTestGateway(t, {
    env: { MAX_CALLS: '7', GATEWAY_URL: 'wss://media-1.example.com' },
  });
  const { gateway, bus, events } = test;
  await until(async () => (await bus.presence.gateways()).length === 1);
  t.match(await bus.presence.gateways(), [
    { gateway_id: gateway.gatewayId, url: 'wss://media-1.example.com', capacity: 7, draining: false },
  ]);
  const { client, sessionId } = await start(test);
  await until(async () => (await bus.presence.callHolders([sessionId]))[0] === gateway.gatewayId);
  client.close(1000);
  await events.next('call_ended', sessionId);
  await until(async () => (await bus.presence.callHolders([sessionId]))[0] === null);
  await gateway[Symbol.asyncDispose]();
  t.same(await bus.presence.gateways(), []);
});

void t.test('health tells who should send calls here', async (t) => {
  const test = await openTestGateway(t, { env: { MAX_CALLS: '7' } });
  const base = test.gateway.url.replace('ws:', 'http:');
  const { client } = await start(test);
  const ready = await fetch(`${base}/health/ready`);
  t.equal(ready.status, 200);
  t.same(await ready.json(), {
    status: 'ready',
    checks: [{ name: 'bus', ok: true }],
    calls: 1,
    calls_without_socket: 0,
    capacity: 7,
  });
  const drained = test.gateway.drain(60_000);
  const draining = await fetch(`${base}/health/ready`);
  t.equal(draining.status, 503);
  t.match(await draining.json(), { status: 'draining' });
  t.equal((await fetch(`${base}/health/live`)).status, 200);
  client.close(1000);
  await drained;
});

void t.test(
  'rule 28: a gateway that is late with the calls it has takes no more until it has caught up',
  async (t) => {
    const test = await openTestGateway(t, { env: { MAX_LOOP_DELAY_MS: '100' } });
    const ready = async () =>
      (await fetch(`${test.gateway.url.replace('ws:', 'http:')}/health/ready`)).status;
    for (let i = 0; i < 10; i++) await start(test);
    t.equal(await ready(), 200);
    // Something keeps the loop busy for a third of a second at a time.
    let blocked = true;
    const block = setInterval(() => {
      const until = performance.now() + 300;
      while (blocked && performance.now() < until);
    }, 20);
    t.teardown(() => clearInterval(block));
    await until(async () => (await ready()) === 503);
    t.equal(await refusalOf(test.connect('plivo', test.api.issue().ticket)), 503);
    blocked = false;
    clearInterval(block);
    await until(async () => (await ready()) === 200);
    await start(test);
  },
);

void t.test('calls share the voice model of their gateway, which ends after them', async (t) => {
  const test = await openTestGateway(t, { env: { VOICE_MODEL: 'on', MAX_CALLS: '2' } });
  await start(test);
  await start(test);
  const [model, same] = test.calls.map((call) => call.deps.providers.voiceModel);
  t.equal(model, same);
  const { inputFormat } = test.calls[0]!.deps.farEnd.participant;
  const streams = [model!.open(inputFormat)!, model!.open(inputFormat)!];
  t.equal(model!.open(inputFormat), undefined, 'a stream for each call');
  for (const stream of streams) {
    stream.judging = true;
    stream.push(new Uint8Array(2560).fill(0xff));
  }
  await until(() => streams.every(({ behindMs }) => behindMs === 0));
  streams[0]!.read((probability) => t.ok(probability < 0.5));
  let modelAtEnd: unknown;
  void test.calls[0]!.ended.then(() => {
    streams[0]!.close();
    modelAtEnd = model!.open(inputFormat);
  });
  await test.gateway[Symbol.asyncDispose]();
  t.ok(modelAtEnd, 'until the last call has ended');
  t.equal(model!.open(inputFormat), undefined);
});

void t.test('a gateway without the voice model has none for its calls', async (t) => {
  const test = await openTestGateway(t, { env: { VOICE_MODEL: 'off' } });
  await start(test);
  t.equal(test.calls[0]!.deps.providers.voiceModel, undefined);
});

void t.test('a command runs once, and is answered', async (t) => {
  const test = await openTestGateway(t);
  const { gateway, bus, events, calls } = test;
  const { client, sessionId } = await start(test);
  const taken = command(sessionId);
  await bus.commands.send(gateway.gatewayId, taken);
  await bus.commands.send(gateway.gatewayId, taken);
  const refused = command(sessionId, { type: 'say', args: { text: 'hello' } });
  await bus.commands.send(gateway.gatewayId, refused);
  const first = await events.next('command_result', sessionId);
  t.match(first.data, { command_id: taken.command_id, ok: true });
  const second = await events.next('command_result', sessionId, new Set([first]));
  t.same(second.data, { command_id: refused.command_id, ok: false, code: 'not_now' });
  t.same(
    calls[0]!.commands.map(({ command_id: id }) => id),
    [taken.command_id, refused.command_id],
  );
  await bus.commands.send(gateway.gatewayId, command(sessionId, { type: 'end' }));
  t.same(await closeOf(client), [1000, 'api_hangup']);
  t.match((await events.next('call_ended', sessionId)).data, { ended_by: 'api' });
});

void t.test('commands that come too late, or to nobody, are answered with not_live', async (t) => {
  const test = await openTestGateway(t);
  const { gateway, bus, events, calls } = test;
  const { client, sessionId } = await start(test);
  const late = command(sessionId, { expires_at: new Date(Date.now() - 1).toISOString() });
  await bus.commands.send(gateway.gatewayId, late);
  t.same((await events.next('command_result', sessionId)).data, {
    command_id: late.command_id,
    ok: false,
    code: 'not_live',
  });
  t.same(calls[0]!.commands, []);
  const nobody = command(randomUUID());
  await bus.commands.send(gateway.gatewayId, nobody);
  t.same((await events.next('command_result', nobody.session_id)).data, {
    command_id: nobody.command_id,
    ok: false,
    code: 'not_live',
  });
  client.terminate();
});

void t.test('a confirmed report is deleted', async (t) => {
  const test = await openTestGateway(t);
  const { gateway, bus, events, dataDir } = test;
  const { client, sessionId } = await start(test);
  const spool = path.join(dataDir, 'spool');
  await until(async () => (await readdir(spool)).includes(`${sessionId}.0.jsonl`));
  client.close(1000);
  const ended = await events.next('call_ended', sessionId);
  const stored = command(sessionId, { type: 'report_stored', args: { event_id: ended.id } });
  await bus.commands.send(gateway.gatewayId, stored);
  await until(async () => !(await readdir(spool)).includes(`${sessionId}.0.jsonl`));
  t.equal(events.all.filter(({ type }) => type === 'command_result').length, 0);
});

void t.test('draining lets running calls finish and nothing new in', async (t) => {
  const test = await openTestGateway(t);
  const { gateway, api, connect, events, bus } = test;
  const { client, sessionId } = await start(test);
  // Let in before, begun after: still a call.
  const early = api.issue();
  const admitted = connect('plivo', early.ticket);
  await once(admitted, 'open');
  const drained = gateway.drain(60_000);
  t.equal(await refusalOf(connect('plivo', api.issue().ticket)), 503);
  await until(async () => (await bus.presence.gateways())[0]?.draining === true);
  admitted.send(plivo.start());
  admitted.send(plivo.media(1));
  await once(admitted, 'message');
  client.close(1000);
  await events.next('call_ended', sessionId);
  await until(() => gateway.calls === 1);
  admitted.close(1000);
  await drained;
  t.equal(gateway.calls, 0);
  t.match((await events.next('call_ended', early.sessionId)).data, { ended_by: 'caller' });
});

void t.test('what still runs at the deadline is ended as a shutdown and reported', async (t) => {
  const test = await openTestGateway(t);
  const { client, sessionId } = await start(test);
  const closed = closeOf(client);
  await test.gateway.drain(0);
  t.same(await closed, [1001, 'shutdown']);
  t.equal(test.gateway.calls, 0);
  t.match((await test.events.next('call_ended', sessionId)).data, {
    ended_by: 'system',
    hangup_reason: 'shutdown',
  });
});

void t.test('disposing ends calls as a shutdown too', async (t) => {
  const test = await openTestGateway(t);
  const { client, sessionId } = await start(test);
  const closed = closeOf(client);
  await Promise.all([test.gateway[Symbol.asyncDispose](), test.gateway[Symbol.asyncDispose]()]);
  t.same(await closed, [1001, 'shutdown']);
  t.match((await test.events.next('call_ended', sessionId)).data, { hangup_reason: 'shutdown' });
});

void t.test('what one gateway could not deliver, the next one on its folder does', async (t) => {
  const logger = silentLogger();
  const lost = await openLocalBus({ path: ':memory:', logger });
  const first = await openTestGateway(t, {
    bus: { ...lost, events: { ...lost.events, append: () => Promise.reject(new Error('down')) } },
  });
  const { client, sessionId } = await start(first);
  client.send(plivo.dtmf('1'));
  client.close(1000);
  await until(() => first.calls.length === 1 && first.gateway.calls === 0);
  await t.rejects(openTestGateway(t, { dataDir: first.dataDir }), /Another gateway is using/);
  await first.gateway[Symbol.asyncDispose]();
  await lost[Symbol.asyncDispose]();

  const second = await openTestGateway(t, { dataDir: first.dataDir });
  const ended = await second.events.next('call_ended', sessionId);
  t.match(ended, {
    gateway_id: second.gateway.gatewayId,
    claim_id: first.api.redeems[0]!.claim_id,
    data: { ended_by: 'caller', hangup_reason: 'caller_hangup', turns: [{ text: 'one' }] },
  });
});

void t.test('a recorded call leaves its audio in the storage folder', async (t) => {
  const test = await openTestGateway(t);
  const { record } = sessionPlan();
  const { client, sessionId } = await start(test, { plan: { record: { ...record, enabled: true } } });
  for (let i = 0; i < 49; i++) client.send(plivo.media(0x10));
  client.ping();
  await once(client, 'pong');
  client.close(1000);
  const recording = await test.events.next('recording', sessionId);
  t.match(recording.data, { status: 'stored', key: record.key, duration_ms: 1000, channels: 2 });
  const wav = parseWav(await readFile(path.join(test.storageDir, record.key)));
  t.equal(wav.samples.length, 16_000);
  t.same(wav.samples.subarray(8000, 8002), Int16Array.of(-15_996, -15_996), 'both sides');
  t.match((await test.events.next('call_ended', sessionId)).data, { recording: { status: 'stored' } });
});

void t.test('a recording is handed over where storage is not shared', async (t) => {
  const test = await openTestGateway(t);
  const { record } = sessionPlan();
  const { client, sessionId } = await start(test, {
    plan: { record: { ...record, enabled: true, store: 'upload' } },
  });
  client.close(1000);
  const { data } = await test.events.next('recording', sessionId);
  t.match(data, { status: 'stored', duration_ms: 20 });
  const uploaded = test.api.uploads.get(`/internal/v1/recordings/${record.recording_id}`);
  t.equal(uploaded?.length, data['size_bytes']);
});
