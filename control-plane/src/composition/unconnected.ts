import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import { loadControlPlaneConfig } from '../config.ts';
import { createFeatures } from '../features.ts';
import { unconnectedDatabase } from '../storage/database.ts';
import type { AllFeatures } from './all-features.ts';

/**
 * The features of an installation that is not there, to be read and not to be called: what they store, serve and
 * bring along. They are made as ever, which starts nothing, over a database that is never reached and with keys of
 * the moment.
 */
export async function readFeatures<T>(read: (features: AllFeatures) => T | Promise<T>): Promise<T> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const config = loadControlPlaneConfig({
    PUBLIC_URL: 'http://127.0.0.1:8080',
    INTERNAL_TOKEN: randomBytes(24).toString('hex'),
    MONGODB_URI: 'mongodb://127.0.0.1/unconnected',
    ENCRYPTION_KEYS: `x:${randomBytes(32).toString('base64')}`,
    JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'x' }]),
  });
  const owned = new DisposableList();
  try {
    const bus = owned.add(await openLocalBus({ path: ':memory:', logger: silentLogger() }));
    const made = await createFeatures({
      config,
      database: owned.add(unconnectedDatabase()),
      bus,
      logger: silentLogger(),
      clock: systemClock,
      draining: () => false,
    });
    owned.defer(() => made[Symbol.asyncDispose]());
    return await read(made.features);
  } finally {
    await owned.dispose();
  }
}
