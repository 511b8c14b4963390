import { randomUUID } from 'node:crypto';
import mongoose from 'mongoose';
import t from 'tap';
import { newId } from '@parley/shared/ids/new-id';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { campaignCollection } from '../src/campaigns/campaign-model.ts';
import { contactCollection } from '../src/campaigns/contact-model.ts';
import { isNamed, nameWords } from '../src/composition/name-words.ts';
import { csvLine } from '../src/exports/csv.ts';
import { recipientCollection } from '../src/recipient-lists/recipient-list-model.ts';
import { newRecord } from '../src/storage/new-record.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import { signInUser } from './fixtures/test-users.ts';

/** Of a search, where it is asked what it reads: the bounds do not depend on it. */
const PEOPLE = LONG ? 100_000 : 600;
/** A page of the search over the org, and one more to know whether there are others. */
const SHOWN = 21;

t.setTimeout(300_000);
const plane = await openTestControlPlane({ env: { REGISTRATION: 'open' } });
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const { callEvents, database, recipientLists, sessionStore, suppressions } = plane.app.services;
const owner = await signInUser(plane, 'owner@example.com');
const editor = await signInUser(plane, 'editor@example.com');
const orgId = plane.first.org._id;
await editor.join(orgId, 'editor');
const projectId = plane.first.project._id;
const P = `/v1/orgs/${orgId}/projects/${projectId}`;
const NUMBER = '+14155550123';

interface List {
  id: string;
  project_id: string | null;
  built_in: boolean;
  recipient_count: number;
}
interface Recipient {
  id: string;
  phone_number: string;
}

const lists = async () => (await plane.call<{ items: List[] }>('GET', `${P}/recipient-lists`)).body.items;
const builtIn = async () => (await lists()).find((list) => list.built_in)!;
const add = (listId: string, ...numbers: string[]) =>
  plane.call('POST', `/v1/recipient-lists/${listId}/recipients`, {
    body: { recipients: numbers.map((phone_number) => ({ phone_number })) },
  });
const recipients = async (listId: string, query = '') =>
  (await plane.call<{ items: Recipient[] }>('GET', `/v1/recipient-lists/${listId}/recipients${query}`)).body
    .items;
const blocks = async (...numbers: string[]) => [
  ...(await suppressions.blocks({ orgId, projectId }, numbers)),
];

void t.test('every project has the do-not-call list of its org, which stays', async (t) => {
  const list = await builtIn();
  t.match(list, { project_id: null, built_in: true, name: 'Do not call', kind: 'suppression' });
  const other = await plane.call<{ id: string }>('POST', `/v1/orgs/${orgId}/projects`, {
    token: owner.token,
    body: { name: `Other ${randomUUID()}` },
  });
  const elsewhere = `/v1/orgs/${orgId}/projects/${other.body.id}/recipient-lists`;
  const seen = await plane.call<{ items: List[] }>('GET', elsewhere, { token: owner.token });
  t.match(seen.body.items, [{ id: list.id }]);
  const { token } = owner;
  const path = `/v1/recipient-lists/${list.id}`;
  t.match(await plane.call('DELETE', path, { token }), { status: 409, body: { code: 'invalid_state' } });
  t.match(await plane.call('PATCH', path, { token, body: { name: 'x' } }), { status: 409 });
  t.match(await plane.call('DELETE', path), { status: 403 }, 'a key may not even ask');
});

