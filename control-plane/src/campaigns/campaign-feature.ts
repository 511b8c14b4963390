import type { Feature } from '../composition/feature.ts';
import { nameWordsWork } from '../composition/name-words.ts';
import { peopleSearch } from '../composition/people-search.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import type { SessionAgents } from '../sessions/session-agent.ts';
import type { SessionGateways } from '../sessions/session-gateways.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Scope } from '../tenancy/scope.ts';
import { CampaignBudget } from './campaign-budget.ts';
import type { CampaignCosts } from './campaign-budget.ts';
import type { CampaignCalls } from './campaign-calls.ts';
import { CampaignClosing } from './campaign-closing.ts';
import { CampaignControl } from './campaign-control.ts';
import { CampaignCounters } from './campaign-counters.ts';
import { CampaignFeed } from './campaign-feed.ts';
import { CampaignFeeder, FEED_INTERVAL_MS } from './campaign-feeder.ts';
import { CampaignFollower } from './campaign-follower.ts';
import { CampaignGate } from './campaign-gate.ts';
import { campaignCollection } from './campaign-model.ts';
import { CampaignNeeds, choiceOf } from './campaign-needs.ts';
import { CampaignOutcomes } from './campaign-outcomes.ts';
import { CampaignReconciler } from './campaign-reconciler.ts';
import { CAMPAIGN_AUDIT, campaignRoutes } from './campaign-routes.ts';
import type { CampaignAudit } from './campaign-routes.ts';
import { campaignSample } from './campaign-sample.ts';
import { CampaignService } from './campaign-service.ts';
import type { CampaignOverrides, CampaignTargets } from './campaign-service.ts';
import { CAMPAIGN_STATUSES, isFinished } from './campaign-states.ts';
import { CampaignStore } from './campaign-store.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { ContactAttempts } from './contact-attempts.ts';
import { ContactImports } from './contact-imports.ts';
import type { ListedPeople } from './contact-imports.ts';
import { attemptCollection, contactCollection } from './contact-model.ts';
import { contactRoutes } from './contact-routes.ts';
import type { ImportService } from '../imports/import-service.ts';
import { ContactService } from './contact-service.ts';
import type { SuppressedNumbers } from './contact-service.ts';
import { ContactStore } from './contact-store.ts';
import { controlRoutes } from './control-routes.ts';
import { SingleCalls } from './single-calls.ts';

/** How often contacts are looked for that a process has changed which died before they were counted. */
const COUNT_INTERVAL_MS = 60_000;
/** Campaigns whose agents are read when a number is to be released. */
const CAMPAIGNS_LOOKED_AT = 200;

