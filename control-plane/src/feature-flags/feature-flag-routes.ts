import { z } from 'zod';
import { listOf } from '../http/list-query.ts';
import { defineOperation, jsonBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { invalid } from '../http/validation.ts';
import type { OrgService } from '../orgs/org-service.ts';
import { inOrg, within } from '../tenancy/target.ts';

/** What can be switched off for an org; all are on by default. */
export const FEATURE_FLAGS = {
  campaigns: 'Outbound campaigns',
  recipient_lists: 'Recipient lists',
  knowledge_bases: 'Knowledge bases',
  databases: 'Call databases',
  memories: 'Memories of callers',
  agent_tests: 'Agent tests',
  voice_cloning: 'Voice clones',
  app_connections: 'Third-party app connections',
  realtime_websocket: 'Realtime sessions over a WebSocket',
  public_widget: 'Sessions from public pages',
  ucc: 'Complaints synced from carriers',
} as const;

/** Flags of features that are not there yet can't be switched off: that would say that they were on. */
const ACTING: readonly string[] = [
  'agent_tests',
  'knowledge_bases',
  'memories',
  'public_widget',
  'realtime_websocket',
  'voice_cloning',
] satisfies (keyof typeof FEATURE_FLAGS)[];

const flagResponse = z
  .object({ key: z.string(), enabled: z.boolean(), default: z.boolean(), description: z.string() })
  .meta({ id: 'FeatureFlag' });

export function featureFlagRoutes({ orgs }: { orgs: OrgService }): Operation[] {
  const toResponse = (key: keyof typeof FEATURE_FLAGS, switched: Record<string, boolean>) => ({
    key,
    enabled: switched[key] ?? true,
    default: true,
    description: FEATURE_FLAGS[key],
  });
  const keys = Object.keys(FEATURE_FLAGS) as (keyof typeof FEATURE_FLAGS)[];

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
        return { items: keys.map((key) => toResponse(key, switched)), total: keys.length };
      },
    }),
    defineOperation({
      id: 'setFeatureFlag',
      method: 'PUT',
      path: '/v1/orgs/{org_id}/feature-flags/{key}',
      tag: 'Feature flags',
      summary: 'Switch a feature on or off',
      access: { user: 'owner' },
      target: within(inOrg, 'key', (_, key) => keys.some((known) => known === key)),
      params: { key: z.string().regex(/^[a-z_]{1,64}$/, 'must be a flag') },
      body: jsonBody(z.strictObject({ enabled: z.boolean() }).meta({ id: 'SetFeatureFlagRequest' })),
      responses: { 200: { description: 'The flag', schema: flagResponse } },
      async handle({ scope, caller, params, body, address }) {
        const key = params.key as keyof typeof FEATURE_FLAGS;
        if (!body.enabled && !ACTING.includes(key)) {
          throw invalid(['body', 'enabled'], 'does not act in this version: leave it on', 'not_available');
        }
        await orgs.setFlag(scope, caller, key, body.enabled, { address });
        return toResponse(key, { [key]: body.enabled });
      },
    }),
  ];
}
