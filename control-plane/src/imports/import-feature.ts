import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { ImportJobs } from './import-jobs.ts';
import type { ImportKind } from './import-kind.ts';
import { importCollection, importErrorCollection } from './import-model.ts';
import { importRoutes } from './import-routes.ts';
import { ImportService } from './import-service.ts';

/** How often files are looked for that another process left behind; a new one wakes the task. */
const IMPORT_INTERVAL_MS = 5000;

/** Files that are imported behind the answer. Whoever has something that they become adds to `importKinds`. */
export function createImports(deps: Pick<Platform, 'clock' | 'config' | 'database' | 'logger'>) {
  const { STORAGE_DIR: storageDir, PUBLIC_URL: publicUrl } = deps.config;
  const importKinds: ImportKind[] = [];
  const jobs = new ImportJobs({ ...deps, kinds: importKinds, storageDir });
  const imports = new ImportService({ ...deps, jobs, storageDir });
  return {
    ...{ importKinds, imports },
    collections: [importCollection, importErrorCollection],
    routes: importRoutes({ imports, publicUrl }),
    parameters: { import_id: idSchema('imp') },
    workers: [
      {
        name: 'imports',
        everyMs: IMPORT_INTERVAL_MS,
        work: (signal) => jobs.work(signal),
        wakeWith: (task) => jobs.wakeWith(task),
      },
    ],
  } satisfies Feature & { importKinds: ImportKind[]; imports: ImportService };
}
