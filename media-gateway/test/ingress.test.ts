import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import t from 'tap';
import type { Test } from 'tap';
import WebSocket from 'ws';
import { nginxMissing, startIngress } from './fixtures/ingress.ts';
import type { Ingress } from './fixtures/ingress.ts';
import { openTestGateway, refusalOf, wire } from './fixtures/test-gateway.ts';
import type { TestGateway } from './fixtures/test-gateway.ts';
import { until } from './fixtures/until.ts';

const skip = nginxMissing ?? false;

/** Two gateways behind the ingress. Either admits the tickets of the first one's `api`. */
async function twoGateways(t: Test, env: NodeJS.ProcessEnv = {}) {
  const first = await openTestGateway(t, { env });
  const second = await openTestGateway(t, { env, api: first.api });
  const ingress = await startIngress({
    controlPlanes: [first.gateway.port],
    gateways: [first.gateway.port, second.gateway.port],
  });
  t.teardown(() => ingress[Symbol.asyncDispose]());
  return { first, second, ingress };
}

function dial(ingress: Ingress, { api }: TestGateway): WebSocket {
  const client = new WebSocket(`ws+unix:${ingress.socketPath}:/media/v1/streams/plivo/${api.issue().ticket}`);
  client.on('error', () => {});
  return client;
}

/** Dials and begins a call. @returns the call, or the status it was refused with */
async function place(
  t: Test,
  ingress: Ingress,
  gateway: TestGateway,
): Promise<WebSocket | number | undefined> {
  const client = dial(ingress, gateway);
  t.teardown(() => client.terminate());
  const refused = await Promise.race([once(client, 'open').then(() => false as const), refusalOf(client)]);
  if (refused !== false) return refused;
  client.send(wire.plivo.start());
  client.send(wire.plivo.media(1));
  await once(client, 'message');
  return client;
}

void t.test('while a gateway drains, every new call comes to the other one', { skip }, async (t) => {
  const { first, second, ingress } = await twoGateways(t);
  const running = await place(t, ingress, first);
  t.type(running, WebSocket);
  const [draining, other] = first.gateway.calls === 1 ? [first, second] : [second, first];
  const drained = draining.gateway.drain(60_000);
  for (let call = 0; call < 4; call++) t.type(await place(t, ingress, first), WebSocket);
  t.equal(other.gateway.calls, 4);
  t.equal(draining.gateway.calls, 1, 'the running call goes on');
  (running as WebSocket).close(1000);
  await drained;
});

void t.test('a full gateway sends calls on, and 503 is heard when all are full', { skip }, async (t) => {
  const { first, second, ingress } = await twoGateways(t, { MAX_CALLS: '2' });
  // Past the ingress, which therefore knows of nothing and would ask this gateway first.
  for (let call = 0; call < 2; call++) {
    const client = first.connect('plivo', first.api.issue().ticket);
    t.teardown(() => client.terminate());
    await once(client, 'open');
    client.send(wire.plivo.start());
    client.send(wire.plivo.media(1));
    await once(client, 'message');
  }
  for (let call = 0; call < 2; call++) t.type(await place(t, ingress, first), WebSocket);
  t.equal(second.gateway.calls, 2);
  for (let call = 0; call < 3; call++) t.equal(await place(t, ingress, first), 503);
  second.calls[0]!.end({ ended_by: 'caller', hangup_reason: 'caller_hangup' });
  await until(() => second.gateway.calls === 1);
  t.type(await place(t, ingress, first), WebSocket, 'a slot is found as soon as it is free');
});

void t.test('a gateway that is gone is passed over', { skip }, async (t) => {
  const { first, second, ingress } = await twoGateways(t);
  await first.gateway[Symbol.asyncDispose]();
  for (let call = 0; call < 4; call++) t.type(await place(t, ingress, first), WebSocket);
  t.equal(second.gateway.calls, 4);
});

void t.test('a request that acts is sent once, whatever becomes of it', { skip }, async (t) => {
  let received = 0;
  let failure: 'lost' | 'unavailable' = 'lost';
  /** A server that takes a request whole, and then fails. */
  const open = async () => {
    const server = http.createServer((request, response) => {
      void json(request).then(() => {
        received++;
        if (failure === 'lost') request.socket.destroy();
        else response.writeHead(503).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => server.close());
    return (server.address() as AddressInfo).port;
  };
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
  const requests: [path: string, headers: http.OutgoingHttpHeaders][] = [
    ['/v1/sessions', {}],
    ['/v1/sessions', upgrade],
    ['/v1/realtime', {}],
    ['/v1/realtime', upgrade],
    ['/media/v1/streams/plivo/ticket', upgrade],
  ];
  // nginx leaves a control plane alone for a while that broke a connection: each request is to find one, and others.
  const ports = await Promise.all(Array.from({ length: 2 * requests.length }, open));
  const ingress = await startIngress({ controlPlanes: ports, gateways: ports });
  t.teardown(() => ingress[Symbol.asyncDispose]());
  for (failure of ['lost', 'unavailable'] as const) {
    for (const [path, headers] of requests) {
      received = 0;
      const request = http.request({
        socketPath: ingress.socketPath,
        path,
        method: 'POST',
        headers,
        agent: false,
      });
      request.end('{"amount":1}');
      const [response] = (await once(request, 'response')) as [http.IncomingMessage];
      response.resume();
      const title = `POST ${path}${headers === upgrade ? ' as an upgrade' : ''}: ${failure}`;
      t.equal(received, 1, title);
      t.equal(response.statusCode, failure === 'lost' ? 502 : 503, title);
    }
  }
});
