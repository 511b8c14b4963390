import type { AuditLog } from '../audit/audit-trail.ts';
import type { Feature } from '../composition/feature.ts';
import { usageEntryCollection, usageSumCollection } from './usage-model.ts';
import { DailyStatistics } from './daily-statistics.ts';
import { statisticsRoutes } from './statistics-routes.ts';
import { trafficResultRoutes } from './traffic-result-routes.ts';
import { TrafficResults } from './traffic-results.ts';
import { USAGE_AUDIT, usageRoutes } from './usage-routes.ts';
import { UsageService } from './usage-service.ts';
import { UsageSums } from './usage-sums.ts';

/** How often calls are looked for that no sum has yet: those that are booked wake the work. */
const SUM_INTERVAL_MS = 10_000;

type Needs<T extends abstract new (deps: never) => unknown> = ConstructorParameters<T>[0];

/** What calls come to, by day and project. */
export function createUsage(
  deps: Needs<typeof UsageService> &
    Needs<typeof UsageSums> & { audit: AuditLog<(typeof USAGE_AUDIT)[number]> },
) {
  const usageSums = new UsageSums(deps);
  const usage = new UsageService(deps);
  const results = new TrafficResults({ usage });
  const statistics = new DailyStatistics({ usage });
  return {
    ...{ usage, usageSums },
    collections: [usageEntryCollection, usageSumCollection],
    routes: [
      ...usageRoutes({ ...deps, usage }),
      ...trafficResultRoutes(results),
      ...statisticsRoutes(statistics),
    ],
    audit: USAGE_AUDIT,
    workers: [
      {
        name: 'usage sums',
        everyMs: SUM_INTERVAL_MS,
        work: (signal) => usageSums.work(signal),
        wakeWith: (task) => usageSums.wakeWith(task),
      },
    ],
  } satisfies Feature & { usage: UsageService; usageSums: UsageSums };
}
