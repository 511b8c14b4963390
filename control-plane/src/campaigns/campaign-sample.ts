import { nameWords } from '../composition/name-words.ts';
import { newId } from '@parley/shared/ids/new-id';
import {
  archivedAgent,
  MANY_NUMBER,
  nthId,
  nthSession,
  pennilessProject,
  projectPath,
  RARE_NUMBER,
  unique,
} from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';
import { noCounters } from './campaign-counters.ts';
import { CAMPAIGN_STATUSES, CONTACT_STATUSES } from './campaign-states.ts';
import { CONTACT_OUTCOMES } from './contact-model.ts';
import { CONTACTS_PER_CAMPAIGN } from './contact-service.ts';

const RETRY = { max_attempts: 3, delays_minutes: [30, 120], retry_on: ['no_answer'] };
const BREAKER = { enabled: true, failure_percent: 50, window_seconds: 300, min_calls: 20 };
const RULES = { retry: RETRY, circuit_breaker: BREAKER, max_concurrent: 5, calls_per_second: 1 };
const MANY_CAMPAIGN = nthId('cmp', 1);

async function newCampaign({ make, project }: SampleWorld, more: object = {}): Promise<string> {
  const body = { name: unique(), agent_id: project.ids['agent_id'], ...more };
  return (await make(`${projectPath(project)}/campaigns`, body, project.key)).id;
}

let lastNumber = 4155560000;

/** A contact of a campaign. */
async function newContact({ cp, make, project }: SampleWorld, campaignId: string): Promise<string> {
  const path = `/v1/campaigns/${campaignId}/contacts`;
  const phone_number = `+1${++lastNumber}`;
  await make(path, { contacts: [{ phone_number }] }, project.key);
  const query = `?phone_number=${encodeURIComponent(phone_number)}`;
  const { body } = await cp.call<{ items: { id: string }[] }>('GET', path + query, { token: project.key });
  return body.items[0]!.id;
}

/** A campaign in some state, straight into the database. */
async function storedCampaign({ project, put }: SampleWorld, fields: object): Promise<string> {
  const _id = newId('cmp');
  const { org_id, project_id, agent_id } = project.ids;
  await put('campaigns', {
    ...{ _id, org_id, project_id, agent_id, name: unique(), kind: 'batch', created_by: 'usr_sample' },
    ...{ ...RULES, counters: noCounters(), ...fields },
  });
  return _id;
}

/** A contact whom somebody talks to. */
async function calledContact(world: SampleWorld): Promise<string> {
  const { org_id, project_id, campaign_id } = world.project.ids;
  const _id = newId('cct');
  await world.put('campaign_contacts', {
    ...{ _id, org_id, project_id, campaign_id, phone_number: MANY_NUMBER, status: 'in_progress' },
    ...{ revision: 1, uncounted: false },
  });
  return _id;
}

