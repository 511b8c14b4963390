import { defineOperation, jsonBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { CampaignControl } from './campaign-control.ts';
import { campaignTarget, WRITE } from './campaign-routes.ts';
import type { CampaignAudit } from './campaign-routes.ts';
import { campaignResponse, toCampaignResponse } from './campaign-schema.ts';
import { redialledResponse, redialRequest } from './contact-schema.ts';

const tag = 'Campaigns';
const feature = 'campaigns';
const changed = { 200: { description: 'The campaign', schema: campaignResponse } };

export function controlRoutes({
  control,
  audit,
}: {
  control: CampaignControl;
  audit: CampaignAudit;
}): Operation[] {
  return [
    defineOperation({
      id: 'startCampaign',
      method: 'POST',
      path: '/v1/campaigns/{campaign_id}/start',
      ...{ tag, feature },
      summary: 'Start a campaign',
      description:
        'It runs at once, or is `scheduled` until its `start_at`. It needs contacts, an agent in use and an active number (422).',
      access: WRITE,
      target: campaignTarget,
      responses: changed,
      errors: [402, 409],
      idempotent: {},
      handle: async ({ scope, item: found, caller, address }) => {
        const started = await control.start(found);
        await audit.record({ scope, caller, address, action: 'campaign.started', target: found._id });
        return toCampaignResponse(started);
      },
    }),
    defineOperation({
      id: 'pauseCampaign',
      method: 'POST',
      path: '/v1/campaigns/{campaign_id}/pause',
      ...{ tag, feature },
      summary: 'Pause a campaign',
      description: 'Nobody further is called; calls under way go on.',
      access: WRITE,
      target: campaignTarget,
      responses: changed,
      errors: [409],
      handle: async ({ item: found }) => toCampaignResponse(await control.pause(found)),
    }),
    defineOperation({
      id: 'resumeCampaign',
      method: 'POST',
      path: '/v1/campaigns/{campaign_id}/resume',
      ...{ tag, feature },
      summary: 'Resume a campaign',
      access: WRITE,
      target: campaignTarget,
      responses: changed,
      errors: [409],
      handle: async ({ item: found }) => toCampaignResponse(await control.resume(found)),
    }),
    defineOperation({
      id: 'cancelCampaign',
      method: 'POST',
      path: '/v1/campaigns/{campaign_id}/cancel',
      ...{ tag, feature },
      summary: 'Cancel a campaign',
      description:
        'It is over for good. Calls that are queued are withdrawn; calls under way go on to their end.',
      access: WRITE,
      target: campaignTarget,
      responses: changed,
      errors: [409],
      handle: async ({ scope, item: found, caller, address }) => {
        const cancelled = await control.cancel(found);
        await audit.record({ scope, caller, address, action: 'campaign.cancelled', target: found._id });
        return toCampaignResponse(cancelled);
      },
    }),
    defineOperation({
      id: 'redialCampaign',
      method: 'POST',
      path: '/v1/campaigns/{campaign_id}/redial',
      ...{ tag, feature },
      summary: 'Call contacts again',
      description:
        'Contacts that were done with are `pending` again, with as many attempts as new ones. A completed campaign is paused by it: ' +
        'resume it to call them.',
      access: WRITE,
      target: campaignTarget,
      body: jsonBody(redialRequest, { optional: true }),
      responses: { 200: { description: 'How many', schema: redialledResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, item: campaign, caller, address, body }) => {
        const requeued = await control.redial(campaign, body);
        await audit.record({ scope, caller, address, action: 'campaign.redialled', target: campaign._id });
        return { requeued };
      },
    }),
  ];
}
