import { newId } from '@parley/shared/ids/new-id';
import t from 'tap';
import type { Test } from 'tap';
import { addTo, CampaignCounters, countedOf, noCounters } from '../src/campaigns/campaign-counters.ts';
import type { Counters } from '../src/campaigns/campaign-counters.ts';
import { campaignCollection } from '../src/campaigns/campaign-model.ts';
import type { CampaignRecord } from '../src/campaigns/campaign-model.ts';
import { attemptCollection, contactCollection } from '../src/campaigns/contact-model.ts';
import type { ContactRecord } from '../src/campaigns/contact-model.ts';
import { ContactStore } from '../src/campaigns/contact-store.ts';
import { phoneNumberCollection } from '../src/telephony/phone-number-model.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

const plane = await openTestControlPlane();
t.teardown(() => plane[Symbol.asyncDispose]());
const { database, suppressions } = plane.app.services;
const orgId = plane.first.org._id;
const projectId = plane.first.project._id;
const P = `/v1/orgs/${orgId}/projects/${projectId}`;

interface Campaign {
  id: string;
  status: string;
  counters: Counters;
  retry: { max_attempts: number; delays_minutes: number[]; retry_on: string[] };
  calling_hours: { timezone: string } | null;
  variables: Record<string, string>;
}
interface Contact {
  id: string;
  phone_number: string;
  status: string;
  variables: Record<string, string>;
}
interface Added {
  added: number;
  skipped: { index: number; reason: string }[];
}

const { body: agent } = await plane.call<{ id: string }>('POST', `${P}/agents`, { body: { name: 'Caller' } });

