import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import type { Collection } from '../storage/collection.ts';
import { AppActions } from './app-actions.ts';
import { AppAuthorizations, AUTHORIZATION_AUDIT } from './app-authorizations.ts';
import { AppAuthorizationStates } from './app-authorization-states.ts';
import {
  appAuthorizationCollection,
  appConnectionCollection,
  appRevocationCollection,
} from './app-connection-model.ts';
import { appConnectionRoutes } from './app-connection-routes.ts';
import { appConnectionSample } from './app-connection-sample.ts';
import { AppConnectionService, CONNECTION_AUDIT } from './app-connection-service.ts';
import type { UsingTool } from './app-connection-service.ts';
import { AppCredentials } from './app-credentials.ts';
import { AppRevocations } from './app-revocations.ts';
import { InstalledApps } from './app-settings.ts';
import { AppVendors } from './app-vendors.ts';

const REVOCATIONS_EVERY_MS = 60_000;

export function createAppConnections({ config, ...deps }: Platform & { tools: Collection<UsingTool> }) {
  const apps = new InstalledApps(config);
  const vendors = new AppVendors({ ...deps, apps });
  const credentials = new AppCredentials({ ...deps, vendors });
  const revocations = new AppRevocations({ ...deps, vendors });
  const ofVendors = { ...deps, vendors, credentials, revocations };
  const states = new AppAuthorizationStates(deps);
  const authorizations = new AppAuthorizations({ ...ofVendors, states, publicUrl: config.PUBLIC_URL });
  const connections = new AppConnectionService({ ...ofVendors, authorizations });
  return {
    appActions: new AppActions({ ...deps, apps, credentials }),
    owns: [credentials],
    collections: [appConnectionCollection, appAuthorizationCollection, appRevocationCollection],
    searches: [namedRecords('app_connection', appConnectionCollection, { list: 'listAppConnections' })],
    routes: appConnectionRoutes({
      connections,
      authorizations,
      vendors,
      consoleUrl: config.CONSOLE_URL,
    }),
    parameters: { connection_id: idSchema('apc').meta({ description: 'App connection.' }) },
    flags: [{ key: 'app_connections', description: 'Third-party app connections' }],
    erases: { org: (scope) => connections.revokeAll(scope) },
    audit: [...AUTHORIZATION_AUDIT, ...CONNECTION_AUDIT],
    workers: [
      {
        name: 'app revocations',
        everyMs: REVOCATIONS_EVERY_MS,
        work: (signal) => revocations.work(signal),
      },
    ],
    samples: [appConnectionSample],
  } satisfies Feature & { appActions: AppActions };
}
