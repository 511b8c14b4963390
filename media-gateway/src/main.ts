import { DisposableList } from '@parley/shared/async/disposable-list';
import { shutdownSignal } from '@parley/shared/async/shutdown-signal';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { findMistyped } from '@parley/shared/config/mistyped';
import { ConfigError } from '@parley/shared/errors/config-error';
import { createLogger } from '@parley/shared/logging/logger';
import { lowerV8Threads } from '@parley/shared/process/lower-v8-threads';
import { openGateway } from './app.ts';
import { GATEWAY_VARIABLES, loadProcessConfig } from './config.ts';

async function main(): Promise<void> {
  lowerV8Threads();
  const config = loadProcessConfig(process.env);
  const logger = createLogger({ name: 'media-gateway', level: config.LOG_LEVEL });
  for (const mistyped of findMistyped(process.env, GATEWAY_VARIABLES))
    logger.warn(mistyped, 'a variable is no setting: it may be mistyped');
  const stop = shutdownSignal();
  const owned = new DisposableList();
  try {
    const bus = owned.add(
      await openRedisBus({ url: config.REDIS_URL, partitions: config.EVENT_PARTITIONS, logger }),
    );
    const gateway = owned.add(await openGateway(config, { bus, logger }));
    logger.info({ signal: await stop, calls: gateway.calls }, 'stopping');
    await gateway.drain(config.DRAIN_TIMEOUT_MS);
  } finally {
    await owned.dispose();
  }
  logger.info('stopped');
}

try {
  await main();
  process.exit(0);
} catch (error) {
  console.error(error instanceof ConfigError ? error.message : error);
  process.exit(1);
}
