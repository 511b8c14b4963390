import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import type { Scope } from '../tenancy/scope.ts';
import { CampaignCounters } from './campaign-counters.ts';
import { campaignCollection } from './campaign-model.ts';
import { CAMPAIGN_AUDIT, campaignRoutes } from './campaign-routes.ts';
import type { CampaignAudit } from './campaign-routes.ts';
import { campaignSample } from './campaign-sample.ts';
import { CampaignService } from './campaign-service.ts';
import type { CampaignTargets } from './campaign-service.ts';
import { CAMPAIGN_STATUSES, isFinished } from './campaign-states.ts';
import { CampaignStore } from './campaign-store.ts';
import { attemptCollection, contactCollection } from './contact-model.ts';
import { contactRoutes } from './contact-routes.ts';
import { ContactService } from './contact-service.ts';
import type { CalledSession, SuppressedNumbers } from './contact-service.ts';
import { ContactStore } from './contact-store.ts';
import type { Collection } from '../storage/collection.ts';

/** How often contacts are looked for that a process has changed which died before they were counted. */
const COUNT_INTERVAL_MS = 60_000;

export function createCampaigns(
  deps: Pick<Platform, 'clock' | 'database'> & {
    audit: CampaignAudit;
    targets: CampaignTargets;
    sessions: Collection<CalledSession>;
    suppressions: SuppressedNumbers;
  },
) {
  const counters = new CampaignCounters(deps);
  const store = new CampaignStore(deps);
  const contactStore = new ContactStore(deps);
  const campaigns = new CampaignService({ ...deps, contacts: contactStore });
  const contacts = new ContactService({ ...deps, campaigns: store, contacts: contactStore, counters });
  return {
    campaignContacts: contacts,
    collections: [campaignCollection, contactCollection, attemptCollection],
    routes: [...campaignRoutes({ ...deps, campaigns }), ...contactRoutes({ ...deps, contacts })],
    parameters: { campaign_id: idSchema('cmp'), contact_id: idSchema('cct') },
    uses: {
      agent: (scope, agentId) => unfinished(scope, { agent_id: agentId }),
      project: (scope) => unfinished(scope, {}, ['scheduled', 'running', 'paused']),
    },
    audit: CAMPAIGN_AUDIT,
    flags: [{ key: 'campaigns', description: 'Outbound campaigns' }],
    workers: [
      {
        name: 'counters of campaigns',
        everyMs: COUNT_INTERVAL_MS,
        work: (signal) => counters.sweep(signal),
      },
    ],
    samples: [campaignSample],
  } satisfies Feature & { campaignContacts: ContactService };
}

const UNFINISHED = CAMPAIGN_STATUSES.filter((status) => !isFinished(status));

/** Campaigns of a project that are not over, at most 20. */
async function unfinished(
  scope: Scope,
  which: { agent_id?: string; phone_number_ids?: string },
  statuses = UNFINISHED,
) {
  const found = await scope
    .collection(campaignCollection)
    .find({ ...which, status: { $in: statuses } }, { limit: 20 });
  return found.map(({ _id, name }) => ({ type: 'campaign', id: _id, name }));
}
