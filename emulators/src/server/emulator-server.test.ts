import { once } from 'node:events';
import t from 'tap';
import type { Test } from 'tap';
import { Agent, request } from 'undici';
import { WebSocket } from 'ws';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { hasOpenssl, makeCertificate } from './make-certificate.ts';
import { sampleMs, wait } from './delays.ts';
import { openEmulatorServer, readBody, resetConnection } from './emulator-server.ts';
import type { EmulatorServerOptions } from './emulator-server.ts';
import { COMMON_FAULTS, FaultPlan } from './faults.ts';
import type { CommonFault } from './faults.ts';

async function open(t: Test, more: Partial<EmulatorServerOptions<CommonFault>> = {}) {
  const faults = new FaultPlan(COMMON_FAULTS, seededRandom(1));
  const server = await openEmulatorServer({
    name: 'test',
    faults,
    stats: () => ({ greetings: 3 }),
    refusal: (status) => ({ status, body: { vendor_error: status } }),
    onRequest: async ({ request }) => ({
      status: 200,
      body: { heard: (await readBody(request, 100)).toString() },
    }),
    onSocket: (socket) =>
      void socket.on('message', (data: Buffer) => socket.send(data.toString().toUpperCase())),
    ...more,
  });
  t.teardown(() => server[Symbol.asyncDispose]());
  return { server, faults };
}

void t.test('every answer says that an emulator gave it', async (t) => {
  const { server } = await open(t);
  const response = await fetch(server.url, { method: 'POST', body: 'hi' });
  t.equal(response.headers.get('x-parley-emulator'), 'test');
  t.same(await response.json(), { heard: 'hi' });
  const socket = new WebSocket(server.url);
  const opened = once(socket, 'open');
  const [upgrade] = (await once(socket, 'upgrade')) as [{ headers: Record<string, string> }];
  t.equal(upgrade.headers['x-parley-emulator'], 'test');
  t.equal(upgrade.headers['sec-websocket-extensions'], undefined, 'no compression is agreed on');
  await opened;
  socket.send('hello');
  t.equal(String(((await once(socket, 'message')) as [Buffer])[0]), 'HELLO');
});

void t.test(
  'over TLS a client chooses HTTP/2 or HTTP/1.1, and WebSockets go through',
  { skip: hasOpenssl ? false : 'openssl is not installed' },
  async (t) => {
    const tls = await makeCertificate(t.testdir());
    let reset = false;
    const { server } = await open(t, {
      tls,
      onRequest: async ({ request, signal }, response) => {
        if (!reset)
          return {
            status: 200,
            body: { over: request.httpVersion, heard: String(await readBody(request, 9)) },
          };
        response.writeHead(200, { 'content-type': 'text/plain' });
        response.write('half');
        resetConnection(response);
        if (!signal.aborted) await once(signal, 'abort');
        return undefined;
      },
    });
    t.match(server.url, /^https:/);
    for (const [allowH2, version] of [
      [true, '2.0'],
      [false, '1.1'],
    ] as const) {
      const agent = new Agent({ allowH2, connect: { ca: tls.cert } });
      t.teardown(() => agent.destroy());
      const ask = () => request(server.url, { method: 'POST', body: 'hi', dispatcher: agent });
      reset = false;
      const answer = await ask();
      t.equal(answer.headers['x-parley-emulator'], 'test');
      t.same(await answer.body.json(), { over: version, heard: 'hi' });
      reset = true;
      await t.rejects(
        ask().then((cut) => cut.body.text()),
        `an answer that is reset over HTTP/${version} is an error`,
      );
    }
    const socket = new WebSocket(server.url.replace('https', 'wss'), { ca: tls.cert });
    await once(socket, 'open');
    socket.send('hello');
    t.equal(String(((await once(socket, 'message')) as [Buffer])[0]), 'HELLO');
    const closed = once(socket, 'close');
    await server[Symbol.asyncDispose]();
    await closed;
  },
);

void t.test('a body past its limit is answered with 413', async (t) => {
  const { server } = await open(t);
  t.equal((await fetch(server.url, { method: 'POST', body: 'x'.repeat(101) })).status, 413);
});

void t.test('faults can be set and statistics read from another process', async (t) => {
  const { server } = await open(t);
  const post = (body: string, type = 'application/json') =>
    fetch(`${server.url}/__emulator/faults`, { method: 'POST', body, headers: { 'content-type': type } });
  const fault = { kind: 'refuse', status: 429, count: 1, retryAfterMs: 1200 };
  t.same(await (await post(JSON.stringify({ faults: [fault] }))).json(), { faults: [fault] });
  const refused = await fetch(server.url);
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '2');
  t.same(await refused.json(), { vendor_error: 429 });
  t.equal((await fetch(server.url, { method: 'POST', body: '' })).status, 200, 'the count is used up');
  t.same(await (await fetch(`${server.url}/__emulator/stats`)).json(), {
    emulator: 'test',
    greetings: 3,
    faults_struck: { refuse: 1 },
  });
  t.equal((await post('{')).status, 400);
  t.equal((await post('{"faults":[{"kind":"explode"}]}')).status, 422);
  t.equal((await post('null')).status, 422);
  t.equal((await post('{"faults":[]}', 'text/plain')).status, 415);
});

