import { once } from 'node:events';
import net from 'node:net';
import t, { type Test } from 'tap';
import WebSocket from 'ws';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import { closeCodes } from './close-codes.ts';
import type { Socket, SocketListener } from './socket.ts';
import { openWebSocketServer } from './websocket-server.ts';
import type { UpgradeRoute, WebSocketServer, WebSocketServerOptions } from './websocket-server.ts';

const LIMITS = {
  maxHeaderBytes: 16_384,
  maxConnections: 50,
  maxPendingUpgrades: 10,
  idleTimeoutSeconds: 60,
  maxPayloadBytes: 1000,
  maxBufferedBytes: 10_000,
  maxMessagesPerSecond: 100,
};

const echo =
  (seen: { closed?: [number, string] } = {}) =>
  (socket: Socket): SocketListener => ({
    onMessage: (bytes) => socket.send(Buffer.from(bytes).toString()),
    onClose: (code, reason) => void (seen.closed = [code, reason]),
  });

async function start(
  t: Test,
  admit: UpgradeRoute['admit'],
  limits: Partial<WebSocketServerOptions['limits']> = {},
): Promise<WebSocketServer> {
  const server = await openWebSocketServer({
    host: '127.0.0.1',
    port: 0,
    upgrades: [{ pattern: '/media/:carrier/:ticket', admit }],
    http: [{ path: '/health/live', respond: () => ({ status: 200, body: { status: 'ok' } }) }],
    limits: { ...LIMITS, ...limits },
    clock: systemClock,
    logger: silentLogger(),
  });
  t.teardown(() => server[Symbol.asyncDispose]());
  return server;
}

const connect = (server: WebSocketServer, path = '/media/plivo/abc', options: WebSocket.ClientOptions = {}) =>
  new WebSocket(`ws://127.0.0.1:${server.port}${path}`, options);

async function closeOf(client: WebSocket): Promise<[number, string]> {
  client.on('error', () => {});
  const [code, reason] = (await once(client, 'close')) as [number, Buffer];
  return [code, reason.toString()];
}

/** The HTTP status an upgrade was answered with. */
async function refusalOf(client: WebSocket): Promise<number | undefined> {
  client.on('error', () => {});
  const [, response] = (await once(client, 'unexpected-response')) as [unknown, { statusCode?: number }];
  return response.statusCode;
}

void t.test('text goes both ways once the upgrade is admitted', async (t) => {
  let request: Parameters<UpgradeRoute['admit']>[0] | undefined;
  const server = await start(t, async (asked) => {
    await new Promise((resolve) => setImmediate(resolve));
    request = asked;
    return { open: echo() };
  });
  const client = connect(server, '/media/plivo/abc?x=1&y=%20', { headers: { 'X-Signature': 'sig' } });
  await once(client, 'open');
  client.send('grüße');
  const [data] = (await once(client, 'message')) as [Buffer];
  t.equal(data.toString(), 'grüße');
  t.equal(request?.target, '/media/plivo/abc?x=1&y=%20');
  t.same(request?.params, ['plivo', 'abc']);
  t.equal(request?.headers.get('x-signature'), 'sig');
  t.equal(request?.remoteAddress, '127.0.0.1');
  t.equal(server.sockets, 1);
  client.close(1000);
  await once(client, 'close');
});

void t.test('a refused upgrade gets its status and no WebSocket', async (t) => {
  const server = await start(t, () => ({ status: 401 }));
  t.equal(await refusalOf(connect(server)), 401);
});

void t.test('an upgrade whose admission throws is 503', async (t) => {
  const server = await start(t, () => Promise.reject(new Error('down')));
  t.equal(await refusalOf(connect(server)), 503);
});

