import type { AuditLog } from '../audit/audit-trail.ts';
import type { Feature } from '../composition/feature.ts';
import { idSchema } from '../http/operation.ts';
import { databaseCollection, databaseRowCollection } from './database-model.ts';
import { databaseRoutes } from './database-routes.ts';
import { databaseSample } from './database-sample.ts';
import { DatabaseService } from './database-service.ts';
import { removedDatabaseCollection, RowRemoval } from './row-removal.ts';
import { ROW_AUDIT, rowRoutes } from './row-routes.ts';
import { RowStore } from './row-store.ts';

/** How often the rows of deleted databases are looked for. */
const REMOVAL_INTERVAL_MS = 60_000;

type Needs<T extends abstract new (deps: never) => unknown> = ConstructorParameters<T>[0];

export function createDatabases(
  deps: Omit<Needs<typeof DatabaseService>, 'removal'> &
    Needs<typeof RowStore> &
    Needs<typeof RowRemoval> & { audit: AuditLog<(typeof ROW_AUDIT)[number]> },
) {
  const removal = new RowRemoval(deps);
  const databases = new DatabaseService({ ...deps, removal });
  const rows = new RowStore(deps);
  return {
    databaseRows: rows,
    collections: [databaseCollection, databaseRowCollection, removedDatabaseCollection],
    routes: [...databaseRoutes({ databases }), ...rowRoutes({ ...deps, rows })],
    parameters: { database_id: idSchema('dbs'), row_id: idSchema('dbr') },
    erases: { agent: (scope, agentId) => databases.forgetAgent(scope, agentId) },
    audit: ROW_AUDIT,
    flags: [{ key: 'databases', description: 'Databases of calls' }],
    workers: [
      {
        name: 'rows of deleted databases',
        everyMs: REMOVAL_INTERVAL_MS,
        work: (signal) => removal.sweep(signal),
      },
    ],
    samples: [databaseSample],
  } satisfies Feature & { databaseRows: RowStore };
}
