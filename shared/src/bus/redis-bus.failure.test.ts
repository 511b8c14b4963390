import t, { type Test } from 'tap';
import { redisServerMissing, startRedis, type TestRedis } from '../../test/fixtures/redis-server.ts';
import { uuidV7 } from '../ids/new-id.ts';
import { silentLogger } from '../logging/logger.ts';
import { callEvent, gatewayCommand, until } from './bus.conformance.ts';
import { openRedisBus } from './redis-bus.ts';

const logger = silentLogger();
const skip = redisServerMissing ?? false;

void t.test('restarted with its memory, nothing accepted is lost and all goes on', { skip }, async (t) => {
  const server = await startRedis({ persistent: true });
  await survivesRestart(t, server, { keepsMemory: true });
});

void t.test('restarted without its memory, all goes on', { skip }, async (t) => {
  const server = await startRedis();
  await survivesRestart(t, server, { keepsMemory: false });
});

void t.test(
  'a Redis that can not be used stops the start, and its password is not told',
  { skip },
  async (t) => {
    const server = await startRedis({ tcp: true });
    t.teardown(() => server[Symbol.asyncDispose]());
    const cases: [url: string, reason: RegExp][] = [
      ['redis://:hunter2@127.0.0.1:1', /ECONNREFUSED/],
      [server.url.replace('127', 'user:hunter2@127'), /WRONGPASS/],
    ];
    for (const [url, reason] of cases) {
      const error = await openRedisBus({ url, logger }).then(
        () => undefined,
        (error: Error) => error,
      );
      t.match(error?.message, /REDIS_URL: Redis cannot be used: /);
      t.match(error?.message, reason);
      t.notMatch(`${error?.stack} ${(error?.cause as Error).stack}`, /hunter2/);
    }
  },
);

async function survivesRestart(
  t: Test,
  server: TestRedis,
  { keepsMemory }: { keepsMemory: boolean },
): Promise<void> {
  const bus = await openRedisBus({ url: server.url, logger });
  t.teardown(async () => {
    await bus[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  const sessionId = uuidV7();
  const begun: number[] = [];
  const handled: number[] = [];
  const commands: unknown[] = [];
  let hold = Promise.withResolvers<void>();
  hold.resolve();
  bus.events.consume({
    consumer: 'one',
    claimAfterMs: 200,
    handle: async (event) => {
      begun.push(event.index);
      await hold.promise;
      if (!handled.includes(event.index)) handled.push(event.index);
    },
  });
  await bus.commands.subscribe('gw_a', (command) => commands.push(command.args['text']));
  await bus.events.append([callEvent(sessionId, 0)]);
  await bus.commands.send('gw_a', gatewayCommand({ args: { text: 'before' } }));
  await until('the first of both', () => handled.length === 1 && commands.length === 1);

  hold = Promise.withResolvers();
  await bus.events.append([callEvent(sessionId, 1), callEvent(sessionId, 2)]);
  // An answer that is lost on its way would leave them to be claimed, behind what comes later.
  await until('they are in hand', () => begun.includes(1));
  await server.kill();
  await t.rejects(bus.events.append([callEvent(sessionId, 9)]), 'an append while it is away is refused');
  await until('it knows', () => !bus.healthy());
  hold.resolve();
  await server.start();
  await until('it knows again', () => bus.healthy());

  await until('an event is accepted', () =>
    bus.events.append([callEvent(sessionId, 3)]).then(
      () => true,
      () => false,
    ),
  );
  await bus.commands.send('gw_a', gatewayCommand({ args: { text: 'after' } }));
  await until('events go on', () => handled.includes(3));
  await until('commands go on', () => commands.includes('after'));
  if (keepsMemory) t.same(handled, [0, 1, 2, 3]);
  t.same(commands, ['before', 'after']);
}