void t.test('upgrades that also ask to close, or of an older HTTP, are refused', async (t) => {
  const server = await start(t, () => t.fail('must not be asked') as never);
  const requests: [string, string, RegExp][] = [
    ['1.1', 'Connection: close', /^HTTP\/1.1 400 /],
    ['1.1', 'Connection: close\r\nConnection: Upgrade', /^HTTP\/1.1 400 /],
    ['1.1', 'Connection: Upgrade\r\nConnection: close', /^HTTP\/1.1 400 /],
    ['1.1', 'X-None: 1', /^HTTP\/1.1 400 /],
    ['1.0', 'Connection: Upgrade', /^HTTP\/1.1 (400|505) /],
  ];
  for (const [version, header, expected] of requests) {
    const client = net.connect(server.port, '127.0.0.1');
    client.write(
      `GET /media/plivo/abc HTTP/${version}\r\nHost: x\r\nUpgrade: websocket\r\n${header}\r\n` +
        'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    );
    const [answer] = (await once(client, 'data')) as [Buffer];
    t.match(answer.toString(), expected, `${version} ${header}`);
    client.destroy();
  }
});

void t.test('connections admitted later are stable from their first frame', async (t) => {
  const server = await start(t, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return { open: echo() };
  });
  for (let round = 0; round < 10; round++) {
    const clients = Array.from({ length: 10 }, () => connect(server));
    await Promise.all(
      clients.map(async (client) => {
        await once(client, 'open');
        client.send('x');
        await once(client, 'message');
        client.close(1000);
        t.equal((await closeOf(client))[0], 1000);
      }),
    );
  }
});

void t.test('a subprotocol is named only when one was chosen', async (t) => {
  const server = await start(t, (request) =>
    request.params[1] === 'none' ? { open: echo() } : { protocol: 'realtime', open: echo() },
  );
  const url = (name: string) => `ws://127.0.0.1:${server.port}/media/x/${name}`;
  const chosen = new WebSocket(url('some'), ['realtime', 'secret.abc']);
  await once(chosen, 'open');
  t.equal(chosen.protocol, 'realtime');
  chosen.terminate();
  const none = new WebSocket(url('none'));
  await once(none, 'open');
  t.equal(none.protocol, '');
  none.terminate();
});

void t.test('a client that leaves while it is being admitted aborts the admission', async (t) => {
  const aborted = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = await start(t, async (_request, signal) => {
    asked.resolve();
    await once(signal, 'abort');
    aborted.resolve();
    return { open: () => t.fail('must not open') as never };
  });
  const client = connect(server);
  client.on('error', () => {});
  await asked.promise;
  client.terminate();
  await aborted.promise;
  t.equal(server.sockets, 0);
});

void t.test('upgrades beyond the bound of pending ones are 503', async (t) => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const server = await start(
    t,
    async () => {
      asked.resolve();
      await gate.promise;
      return { open: echo() };
    },
    { maxPendingUpgrades: 1 },
  );
  const first = connect(server);
  await asked.promise;
  t.equal(await refusalOf(connect(server)), 503);
  gate.resolve();
  await once(first, 'open');
  first.terminate();
});

void t.test('connections beyond the bound are closed at once, and leave room when they end', async (t) => {
  const server = await start(t, () => ({ open: echo() }), { maxConnections: 2 });
  const first = connect(server);
  await once(first, 'open');
  const second = connect(server);
  await once(second, 'open');
  const third = connect(server);
  const [error] = (await once(third, 'error')) as [Error];
  t.match(error.message, /hang up|ECONNRESET/);
  first.close();
  await once(first, 'close');
  const fourth = connect(server);
  await once(fourth, 'open');
  second.terminate();
  fourth.terminate();
});

void t.test('frames the protocol of a route does not have end the connection', async (t) => {
  const cases: [string, (client: WebSocket) => void, [number, string]][] = [
    [
      'binary',
      (client) => client.send(Buffer.from('{}'), { binary: true }),
      [closeCodes.badMessage, 'binary_frame'],
    ],
    ['too large', (client) => client.send('x'.repeat(1001)), [closeCodes.frameTooLarge, 'frame_too_large']],
    [
      'far too large',
      (client) => client.send('x'.repeat(100_000)),
      [closeCodes.lost, ''], // dropped by the native server without reading it
    ],
    [
      'not UTF-8',
      (client) => client.send(Buffer.from([0xff, 0xfe]), { binary: false }),
      [closeCodes.lost, ''],
    ],
    [
      'a flood',
      (client) => {
        for (let i = 0; i < 101; i++) client.send('x');
      },
      [closeCodes.overloaded, 'too_many_messages'],
    ],
  ];
  for (const [name, send, expected] of cases) {
    const seen: { closed?: [number, string] } = {};
    const server = await start(t, () => ({ open: echo(seen) }));
    const client = connect(server);
    await once(client, 'open');
    send(client);
    t.same(await closeOf(client), expected, name);
    t.equal(seen.closed?.[0], expected[0], `${name}: the listener is told`);
    t.equal(server.sockets, 0);
  }
});

