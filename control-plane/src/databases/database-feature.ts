import type { AuditLog } from '../audit/audit-trail.ts';
import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { databaseCollection, databaseRowCollection } from './database-model.ts';
import { databaseRoutes } from './database-routes.ts';
import { databaseSample } from './database-sample.ts';
import { DatabaseService } from './database-service.ts';
import { removedDatabaseCollection, RowRemoval } from './row-removal.ts';
import { rowImportRoutes } from './row-import-routes.ts';
import { RowImports } from './row-imports.ts';
import { RowCounts } from './row-counts.ts';
import { ROW_AUDIT, rowRoutes } from './row-routes.ts';
import { RowStore } from './row-store.ts';

/** How often the rows of deleted databases are looked for. */
const REMOVAL_INTERVAL_MS = 60_000;
/** How often databases are looked for whose rows are to be counted. */
const COUNT_INTERVAL_MS = 60_000;

type Needs<T extends abstract new (deps: never) => unknown> = ConstructorParameters<T>[0];

export function createDatabases(
  deps: Omit<Needs<typeof DatabaseService>, 'removal'> &
    Needs<typeof RowStore> &
    Needs<typeof RowRemoval> &
    Pick<Needs<typeof RowImports>, 'imports'> &
    Pick<Platform, 'config' | 'logger'> & { audit: AuditLog<(typeof ROW_AUDIT)[number]> },
) {
  const removal = new RowRemoval(deps);
  const databases = new DatabaseService({ ...deps, removal });
  const rows = new RowStore(deps);
  const counts = new RowCounts(deps);
  const rowImports = new RowImports({ ...deps, rows });
  return {
    ...{ databaseRows: rows, rowImports },
    collections: [databaseCollection, databaseRowCollection, removedDatabaseCollection],
    searches: [namedRecords('database', databaseCollection, { list: 'listDatabases' })],
    routes: [
      ...databaseRoutes({ databases }),
      ...rowRoutes({ ...deps, rows }),
      ...rowImportRoutes({ imports: rowImports, publicUrl: deps.config.PUBLIC_URL }),
    ],
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
      {
        name: 'counts of rows',
        everyMs: COUNT_INTERVAL_MS,
        work: (signal) => counts.sweep(signal),
      },
    ],
    samples: [databaseSample],
  } satisfies Feature & { databaseRows: RowStore; rowImports: RowImports };
}
