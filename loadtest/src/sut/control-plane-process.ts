import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openControlPlane } from '@parley/control-plane/app';
import { bootstrapInstallation } from '@parley/control-plane/bootstrap';
import { loadControlPlaneConfig } from '@parley/control-plane/config';
import { openDocumentStore } from '@parley/embedded/document-store/document-store';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { createLogger } from '@parley/shared/logging/logger';

/** What the parent needs to know. */
export interface ControlPlaneReady {
  url: string;
  internalUrl: string;
  internalToken: string;
  apiKey: string;
  orgId: string;
  projectId: string;
}

/**
 * The control plane over the embedded document store (or the MongoDB at `MONGODB_URI`) as a process of its own, with
 * an org to work in, that ends when its parent lets go of it. Its limits are out of the way: they are not what is
 * measured.
 */
const directory = process.argv[2]!;
const logger = createLogger({ name: 'control-plane', level: 'warn' });
const owned = new DisposableList();
const redisUrl = process.env['REDIS_URL'];
const bus = owned.add(
  redisUrl ? await openRedisBus({ url: redisUrl, logger }) : await openLocalBus({ path: ':memory:', logger }),
);
const mongoUri =
  process.env['MONGODB_URI'] ??
  owned.add(await openDocumentStore({ path: join(directory, 'parley.db') })).uri;
const internalToken = randomBytes(24).toString('base64url');
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const unlimited = '1000000';
const controlPlane = owned.add(
  await openControlPlane(
    loadControlPlaneConfig({
      PUBLIC_URL: 'http://127.0.0.1:8080',
      PORT: '0',
      INTERNAL_PORT: '0',
      INTERNAL_TOKEN: internalToken,
      MONGODB_URI: mongoUri,
      ENCRYPTION_KEYS: `load:${randomBytes(32).toString('base64')}`,
      JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'load' }]),
      STORAGE_DIR: join(directory, 'storage'),
      ADDRESS_REQUESTS_PER_MINUTE: '0',
      API_REQUESTS_PER_MINUTE: unlimited,
      API_REQUESTS_BURST: unlimited,
      CONCURRENT_SESSIONS_PER_ORG: '0',
      SESSION_STARTS_PER_MINUTE: '0',
      EMULATED_PROVIDERS: 'deepgram,openai,elevenlabs',
      ...Object.fromEntries(
        ['DEEPGRAM', 'OPENAI', 'ELEVENLABS'].flatMap((name) => {
          const url = process.env[`${name}_BASE_URL`];
          return url === undefined
            ? []
            : [
                [`${name}_BASE_URL`, url],
                [`${name}_API_KEY`, 'emulated'],
              ];
        }),
      ),
    }),
    { bus, logger },
  ),
);
const first = await bootstrapInstallation(controlPlane.services, { orgName: 'Load test' });

process.once('disconnect', () => {
  void owned.dispose().finally(() => process.exit(0));
});
process.on('SIGINT', () => undefined);
const ready: ControlPlaneReady = {
  url: controlPlane.url,
  internalUrl: controlPlane.internalUrl,
  internalToken,
  apiKey: first.apiKey,
  orgId: first.org._id,
  projectId: first.project._id,
};
process.send!({ ready });
