import { DisposableList } from '@parley/shared/async/disposable-list';
import { shutdownSignal } from '@parley/shared/async/shutdown-signal';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { findMistyped } from '@parley/shared/config/mistyped';
import { ConfigError } from '@parley/shared/errors/config-error';
import { createLogger } from '@parley/shared/logging/logger';
import { openControlPlane } from './app.ts';
import { CONTROL_PLANE_VARIABLES, loadControlPlaneConfig } from './config.ts';

async function main(): Promise<void> {
  const config = loadControlPlaneConfig(process.env);
  if (config.REDIS_URL === undefined)
    throw new ConfigError(['REDIS_URL: is required to reach other processes']);
  const logger = createLogger({ name: 'control-plane', level: config.LOG_LEVEL });
  for (const mistyped of findMistyped(process.env, CONTROL_PLANE_VARIABLES))
    logger.warn(mistyped, 'a variable is no setting: it may be mistyped');
  const owned = new DisposableList();
  const stopping = new AbortController();
  try {
    const { REDIS_URL: url, EVENT_PARTITIONS: partitions } = config;
    const bus = owned.add(await openRedisBus({ url, partitions, logger }));
    const controlPlane = owned.add(await openControlPlane(config, { bus, logger }));
    logger.info({ url: controlPlane.url, internalUrl: controlPlane.internalUrl }, 'control plane is ready');
    const { userAccounts } = controlPlane.services;
    if (!(await userAccounts.hasUsers())) {
      // For the operator's eyes: not a log line that is shipped somewhere.
      process.stdout.write(`Setup code for the first registration: ${userAccounts.setupCode()}\n`);
    }
    void controlPlane.prepareConsole(stopping.signal);
    const signal = await shutdownSignal();
    stopping.abort();
    logger.info({ signal }, 'control plane is stopping');
    await controlPlane.drain(config.DRAIN_TIMEOUT_MS);
  } finally {
    await owned.dispose();
  }
}

try {
  await main();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
