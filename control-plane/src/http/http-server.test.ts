import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { HttpServer } from './http-server.ts';

const LOOPBACK = { host: '127.0.0.1', port: 0 };

void t.test('a port is taken before there is anything to answer with', async (t) => {
  const http = await HttpServer.listen(LOOPBACK);
  t.teardown(() => http[Symbol.asyncDispose]());
  const url = `http://127.0.0.1:${http.port}/v1/me`;
  await t.rejects(HttpServer.listen({ ...LOOPBACK, port: http.port }), { message: /PORT: .*EADDRINUSE/ });

  const early = await fetch(url);
  t.equal(early.status, 503);
  t.equal(early.headers.get('retry-after'), '1');
  t.match(await early.json(), { detail: /starting/, code: 'starting', request_id: /^req_/ });

  http.serve((_request, response) => Promise.resolve(response.end('here')));
  t.equal(await (await fetch(url)).text(), 'here');
});

void t.test('draining waits for what is under way and takes nothing new', async (t) => {
  const http = await HttpServer.listen(LOOPBACK);
  t.teardown(() => http[Symbol.asyncDispose]());
  const url = `http://127.0.0.1:${http.port}/`;
  const arrived = new Promise<() => void>((resolve) =>
    http.serve((_request, response) => Promise.resolve(resolve(() => response.end('in time')))),
  );
  const answer = fetch(url).then((response) => response.text());
  const finish = await arrived;
  let drained = false;
  const draining = http.drain(60_000).then(() => (drained = true));
  t.notOk(http.server.listening);
  t.notOk(drained);
  finish();
  t.equal(await answer, 'in time');
  await draining;
});

void t.test('closing cuts what is under way, and may be done twice', async (t) => {
  const http = await HttpServer.listen(LOOPBACK);
  const arrived = new Promise<void>((resolve) => http.serve(() => Promise.resolve(resolve())));
  const answer = fetch(`http://127.0.0.1:${http.port}/`);
  const cut = t.rejects(answer);
  await arrived;
  await Promise.all([http[Symbol.asyncDispose](), http[Symbol.asyncDispose]()]);
  await cut;
  await http[Symbol.asyncDispose]();
});

void t.test('closing waits for the work on requests whose clients it has cut off', async (t) => {
  const http = await HttpServer.listen(LOOPBACK);
  const order: string[] = [];
  const arrived = new Promise<void>((resolve) =>
    http.serve(async (_request, response) => {
      resolve();
      await once(response, 'close');
      for (let turn = 0; turn < 10; turn++) await setImmediate();
      order.push('worked');
    }),
  );
  const cut = t.rejects(fetch(`http://127.0.0.1:${http.port}/`));
  await arrived;
  await http[Symbol.asyncDispose]();
  order.push('closed');
  await cut;
  t.same(order, ['worked', 'closed']);
});