void t.test('numbers are added once, looked up, and removed by an admin alone', async (t) => {
  const list = await builtIn();
  t.same((await add(list.id, NUMBER, '+14155550124', NUMBER)).body, { added: 2, known: 1 });
  t.same((await add(list.id, NUMBER)).body, { added: 0, known: 1 });
  t.same(await blocks(NUMBER, '+14155550199'), [NUMBER]);
  t.same(await blocks(), []);
  t.equal((await builtIn()).recipient_count, 2);
  const [found] = await recipients(list.id, `?phone_number=${encodeURIComponent(NUMBER)}`);
  t.match(found, { phone_number: NUMBER, source: 'api', added_by: /^key_/, status: 'valid' });
  const path = `/v1/recipients/${found!.id}`;
  t.match((await plane.call('PATCH', path, { body: { reason: 'By letter.' } })).body, {
    reason: 'By letter.',
    phone_number: NUMBER,
  });
  t.match(await plane.call('DELETE', path), { status: 403, body: { code: 'user_required' } });
  const byEditor = await plane.call('DELETE', path, { token: editor.token });
  t.match(byEditor, { status: 403, body: { code: 'role_too_low' } });
  t.equal((await plane.call('DELETE', path, { token: owner.token })).status, 204);
  t.same(await blocks(NUMBER), [], 'it may be called again');
  const trail = plane.app.services.database.model(auditCollection);
  t.match(await trail.find({ action: 'suppression.removed' }).lean(), [
    { actor: owner.userId, target: found!.id },
  ]);
});

void t.test('a list of a project acts in it, until it is deleted', async (t) => {
  const { body: list } = await plane.call<List>('POST', `${P}/recipient-lists`, {
    body: { name: 'Former', kind: 'suppression' },
  });
  t.match(list, { project_id: projectId, built_in: false, recipient_count: 0 });
  await add(list.id, '+14155550130');
  t.same(await blocks('+14155550130'), ['+14155550130']);
  const elsewhere = await suppressions.blocks({ orgId, projectId: 'prj_other' }, ['+14155550130']);
  t.equal(elsewhere.size, 0);
  t.equal((await plane.call('DELETE', `/v1/recipient-lists/${list.id}`)).status, 204);
  t.same(await blocks('+14155550130'), []);
  t.equal((await add((await builtIn()).id, '4155550130')).status, 422);
});

