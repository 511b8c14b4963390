import type { AuditLog } from '../audit/audit-trail.ts';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, idSchema, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inProject, item } from '../tenancy/target.ts';
import { campaignCollection } from './campaign-model.ts';
import { MAX_STRETCHES } from './campaign-outcomes.ts';
import type { CampaignOutcomes } from './campaign-outcomes.ts';
import {
  CAMPAIGN_READ_ONLY,
  campaignKind,
  campaignOutcomesResponse,
  campaignResponse,
  campaignStatus,
  createCampaignRequest,
  patchCampaignRequest,
  toCampaignResponse,
} from './campaign-schema.ts';
import type { CampaignService } from './campaign-service.ts';
import type { ContactImports } from './contact-imports.ts';

/** What campaigns write to the audit trail. */
export const CAMPAIGN_AUDIT = [
  'campaign.started',
  'campaign.cancelled',
  'campaign.redialled',
  'campaign.deleted',
  'campaign.exported',
] as const;
export type CampaignAudit = AuditLog<(typeof CAMPAIGN_AUDIT)[number]>;

export const campaignTarget = item(campaignCollection, 'campaign_id');
const tag = 'Campaigns';
const feature = 'campaigns';
export const READ = { key: 'viewer', user: 'viewer' } as const;
export const WRITE = { key: 'editor', user: 'editor' } as const;

const changed = { 200: { description: 'The campaign', schema: campaignResponse } };

export function campaignRoutes({
  campaigns,
  imports,
  outcomes,
  audit,
}: {
  campaigns: CampaignService;
  imports: Pick<ContactImports, 'fromList'>;
  outcomes: CampaignOutcomes;
  audit: CampaignAudit;
}): Operation[] {
  return [
    defineOperation({
      id: 'listCampaigns',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/campaigns',
      ...{ tag, feature },
      summary: 'List campaigns',
      access: READ,
      target: inProject,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: {
          status: anyOf(campaignStatus).optional(),
          agent_id: anyOf(idSchema('agt')).optional(),
          kind: anyOf(campaignKind).default(['batch']).meta({
            description: 'Only those of this kind; several: of one of them. Default `batch`.',
          }),
        },
      }),
      responses: { 200: { description: 'A page of campaigns', schema: listOf(campaignResponse) } },
      handle: async ({ scope, query }) => toPage(await campaigns.list(scope, query), toCampaignResponse),
    }),
    defineOperation({
      id: 'createCampaign',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/campaigns',
      ...{ tag, feature },
      summary: 'Create a campaign',
      description: 'It is a draft: add contacts, here or later, then start it.',
      access: WRITE,
      target: inProject,
      body: jsonBody(createCampaignRequest, {
        readOnly: CAMPAIGN_READ_ONLY.filter((name) => name !== 'recipient_list_id'),
      }),
      responses: { 201: { description: 'The campaign', schema: campaignResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, body: { recipient_list_id: listId, ...input } }) => {
        const campaign = await campaigns.create(scope, caller, input);
        if (listId === null) return toCampaignResponse(campaign);
        try {
          await imports.fromList(scope, campaign, listId);
        } catch (error) {
          await campaigns.delete(scope, campaign);
          throw error;
        }
        return toCampaignResponse(await scope.collection(campaignCollection).get(campaign._id));
      },
    }),
    defineOperation({
      id: 'getCampaign',
      method: 'GET',
      path: '/v1/campaigns/{campaign_id}',
      ...{ tag, feature },
      summary: 'Get a campaign',
      access: READ,
      target: campaignTarget,
      responses: changed,
      handle: ({ item: found }) => toCampaignResponse(found),
    }),
    defineOperation({
      id: 'getCampaignOutcomes',
      method: 'GET',
      path: '/v1/campaigns/{campaign_id}/outcomes',
      ...{ tag, feature },
      summary: 'Get what the calls of a campaign came to, over time',
      description:
        'Attempts that are over, in stretches of one length from the first to the last, the oldest first: from a minute to four weeks ' +
        `each, so that there are ${MAX_STRETCHES} at most; of a campaign that is longer, the last ones.`,
      access: READ,
      target: campaignTarget,
      responses: { 200: { description: 'The stretches', schema: campaignOutcomesResponse } },
      handle: async ({ item: found }) => {
        const { lengthSeconds, stretches } = await outcomes.of(found._id);
        return {
          interval_seconds: lengthSeconds,
          items: stretches.map(({ from, to, outcomes: each }) => ({
            from: from.toISOString(),
            to: to.toISOString(),
            attempts: each.reduce((sum, { attempts }) => sum + attempts, 0),
            outcomes: each,
          })),
        };
      },
    }),
    defineOperation({
      id: 'updateCampaign',
      method: 'PATCH',
      path: '/v1/campaigns/{campaign_id}',
      ...{ tag, feature },
      summary: 'Update a campaign',
      description:
        'While it runs, `max_concurrent`, `calls_per_second` and `end_at` alone. `calling_hours` and `overrides` are replaced as one value. ' +
        'What a paused campaign has queued is ordered again, as the campaign is then.',
      access: WRITE,
      target: campaignTarget,
      body: patchBody(patchCampaignRequest, { readOnly: CAMPAIGN_READ_ONLY }),
      responses: changed,
      errors: [409],
      handle: async ({ scope, item: found, body }) =>
        toCampaignResponse(await campaigns.change(scope, found, body)),
    }),
    defineOperation({
      id: 'deleteCampaign',
      method: 'DELETE',
      path: '/v1/campaigns/{campaign_id}',
      ...{ tag, feature },
      summary: 'Delete a campaign',
      description: 'A draft, or one that is over. Its contacts go with it; the sessions of its calls stay.',
      access: WRITE,
      target: campaignTarget,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: async ({ scope, item: found, caller, address }) => {
        await campaigns.delete(scope, found);
        await audit.record({ scope, caller, address, action: 'campaign.deleted', target: found._id });
      },
    }),
  ];
}
