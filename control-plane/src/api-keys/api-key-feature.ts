import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { namedRecords } from '../composition/search-source.ts';
import { idSchema } from '../http/operation.ts';
import { apiKeyCollection } from './api-key-model.ts';
import { apiKeyRoutes } from './api-key-routes.ts';
import { apiKeySample } from './api-key-sample.ts';
import { API_KEY_AUDIT, ApiKeyService } from './api-key-service.ts';

export function createApiKeys(
  deps: Pick<Platform, 'audit' | 'background' | 'clock' | 'database' | 'directory'>,
) {
  const apiKeys = new ApiKeyService(deps);
  return {
    apiKeys,
    collections: [apiKeyCollection],
    searches: [
      namedRecords('api_key', apiKeyCollection, {
        list: 'listApiKeys',
        fields: ['name', 'key_start'],
        name: ({ name, key_start }) => `${name} (${key_start}…)`,
      }),
    ],
    routes: apiKeyRoutes({ apiKeys, clock: deps.clock }),
    parameters: { key_id: idSchema('key') },
    audit: API_KEY_AUDIT,
    samples: [apiKeySample],
  } satisfies Feature & { apiKeys: ApiKeyService };
}
