import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { orgCollection } from './org-model.ts';
import { orgRoutes } from './org-routes.ts';
import { orgSample } from './org-sample.ts';
import { ORG_AUDIT, OrgService } from './org-service.ts';

export function createOrgs(
  deps: Pick<Platform, 'audit' | 'clock' | 'config' | 'database' | 'directory'> &
    ConstructorParameters<typeof OrgService>[0],
) {
  const orgs = new OrgService(deps);
  return {
    orgs,
    collections: [orgCollection],
    routes: orgRoutes({ ...deps, orgs }),
    parameters: { org_id: idSchema('org') },
    audit: ORG_AUDIT,
    samples: [orgSample],
  } satisfies Feature & { orgs: OrgService };
}