export function createCampaigns(
  deps: Pick<Platform, 'bus' | 'clock' | 'config' | 'database' | 'logger' | 'processName'> & {
    agents: SessionAgents;
    agentOverrides: CampaignOverrides;
    audit: CampaignAudit;
    calls: CampaignCalls;
    costs: CampaignCosts;
    funds: { requireFunds(orgId: string): Promise<void> };
    gateways: SessionGateways;
    targets: CampaignTargets;
    imports: Pick<ImportService, 'begin'>;
    lists: ListedPeople;
    /** All projects of orgs. */
    projects: Collection<StoredRecord & { org_id: string }>;
    sessions: Collection<SessionRecord>;
    suppressions: SuppressedNumbers;
  },
) {
  const { bus, clock, logger, processName } = deps;
  const counters = new CampaignCounters(deps);
  const store = new CampaignStore(deps);
  const contactStore = new ContactStore(deps);
  const stores = { campaigns: store, contacts: contactStore, counters };
  const attempts = new ContactAttempts({ ...deps, contacts: contactStore });
  const needs = new CampaignNeeds({ ...deps, numbers: deps.targets.phoneNumbers });
  const closing = new CampaignClosing({ ...deps, ...stores });
  const wake = { wake: (campaignId: string) => feeder.wake(campaignId) };
  const breaker = new CircuitBreaker(deps);
  const follower = new CampaignFollower({ ...stores, attempts, breaker, feeder: wake });
  const budget = new CampaignBudget({ ...deps, ...stores });
  const feeder = new CampaignFeeder({
    ...{ campaigns: store, budget, closing, counters },
    feed: new CampaignFeed({ ...deps, ...stores, attempts, budget, needs }),
    reconciler: new CampaignReconciler({ ...deps, contacts: contactStore, attempts, follower, needs }),
    process: { name: processName, bus, clock, logger },
  });
  const control = new CampaignControl({ ...stores, closing, needs, feeder: wake, clock });
  const campaigns = new CampaignService({ ...deps, contacts: contactStore });
  const contacts = new ContactService({ ...deps, ...stores });
  const contactImports = new ContactImports({ ...deps, contacts, campaigns: store });
  return {
    ...{ campaignContacts: contacts, contactImports },
    campaignFeeder: feeder,
    /** Followed by, and asked before, each dial. */
    campaignFollower: follower,
    campaignGate: new CampaignGate(stores),
    singleCalls: new SingleCalls({ attempts, clock }),
    collections: [campaignCollection, contactCollection, attemptCollection],
    searches: [
      namedRecords('campaign', campaignCollection, {
        list: 'listCampaigns',
        // A single call is found as a session.
        where: () => ({ kind: 'batch' as const }),
      }),
      peopleSearch('contact', contactCollection, {
        ...{ list: 'listCampaignContacts', prefix: 'cct', parent: 'campaign_id', projects: deps.projects },
        async shown(scope, found) {
          const ids = found.map(({ campaign_id }) => campaign_id);
          const shown = { _id: { $in: ids }, kind: 'batch' as const };
          const batches = await scope.collection(campaignCollection).find(shown, { limit: ids.length });
          const known = new Set(batches.map(({ _id }) => _id));
          return found.filter(({ campaign_id, removed }) => known.has(campaign_id) && !removed);
        },
      }),
    ],
    routes: [
      ...campaignRoutes({
        ...deps,
        campaigns,
        imports: contactImports,
        outcomes: new CampaignOutcomes(deps),
      }),
      ...controlRoutes({ ...deps, control }),
      ...contactRoutes({
        ...{ ...deps, contacts, imports: contactImports, publicUrl: deps.config.PUBLIC_URL },
      }),
    ],
    parameters: { campaign_id: idSchema('cmp'), contact_id: idSchema('cct') },
    erases: { session: (sessionId) => contacts.forgetSession(sessionId) },
    uses: {
      agent: (scope, agentId) => unfinished(scope, { agent_id: agentId }),
      number: async (scope, numberId) => [
        ...(await unfinished(scope, { phone_number_ids: numberId })),
        ...(await callingFromAgents(scope, deps.agents, numberId)),
      ],
      project: (scope) => unfinished(scope, {}, ['scheduled', 'running', 'paused']),
      list: (scope, listId) =>
        unfinished(scope, { recipient_list_id: listId }, ['scheduled', 'running', 'paused']),
    },
    audit: CAMPAIGN_AUDIT,
    flags: [{ key: 'campaigns', description: 'Outbound campaigns' }],
    workers: [
      {
        name: 'campaigns',
        everyMs: FEED_INTERVAL_MS,
        work: (signal) => feeder.work(signal),
        wakeWith: (task) => feeder.wakeWith(task),
        release: () => feeder.release(),
      },
      {
        name: 'counters of campaigns',
        everyMs: COUNT_INTERVAL_MS,
        work: (signal) => counters.sweep(signal),
      },
      nameWordsWork(contactCollection, {
        ...{ ...deps, name: 'names of contacts' },
        async findable(found) {
          const ids = [...new Set(found.map(({ campaign_id }) => campaign_id))];
          const batches = new Set(await store.batches(ids));
          return found.filter(({ campaign_id, removed }) => batches.has(campaign_id) && !removed);
        },
      }),
    ],
    samples: [campaignSample],
  } satisfies Feature & {
    campaignContacts: ContactService;
    contactImports: ContactImports;
    campaignFeeder: CampaignFeeder;
    campaignFollower: CampaignFollower;
    campaignGate: CampaignGate;
    singleCalls: SingleCalls;
  };
}

const UNFINISHED = CAMPAIGN_STATUSES.filter((status) => !isFinished(status));

/** Campaigns of a project that are not over, at most 20. */
async function unfinished(
  scope: Scope,
  which: { agent_id?: string; phone_number_ids?: string; recipient_list_id?: string },
  statuses = UNFINISHED,
) {
  const found = await scope
    .collection(campaignCollection)
    .find({ ...which, status: { $in: statuses } }, { limit: 20 });
  return found.map(({ _id, name }) => ({ type: 'campaign', id: _id, name }));
}

/** Campaigns of a project that are not over and name no number, but whose agent calls from this one: at most 20. */
async function callingFromAgents(scope: Scope, agents: SessionAgents, numberId: string) {
  const nameless = await scope
    .collection(campaignCollection)
    .find(
      { 'phone_number_ids.0': { $exists: false }, status: { $in: UNFINISHED } },
      { limit: CAMPAIGNS_LOOKED_AT },
    );
  const found = [];
  for (const campaign of nameless) {
    const agent = await choiceOf(agents, campaign);
    if (agent?.versions.some(({ config }) => config.telephony.phone_number_id === numberId))
      found.push({ type: 'campaign', id: campaign._id, name: campaign.name });
    if (found.length === 20) break;
  }
  return found;
}