void t.test('the export is a table that no spreadsheet takes for formulas', async (t) => {
  const { body: list } = await plane.call<List>('POST', `${P}/recipient-lists`, {
    body: { name: 'Export', kind: 'suppression' },
  });
  await plane.call('POST', `/v1/recipient-lists/${list.id}/recipients`, {
    body: {
      recipients: [
        { phone_number: '+14155550141', name: '=HYPERLINK("x")', reason: 'said "no",\nloudly' },
        { phone_number: '+14155550140', external_id: '-7', reason: '\u{ff1d}1+1' },
      ],
    },
  });
  const { body, headers } = await plane.call<string>('GET', `/v1/recipient-lists/${list.id}/export`);
  t.match(headers.get('content-type'), /^text\/csv/);
  const text = typeof body === 'string' ? body : String(body);
  t.match(text, /^phone_number,name,external_id,reason,source,added_by,created_at\r\n/);
  t.match(text, /\r\n\+14155550140,,-7,'\u{ff1d}1\+1,api,key_/u);
  t.ok(text.includes(`+14155550141,"'=HYPERLINK(""x"")",,"said ""no"",\nloudly",api,`));
  t.equal(csvLine(['@a', '-1.5', '+1a', '\tx', null, true]), "'@a,-1.5,'+1a,'\tx,,true\r\n");
});

interface Person extends Recipient {
  status: string;
  variables: object;
}
const makeList = async (kind: string, name: string = kind) =>
  (await plane.call<List & { columns: string[] }>('POST', `${P}/recipient-lists`, { body: { name, kind } }))
    .body;
const upload = <T = Record<string, unknown>>(
  listId: string,
  content: string,
  fields: Record<string, string> = {},
) => {
  const body = new FormData();
  body.set('file', new File([content], 'people.csv', { type: 'text/csv' }));
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return plane.call<T>('POST', `/v1/recipient-lists/${listId}/import`, { body });
};
const byNumber = async (listId: string, number: string) =>
  (await recipients(listId, `?phone_number=${encodeURIComponent(number)}`))[0] as Person | undefined;

void t.test(
  'people are imported from a file, numbers of a country too, and the same file again updates them',
  async (t) => {
    const list = await makeList('recipients');
    t.match(list, { kind: 'recipients', columns: [], recipient_count: 0 });
    const file = [
      'Mobile;Name;Plan Name;timezone;external_id',
      '098765 43210;Asha;Gold;Asia/Kolkata;c-1',
      '+14155550160;Ben;"Silver; yearly";;c-2',
      '12;Nobody;;;',
      ';No number;;;',
      '+14155550161;Zoë;;Mars/Olympus;',
      '+14155550160;;Bronze;;',
    ].join('\r\n');
    const { status, body: report } = await upload(list.id, file, { default_country: 'in' });
    t.equal(status, 200);
    t.same(report, {
      imported: 3,
      updated: 1,
      skipped: 2,
      errors: [
        { row: 4, loc: ['Mobile'], msg: 'has no number' },
        { row: 5, loc: ['timezone'], msg: 'is no IANA timezone such as Europe/Berlin' },
      ],
    });
    t.match(await byNumber(list.id, '+919876543210'), {
      ...{ name: 'Asha', external_id: 'c-1', timezone: 'Asia/Kolkata', variables: { plan_name: 'Gold' } },
      ...{ status: 'valid', source: 'import', added_by: /^key_/ },
    });
    t.match(await byNumber(list.id, '+14155550160'), { name: 'Ben', variables: { plan_name: 'Bronze' } });
    t.match(await recipients(list.id, '?status=invalid'), [{ phone_number: '12', name: 'Nobody' }]);
    t.match((await plane.call('GET', `/v1/recipient-lists/${list.id}`)).body, {
      columns: ['plan_name'],
      recipient_count: 3,
    });
    t.match((await upload(list.id, file, { default_country: 'IN' })).body, { imported: 0, updated: 4 });
    t.match(
      (await upload(list.id, 'phone,name\n+14155550160,Eve\n+14155550162,Max\n', { on_duplicate: 'skip' }))
        .body,
      { imported: 1, updated: 0, skipped: 1 },
    );
    t.match(await byNumber(list.id, '+14155550160'), { name: 'Ben' });
    t.same(await blocks('+14155550160', '+919876543210'), [], 'they are there to be called');
    const { body } = await plane.call<string>('GET', `/v1/recipient-lists/${list.id}/export`);
    const lines = String(body).split('\r\n');
    t.equal(lines[0], 'phone_number,name,external_id,timezone,status,plan_name,created_at');
    t.match(lines[1], /^\+14155550160,Ben,c-2,,valid,Bronze,/);
    t.equal(lines.length, 6);
  },
);

void t.test('a file that is none, or a field that cannot be, changes nothing', async (t) => {
  const list = await makeList('recipients');
  const numbers = Array.from({ length: 600 }, (_, n) => `+1415555${1000 + n}`).join('\n');
  const refused = { status: 400, body: { code: 'bad_file' } };
  t.match(await upload(list.id, `name\nAsha\n`), refused, 'without numbers');
  t.match(await upload(list.id, ''), refused);
  t.match(await upload(list.id, `phone\n${numbers}\n"broken`), refused, 'broken behind many rows');
  t.match(await upload(list.id, `phone\n${'1\n'.repeat(50_001)}`), { status: 413 });
  for (const fields of [{ default_country: 'XX' }, { on_duplicate: 'replace' }, { other: 'x' }])
    t.equal((await upload(list.id, 'phone\n+14155550100\n', fields as never)).status, 422);
  t.equal((await recipients(list.id)).length, 0);
  t.match((await upload(list.id, `phone\n${numbers}\n`)).body, { imported: 600 }, 'more than one batch');
});

void t.test('a file fills the org’s own list behind the answer', async (t) => {
  const own = await builtIn();
  const body = new FormData();
  body.set('file', new File(['phone\n+14155550191\nx\n'], 'people.csv', { type: 'text/csv' }));
  const path = `/v1/recipient-lists/${own.id}/import?async=true`;
  const begun = await plane.call<{ id: string }>('POST', path, { body, token: owner.token });
  t.match(begun, { status: 202, body: { project_id: null, recipient_list_id: own.id } });
  const found = async () =>
    (await plane.call<{ status: string; errors_url: string }>('GET', `/v1/imports/${begun.body.id}`)).body;
  await eventually(async () => (await found()).status === 'done');
  t.match(await found(), { rows: 2, imported: 1, error_count: 1 });
  const errors = await fetch(`${plane.url}${new URL((await found()).errors_url).pathname}`, {
    headers: { authorization: `Bearer ${owner.token}` },
  });
  t.match(await errors.text(), /\r\n2,phone,/);
  t.same(await blocks('+14155550191'), ['+14155550191'], 'and nobody of the org calls it');
});

void t.test('a file fills a suppression list, with numbers and reasons alone', async (t) => {
  const list = await makeList('suppression', 'Filled');
  const { body } = await upload(list.id, 'phone,reason,plan\n+14155550170,By letter,Gold\n12,,\n');
  t.match(body, { imported: 1, skipped: 1, errors: [{ row: 2, loc: ['phone'] }] });
  t.match(await byNumber(list.id, '+14155550170'), { reason: 'By letter', variables: {} });
  t.same(await blocks('+14155550170'), ['+14155550170']);
  const post = (recipient: object) =>
    plane.call<{ detail: object[] }>('POST', `/v1/recipient-lists/${list.id}/recipients`, {
      body: { recipients: [recipient] },
    });
  const refused = await post({ phone_number: '+14155550171', timezone: 'UTC', variables: { a: 'b' } });
  t.match(refused.body.detail, [
    { loc: ['body', 'recipients', 0, 'timezone'], type: 'not_available' },
    { loc: ['body', 'recipients', 0, 'variables'], type: 'not_available' },
  ]);
});

void t.test('people are changed one by one, and who has opted out is not called', async (t) => {
  const list = await makeList('recipients', 'By hand');
  const people = [
    { phone_number: '+14155550180', variables: { plan: 'Gold', city: 'Pune' }, timezone: 'Asia/Kolkata' },
    { phone_number: '+14155550181' },
    { phone_number: '+1415555' },
  ];
  const at = `/v1/recipient-lists/${list.id}/recipients`;
  t.same((await plane.call('POST', at, { body: { recipients: people } })).body, { added: 3, known: 0 });
  const person = (await byNumber(list.id, '+14155550180'))!;
  const patch = (id: string, body: object) =>
    plane.call<Person & { detail: object[] }>('PATCH', `/v1/recipients/${id}`, { body });
  t.match((await patch(person.id, { variables: { city: null, floor: '2' }, name: 'Asha' })).body, {
    name: 'Asha',
    variables: { plan: 'Gold', floor: '2' },
    timezone: 'Asia/Kolkata',
  });
  t.match((await patch(person.id, { status: 'opted_out' })).body, { status: 'opted_out' });
  const bad = (await byNumber(list.id, '+1415555'))!;
  t.equal(bad.status, 'invalid');
  t.match((await patch(bad.id, { status: 'valid' })).body.detail, [{ loc: ['body', 'status'] }]);
  const scope = new Scope(database, { orgId, projectId, projects: [projectId], role: 'viewer' });
  const called: object[] = [];
  for await (const page of recipientLists.people(scope, list.id)) called.push(...page);
  t.match(called, [
    { phone_number: '+1415555', valid: false },
    { phone_number: '+14155550181', valid: true, variables: {} },
  ]);
});

void t.test('who asks an agent not to be called again is in the list, once', async (t) => {
  const agent = await plane.call<{ id: string }>('POST', `${P}/agents`, {
    body: { name: `Agent ${randomUUID()}`, config: { memory: { write: true } } },
  });
  const { body: session } = await plane.call<{ session_id: string; token: string }>('POST', '/v1/sessions', {
    body: { agent_id: agent.body.id },
  });
  const number = '+14155550150';
  const people = await makeList('recipients', 'Asked');
  await add(people.id, number);
  await sessionStore.change(session.session_id, { direction: 'inbound', from_number: number } as never);
  const { body: plan } = await gateway.redeem({ token: session.token });
  await callEvents.handle(gateway.started(plan));
  const asked = gateway.event(plan, 'do_not_call', { reason: 'Too many calls.' });
  const noted = gateway.event(plan, 'remember', { kind: 'preference', content: 'No calls on Sundays.' });
  for (const event of [asked, noted, asked, noted]) await callEvents.handle(event);
  t.same(await blocks(number), [number]);
  t.match(await byNumber(people.id, number), { status: 'opted_out' }, 'lists of people show it');
  const found = await recipients((await builtIn()).id, `?phone_number=${encodeURIComponent(number)}`);
  t.match(found, [
    { source: 'agent', reason: 'Too many calls.', added_by: agent.body.id, session_id: session.session_id },
  ]);
  const memories = `/v1/agents/${agent.body.id}/memories`;
  t.match((await plane.call('GET', memories)).body, {
    total: 1,
    items: [{ kind: 'preference', content: 'No calls on Sundays.', source: 'session', subject: number }],
  });
  const events = await plane.call<{ items: { type: string; data: object }[] }>(
    'GET',
    `/v1/sessions/${session.session_id}/events?type=remember`,
  );
  t.same(
    events.body.items.map(({ data }) => data),
    [{ kind: 'preference' }],
    'what was noted stands in the memory alone',
  );
  await callEvents.handle(gateway.ended(plan));
  await eventually(async () => (await sessionStore.find(session.session_id))?.status === 'ended');
  t.equal((await plane.call('DELETE', `/v1/sessions/${session.session_id}`)).status, 204);
  t.match((await plane.call('GET', memories)).body, { total: 0 }, 'erased with the call');
  t.same(await blocks(number), [number], 'but still not to be called');
  // What comes late is of nobody any more.
  await callEvents.handle(gateway.event(plan, 'remember', { kind: 'fact', content: 'Late.' }));
  t.match((await plane.call('GET', memories)).body, { total: 0 });
});

interface Found {
  items: { id: string; type: string; name: string; parent_id: string }[];
  total: number;
}

/** Recipients and contacts that the search over the org finds. */
const search = async (q: string, as: string = owner.token, inOrg = orgId) =>
  (
    await plane.call<Found>(
      'GET',
      `/v1/orgs/${inOrg}/search?types=recipient&types=contact&q=${encodeURIComponent(q)}`,
      { token: as },
    )
  ).body.items;
const names = async (q: string, as?: string) => (await search(q, as)).map(({ name }) => name).sort();
const addPeople = (list: string, people: object[], token = owner.token) =>
  plane.call('POST', `/v1/recipient-lists/${list}/recipients`, { token, body: { recipients: people } });
const inList = async (list: string, q: string) => {
  const path = `/v1/recipient-lists/${list}/recipients?q=${encodeURIComponent(q)}`;
  return (await plane.call<Found>('GET', path)).body.items.map(({ name }) => name).sort();
};
const fill = async (kind: string) => {
  const worker = plane.app.features.workers.find(({ name }) => name === `names of ${kind}`)!;
  await worker.work(new AbortController().signal);
};

void t.test('a name is found by the beginnings of its words', async (t) => {
  t.same(nameWords('Ada LOVE-Li'), ['.ada', '.lov', '.love', '.li']);
  t.same(nameWords(null), ['']);
  t.same(nameWords('…'), ['']);
  t.equal(nameWords('Wolfeschlegelsteinhausen').at(-1), '.wolfeschlege');
  t.ok(nameWords('many different words '.repeat(9) + 'abcdefghijkl '.repeat(9)).length <= 60);
});

void t.test('names are the same with accents and without, in any case', async (t) => {
  for (const [name, plain] of [
    ['José', 'jose'],
    ['MÜLLER', 'muller'],
    ['Zoe\u0308', 'zoë'],
    ['Straße', 'STRASSE'],
    ['Łukasz Sørensen', 'lukasz sorensen'],
    ['IŞIL', 'ışıl'],
    ['İpek', 'ipek'],
    ['ΝΊΚΟΣ', 'νικος'],
    ['Фёдор', 'федор'],
    ['김', '김'.normalize('NFD')],
  ] as const) {
    t.same(nameWords(name), nameWords(plain), name);
    t.ok(isNamed(name, plain) && isNamed(plain, name), name);
  }
  for (const [one, other] of [
    ['राम', 'रम'],
    ['Ana', 'Anu'],
  ] as const)
    t.notOk(isNamed(one, other), 'vowels that stand as marks are letters');
});

void t.test('recipients are found by their names, in their list and from everywhere', async (t) => {
  const list = (await makeList('recipients')).id;
  const people = [
    { phone_number: '+14155550101', name: 'Ada Lovelace' },
    { phone_number: '+14155550102', name: 'Ada Byron' },
    { phone_number: '+14155550103', name: 'José Ángel' },
    { phone_number: '+14155550104' },
  ];
  await addPeople(list, people);
  t.same(await names('ada'), ['Ada Byron (+14155550102)', 'Ada Lovelace (+14155550101)']);
  t.same(await names('LOVE ad'), [], 'two letters are no beginning');
  t.same(await names('LOVE ada'), ['Ada Lovelace (+14155550101)']);
  for (const q of ['áng', 'angel jose', 'JOSÉ']) t.same(await names(q), ['José Ángel (+14155550103)'], q);
  t.same(await inList(list, 'jose'), ['José Ángel']);
  t.same(await names('lace'), [], 'from their beginnings alone');
  t.equal((await search('lovelace'))[0]?.parent_id, list);
  t.same(await inList(list, 'ada'), ['Ada Byron', 'Ada Lovelace']);
  t.same(await inList(list, 'love ada'), ['Ada Lovelace']);
  t.same(await inList((await makeList('recipients')).id, 'ada'), [], 'nobody of another list');
  t.equal((await plane.call('GET', `/v1/recipient-lists/${list}/recipients?q=%20`)).status, 422);

  const [byron] = await search('byron');
  await plane.call('PATCH', `/v1/recipients/${byron!.id}`, { body: { name: 'Ada King' } });
  t.same(await names('byron'), [], 'a name of before is none');
  t.same(await names('king'), ['Ada King (+14155550102)']);
  await upload(list, 'phone,name\n+14155550104,Charles Babbage\n');
  t.same(await inList(list, 'babb'), ['Charles Babbage'], 'who had no name has one now');
  await plane.call('DELETE', `/v1/recipient-lists/${list}`);
  t.same(await names('ada'), []);
});

void t.test('nobody finds people of others', async (t) => {
  const other = await plane.makeTenant();
  const listAt = async (org: string, projectOf: string, token: string) => {
    const path = `/v1/orgs/${org}/projects/${projectOf}/recipient-lists`;
    const body = { name: 'Guests', kind: 'recipients' };
    return (await plane.call<{ id: string }>('POST', path, { token, body })).body.id;
  };
  const theirs = await listAt(other.org._id, other.project._id, other.apiKey);
  await addPeople(theirs, [{ phone_number: '+14155550111', name: 'Grace Hopper' }], other.apiKey);
  const second = await plane.call<{ id: string }>('POST', `/v1/orgs/${orgId}/projects`, {
    token: owner.token,
    body: { name: `Second ${randomUUID()}` },
  });
  const list = await listAt(orgId, second.body.id, owner.token);
  await addPeople(list, [{ phone_number: '+14155550112', name: 'Grace Kelly' }]);
  t.same(await names('grace'), ['Grace Kelly (+14155550112)']);
  t.same(await names('grace', plane.first.apiKey), [], 'a key finds what its project has');
  t.equal((await search('grace', other.apiKey, other.org._id)).length, 1);
});

void t.test('contacts are found by their names, until they are deleted', async (t) => {
  const agent = await plane.call<{ id: string }>('POST', `${P}/agents`, { body: { name: 'Caller' } });
  const { body: campaign } = await plane.call<{ id: string }>('POST', `${P}/campaigns`, {
    body: { name: 'Renewals', agent_id: agent.body.id },
  });
  const path = `/v1/campaigns/${campaign.id}/contacts`;
  const contacts = [
    { phone_number: '+14155550121', name: 'Alan Turing' },
    { phone_number: '+14155550122', name: 'Alan Kay' },
  ];
  t.match((await plane.call('POST', path, { body: { contacts } })).body, { added: 2 });
  t.same(await names('alan'), ['Alan Kay (+14155550122)', 'Alan Turing (+14155550121)']);
  const listed = (q: string) => plane.call<Found>('GET', `${path}?q=${q}&sort=created_at`);
  t.match((await listed('tur')).body, { total: 1, items: [{ name: 'Alan Turing' }] });
  const [kay] = await search('kay');
  await plane.call('PATCH', `/v1/campaign-contacts/${kay!.id}`, { body: { name: 'Alan Perlis' } });
  t.same(await names('alan perl'), ['Alan Perlis (+14155550122)']);
  await plane.call('DELETE', `/v1/campaign-contacts/${kay!.id}`);
  t.same(await names('alan'), ['Alan Turing (+14155550121)']);
});

void t.test('people of an earlier version are found in their lists, and from everywhere later', async (t) => {
  const list = (await makeList('recipients')).id;
  await addPeople(list, [{ phone_number: '+14155550131', name: 'Edsger Dijkstra' }]);
  const model = database.model(recipientCollection);
  const of = { list_id: list };
  await model.collection.updateMany(of, { $unset: { words: 1 } });
  const [before] = await model.find(of).lean();
  t.same(await inList(list, 'dijk'), ['Edsger Dijkstra'], 'read one by one');
  t.same(await names('dijkstra'), []);
  await fill('recipients');
  t.same(await names('dijkstra'), ['Edsger Dijkstra (+14155550131)']);
  t.same(await inList(list, 'dijk'), ['Edsger Dijkstra']);
  const [after] = await model.find(of).lean();
  t.same(after?.updated_at, before?.updated_at, 'nobody has changed them');
  await fill('recipients');
  t.same((await model.find(of).lean())[0], after, 'again changes nothing');
});

void t.test('people whose accents counted in an earlier version are found without them later', async (t) => {
  const list = (await makeList('recipients')).id;
  const people = [
    { phone_number: '+14155550141', name: 'Émilie Noether' },
    { phone_number: '+14155550142', name: 'Emmy Noether' },
  ];
  await addPeople(list, people);
  const model = database.model(recipientCollection);
  const of = { list_id: list, phone_number: '+14155550141' };
  await model.collection.updateOne(of, { $set: { words: ['émi', 'émil', 'noe', 'noet'] } });
  t.same(await inList(list, 'ether émi'), ['Émilie Noether'], 'read one by one');
  t.same(await names('emilie'), []);
  await fill('recipients');
  t.same(await names('emilie'), ['Émilie Noether (+14155550141)']);
  t.same(await inList(list, 'emilie'), ['Émilie Noether']);
  t.same(await inList(list, 'ether'), [], 'from an index again');
  const after = await model.findOne(of).lean();
  t.same(after?.words, nameWords('Émilie Noether'));
  await fill('recipients');
  t.same(await model.findOne(of).lean(), after, 'again changes nothing');
});

void t.test('a call by itself makes nobody a contact who is found', async (t) => {
  const contacts = database.model(contactCollection);
  const common = {
    org_id: orgId,
    project_id: projectId,
    campaign_id: newId('cmp'),
    status: 'pending' as const,
  };
  const record = newRecord(contactCollection, { _id: newId('cct'), ...common, name: 'Barbara Liskov' });
  await contacts.collection.insertOne({ ...record, words: undefined } as never, { ignoreUndefined: true });
  await fill('contacts');
  t.same(await names('liskov'), []);
  t.same((await contacts.findOne({ _id: record._id }).lean())?.words, ['']);
  const call = { _id: common.campaign_id, org_id: orgId, project_id: projectId, kind: 'single' };
  await database.model(campaignCollection).collection.insertOne(call as never);
  const listed = (q: string) => plane.call('GET', `/v1/campaigns/${common.campaign_id}/contacts?q=${q}`);
  t.match((await listed('LISK%20bárbara')).body, { total: 1, items: [{ name: 'Barbara Liskov' }] });
  t.match((await listed('barbara%20lovelace')).body, { total: 0, items: [] });
});

void t.test('calls by themselves hide no contact with the same number', async (t) => {
  const agent = await plane.call<{ id: string }>('POST', `${P}/agents`, { body: { name: 'Dialler' } });
  const { body: campaign } = await plane.call<{ id: string }>('POST', `${P}/campaigns`, {
    body: { name: 'Reminders', agent_id: agent.body.id },
  });
  const called = (n: number, campaign_id: string) =>
    newRecord(contactCollection, {
      ...{ _id: newId('cct', n), org_id: orgId, project_id: projectId, campaign_id },
      ...{ phone_number: '+14155550155', status: 'pending' as const, unique_number: null },
    });
  const single = newId('cmp');
  const calls = Array.from({ length: 700 }, (_, n) => called(n, single));
  await database
    .model(contactCollection)
    .collection.insertMany([...calls, called(999, campaign.id)] as never[]);
  t.match(await search('+1 415 555 0155'), [{ type: 'contact', parent_id: campaign.id }]);
  t.equal((await search('+1 415 555 0155')).length, 1);
});

interface Executed {
  executionStats: { totalDocsExamined: number };
  queryPlanner: { winningPlan: object };
}

void t.test(`of ${PEOPLE} people no more are read than are shown`, async (t) => {
  const list = (await makeList('recipients')).id;
  const model = database.model(recipientCollection);
  const now = Date.now();
  const record = (n: number) => {
    const name = n % 2 === 0 ? `Common Number${n}` : 'Common Person';
    return newRecord(recipientCollection, {
      ...{
        _id: newId('rcp', now + n),
        org_id: orgId,
        project_id: projectId,
        list_id: list,
        kind: 'recipients',
      },
      ...{ phone_number: `+1415${1_000_000 + n}`, name, words: nameWords(name), source: 'import' },
      created_at: new Date(now + n),
    });
  };
  for (let from = 0; from < PEOPLE; from += 1000)
    await model.collection.insertMany(
      Array.from({ length: Math.min(1000, PEOPLE - from) }, (_, at) => record(from + at)) as never[],
      { ordered: false },
    );
  const sent: [filter: object, options: { sort?: object; limit?: number; skip?: number }][] = [];
  mongoose.set('debug', (collection: string, method: string, filter: object, options: object) => {
    if (collection === 'recipients' && /^find(One)?$/.test(method)) sent.push([filter, options]);
  });
  t.teardown(() => mongoose.set('debug', false));
  t.equal((await search('common')).length, 20);
  t.equal((await search('common number42')).length > 0, true);
  t.equal((await search('stranger')).length, 0);
  const page = `/v1/recipient-lists/${list}/recipients?limit=20&q=`;
  for (const q of ['common', 'person%20common'])
    t.equal((await plane.call<Found>('GET', `${page}${q}`)).body.items.length, 20, q);
  mongoose.set('debug', false);
  t.ok(sent.length >= 9);
  for (const [filter, { sort, limit, skip }] of sent) {
    const options = { ...(sort && { sort: sort as never }), ...(skip && { skip }), limit: limit ?? 1 };
    const explained = await model.collection.find(filter, options).explain('executionStats');
    const { executionStats, queryPlanner } = explained as unknown as Executed;
    const about = JSON.stringify(filter);
    t.match(JSON.stringify(queryPlanner.winningPlan), /"IXSCAN"/, about);
    t.notMatch(JSON.stringify(queryPlanner.winningPlan), /"(COLLSCAN|SORT)"/, about);
    // Every other person has the second word, too.
    t.ok(executionStats.totalDocsExamined <= 2 * SHOWN, `${executionStats.totalDocsExamined} read: ${about}`);
  }
});
