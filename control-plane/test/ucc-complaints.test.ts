import { createHmac, randomUUID } from 'node:crypto';
import t from 'tap';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openPlivoCarrierEmulator } from '@parley/emulators/carriers/plivo-carrier-emulator';
import { signatureBase } from '../src/carriers/plivo/plivo-signature.ts';
import { orgCollection } from '../src/orgs/org-model.ts';
import { telephonyAccountCollection } from '../src/telephony/telephony-account-model.ts';
import { proofDeadline } from '../src/ucc-complaints/complaint-deadline.ts';
import { uccComplaintCollection } from '../src/ucc-complaints/ucc-complaint-model.ts';
import { openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { signInUser } from './fixtures/test-users.ts';

const PUBLIC_URL = 'https://voice.example.com';
const AUTH = { auth_id: 'MAUCC', auth_token: 'plivo-token-of-complaints' };
const DAY_MS = 86_400_000;

interface Complaint extends Record<string, unknown> {
  id: string;
  reference_id: string;
  status: string;
  updated_at: string;
}
interface Page {
  items: Complaint[];
  total: number;
}

const carrier = await openPlivoCarrierEmulator({ authId: AUTH.auth_id, authToken: AUTH.auth_token });
t.teardown(() => carrier[Symbol.asyncDispose]());
const crm = await openLoopbackServer(({ path }) => {
  if (path.startsWith('/gone')) return { status: 404 };
  if (path.startsWith('/empty')) return {};
  if (path.startsWith('/page')) return { headers: { 'content-type': 'text/html' }, body: 'Sign in' };
  if (path.startsWith('/large')) return { body: 'x'.repeat(5 * 1024 * 1024 + 1) };
  return { headers: { 'content-type': 'application/pdf' }, body: '%PDF linked' };
});
t.teardown(() => crm[Symbol.asyncDispose]());
const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({
  clock,
  env: {
    ...{ PUBLIC_URL, PLIVO_BASE_URL: carrier.apiUrl, OUTBOUND_ALLOW: crm.url },
    COMPLAINT_PULL_MINUTES: '60',
  },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const { database, directory, box } = plane.app.services;
const owner = await signInUser(plane, 'owner@example.com');
const orgId = plane.first.org._id;
const O = `/v1/orgs/${orgId}`;

async function makeAccount(more: object = {}): Promise<string> {
  const body = { name: 'Line', provider: 'plivo', credentials: AUTH, ...more };
  const made = await plane.call<{ id: string }>('POST', `${O}/telephony-accounts`, {
    body,
    token: owner.token,
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return made.body.id;
}

const accountId = await makeAccount({ project_ids: [plane.first.project._id] });
const sync = (token?: string) =>
  plane.call<Page>('POST', `${O}/plivo/ucc/sync`, token === undefined ? {} : { token });
const list = async (query = '') => (await plane.call<Page>('GET', `${O}/ucc-complaints?${query}`)).body;
const storedOf = (id: string) => database.model(uccComplaintCollection).findOne({ _id: id }).lean();

/** A complaint that the platform knows of. */
async function pulled(fields: object = {}): Promise<Complaint> {
  const reference_id = randomUUID();
  carrier.complaints.set({ reference_id, ...fields });
  const found = (await sync()).body.items.find((one) => one.reference_id === reference_id);
  if (!found) throw new Error('The complaint was not pulled.');
  return found;
}

const prove = (id: string, body: unknown) =>
  plane.call<Complaint & { code?: string; detail?: unknown }>('POST', `/v1/ucc-complaints/${id}/proof`, {
    body,
  });

function proofForm(content = '%PDF uploaded'): FormData {
  const form = new FormData();
  form.append('file', new File([content], 'consent.pdf', { type: 'application/pdf' }));
  return form;
}

async function callBack(
  fields: Record<string, string>,
  { account = accountId, secret = AUTH.auth_token, json = false } = {},
) {
  const path = carrierCallbackPath('plivo', 'ucc', account);
  const form = new URLSearchParams(fields);
  const signed = json ? new URLSearchParams() : form;
  return plane.call('POST', path, {
    token: null,
    body: json ? fields : form,
    headers: {
      'x-plivo-signature-v3-nonce': '1',
      'x-plivo-signature-v3': createHmac('sha256', secret)
        .update(`${signatureBase(`${PUBLIC_URL}${path}`, signed)}.1`)
        .digest('base64'),
    },
  });
}

void t.test('a sync pulls every page, and what it has pulled stays as it is', async (t) => {
  t.same((await sync()).body, { items: [], total: 0 }, 'nobody has complained');
  carrier.complaints.set({
    reference_id: 'UCC-1',
    status: 'pending',
    from_number: '918035001234',
    to_number: '919876500001',
    initiation_date: '2026-11-20 14:05:00',
    complaint_category: 'promotional',
    call_uuid: 'c-1',
    deadline_at: new Date(clock.now() + DAY_MS).toISOString().replace('T', ' '),
    circle: 'KA',
  });
  for (let n = 2; n <= 45; n++)
    carrier.complaints.set({
      reference_id: `UCC-${n}`,
      to_number: `9198765000${String(n).padStart(2, '0')}`,
    });
  const first = await sync();
  t.match(first, { status: 200, body: { total: 45 } });
  const one = first.body.items.find((item) => item.reference_id === 'UCC-1')!;
  t.same(one, {
    id: one.id,
    org_id: orgId,
    telephony_account_id: accountId,
    reference_id: 'UCC-1',
    status: 'pending',
    from_number: '+918035001234',
    to_number: '+919876500001',
    initiation_date: '2026-11-20 14:05:00',
    complaint_category: 'promotional',
    call_uuid: 'c-1',
    deadline_at: new Date(clock.now() + DAY_MS).toISOString(),
    created_at: one['created_at'],
    updated_at: one.updated_at,
  });
  t.match(one.id, /^ucc_/);
  t.same(await plane.call('GET', `/v1/ucc-complaints/${one.id}`).then(({ body }) => body), one);
  const other = first.body.items.find((item) => item.reference_id === 'UCC-2')!;
  t.equal(other['deadline_at'], proofDeadline(clock.now()).toISOString(), 'a deadline is computed');

  const { raw } = (await storedOf(one.id))!;
  t.same(JSON.parse(box.decryptSecret(raw!)), { circle: 'KA' }, 'what is not known is kept, encrypted');
  t.equal((await storedOf(other.id))!.raw, null);

  const again = await sync();
  t.same(
    again.body.items.map(({ id, updated_at }) => [id, updated_at]).sort(),
    first.body.items.map(({ id, updated_at }) => [id, updated_at]).sort(),
    'nothing was changed',
  );
  carrier.complaints.set({ reference_id: 'UCC-7', status: 'Rejected', rejection_reason: 'No date.' });
  const changed = (await sync()).body;
  t.match(
    changed,
    { total: 45, items: [{ reference_id: 'UCC-7', status: 'rejected' }] },
    'the last change first',
  );
  t.equal(changed.items[0]!['rejection_reason'], 'No date.');
});

void t.test('lists are filtered and sorted', async (t) => {
  t.match(await list('status=rejected'), { total: 1, items: [{ reference_id: 'UCC-7' }] });
  t.match(await list(`to_number=${encodeURIComponent('+919876500003')}`), {
    items: [{ reference_id: 'UCC-3' }],
  });
  t.equal((await list(`from_number=${encodeURIComponent('+918035001234')}&limit=1`)).total, 45);
  t.equal((await list(`telephony_account_id=${accountId}`)).total, 45);
  t.match(await list('sort=deadline_at&limit=1'), { items: [{ reference_id: 'UCC-1' }] });
});

void t.test('who complains is not called again, until an admin says otherwise', async (t) => {
  const { suppressions } = plane.app.services;
  const at = { orgId, projectId: plane.first.project._id };
  const blocked = async () => [...(await suppressions.blocks(at, ['+919876500002', '+919876500003']))];
  t.same((await blocked()).sort(), ['+919876500002', '+919876500003']);
  const lists = await plane.call<Page>('GET', `${O}/projects/${at.projectId}/recipient-lists`);
  const listId = lists.body.items[0]!.id;
  const recipients = `/v1/recipient-lists/${listId}/recipients`;
  const query = `phone_number=${encodeURIComponent('+919876500002')}`;
  const entry = (await plane.call<Page>('GET', `${recipients}?${query}`)).body.items[0]!;
  t.match(entry, { source: 'carrier', reason: /Complained/, added_by: null });
  const gone = await plane.call('DELETE', `/v1/recipients/${entry.id}`, { token: owner.token });
  t.equal(gone.status, 204);
  await sync();
  t.same(await blocked(), ['+919876500003'], 'the same complaint does not put it back');
});

void t.test('a proof is handed to the carrier, and decides with it', async (t) => {
  const complaint = await pulled();
  const proved = await prove(complaint.id, proofForm());
  t.match(proved, { status: 200, body: { status: 'proof_submitted' } });
  t.notOk('opt_in_proof_url' in proved.body);
  const { referenceId, file } = carrier.complaints.handedIn.at(-1)!;
  t.same(
    [referenceId, file.name, file.type, await file.text()],
    [complaint.reference_id, 'consent.pdf', 'application/pdf', '%PDF uploaded'],
  );
  t.match(await prove(complaint.id, proofForm()), { status: 409, body: { code: 'invalid_state' } });

  carrier.complaints.set({
    reference_id: complaint.reference_id,
    status: 'rejected',
    rejection_reason: 'Too old.',
  });
  await sync();
  const url = `${crm.url}/consents/42.pdf?signed=1`;
  const linked = await prove(complaint.id, { opt_in_proof_url: url });
  t.match(linked, { status: 200, body: { status: 'proof_submitted', opt_in_proof_url: url } });
  t.notOk('rejection_reason' in linked.body, 'the reason was that of the proof before');
  const second = carrier.complaints.handedIn.at(-1)!.file;
  t.same([second.name, second.type, await second.text()], ['42.pdf', 'application/pdf', '%PDF linked']);

  carrier.complaints.set({ reference_id: complaint.reference_id, status: 'accepted' });
  await sync();
  t.equal((await prove(complaint.id, proofForm())).status, 409, 'after the decision');
});

void t.test('an address that leads to no proof is refused, and nothing is handed in', async (t) => {
  const { id } = await pulled();
  const before = carrier.complaints.handedIn.length;
  const wrong: [string, RegExp][] = [
    [`${crm.url}/gone`, /status 404/],
    [`${crm.url}/empty`, /empty/],
    [`${crm.url}/page`, /web page/],
    [`${crm.url}/large`, /5 MiB/],
    ['http://127.0.0.1:1/x', /https/],
    ['https://10.0.0.1/x', /public/],
    ['ftp://files.example.com/x', /URL/],
  ];
  for (const [opt_in_proof_url, why] of wrong) {
    const { status, body } = await prove(id, { opt_in_proof_url });
    t.equal(status, 422, opt_in_proof_url);
    t.match(body.detail, [{ loc: ['body', 'opt_in_proof_url'], msg: why }]);
  }
  t.equal((await prove(id, proofForm(''))).status, 422, 'an empty file');
  t.equal(carrier.complaints.handedIn.length, before);
  t.equal((await storedOf(id))!.status, 'pending');
});

void t.test("a carrier's failure is told, and takes nothing from the other accounts", async (t) => {
  carrier.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
  t.match(await sync(), { status: 502, body: { code: 'provider_error' } });
  const refused = await makeAccount({ credentials: { ...AUTH, auth_token: 'wrong' } });
  carrier.complaints.set({ reference_id: 'UCC-late' });
  t.match(await sync(), { status: 502, body: { code: 'provider_error', detail: /credentials/ } });
  t.equal((await list()).items[0]!.reference_id, 'UCC-late', 'what could be pulled is there');
  await plane.call('DELETE', `/v1/telephony-accounts/${refused}`, { token: owner.token });
  t.equal((await sync()).status, 200);

  const { id } = await pulled();
  carrier.setFaults([{ kind: 'refuse', status: 500, count: 1 }]);
  t.equal((await prove(id, proofForm())).status, 502);
  t.equal((await storedOf(id))!.status, 'pending', 'a proof that was not taken is none');
  const unknown = await pulled();
  await database.model(uccComplaintCollection).updateOne({ _id: unknown.id }, { reference_id: 'not-there' });
  t.equal((await prove(unknown.id, proofForm())).status, 502);
});

void t.test('carriers without a feed, and orgs that have switched it off', async (t) => {
  const detail = [{ loc: ['path', 'carrier'] }];
  for (const name of ['twilio', 'telnyx', 'pigeon'])
    t.match(await plane.call('POST', `${O}/${name}/ucc/sync`), { status: 422, body: { detail } });
  const accounts = await plane.call<{ callback_urls: { ucc: string | null } }>(
    'GET',
    `/v1/telephony-accounts/${accountId}`,
  );
  t.equal(accounts.body.callback_urls.ucc, `${PUBLIC_URL}${carrierCallbackPath('plivo', 'ucc', accountId)}`);
  const setFlags = async (feature_flags: object) => {
    await database.model(orgCollection).updateOne({ _id: orgId }, { $set: { feature_flags } });
    directory.forget(orgId);
  };
  await setFlags({ ucc: false });
  t.match(await sync(), { status: 403, body: { code: 'feature_disabled' } });
  await setFlags({});
});

void t.test('a callback brings the same record, and the word that it had', async (t) => {
  const fields = { reference_id: 'CB-1', status: 'pending', to_number: '919876511111', source: 'TRAI' };
  // Twice at once, as when an answer is lost.
  t.same(
    (await Promise.all([callBack(fields), callBack(fields)])).map(({ status }) => status),
    [200, 200],
  );
  const found = (await list(`to_number=${encodeURIComponent('+919876511111')}`)).items;
  t.match(found, [
    { reference_id: 'CB-1', last_callback_status: 'pending', telephony_account_id: accountId },
  ]);
  t.equal(found.length, 1);
  t.equal(found[0]!['last_callback_at'], new Date(clock.now()).toISOString());

  clock.advance(1000);
  t.equal((await callBack({ reference_id: 'CB-1', status: 'under_review' })).status, 200);
  const later = (await storedOf(found[0]!.id))!;
  t.match(later, { status: 'pending', last_callback_status: 'under_review', to_number: '+919876511111' });
  t.equal(later.last_callback_at!.getTime(), clock.now());

  t.equal((await callBack(fields, { secret: 'wrong' })).status, 403);
  t.equal((await callBack(fields, { account: 'tel_nobody' })).status, 403);
  t.equal((await callBack({ status: 'pending' })).status, 400);
  t.equal(
    (await callBack({ ...fields, reference_id: 'CB-2' }, { json: true })).status,
    400,
    'it is not signed',
  );
  t.equal((await list('limit=1')).items[0]!.reference_id, 'CB-1');
});

void t.test('complaints belong to whom their account is open to', async (t) => {
  const second = await plane.call<{ id: string }>('POST', `${O}/projects`, {
    token: owner.token,
    body: { name: 'Second' },
  });
  const { body: key } = await plane.call<{ key: string }>('POST', `/v1/projects/${second.body.id}/api-keys`, {
    token: owner.token,
    body: { name: 'key', role: 'editor' },
  });
  const [mine] = (await list()).items;
  t.same((await plane.call('GET', `${O}/ucc-complaints`, { token: key.key })).body, { items: [], total: 0 });
  t.equal((await plane.call('GET', `/v1/ucc-complaints/${mine!.id}`, { token: key.key })).status, 404);
  t.same((await sync(key.key)).body, { items: [], total: 0 }, 'it pulls nothing of others');

  await plane.call('PATCH', `/v1/telephony-accounts/${accountId}`, {
    token: owner.token,
    body: { project_ids: null },
  });
  t.equal((await plane.call('GET', `/v1/ucc-complaints/${mine!.id}`, { token: key.key })).status, 200);
  const path = `/v1/ucc-complaints/${mine!.id}/proof`;
  const answer = await plane.call('POST', path, { token: key.key, body: proofForm() });
  t.equal(answer.status, 403, 'what is open to several projects is read-only to a key');
  t.equal(
    (await plane.call('POST', path, { token: owner.token, body: proofForm() })).status,
    502,
    'not to the org',
  );
});

void t.test('a complaint expires at its deadline, and not one that was answered', async (t) => {
  await plane.call('PATCH', `/v1/telephony-accounts/${accountId}`, {
    token: owner.token,
    body: { project_ids: [plane.first.project._id] },
  });
  const deadline_at = new Date(clock.now() + DAY_MS).toISOString();
  const [waiting, answered, rejected] = [
    await pulled({ deadline_at }),
    await pulled({ deadline_at }),
    await pulled({ deadline_at, status: 'rejected' }),
  ];
  t.equal((await prove(answered.id, proofForm())).status, 200);
  const expire = plane.app.features.workers.find(({ name }) => name === 'deadlines of complaints')!;
  const states = async () => {
    await expire.work(new AbortController().signal);
    return Promise.all([waiting, answered, rejected].map(async ({ id }) => (await storedOf(id))!.status));
  };
  clock.advance(DAY_MS - 1);
  t.same(await states(), ['pending', 'proof_submitted', 'rejected']);
  clock.advance(1);
  // Before anything has marked it, too.
  t.equal((await prove(waiting.id, proofForm())).status, 409);
  t.equal((await prove(rejected.id, proofForm())).status, 409);
  t.same(await states(), ['expired', 'proof_submitted', 'rejected']);
  t.equal((await pulled({ deadline_at })).status, 'expired', 'told of too late');
  carrier.complaints.set({ reference_id: waiting.reference_id, status: 'accepted' });
  await sync();
  t.equal((await storedOf(waiting.id))!.status, 'accepted', 'the carrier has the last word');
});

void t.test('complaints come by themselves, to orgs that have them on', async (t) => {
  carrier.complaints.set({ reference_id: 'UCC-unasked', to_number: '919876590001' });
  const known = async () => (await list(`to_number=${encodeURIComponent('+919876590001')}`)).total;
  const pull = plane.app.features.workers.find(({ name }) => name === 'complaints')!;
  t.equal(pull.everyMs, 60 * 60_000);
  const { signal } = new AbortController();
  await pull.work(signal);
  t.equal(await known(), 0, 'nobody has tried the account at its carrier yet');
  await database.model(telephonyAccountCollection).updateOne({ _id: accountId }, { status: 'active' });
  const setFlags = async (feature_flags: object) => {
    await database.model(orgCollection).updateOne({ _id: orgId }, { $set: { feature_flags } });
    directory.forget(orgId);
  };
  await setFlags({ ucc: false });
  await pull.work(signal);
  await setFlags({});
  t.equal(await known(), 0, 'the org has them off');
  await pull.work(signal);
  t.equal(await known(), 1);
});
