import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import t, { type Test } from 'tap';
import type WebSocket from 'ws';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { Behaviour, FloodOrder, FloodResult } from './fixtures/flood-client.ts';
import { closeOf, openTestGateway, wire, type TestGateway } from './fixtures/test-gateway.ts';
import { until } from './fixtures/until.ts';

// Everything that holds a connection without being a call is cut off by a bound of config.ts, and leaves nothing.

t.setTimeout(120_000);
const { plivo } = wire;
/** Four gateways and all their clients share this process: its event loop may be late, and so may the control plane. */
const PATIENT = { MAX_LOOP_DELAY_MS: '0', CONTROL_PLANE_TIMEOUT_MS: '30000' };
/** Who is not to be cut off may be silent until the test comes back to it. */
const SILENT_FOR_LONG = { IDLE_TIMEOUT_SECONDS: '960' };

const fds = '/proc/self/fd';
/** Sockets this process holds, listening ones included. */
function openSockets(): number {
  return readdirSync(fds).filter((fd) => {
    try {
      return readlinkSync(`${fds}/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;
}

/** A carrier's stream. Where the machine is so busy that a ticket cannot be checked in time, it is tried again, as carriers do. */
async function opened(test: TestGateway, ticket: string): Promise<WebSocket> {
  for (;;) {
    const client = test.connect('plivo', ticket);
    try {
      await once(client, 'open');
      return client;
    } catch (error) {
      if (!(error as Error).message.endsWith('503')) throw error;
    }
  }
}

/** Many badly behaved connections, of another process. */
function flood(t: Test, order: FloodOrder): { settled: Promise<FloodResult>; ended: Promise<FloodResult> } {
  const child = fork(new URL('fixtures/flood-client.ts', import.meta.url), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const settled = Promise.withResolvers<FloodResult>();
  const ended = Promise.withResolvers<FloodResult>();
  settled.promise.catch(() => {});
  child.on('message', (message: { settled?: FloodResult; result?: FloodResult }) => {
    if (message.settled) settled.resolve(message.settled);
    if (message.result) ended.resolve(message.result);
  });
  // What it has said last may be read after it is gone.
  void Promise.all([once(child, 'exit'), once(child, 'disconnect')]).then(([[code]]) => {
    const error = new Error(`The flooding process ended with ${code}.`);
    settled.reject(error);
    ended.reject(error);
  });
  child.send(order);
  return { settled: settled.promise, ended: ended.promise };
}

const connections = (count: number, behaviour: Behaviour, path: () => string) =>
  Array.from({ length: count }, () => ({ behaviour, path: path() }));

/** A call that is held meanwhile, as if nothing were. */
async function holdCall({
  api,
  connect,
}: TestGateway): Promise<{ client: WebSocket; answers(): Promise<boolean> }> {
  const client = connect('plivo', api.issue().ticket);
  await once(client, 'open');
  client.send(plivo.start('bystander'));
  let value = 0;
  return {
    client,
    async answers() {
      const heard = once(client, 'message');
      client.send(plivo.media(++value));
      const [data] = (await heard) as [Buffer];
      const { media } = JSON.parse(data.toString()) as { media: { payload: string } };
      return Buffer.from(media.payload, 'base64')[0] === value;
    },
  };
}

void t.test(
  'rule 35: floods leave nothing behind',
  { skip: existsSync(fds) ? false : 'needs /proc' },
  async (t) => {
    const before = openSockets();
    t.jobs = 4;

    const loris = t.test('requests that never end are cut off', { buffered: true }, async (t) => {
      const test = await openTestGateway(t, { env: PATIENT });
      const call = await holdCall(test);
      const path = () => `/media/v1/streams/plivo/${test.api.issue().ticket}`;
      const { ended } = flood(t, {
        port: test.gateway.port,
        connections: [
          ...connections(200, 'silent', path),
          ...connections(200, 'unfinished', path),
          ...connections(200, 'trickle', path),
        ],
      });
      t.ok(await call.answers());
      t.same(await ended, { cut: 600 });
      t.ok(await call.answers(), 'a call is held all the while');
      t.same([test.api.checks.length, test.gateway.calls], [1, 1], 'nobody was asked about their tickets');
      call.client.close();
      await until(() => test.gateway.calls === 0);
    });

    const idle = t.test(
      '2,000 sockets that never start: so many stand, and not for long',
      { buffered: true },
      async (t) => {
        const clock = new ManualClock(Date.now());
        const test = await openTestGateway(t, {
          env: { ...PATIENT, MAX_CONNECTIONS: '1501', START_TIMEOUT_MS: '2000', ...SILENT_FOR_LONG },
          deps: { clock },
        });
        const call = await holdCall(test);
        const path = () => `/media/v1/streams/plivo/${test.api.issue().ticket}`;
        const { settled, ended } = flood(t, {
          port: test.gateway.port,
          connections: connections(2000, 'idle', path),
        });
        // A machine with much else to do may turn some away: its control plane did not answer in time.
        const before = await settled;
        const { 'status:503': refused = 0, cut = 0, ...stand } = before;
        t.same(stand, { open: 1500 }, 'MAX_CONNECTIONS');
        t.equal(cut + refused, 500);
        t.ok(await call.answers(), 'a call is held all the while');
        clock.advance(2000);
        t.same(await ended, { ...before, 'closed:4408': 1500 }, 'START_TIMEOUT_MS');
        t.same(
          [test.api.redeems.length, test.gateway.calls],
          [1, 1],
          'no ticket was spent, no session begun',
        );
        const next = await holdCall(test);
        t.ok(await next.answers(), 'and there is room again');
        for (const { client } of [call, next]) client.close();
        await until(() => test.gateway.calls === 0);
      },
    );

    const mute = t.test(
      'streams that may wait long are cut off when they answer no ping',
      { buffered: true },
      async (t) => {
        const test = await openTestGateway(t, { env: { ...PATIENT, IDLE_TIMEOUT_SECONDS: '8' } });
        // Telnyx connects while it rings: its streams wait until their ticket ends, in an hour here.
        const path = () => `/media/v1/streams/telnyx/${test.api.issue({ lifeMs: 3_600_000 }).ticket}`;
        const { ended } = flood(t, { port: test.gateway.port, connections: connections(200, 'idle', path) });
        // A machine with much else to do may turn some away: its control plane did not answer in time.
        const { open = 0, 'status:503': refused = 0, ...rest } = await ended;
        t.equal(open + refused, 200);
        t.ok(open > 100, `${open} were let in`);
        t.same(rest, { cut: open }, 'IDLE_TIMEOUT_SECONDS');
        t.same([test.api.redeems.length, test.gateway.calls], [0, 0]);
      },
    );

    const loud = t.test(
      'too much, and too large: the call ends and is reported',
      { buffered: true },
      async (t) => {
        const test = await openTestGateway(t, {
          env: {
            ...PATIENT,
            ...SILENT_FOR_LONG,
            MAX_MESSAGES_PER_SECOND: '100',
            MAX_MESSAGE_BYTES: '4096',
            REALTIME_MAX_MESSAGE_BYTES: '65536',
          },
        });
        const call = await holdCall(test);
        const many = (message: string) => (client: WebSocket) => {
          for (let i = 0; i < 200; i++) client.send(message);
        };
        const large = (bytes: number) => (client: WebSocket) => client.send('x'.repeat(bytes));
        const cases: [string, (client: WebSocket) => void, [number, string]][] = [
          ['a flood of audio', many(plivo.media(1)), [1013, 'too_many_messages']],
          ['a flood of keys', many(plivo.dtmf('1')), [1013, 'too_many_messages']],
          ['a frame too large', large(4097), [1009, 'frame_too_large']],
          ['a frame far too large', large(1_000_000), [1006, '']],
        ];
        for (const started of [true, false]) {
          await Promise.all(
            cases.flatMap(([what, misbehave, expected]) =>
              Array.from({ length: 5 }, async () => {
                const { ticket, sessionId } = test.api.issue();
                const client = await opened(test, ticket);
                if (started) {
                  client.send(plivo.start());
                  client.send(plivo.media(7));
                  await once(client, 'message');
                }
                const closed = closeOf(client);
                misbehave(client);
                const [code, reason] = await closed;
                // Before its start media is a mistake already, and the first one ends it.
                if (!started && what === 'a flood of audio')
                  t.same([code, reason], [4400, 'media_before_start']);
                else t.same([code, reason], expected, what);
                if (started) t.ok(await test.events.next('call_ended', sessionId), 'and is reported');
              }),
            ),
          );
          t.equal(test.gateway.calls, 1, 'only the one that behaves');
          t.ok(await call.answers());
        }
        t.equal(test.api.redeems.length, 1 + 20, 'tickets of those that never started are not spent');
        call.client.close();
        await until(() => test.gateway.calls === 0);
      },
    );

    await Promise.all([loris, idle, mute, loud]);
    await until(() => openSockets() <= before);
    t.ok(openSockets() <= before, 'no socket is left in this process');
  },
);
