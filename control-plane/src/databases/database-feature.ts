import type { AuditLog } from '../audit/audit-trail.ts';
import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { databaseCollection, databaseRowCollection } from './database-model.ts';
import { databaseRoutes } from './database-routes.ts';
import { databaseSample } from './database-sample.ts';
import { DatabaseService } from './database-service.ts';
import { ImportJobs } from './imports/import-jobs.ts';
import { importCollection, importErrorCollection } from './imports/import-model.ts';
import { importRoutes } from './imports/import-routes.ts';
import { ImportService } from './imports/import-service.ts';
import { removedDatabaseCollection, RowRemoval } from './row-removal.ts';
import { RowCounts } from './row-counts.ts';
import { ROW_AUDIT, rowRoutes } from './row-routes.ts';
import { RowStore } from './row-store.ts';

/** How often the rows of deleted databases are looked for. */
const REMOVAL_INTERVAL_MS = 60_000;
/** How often databases are looked for whose rows are to be counted. */
const COUNT_INTERVAL_MS = 60_000;
/** How often files are looked for that another process left behind; a new one wakes the task. */
const IMPORT_INTERVAL_MS = 5000;

type Needs<T extends abstract new (deps: never) => unknown> = ConstructorParameters<T>[0];

export function createDatabases(
  deps: Omit<Needs<typeof DatabaseService>, 'removal'> &
    Needs<typeof RowStore> &
    Needs<typeof RowRemoval> &
    Pick<Platform, 'config' | 'logger'> & { audit: AuditLog<(typeof ROW_AUDIT)[number]> },
) {
  const removal = new RowRemoval(deps);
  const databases = new DatabaseService({ ...deps, removal });
  const rows = new RowStore(deps);
  const counts = new RowCounts(deps);
  const { STORAGE_DIR: storageDir, PUBLIC_URL: publicUrl } = deps.config;
  const jobs = new ImportJobs({ ...deps, rows, storageDir });
  const imports = new ImportService({ ...deps, jobs, storageDir });
  return {
    databaseRows: rows,
    collections: [
      ...[databaseCollection, databaseRowCollection, removedDatabaseCollection],
      ...[importCollection, importErrorCollection],
    ],
    routes: [
      ...databaseRoutes({ databases }),
      ...rowRoutes({ ...deps, rows }),
      ...importRoutes({ imports, publicUrl }),
    ],
    parameters: { database_id: idSchema('dbs'), row_id: idSchema('dbr'), import_id: idSchema('imp') },
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
      {
        name: 'imports of rows',
        everyMs: IMPORT_INTERVAL_MS,
        work: (signal) => jobs.work(signal),
        wakeWith: (task) => jobs.wakeWith(task),
      },
    ],
    samples: [databaseSample],
  } satisfies Feature & { databaseRows: RowStore };
}
