import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { openControlPlane } from '@parley/control-plane/app';
import { bootstrapInstallation } from '@parley/control-plane/bootstrap';
import { loadControlPlaneConfig } from '@parley/control-plane/config';
import { sessionCollection } from '@parley/control-plane/sessions/session-model';
import { openDocumentStore } from '@parley/document-store/document-store';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { openRedisBus } from '@parley/shared/bus/redis-bus';
import { uuidV7 } from '@parley/shared/ids/new-id';
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

const SEED_BATCH = 1000;
const SESSION_EVERY_MS = 60_000;

/** Fills the store with `count` sessions that ended, a minute apart, modelled on the newest one. */
async function seedSessions(count: number): Promise<void> {
  const sessions = controlPlane.services.database.model(sessionCollection);
  const model = await sessions.findOne({}).sort({ created_at: -1 }).lean();
  if (!model) throw new Error('No session found to copy.');
  for (let made = 0; made < count; made += SEED_BATCH) {
    const batch = Array.from({ length: Math.min(SEED_BATCH, count - made) }, (_, index) => {
      const at = new Date(model.created_at.getTime() - (made + index + 1) * SESSION_EVERY_MS);
      return {
        ...model,
        _id: uuidV7(at.getTime()),
        status: 'ended' as const,
        created_at: at,
        updated_at: at,
        started_at: at,
        ended_at: new Date(at.getTime() + 45_000),
      };
    });
    // As they are: the times above must not become the time of writing.
    await sessions.collection.insertMany(batch as never[], { ordered: false });
  }
}

process.on('message', ({ seed }: { seed?: number }) => {
  if (seed === undefined) return;
  seedSessions(seed).then(
    () => process.send!({ seeded: seed }),
    (error: unknown) => process.send!({ failed: String(error) }),
  );
});
process.once('disconnect', () => {
  void owned.dispose().finally(() => process.exit(0));
});
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
const ready: ControlPlaneReady = {
  url: controlPlane.url,
  internalUrl: controlPlane.internalUrl,
  internalToken,
  apiKey: first.apiKey,
  orgId: first.org._id,
  projectId: first.project._id,
};
process.send!({ ready });
