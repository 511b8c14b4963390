import type { Feature } from '../composition/feature.ts';
import { searchRoutes } from './search-routes.ts';

/** The search over all records of an org. */
export function createSearch(deps: Parameters<typeof searchRoutes>[0]): Feature {
  return {
    routes: searchRoutes(deps),
    samples: [{ scenarios: { searchRecords: (_, send) => send(200, { query: 'q=a' }) } }],
  };
}
