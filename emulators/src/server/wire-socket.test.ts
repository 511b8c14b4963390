import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { acceptKey, WireSocket } from './wire-socket.ts';

/* Each side against `ws`: two ends of our own would only agree with each other. */

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Our client and the `ws` socket that it reached. */
async function ourClient(t: Test): Promise<{ ours: WireSocket; theirs: WebSocket }> {
  const http = createServer();
  const server = new WebSocketServer({ server: http });
  const url = await listening(http);
  const connection = once(server, 'connection') as Promise<[WebSocket]>;
  const ours = await WireSocket.connect(url);
  const [theirs] = await connection;
  t.teardown(() => {
    ours.terminate();
    server.close();
    http.close();
  });
  return { ours, theirs };
}

/** Our server side and the `ws` client that reached it. */
async function ourServer(t: Test): Promise<{ ours: WireSocket; theirs: WebSocket }> {
  const http = createServer();
  const accepted = new Promise<WireSocket>((resolve) =>
    http.on('upgrade', (request, stream, head) => {
      stream.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${acceptKey(request.headers['sec-websocket-key']!)}\r\n\r\n`,
      );
      resolve(new WireSocket(stream, head, 'server'));
    }),
  );
  const theirs = new WebSocket(await listening(http), { perMessageDeflate: false });
  await once(theirs, 'open');
  const ours = await accepted;
  t.teardown(() => {
    ours.terminate();
    http.close();
  });
  return { ours, theirs };
}

for (const [role, open] of [
  ['client', ourClient],
  ['server', ourServer],
] as const) {
  void t.test(`${role}: messages of every length arrive as they were sent, both ways`, async (t) => {
    const { ours, theirs } = await open(t);
    for (const length of [0, 1, 125, 126, 65_535, 65_536, 200_000]) {
      const text = 'a'.repeat(length);
      const received = once(theirs, 'message');
      ours.send(text);
      t.equal(String((await received)[0]), text, `text of ${length}`);
      const asAscii = once(theirs, 'message');
      ours.sendAscii(text);
      t.equal(String((await asAscii)[0]), text, `ASCII of ${length}`);
      const back = once(ours, 'message');
      theirs.send(Buffer.alloc(length, 7));
      const [bytes, isBinary] = (await back) as [Buffer, boolean];
      t.ok(isBinary);
      t.ok(bytes.equals(Buffer.alloc(length, 7)), `binary of ${length}`);
    }
    const received = once(theirs, 'message');
    ours.send('größer ☎');
    t.equal(String((await received)[0]), 'größer ☎');
  });

  void t.test(
    `${role}: a message in fragments is one message, and pings in between are answered`,
    async (t) => {
      const { ours, theirs } = await open(t);
      const message = once(ours, 'message');
      const pong = once(theirs, 'pong');
      theirs.send('one ', { fin: false });
      theirs.ping('still there?');
      theirs.send('two', { fin: true });
      t.same(String((await message)[0]), 'one two');
      t.equal(String((await pong)[0]), 'still there?');
    },
  );

  void t.test(`${role}: who closes gives the code and the reason, and hears them back`, async (t) => {
    for (const closing of ['ours', 'theirs'] as const) {
      const ends = await open(t);
      const ended = Promise.all([once(ends.ours, 'close'), once(ends.theirs, 'close')]);
      ends[closing].close(4321, 'over');
      for (const [code, reason] of await ended) {
        t.equal(code, 4321);
        t.equal(String(reason), 'over');
      }
      t.notOk(ends.ours.isOpen);
      ends.ours.send('too late');
    }
  });

  void t.test(`${role}: a close without a code is 1005, a connection that breaks 1006`, async (t) => {
    const polite = await open(t);
    const left = once(polite.ours, 'close');
    polite.theirs.close();
    t.equal((await left)[0], 1005);
    const rude = await open(t);
    const broken = once(rude.ours, 'close');
    rude.theirs.terminate();
    t.equal((await broken)[0], 1006);
  });

  void t.test(`${role}: what is no WebSocket, no UTF-8 or too long is refused with its code`, async (t) => {
    for (const [what, code] of [
      [Buffer.from([0xff, 0xff, 0xff, 0xff]), 1002],
      // Of 2 MB.
      [Buffer.from([0x82, role === 'client' ? 127 : 255, 0, 0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0]), 1009],
      [Buffer.from(role === 'client' ? [0x81, 1, 0xff] : [0x81, 0x81, 0, 0, 0, 0, 0xff]), 1007],
    ] as const) {
      const { ours, theirs } = await open(t);
      const told = once(theirs, 'close');
      (theirs as unknown as { _socket: { write(bytes: Buffer): void } })._socket.write(what);
      t.equal((await told)[0], code);
      t.notOk(ours.isOpen);
    }
  });
}

void t.test('an upgrade that is refused says with which status', async (t) => {
  const http = createServer((_request, response) => response.writeHead(503).end());
  const url = await listening(http);
  t.teardown(() => http.close());
  await t.rejects(WireSocket.connect(url), { message: 'Unexpected server response: 503' });
  http.removeAllListeners('request');
  http.on('upgrade', (_request, stream) =>
    stream.end(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: wrong\r\n\r\n',
    ),
  );
  await t.rejects(WireSocket.connect(url), { message: 'Invalid Sec-WebSocket-Accept header' });
});
