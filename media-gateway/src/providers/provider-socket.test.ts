import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { WebSocketServer } from 'ws';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { ProviderSocket, QuickFailures, SocketAgents, socketUrl } from './provider-socket.ts';
import type { ProviderSocketOptions, SocketEnd } from './provider-socket.ts';

void t.test('addresses of sockets under http bases', (t) => {
  const query = new URLSearchParams({ a: '1 2' });
  t.equal(socketUrl('https://api.example.com', '/v1/x', query).href, 'wss://api.example.com/v1/x?a=1+2');
  t.equal(socketUrl('http://127.0.0.1:80/base/', '/x', query).href, 'ws://127.0.0.1/base/x?a=1+2');
  t.equal(socketUrl('wss://api.example.com', '/x', query).protocol, 'wss:');
  t.end();
});

void t.test('failures count only in a row and only when quick', (t) => {
  const failures = new QuickFailures({ limit: 3, quickMs: 1000 });
  t.same(
    [0, 999, 1000, 10, 10, 10].map((aliveMs) => failures.add(aliveMs)),
    [false, false, false, false, false, true],
  );
  t.end();
});

async function server(t: Test) {
  const wss = new WebSocketServer({ port: 0, host: '127.0.0.1', autoPong: false });
  await once(wss, 'listening');
  t.teardown(() => {
    for (const client of wss.clients) client.terminate();
    wss.close();
  });
  return { wss, url: new URL(`ws://127.0.0.1:${(wss.address() as AddressInfo).port}/`) };
}

function open(t: Test, url: URL, changes: Partial<ProviderSocketOptions> = {}, clock: Clock = systemClock) {
  const agents = new SocketAgents();
  let opened!: () => void;
  let closed!: (end: SocketEnd) => void;
  const whenOpen = new Promise<void>((resolve) => (opened = resolve));
  const whenClosed = new Promise<SocketEnd>((resolve) => (closed = resolve));
  const ends: SocketEnd[] = [];
  const messages: string[] = [];
  const socket = new ProviderSocket(
    { provider: 'vendor', url, headers: () => ({ 'x-key': 'k' }), agents, clock, ...changes },
    {
      onOpen: opened,
      onMessage: (data, isBinary) => messages.push(isBinary ? data.toString('hex') : data.toString()),
      onClosed(end) {
        ends.push(end);
        closed(end);
      },
    },
  );
  t.teardown(async () => {
    await socket[Symbol.asyncDispose]();
    agents.dispose();
  });
  return { socket, whenOpen, whenClosed, ends, messages };
}

void t.test('messages in both directions, and what the peer says when it closes', async (t) => {
  const { wss, url } = await server(t);
  wss.on('connection', (peer, request) => {
    peer.send(`key ${String(request.headers['x-key'])}`);
    peer.on('message', (data: Buffer, isBinary) => {
      peer.send(data, { binary: isBinary });
      if (!isBinary) peer.close(1008, 'enough');
    });
  });
  const { socket, whenOpen, whenClosed, messages } = open(t, url);
  t.equal(socket.send('too early'), false);
  await whenOpen;
  const bytes = Uint8Array.of(1, 2, 3);
  t.equal(socket.send(bytes), true);
  bytes.fill(0);
  t.equal(socket.send('hello'), true);
  const end = await whenClosed;
  t.match(end, { code: 1008, reason: 'enough', status: undefined, error: { fault: 'unavailable' } });
  t.same(messages, ['key k', '010203', 'hello']);
  t.equal(socket.send('too late'), false);
});

void t.test('a peer that does not answer pings is dead', async (t) => {
  const { wss, url } = await server(t);
  const clock = new ManualClock();
  const { whenOpen, whenClosed } = open(t, url, { pingIntervalMs: 1000 }, clock);
  await whenOpen;
  const [peer] = wss.clients;
  const pinged = once(peer!, 'ping');
  clock.advance(1000);
  await pinged;
  clock.advance(1000);
  t.match(await whenClosed, { error: { fault: 'timeout' }, aliveMs: 2000 });
  t.equal(clock.pendingTimers, 0);
});

void t.test('what does not leave is refused', async (t) => {
  const { wss, url } = await server(t);
  wss.on('connection', (peer) => peer.pause());
  const { socket, whenOpen } = open(t, url, { maxBufferedBytes: 1000 });
  await whenOpen;
  const block = new Uint8Array(1024 * 1024);
  let sent = 0;
  while (sent < 100 && socket.send(block)) sent += 1;
  t.ok(sent < 100, 'the bound holds');
});

void t.test('a peer that is no server, and one that is not there', async (t) => {
  const sockets: Socket[] = [];
  const tcp = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.end('220 mail.example.com ready\r\n');
  });
  tcp.listen(0, '127.0.0.1');
  await once(tcp, 'listening');
  const url = new URL(`ws://127.0.0.1:${(tcp.address() as AddressInfo).port}/`);
  t.match(await open(t, url).whenClosed, { error: { fault: 'unavailable' }, aliveMs: 0 });
  tcp.close();
  for (const socket of sockets) socket.destroy();
  const nowhere = new URL('ws://127.0.0.1:1/');
  t.match(await open(t, nowhere).whenClosed, { error: { fault: 'unavailable' }, code: 1006 });
});

void t.test('disposal says goodbye, and does not wait for ever for the answer', async (t) => {
  const { wss, url } = await server(t);
  const polite = open(t, url);
  await polite.whenOpen;
  const [peer] = wss.clients;
  const closed = once(peer!, 'close');
  await Promise.all([polite.socket[Symbol.asyncDispose](), polite.socket[Symbol.asyncDispose]()]);
  t.equal((await closed)[0], 1000);
  t.same(polite.ends, [], 'nothing is told');

  const clock = new ManualClock();
  const rude = open(t, url, {}, clock);
  await rude.whenOpen;
  for (const other of wss.clients) other.pause();
  const disposal = rude.socket[Symbol.asyncDispose]();
  clock.advance(1000);
  await disposal;
  t.equal(clock.pendingTimers, 0);
});
