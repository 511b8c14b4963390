import { join } from 'node:path';
import { openGateway } from '@parley/media-gateway/app';
import { loadGatewayConfig } from '@parley/media-gateway/config';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { newId } from '@parley/shared/ids/new-id';
import { createLogger } from '@parley/shared/logging/logger';
import { lowerV8Threads } from '@parley/shared/process/lower-v8-threads';

/**
 * The media gateway as a process of its own, that ends when its parent lets go of it. With `REDIS_URL` it reports as
 * in production; without, to a bus of its own, which is drained over the channel.
 */
lowerV8Threads();
const config = loadGatewayConfig(process.env);
const logger = createLogger({ name: 'media-gateway', level: config.LOG_LEVEL });
const redisUrl = process.env['REDIS_URL'];
const owned = new DisposableList();
const bus = owned.add(
  redisUrl
    ? await openRedisBus({ url: redisUrl, logger })
    : await openLocalBus({ path: join(config.DATA_DIR, 'events.db'), logger }),
);
if (!redisUrl) {
  owned.add(
    bus.events.consume({
      consumer: 'loadtest',
      async handle(event) {
        if (process.connected) process.send!({ event });
        if (event.type !== 'call_ended') return;
        await bus.commands.send(event.gateway_id, {
          v: 1,
          command_id: newId('evt'),
          session_id: event.session_id,
          type: 'report_stored',
          args: { event_id: event.id },
          expires_at: new Date(Date.now() + 60_000).toISOString(),
        });
      },
    }),
  );
}
const gateway = owned.add(await openGateway(config, { bus, logger }));

const stop = () => {
  void gateway
    .drain(0)
    .then(() => owned.dispose())
    .finally(() => process.exit(0));
};
process.on('message', ({ heap }: { heap?: number }) => {
  if (heap === undefined || !process.connected) return;
  globalThis.gc?.();
  process.send!({ heap, bytes: process.memoryUsage().heapUsed + process.memoryUsage().external });
});
process.once('disconnect', stop);
// An interrupt at the terminal reaches the whole group: the parent decides when it is over.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
process.send!({ ready: { url: gateway.url } });
