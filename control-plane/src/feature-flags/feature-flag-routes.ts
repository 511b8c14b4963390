import { z } from 'zod';
import type { FeatureFlag } from '../composition/feature.ts';
import { listOf } from '../http/list-query.ts';
import { defineOperation, jsonBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { OrgService } from '../orgs/org-service.ts';
import { inOrg, within } from '../tenancy/target.ts';

const flagResponse = z
  .object({ key: z.string(), enabled: z.boolean(), default: z.boolean(), description: z.string() })
  .meta({ id: 'FeatureFlag' });

/** @param features those that can be switched off for an org; asked at each request, for some are made later */
export function featureFlagRoutes({
  orgs,
  features,
}: {
  orgs: OrgService;
  features: { readonly flags: readonly FeatureFlag[] };
}): Operation[] {
  const known = (key: string) => features.flags.find((flag) => flag.key === key);
  const toResponse = ({ key, description }: FeatureFlag, switched: Record<string, boolean>) => ({
    key,
    enabled: switched[key] ?? true,
    default: true,
    description,
  });

  return [
    defineOperation({
      id: 'listFeatureFlags',
      method: 'GET',
      path: '/v1/orgs/{org_id}/feature-flags',
      tag: 'Feature flags',
      summary: 'List feature flags',
      access: { key: 'viewer', user: 'viewer' },
      target: inOrg,
      responses: { 200: { description: 'All flags', schema: listOf(flagResponse) } },
      async handle({ scope }) {
        const { feature_flags: switched } = await orgs.get(scope.orgId);
        const items = features.flags.map((flag) => toResponse(flag, switched));
        return { items, total: items.length };
      },
    }),
    defineOperation({
      id: 'setFeatureFlag',
      method: 'PUT',
      path: '/v1/orgs/{org_id}/feature-flags/{key}',
      tag: 'Feature flags',
      summary: 'Enable or disable a feature',
      access: { user: 'owner' },
      target: within(inOrg, 'key', (_, key) => known(key) !== undefined),
      params: { key: z.string().regex(/^[a-z_]{1,64}$/, 'must be the key of a feature flag') },
      body: jsonBody(z.strictObject({ enabled: z.boolean() }).meta({ id: 'SetFeatureFlagRequest' })),
      responses: { 200: { description: 'The flag', schema: flagResponse } },
      async handle({ scope, caller, params, body, address }) {
        const { key } = params;
        await orgs.setFlag(scope, caller, key, body.enabled, { address });
        return toResponse(known(key)!, { [key]: body.enabled });
      },
    }),
  ];
}