void t.test(
  'an upgrade can be refused by fault, by the emulator, and where there is no socket',
  async (t) => {
    const status = async (url: string) => {
      const socket = new WebSocket(url);
      const [request, response] = (await once(socket, 'unexpected-response')) as [
        { destroy(): void },
        { statusCode: number; headers: Record<string, string> },
      ];
      request.destroy();
      t.equal(response.headers['x-parley-emulator'], 'test');
      return response.statusCode;
    };
    const { server, faults } = await open(t, { admitSocket: () => ({ status: 403, body: 'no' }) });
    faults.set([{ kind: 'rate_limit', count: 1 }]);
    t.equal(await status(server.url), 429);
    t.equal(await status(server.url), 403);
    const faultless = new FaultPlan(COMMON_FAULTS, seededRandom(1));
    const plain = await openEmulatorServer<CommonFault>({
      name: 'test',
      faults: faultless,
      stats: () => ({}),
      refusal: (code) => ({ status: code }),
      onRequest: async () => ({ status: 204 }),
    });
    t.teardown(() => plain[Symbol.asyncDispose]());
    t.equal(await status(plain.url), 404);
  },
);

void t.test('a slow handshake waits on the clock, and closing the emulator ends the wait', async (t) => {
  const clock = new ManualClock();
  const { server, faults } = await open(t, { clock });
  faults.set([{ kind: 'slow_handshake', delayMs: 5000 }]);
  const socket = new WebSocket(server.url);
  const opened = once(socket, 'open');
  while (clock.pendingTimers === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  clock.advance(4999);
  t.equal(socket.readyState, WebSocket.CONNECTING);
  clock.advance(1);
  await opened;
  const second = new WebSocket(server.url);
  const failed = once(second, 'error').catch(() => undefined);
  while (clock.pendingTimers === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  const closed = once(socket, 'close');
  await server[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  await failed;
  await closed;
  t.equal(clock.pendingTimers, 0);
});

void t.test('a reset connection is an error to the peer, not an end', async (t) => {
  const { server } = await open(t, {
    onRequest: async (_, response) => {
      response.write('half');
      resetConnection(response);
    },
    onSocket: (socket) => resetConnection(socket),
  });
  const socket = new WebSocket(server.url);
  socket.on('error', () => undefined);
  t.equal(((await once(socket, 'close')) as [number])[0], 1006);
  await t.rejects(fetch(server.url).then((response) => response.text()));
});

void t.test(
  'a fault with a probability strikes about that often, and the same way for the same seed',
  async (t) => {
    const strikes = (seed: number) => {
      const plan = new FaultPlan(COMMON_FAULTS, seededRandom(seed));
      plan.set([{ kind: 'stall', probability: 0.3 }]);
      return Array.from({ length: 1000 }, () => plan.take(['stall']) !== undefined);
    };
    const first = strikes(7);
    t.same(strikes(7), first);
    t.notSame(strikes(8), first);
    const count = first.filter(Boolean).length;
    t.ok(count > 230 && count < 370, `${count} of 1000`);
  },
);

void t.test('a fault of another kind, or one that is not accepted, is left in force', async (t) => {
  const plan = new FaultPlan(COMMON_FAULTS, seededRandom(1));
  plan.set([{ kind: 'cut', count: 2, after: 3 }]);
  t.equal(plan.take(['stall']), undefined);
  t.equal(
    plan.take(['cut'], ({ after }) => after === undefined),
    undefined,
  );
  t.equal(plan.take(['cut'])?.after, 3);
  t.same(plan.faults, [{ kind: 'cut', count: 1, after: 3 }]);
  plan.take(['cut']);
  t.same(plan.faults, []);
});

void t.test('drawn delays have the median and 95th percentile that were asked for', async (t) => {
  const random = seededRandom(3);
  const draws = Array.from({ length: 20_000 }, () => sampleMs({ p50Ms: 200, p95Ms: 400 }, random)).sort(
    (a, b) => a - b,
  );
  const at = (share: number) => draws[Math.floor(share * draws.length)]!;
  t.ok(Math.abs(at(0.5) - 200) < 8, `median ${at(0.5)}`);
  t.ok(Math.abs(at(0.95) - 400) < 24, `95th percentile ${at(0.95)}`);
  t.equal(sampleMs(70, random), 70);
  t.equal(sampleMs({ p50Ms: 0, p95Ms: 400 }, random), 0);
});

void t.test('an aborted wait rejects with the reason and leaves no timer', async (t) => {
  const clock = new ManualClock();
  const controller = new AbortController();
  const waiting = wait(clock, 1000, controller.signal);
  controller.abort(new Error('enough'));
  await t.rejects(waiting, { message: 'enough' });
  await t.rejects(wait(clock, 1000, controller.signal), { message: 'enough' });
  t.equal(clock.pendingTimers, 0);
});