export const campaignSample: Sample = {
  async make(world) {
    const campaign_id = await newCampaign(world);
    return { campaign_id, contact_id: await newContact(world, campaign_id) };
  },
  scenarios: {
    createCampaign: async (world, send) => {
      const { agent_id } = world.project.ids;
      await send(201, { body: { name: unique(), agent_id } });
      await send(409, { body: { name: unique(), agent_id: await archivedAgent(world) } });
    },
    updateCampaign: async (world, send) => {
      await send(200, { body: { name: unique() } });
      const campaign_id = await storedCampaign(world, { status: 'completed' });
      await send(409, { ids: { campaign_id }, body: { name: unique() } });
    },
    deleteCampaign: async (world, send) => {
      await send(204, { ids: { campaign_id: await newCampaign(world) } });
      await send(409, { ids: { campaign_id: await storedCampaign(world, { status: 'paused' }) } });
    },
    addCampaignContacts: async (world, send) => {
      const body = { contacts: [{ phone_number: '+14155550177', name: 'Ada' }, { phone_number: 'nobody' }] };
      await send(201, { body });
      const counters = { ...noCounters(), total: CONTACTS_PER_CAMPAIGN };
      const full = await storedCampaign(world, { status: 'draft', counters });
      await send(409, { ids: { campaign_id: full }, body });
    },
    startCampaign: async (world, send) => {
      const { make, put } = world;
      const campaign_id = await newCampaign(world);
      await newContact(world, campaign_id);
      await send(200, { ids: { campaign_id } });
      await send(409, { ids: { campaign_id } });
      const ids = await pennilessProject(world);
      const path = projectPath({ ids, key: '' });
      const agent = await make(`${path}/agents`, { name: unique() });
      const poor = await make(`${path}/campaigns`, { name: unique(), agent_id: agent.id });
      await make(`/v1/campaigns/${poor.id}/contacts`, { contacts: [{ phone_number: MANY_NUMBER }] });
      const number = { phone_number: MANY_NUMBER, provider: 'plivo', country: 'US', type: 'local' };
      await put('phone_numbers', {
        ...{ _id: newId('phn'), ...ids, ...number, telephony_account_id: newId('tel') },
        ...{ origin: 'imported', status: 'active' },
      });
      await send(402, { ids: { campaign_id: poor.id }, token: world.owner.token });
    },
    pauseCampaign: async (world, send) => {
      await send(200, { ids: { campaign_id: await storedCampaign(world, { status: 'running' }) } });
      await send(409, { ids: { campaign_id: await newCampaign(world) } });
    },
    resumeCampaign: async (world, send) => {
      await send(200, { ids: { campaign_id: await storedCampaign(world, { status: 'paused' }) } });
      await send(409, { ids: { campaign_id: await newCampaign(world) } });
    },
    cancelCampaign: async (world, send) => {
      const campaign_id = await newCampaign(world);
      await send(200, { ids: { campaign_id } });
      await send(409, { ids: { campaign_id } });
    },
    redialCampaign: async (world, send) => {
      await send(200, { ids: { campaign_id: await storedCampaign(world, { status: 'completed' }) } });
      await send(409, { ids: { campaign_id: await newCampaign(world) } });
    },
    importCampaignContacts: async (world, send) => {
      const file = (content: string) => {
        const body = new FormData();
        body.set('file', new File([content], 'people.csv', { type: 'text/csv' }));
        return { body };
      };
      await send(200, file('phone,name,plan\n+14155550178,Asha,gold\n'));
      await send(202, { query: 'async=true', ...file('phone\n+14155550179\n') });
      await send(400, file('name\nAsha\n'));
      const campaign_id = await storedCampaign(world, { status: 'completed' });
      await send(409, { ids: { campaign_id }, ...file('phone\n+14155550178\n') });
    },
    updateCampaignContact: async (world, send) => {
      await send(200, { body: { name: 'Ada', variables: { plan: 'gold' } } });
      await send(409, { ids: { contact_id: await calledContact(world) }, body: { name: 'Ada' } });
    },
    deleteCampaignContact: async (world, send) => {
      const contact_id = await newContact(world, world.project.ids['campaign_id']!);
      await send(204, { ids: { contact_id } });
      await send(409, { ids: { contact_id: await calledContact(world) } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'campaigns',
      count: 999,
      record: (n) => ({
        ...{ ...inProject, _id: nthId('cmp', n), name: `Thing ${n}`, kind: n % 2 === 0 ? 'single' : 'batch' },
        ...{ agent_id: nthId('agt', n === 7 ? 2 : 1), created_by: 'usr_sample' },
        ...{ status: CAMPAIGN_STATUSES[n % CAMPAIGN_STATUSES.length], ...RULES, counters: noCounters() },
      }),
    },
    {
      collection: 'campaign_contacts',
      count: 3000,
      record: (n, rare) => ({
        ...{ ...inProject, _id: nthId('cct', n), campaign_id: MANY_CAMPAIGN, uncounted: false },
        phone_number: rare ? RARE_NUMBER : MANY_NUMBER,
        status: rare ? 'queued' : CONTACT_STATUSES[n % 2],
        outcome: rare ? 'busy' : CONTACT_OUTCOMES[n % 2],
        goal_status: rare ? 'unclear' : 'achieved',
        name: n % 2 === 0 ? 'Guest 77' : 'Guest',
        words: nameWords(n % 2 === 0 ? 'Guest 77' : 'Guest'),
      }),
    },
    {
      collection: 'campaign_attempts',
      count: 1200,
      record: (n) => ({
        ...{ ...inProject, _id: nthId('att', n), campaign_id: MANY_CAMPAIGN, contact_id: nthId('cct', 1) },
        ...{ session_id: nthSession(n), attempt_number: n, queued_at: new Date(0) },
      }),
    },
  ],
};