void t.test('a reader too slow for what it is sent is closed with 1013', async (t) => {
  const closed = Promise.withResolvers<[number, string]>();
  const opened = Promise.withResolvers<Socket>();
  const server = await start(t, () => ({
    open(socket) {
      opened.resolve(socket);
      return { onMessage() {}, onClose: (code, reason) => closed.resolve([code, reason]) };
    },
  }));
  const client = connect(server);
  await once(client, 'open');
  client.pause();
  const socket = await opened.promise;
  // The kernel takes some megabytes before anything piles up here.
  for (let i = 0; i < 10_000 && !socket.closed; i++) socket.send('y'.repeat(8192));
  t.same(await closed.promise, [closeCodes.overloaded, 'slow_reader']);
  client.terminate();
});

void t.test('a handler that throws costs its own connection and no other', async (t) => {
  const server = await start(t, (request) => ({
    open:
      request.params[1] === 'bad'
        ? () => ({
            onMessage() {
              throw new Error('bug');
            },
            onClose() {},
          })
        : echo(),
  }));
  const good = connect(server);
  const bad = connect(server, '/media/plivo/bad');
  await Promise.all([once(good, 'open'), once(bad, 'open')]);
  bad.send('x');
  t.same(await closeOf(bad), [closeCodes.internal, 'internal']);
  good.send('still here');
  const [data] = (await once(good, 'message')) as [Buffer];
  t.equal(data.toString(), 'still here');
  good.terminate();
});

void t.test('the owner of a socket that ends it is told nothing more', async (t) => {
  const opened = Promise.withResolvers<Socket>();
  const server = await start(t, () => ({
    open(socket) {
      opened.resolve(socket);
      return { onMessage: () => t.fail('no message'), onClose: () => t.fail('no close') };
    },
  }));
  const client = connect(server);
  const socket = await opened.promise;
  await once(client, 'open');
  client.send('too late');
  socket.end(closeCodes.credentialInUse, 'credential_in_use');
  socket.end(1000, '');
  socket.send('nothing');
  socket.ping();
  t.equal(socket.bufferedBytes, 0);
  t.same(await closeOf(client), [4409, 'credential_in_use']);
});

void t.test('a reset and a clean close are told apart', async (t) => {
  const closes: Promise<number>[] = [];
  const server = await start(t, () => ({
    open: () => {
      const { promise, resolve } = Promise.withResolvers<number>();
      closes.push(promise);
      return { onMessage() {}, onClose: resolve };
    },
  }));
  const reset = connect(server);
  await once(reset, 'open');
  (reset as unknown as { _socket: net.Socket })._socket.resetAndDestroy();
  t.equal(await closes[0], closeCodes.lost);
  const clean = connect(server);
  await once(clean, 'open');
  clean.close(1000, 'bye');
  t.equal(await closes[1], 1000);
});

void t.test('plain HTTP gets health and 404', async (t) => {
  const server = await start(t, () => ({ open: echo() }));
  const base = `http://127.0.0.1:${server.port}`;
  const live = await fetch(`${base}/health/live`);
  t.equal(live.status, 200);
  t.same(await live.json(), { status: 'ok' });
  t.equal((await fetch(`${base}/media/plivo/abc`)).status, 404);
  t.equal((await fetch(`${base}/other`, { method: 'POST', body: 'x' })).status, 404);
});

void t.test('oversized headers are refused', async (t) => {
  const server = await start(t, () => ({ open: echo() }));
  t.equal(await refusalOf(connect(server, undefined, { headers: { big: 'z'.repeat(20_000) } })), 431);
});

void t.test(
  'disposing closes sockets with 1001, twice is harmless, and the port is free again',
  async (t) => {
    const server = await start(t, () => ({ open: echo() }));
    const client = connect(server);
    await once(client, 'open');
    const closed = closeOf(client);
    await Promise.all([server[Symbol.asyncDispose](), server[Symbol.asyncDispose]()]);
    t.same(await closed, [1001, 'shutdown']);
    // Or somebody else has taken it meanwhile; who is there has never heard of this server's paths.
    const probe = connect(server);
    t.match(await once(probe, 'error'), [/ECONNREFUSED|Unexpected server response|socket hang up/]);
  },
);

void t.test('a port in use is an error at start', async (t) => {
  const server = await start(t, () => ({ open: echo() }));
  await t.rejects(
    openWebSocketServer({
      host: '127.0.0.1',
      port: server.port,
      upgrades: [],
      http: [],
      limits: LIMITS,
      clock: systemClock,
      logger: silentLogger(),
    }),
    /cannot listen/,
  );
});