async function campaign(more: object = {}): Promise<Campaign> {
  const { status, body } = await plane.call<Campaign>('POST', `${P}/campaigns`, {
    body: { name: 'Renewals', agent_id: agent.id, ...more },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body;
}
const read = async (id: string) => (await plane.call<Campaign>('GET', `/v1/campaigns/${id}`)).body;
const add = (id: string, contacts: object[]) =>
  plane.call<Added>('POST', `/v1/campaigns/${id}/contacts`, { body: { contacts } });
const contacts = async (id: string, query = '') =>
  (await plane.call<{ items: Contact[] }>('GET', `/v1/campaigns/${id}/contacts${query}`)).body.items;
const numbered = (count: number, first = 4155550100) =>
  Array.from({ length: count }, (_, n) => ({ phone_number: `+1${first + n}` }));
const state = (id: string, status: string) =>
  database.model(campaignCollection).updateOne({ _id: id }, { $set: { status } });

/** The counters of a campaign are what its contacts add up to, and nothing is left to be counted. */
async function countersFit(t: Test, id: string): Promise<void> {
  const all = await database.model(contactCollection).find({ campaign_id: id }).lean<ContactRecord[]>();
  const expected = noCounters();
  for (const contact of all) addTo(expected, countedOf(contact), 1);
  const found = await database.model(campaignCollection).findOne({ _id: id }).lean<CampaignRecord>();
  t.same(found?.counters, expected);
  t.equal(found?.counting, null);
  t.notOk(all.some(({ uncounted }) => uncounted));
}

void t.test('a campaign has defaults, and is changed by parts', async (t) => {
  const hours = { timezone: 'Asia/Kolkata', windows: [{ days: ['mon'], start: '09:00', end: '18:00' }] };
  const made = await campaign({ variables: { plan: 'gold', old: 'x' }, calling_hours: hours });
  t.match(made, {
    status: 'draft',
    kind: 'batch',
    phone_number_ids: [],
    retry: { max_attempts: 3, delays_minutes: [30, 120], retry_on: ['no_answer', 'busy', 'failed'] },
    max_concurrent: 5,
    calls_per_second: 1,
    circuit_breaker: { enabled: true, failure_percent: 50, window_seconds: 300, min_calls: 20 },
    max_cost_amount: null,
    skip_suppressed: true,
    deduplicate: true,
    counters: noCounters(),
    pause_reason: null,
    started_at: null,
  });
  const { body } = await plane.call<Campaign>('PATCH', `/v1/campaigns/${made.id}`, {
    body: { ...made, retry: { max_attempts: 5 }, calling_hours: null, variables: { old: null, new: 'y' } },
  });
  t.match(body, { retry: { max_attempts: 5, delays_minutes: [30, 120] }, calling_hours: null });
  t.same(body.variables, { plan: 'gold', new: 'y' });
  const back = await plane.call<Campaign>('PATCH', `/v1/campaigns/${made.id}`, { body: { retry: null } });
  t.equal(back.body.retry.max_attempts, 3);
  const listed = await plane.call<{ items: Campaign[] }>('GET', `${P}/campaigns?q=renew&status=draft`);
  t.ok(listed.body.items.some(({ id }) => id === made.id));
  const single = await plane.call<{ total: number }>('GET', `${P}/campaigns?kind=single`);
  t.equal(single.body.total, 0);
});

void t.test('what cannot be is refused', async (t) => {
  const other = await plane.makeTenant();
  const foreign = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${other.org._id}/projects/${other.project._id}/agents`,
    { token: other.apiKey, body: { name: 'Foreign' } },
  );
  for (const [field, value] of Object.entries({
    agent_id: foreign.body.id,
    agent_version: 7,
    phone_number_ids: ['phn_01k5z8r5m2q7v3x9b4n6c8d0ef'],
    end_at: '2020-01-01T00:00:00Z',
    max_concurrent: 501,
    calls_per_second: 0.05,
    max_cost_amount: '-1',
    retry: { delays_minutes: [] },
    overrides: { greeting: 7 },
    start_at: 'tomorrow',
  })) {
    const start_at = field === 'end_at' ? { start_at: '2030-01-01T00:00:00Z' } : {};
    const { status, body } = await plane.call<{ detail: { loc: string[] }[] }>('POST', `${P}/campaigns`, {
      body: { name: 'Refused', agent_id: agent.id, ...start_at, [field]: value },
    });
    t.equal(status, 422, field);
    t.equal(body.detail[0]?.loc[1], field, JSON.stringify(body.detail));
  }
});

void t.test('a running campaign changes its pace alone; one that is over, nothing', async (t) => {
  const { id } = await campaign();
  const patch = async (body: object) => (await plane.call('PATCH', `/v1/campaigns/${id}`, { body })).status;
  await state(id, 'running');
  t.equal(await patch({ max_concurrent: 9, calls_per_second: 0.5, end_at: '2099-01-01T00:00:00Z' }), 200);
  t.equal(await patch({ max_concurrent: 9, name: 'Other' }), 409);
  for (const status of ['draft', 'scheduled', 'paused']) {
    await state(id, status);
    t.equal(await patch({ name: 'Other' }), 200, status);
  }
  for (const status of ['completed', 'cancelled', 'failed']) {
    await state(id, status);
    t.equal(await patch({ max_concurrent: 9 }), 409, status);
    t.equal((await add(id, numbered(1))).status, 409, status);
  }
});

void t.test('contacts are added, and those that cannot be are named with the reason', async (t) => {
  const { id } = await campaign();
  const list = await plane.call<{ id: string }>('POST', `${P}/recipient-lists`, {
    body: { name: 'Never', kind: 'suppression' },
  });
  const never = '+14155559999';
  await plane.call('POST', `/v1/recipient-lists/${list.body.id}/recipients`, {
    body: { recipients: [{ phone_number: never }] },
  });
  t.ok((await suppressions.blocks({ orgId, projectId }, [never])).has(never));
  const first = await add(id, [
    { phone_number: '+1 415 555 0100', name: 'Ada', external_id: 'a', variables: { plan: 'gold' } },
    { phone_number: '+14155550100' },
    { phone_number: '4155550101' },
    { phone_number: never },
    { phone_number: '+14155550102', external_id: 'a' },
    { phone_number: '+14155550103', timezone: 'Europe/Berlin' },
  ]);
  t.equal(first.status, 201);
  t.same(first.body, {
    added: 2,
    skipped: [
      { index: 1, reason: 'duplicate' },
      { index: 2, reason: 'invalid_number' },
      { index: 3, reason: 'suppressed' },
      { index: 4, reason: 'duplicate' },
    ],
  });
  t.same((await add(id, [{ phone_number: '+14155550103' }])).body.skipped, [
    { index: 0, reason: 'duplicate' },
  ]);
  t.same((await contacts(id)).map(({ phone_number, status }) => [phone_number, status]).sort(), [
    ['+14155550100', 'pending'],
    ['+14155550103', 'pending'],
  ]);
  t.match((await read(id)).counters, { total: 2, pending: 2, attempts: 0 });
  await plane.call('PATCH', `/v1/campaigns/${id}`, { body: { deduplicate: false, skip_suppressed: false } });
  t.equal((await add(id, [{ phone_number: '+14155550103' }, { phone_number: never }])).body.added, 2);
  await countersFit(t, id);
});

void t.test('many requests at once add each number once, and the counters follow', async (t) => {
  const { id } = await campaign();
  const answers = await Promise.all(Array.from({ length: 4 }, () => add(id, numbered(100))));
  t.equal(
    answers.reduce((sum, { body }) => sum + body.added, 0),
    100,
  );
  await countersFit(t, id);
});

void t.test('a contact is changed and deleted while it waits', async (t) => {
  const { id } = await campaign();
  await add(id, [
    { phone_number: '+14155550100', variables: { a: '1', b: '2' } },
    { phone_number: '+14155550101' },
  ]);
  const [second, first] = await contacts(id, '?sort=-created_at');
  const path = `/v1/campaign-contacts/${first!.phone_number === '+14155550100' ? first!.id : second!.id}`;
  const changed = await plane.call<Contact>('PATCH', path, {
    body: { variables: { a: null, c: '3' }, phone_number: '+14155550105' },
  });
  t.same(changed.body.variables, { b: '2', c: '3' });
  t.equal(changed.body.phone_number, '+14155550105');
  t.equal((await plane.call('PATCH', path, { body: { phone_number: '+14155550101' } })).status, 409);
  t.same((await plane.call<{ items: object[] }>('GET', `${path}/attempts`)).body.items, []);
  const store = new ContactStore({ database });
  const contactId = path.split('/').at(-1)!;
  await store.move({ _id: contactId }, 'claim', { set: { due_at: null }, add: { attempts_made: 1 } });
  for (const [method, body] of [
    ['PATCH', { name: 'Ada' }],
    ['DELETE', undefined],
  ] as const)
    t.equal((await plane.call(method, path, { body })).status, 409, method);
  await store.move({ _id: contactId }, 'retry');
  t.equal((await plane.call('DELETE', path)).status, 204);
  t.equal((await plane.call('GET', `${path}/attempts`)).status, 404);
  t.match((await read(id)).counters, { total: 1, pending: 1, queued: 0, attempts: 0 });
  await countersFit(t, id);
});

void t.test('a contact is read by its id, until it is deleted', async (t) => {
  const { id } = await campaign();
  await add(id, [{ phone_number: '+14155550177', name: 'Ada' }]);
  const [contact] = await contacts(id);
  const read = () => plane.call<Contact>('GET', `/v1/campaign-contacts/${contact!.id}`);
  const { status, body } = await read();
  t.equal(status, 200);
  t.same(body, contact, 'as the list has it');
  await plane.call('DELETE', `/v1/campaign-contacts/${contact!.id}`);
  t.equal((await read()).status, 404);
});

void t.test('counting goes on where a process died, and counts nothing twice', async (t) => {
  const { id } = await campaign();
  await add(id, numbered(1000));
  const store = new ContactStore({ database });
  const all = await store.find({ campaign_id: id }, { limit: 1000 });
  await store.moveAll({ _id: { $in: all.slice(0, 700).map(({ _id }) => _id) } }, 'claim', {
    add: { attempts_made: 1 },
  });
  // As though it had died behind the first batch, whose contacts were not marked.
  const model = database.model(contactCollection);
  const dying = new CampaignCounters({
    database: {
      model: (collection: typeof contactCollection) =>
        collection === contactCollection
          ? Object.assign(Object.create(model) as typeof model, {
              collection: { bulkWrite: () => Promise.reject(new Error('The process died.')) },
            })
          : database.model(collection),
    } as unknown as typeof database,
  });
  await t.rejects(dying.count(id), { message: 'The process died.' });
  const left = await database.model(campaignCollection).findOne({ _id: id }).lean<CampaignRecord>();
  t.equal(left?.counting?.contacts.length, 500);
  // Meanwhile some of these change again.
  await store.moveAll({ _id: { $in: all.slice(300, 600).map(({ _id }) => _id) } }, 'fail');
  const counters = new CampaignCounters({ database });
  await Promise.all([counters.count(id), counters.sweep(AbortSignal.timeout(60_000)), counters.count(id)]);
  t.match((await read(id)).counters, { total: 1000, pending: 300, queued: 400, failed: 300, attempts: 700 });
  await countersFit(t, id);
});

void t.test('what a campaign uses stays, and a campaign that is over goes with its contacts', async (t) => {
  const mine = await plane.call<{ id: string }>('POST', `${P}/agents`, { body: { name: 'Used' } });
  const number = await database.insert(phoneNumberCollection, {
    ...{ _id: newId('phn'), org_id: orgId, project_id: projectId, telephony_account_id: newId('tel') },
    ...{ provider: 'plivo', phone_number: '+14155550177', active_number: '+14155550177', country: 'US' },
    ...{ type: 'local', label: '', origin: 'imported', capabilities: ['voice'], status: 'active' },
    ...{ outbound_enabled: true, daily_call_limit: null, released_at: null },
  });
  const { id } = await campaign({ agent_id: mine.body.id, phone_number_ids: [number._id] });
  await add(id, numbered(3));
  const release = () => plane.call('DELETE', `/v1/phone-numbers/${number._id}`);
  t.match(await release(), { status: 409, body: { code: 'resource_in_use', refs: [{ id }] } });
  const config = { telephony: { phone_number_id: number._id } };
  await plane.call('PATCH', `/v1/agents/${mine.body.id}`, { body: { config } });
  await plane.call('PATCH', `/v1/campaigns/${id}`, { body: { phone_number_ids: [] } });
  t.match(await release(), { status: 409, body: { refs: [{ type: 'campaign', id }] } }, "its agent's");
  const archive = () => plane.call<{ code: string; refs: object[] }>('DELETE', `/v1/agents/${mine.body.id}`);
  const refused = await archive();
  t.match(refused, { status: 409, body: { code: 'resource_in_use', refs: [{ type: 'campaign', id }] } });
  await state(id, 'paused');
  t.equal((await plane.call('DELETE', `/v1/campaigns/${id}`)).status, 409);
  await state(id, 'completed');
  t.equal((await archive()).status, 204);
  t.equal((await plane.call('DELETE', `/v1/campaigns/${id}`)).status, 204);
  t.equal(await database.model(contactCollection).countDocuments({ campaign_id: id }), 0);
});

void t.test('a person who is erased is no contact any more', async (t) => {
  const { id } = await campaign();
  await add(id, [...numbered(3, 4156660200), { phone_number: '+14156660290', external_id: 'them' }]);
  for (const [subject, count] of [
    ['+14156660201', 1],
    ['them', 1],
    ['+14156660201', 0],
  ] as const) {
    const { body } = await plane.call<{ contacts: number }>('POST', `${P}/erasures`, { body: { subject } });
    t.equal(body.contacts, count, subject);
  }
  t.match((await read(id)).counters, { total: 2, pending: 2 });
  await countersFit(t, id);
});

void t.test('an export has a line for each contact, which no spreadsheet runs', async (t) => {
  const { id } = await campaign();
  await add(id, [
    { phone_number: '+14155550300', name: '=1+1', external_id: '@a,"b"', variables: { plan: '+cmd' } },
    { phone_number: '+14155550301' },
  ]);
  const { status, text } = await exported(id);
  t.equal(status, 200);
  const [header, first, second, end] = text.split('\r\n');
  t.match(header, /^\u{feff}id,phone_number,name,external_id,timezone,status/u);
  t.match(first, /^cct_\w+,\+14155550300,'=1\+1,"'@a,""b""",,pending,/);
  t.match(first, '"{""plan"":""+cmd""}"');
  t.match(second, /^cct_\w+,\+14155550301,,,,pending,/);
  t.equal(end, '');
});

async function exported(id: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${plane.url}/v1/campaigns/${id}/export`, {
    headers: { authorization: `Bearer ${plane.first.apiKey}` },
  });
  return { status: answer.status, text: Buffer.from(await answer.arrayBuffer()).toString('utf8') };
}

void t.test('a CSV file becomes contacts, with a report of what does not', async (t) => {
  const { id } = await campaign();
  const path = `/v1/campaigns/${id}/contacts/import`;
  const send = async (content: string, fields: Record<string, string> = {}) => {
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    body.set('file', new File([content], 'people.csv', { type: 'text/csv' }));
    return (await plane.call<object>('POST', path, { body })).body;
  };
  const file = [
    'Phone;Name;external_id;Timezone;First Plan',
    '+14155550400;Asha;a;Asia/Kolkata;gold',
    '415 555 0401;Ben;;;',
    '12;Nobody;;;',
    '+14155550402;Cleo;;Mars/Olympus;',
    '+14155550400;Asha R.;;;silver',
    'too;few',
  ].join('\n');
  t.same(await send(file, { default_country: 'US' }), {
    imported: 2,
    updated: 1,
    skipped: 3,
    errors: [
      { row: 4, loc: ['Timezone'], msg: 'is no IANA timezone such as Europe/Berlin' },
      { row: 6, loc: [], msg: 'has 2 cells, and the header has 5' },
      { row: 3, loc: ['Phone'], msg: 'is no number that can be dialled' },
    ],
  });
  t.match(
    (await contacts(id)).find(({ phone_number }) => phone_number === '+14155550400'),
    { name: 'Asha R.', external_id: 'a', timezone: 'Asia/Kolkata', variables: { first_plan: 'silver' } },
  );
  t.match(await send(file, { default_country: 'US', on_duplicate: 'skip' }), {
    imported: 0,
    updated: 0,
    skipped: 6,
  });
  t.match(await send('name\nAsha\n'), { code: 'bad_file' });
  await countersFit(t, id);
});

void t.test('what calls came to is told over time, in stretches that are not too many', async (t) => {
  const { id } = await campaign();
  const outcomes = async () =>
    (
      await plane.call<{
        interval_seconds: number | null;
        items: { from: string; to: string; attempts: number; outcomes: object[] }[];
      }>('GET', `/v1/campaigns/${id}/outcomes`)
    ).body;
  t.same(await outcomes(), { interval_seconds: null, items: [] });
  const attempt = (at: string | null, outcome: string | null, campaign_id = id) =>
    database.insert(attemptCollection, {
      ...{ _id: newId('att'), org_id: orgId, project_id: projectId, campaign_id, attempt_number: 1 },
      ...{
        contact_id: newId('cct'),
        session_id: newId('ses'),
        queued_at: new Date(0),
        created_at: new Date(0),
      },
      ...{ outcome: outcome as 'busy' | null, ended_at: at === null ? null : new Date(at), technical: false },
    });
  await attempt('2031-01-01T10:00:10Z', 'busy');
  await attempt('2031-01-01T10:00:59Z', 'answered');
  await attempt('2031-01-01T10:02:00Z', 'answered');
  await attempt('2031-01-01T10:02:59.999Z', 'answered');
  await attempt(null, null);
  await attempt('2031-01-01T10:01:00Z', 'answered', (await campaign()).id);
  t.same(await outcomes(), {
    interval_seconds: 60,
    items: [
      {
        ...{ from: '2031-01-01T10:00:00.000Z', to: '2031-01-01T10:01:00.000Z', attempts: 2 },
        outcomes: [
          { outcome: 'answered', attempts: 1 },
          { outcome: 'busy', attempts: 1 },
        ],
      },
      { from: '2031-01-01T10:01:00.000Z', to: '2031-01-01T10:02:00.000Z', attempts: 0, outcomes: [] },
      {
        ...{ from: '2031-01-01T10:02:00.000Z', to: '2031-01-01T10:03:00.000Z', attempts: 2 },
        outcomes: [{ outcome: 'answered', attempts: 2 }],
      },
    ],
  });
  await attempt('2031-01-20T10:00:00Z', 'voicemail');
  const weeks = await outcomes();
  t.equal(weeks.interval_seconds, 86_400);
  t.equal(weeks.items.length, 20);
  t.match(weeks.items.at(-1), { from: '2031-01-20T00:00:00.000Z', attempts: 1 });
  await attempt('2044-01-20T10:00:00Z', 'failed');
  const years = await outcomes();
  t.equal(years.interval_seconds, 2_419_200);
  t.equal(years.items.length, 36, 'the last ones of very many');
  t.match(years.items.at(-1), { attempts: 1, outcomes: [{ outcome: 'failed' }] });
});

void t.test('people of a recipient list become contacts', async (t) => {
  const list = await plane.call<{ id: string }>('POST', `${P}/recipient-lists`, {
    body: { name: 'Customers', kind: 'recipients' },
  });
  await plane.call('POST', `/v1/recipient-lists/${list.body.id}/recipients`, {
    body: {
      recipients: [
        { phone_number: '+14155550500', name: 'Asha', variables: { plan: 'gold' } },
        { phone_number: '+14155550501' },
      ],
    },
  });
  const { id } = await campaign();
  const path = `/v1/campaigns/${id}/contacts/import`;
  const imported = await plane.call('POST', path, { body: { recipient_list_id: list.body.id } });
  t.match(imported, { status: 200, body: { imported: 2, updated: 0, skipped: 0, errors: [] } });
  t.match((await contacts(id, '?phone_number=%2B14155550500'))[0], {
    name: 'Asha',
    variables: { plan: 'gold' },
  });
  const unknown = { recipient_list_id: 'rcl_01k5z8r5m2q7v3x9b4n6c8d0ef' };
  t.match(await plane.call('POST', path, { body: unknown }), {
    status: 422,
    body: { detail: [{ type: 'reference_not_found' }] },
  });
  const named = (recipient_list_id: string) =>
    plane.call<Campaign>('POST', `${P}/campaigns`, {
      body: { name: 'By list', agent_id: agent.id, recipient_list_id },
    });
  t.match(await named(list.body.id), {
    status: 201,
    body: { status: 'draft', recipient_list_id: list.body.id, counters: { total: 2, pending: 2 } },
  });
  t.match(await named(unknown.recipient_list_id), {
    status: 422,
    body: { detail: [{ loc: ['body', 'recipient_list_id'], type: 'reference_not_found' }] },
  });
  const { body: all } = await plane.call<{ items: { name: string }[] }>('GET', `${P}/campaigns?q=By%20list`);
  t.equal(all.items.length, 1, 'nothing is left behind');

  await state(id, 'running');
  const refused = await plane.call('DELETE', `/v1/recipient-lists/${list.body.id}`);
  t.match(refused, { status: 409, body: { code: 'resource_in_use' } });
  await state(id, 'completed');
  t.equal((await plane.call('DELETE', `/v1/recipient-lists/${list.body.id}`)).status, 204);
});
