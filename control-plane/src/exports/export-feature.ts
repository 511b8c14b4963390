import type { Feature } from '../composition/feature.ts';
import { EXPORT_AUDIT, exportRoutes } from './export-routes.ts';

/** Sessions, turns and tool calls of a project as files. */
export function createExports(deps: Parameters<typeof exportRoutes>[0]): Feature {
  return { routes: exportRoutes(deps), audit: EXPORT_AUDIT };
}
