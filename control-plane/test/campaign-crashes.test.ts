import t from 'tap';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { addTo, countedOf, noCounters } from '../src/campaigns/campaign-counters.ts';
import { campaignCollection } from '../src/campaigns/campaign-model.ts';
import type { CampaignRecord } from '../src/campaigns/campaign-model.ts';
import { attemptCollection, contactCollection } from '../src/campaigns/contact-model.ts';
import type { AttemptRecord, ContactRecord } from '../src/campaigns/contact-model.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import type { SessionRecord } from '../src/sessions/session-record.ts';
import { openDiallingWorld } from './fixtures/dialling-world.ts';
import { openMortalProcess } from './fixtures/mortal-process.ts';

const PEOPLE = 500;
/** A process dies every few steps: more often with `npm run test:long`. */
const DEATHS = LONG ? 40 : 12;
/** One in so many is called again. */
const AGAIN_EVERY = 10;
const isBusy = (to: string) => Number(to) % AGAIN_EVERY === 0;

void t.test('whoever dies, each contact is called as often as its attempts say', async (t) => {
  const world = await openDiallingWorld(t);
  const { carriers, clock, plane } = world;
  const { database } = plane.app.services;
  const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
  const line = await world.line();
  const dials = new Map<string, number>();
  carriers.plivo.setTelephones((to) => {
    dials.set(to, (dials.get(to) ?? 0) + 1);
    return { does: isBusy(to) ? 'busy' : 'refuse', afterMs: 200 };
  });
  const { body } = await plane.call<{ id: string }>('POST', `${P}/campaigns`, {
    body: {
      ...{ name: 'Crashes', agent_id: line.agentId, phone_number_ids: [line.numberId] },
      ...{ calls_per_second: 20, max_concurrent: 50 },
      retry: { max_attempts: 2, delays_minutes: [1], retry_on: ['busy'] },
    },
  });
  const contacts = Array.from({ length: PEOPLE }, (_, n) => ({
    phone_number: `+1415557${String(n).padStart(4, '0')}`,
  }));
  await plane.call('POST', `/v1/campaigns/${body.id}/contacts`, { body: { contacts } });
  await plane.call('POST', `/v1/campaigns/${body.id}/start`);

  for (let death = 0; death < DEATHS; death++) {
    const process = await openMortalProcess(plane);
    // What it held is free for the next one: leases end by themselves.
    for (const lease of ['campaign_feeder', 'dispatcher'])
      await plane.bus.leases.acquire(lease, process.services.processName, 1);
    const signal = new AbortController().signal;
    const { campaignFeeder, dispatcher } = process.services;
    await process.live(3 + ((death * 7) % 40), async () => {
      await campaignFeeder.work(signal);
      if (death % 3 === 0) await dispatcher.work(signal);
    });
    await process[Symbol.asyncDispose]();
    await plane.atRest();
    clock.advance(700);
  }

  const campaigns = database.model(campaignCollection);
  await world.passUntil('the campaign to be over', async () => {
    const campaign = await campaigns.findOne({ _id: body.id }).lean<CampaignRecord>();
    const waiting = await database
      .model(contactCollection)
      .find({ campaign_id: body.id, status: { $nin: ['waiting_retry', 'failed'] } })
      .limit(1)
      .lean();
    // Nobody is called now: the next ones are a while away.
    if (waiting.length === 0 && campaign?.active) clock.advance(10_000);
    return campaign?.status === 'completed' && !campaign.active;
  });

  const all = await database.model(contactCollection).find({ campaign_id: body.id }).lean<ContactRecord[]>();
  const attempts = await database
    .model(attemptCollection)
    .find({ campaign_id: body.id })
    .lean<AttemptRecord[]>();
  const sessions = await database
    .model(sessionCollection)
    .find({ campaign_id: body.id })
    .lean<SessionRecord[]>();
  t.equal(all.length, PEOPLE);
  const counters = noCounters();
  for (const contact of all) {
    addTo(counters, countedOf(contact), 1);
    const mine = attempts.filter(({ contact_id }) => contact_id === contact._id);
    const calls = sessions
      .filter(({ contact_id }) => contact_id === contact._id)
      .sort((a, b) => a.created_at.getTime() - b.created_at.getTime());
    const facts = [contact.attempts_made, mine.length, calls.length, dials.get(contact.phone_number!)];
    const due = isBusy(contact.phone_number!) ? 2 : 1;
    if (facts.some((count) => count !== due))
      t.fail(`attempts, their records, sessions, dials: ${facts.join(' ')}, not ${due}`);
    if (calls[1] && calls[1].created_at < calls[0]!.ended_at!) t.fail('two calls at once');
  }
  t.same((await campaigns.findOne({ _id: body.id }).lean<CampaignRecord>())?.counters, counters);
  t.match(counters, { total: PEOPLE, failed: PEOPLE, attempts: PEOPLE + PEOPLE / AGAIN_EVERY });
});
