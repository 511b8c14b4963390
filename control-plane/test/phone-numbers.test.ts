import { randomUUID } from 'node:crypto';
import t from 'tap';
import { CARRIERS, type CarrierName } from '@parley/shared/contracts/session-values';
import type { CarrierEmulator } from '@parley/emulators/callers/emulated-call';
import { carrierEmulators } from '@parley/emulators/carriers/carrier-emulators';
import { newId } from '@parley/shared/ids/new-id';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { NumberProvisioning } from '../src/telephony/number-provisioning.ts';
import { phoneNumberCollection, type PhoneNumberRecord } from '../src/telephony/phone-number-model.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

const emulators = {} as Record<CarrierName, CarrierEmulator>;
for (const carrier of CARRIERS) {
  const descriptor = carrierEmulators[carrier];
  emulators[carrier] = await descriptor.open(descriptor.newAccount());
  t.teardown(() => emulators[carrier][Symbol.asyncDispose]());
}
// It stands still: the control plane does what is due when it is woken, and not by and by.
const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({
  clock,
  env: {
    PLIVO_BASE_URL: emulators.plivo.apiUrl,
    TWILIO_BASE_URL: emulators.twilio.apiUrl,
    TELNYX_BASE_URL: emulators.telnyx.apiUrl,
  },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const { database, telephonyAccounts } = plane.app.services;
const O = `/v1/orgs/${plane.first.org._id}`;
const P = `${O}/projects/${plane.first.project._id}`;
const inOrg = { orgId: plane.first.org._id, projectId: null, projects: null, role: 'owner' } as const;
const scope = new Scope(database, inOrg);

interface NumberBody {
  id: string;
  status: string;
  status_reason: string | null;
  phone_number: string;
}

const accounts = {} as Record<CarrierName, string>;
for (const carrier of CARRIERS) {
  const credentials: Record<string, string> = { ...emulators[carrier].credentials };
  const fields = { name: carrier, provider: carrier, credentials };
  const account = await telephonyAccounts.create(scope, 'test', '', fields);
  await telephonyAccounts.verify(scope, account);
  accounts[carrier] = account._id;
}

const post = (carrier: CarrierName, mode: 'buy' | 'import', phone_number: string) =>
  plane.call<NumberBody & { code: string }>('POST', `${P}/phone-numbers`, {
    body: { telephony_account_id: accounts[carrier], phone_number, mode },
    headers: { 'idempotency-key': randomUUID() },
  });
const read = async (id: string) => (await plane.call<NumberBody>('GET', `/v1/phone-numbers/${id}`)).body;
const becomes = (id: string, status: string) =>
  eventually(async () => {
    const number = await read(id);
    return number.status === status && number;
  });
const held = (carrier: CarrierName, number: string) =>
  emulators[carrier].numbers.held().find((one) => one.number === number);
const change = (id: string, set: Partial<PhoneNumberRecord>) =>
  database.model(phoneNumberCollection).updateOne({ _id: id }, { $set: set });
const stored = async (id: string) =>
  (await database.model(phoneNumberCollection).findOne({ _id: id }).lean<PhoneNumberRecord>())!;

/** A process of its own, that does what is due when it is told. */
const provisioning = new NumberProvisioning({
  ...{ database, accounts: telephonyAccounts, publicUrl: 'http://127.0.0.1:8080' },
  ...{ clock, logger: silentLogger() },
});
const look = async (id: string) => {
  await change(id, { due_at: new Date(0) });
  await provisioning.run(new AbortController().signal);
  return read(id);
};

for (const carrier of CARRIERS)
  void t.test(`${carrier}: searched, bought, bound, given back`, async (t) => {
    const query = `telephony_account_id=${accounts[carrier]}&country=US&type=local&limit=3`;
    const found = await plane.call<{ items: { phone_number: string; monthly_amount: string }[] }>(
      ...(['GET', `${O}/phone-numbers/available?${query}`] as const),
    );
    t.equal(found.body.items.length, 3);
    const { phone_number, monthly_amount } = found.body.items[CARRIERS.indexOf(carrier)]!;
    t.match(monthly_amount, /^1\.15/);
    const key = { 'idempotency-key': randomUUID() };
    const body = { telephony_account_id: accounts[carrier], phone_number, mode: 'buy', label: 'Desk' };
    const order = () =>
      plane.call<NumberBody>('POST', `${P}/phone-numbers`, { body: { ...body }, headers: key });
    const ordered = await order();
    t.match(ordered, { status: 202, body: { status: 'provisioning', origin: 'bought', label: 'Desk' } });
    t.equal((await order()).body.id, ordered.body.id, 'the same request again');
    const { id } = ordered.body;
    t.match(await becomes(id, 'active'), { monthly_amount: /^1\.15/, purchased_at: /^20/ });
    t.equal(emulators[carrier].numbers.orders, 1);
    const webhooks = JSON.stringify(held(carrier, phone_number)?.settings);
    t.match(webhooks, carrier === 'twilio' ? `/carriers/twilio/voice/${accounts[carrier]}` : /\d{9}/);
    t.match(await post(carrier, 'buy', phone_number), { status: 409 }, 'it is not for sale');

    const agent = await plane.call<{ id: string }>('POST', `${P}/agents`, { body: { name: randomUUID() } });
    const deployment = { name: 'Line', phone_number_id: id, agent_id: agent.body.id, status: 'paused' };
    const bound = await plane.call<{ id: string }>('POST', `${P}/inbound-deployments`, { body: deployment });
    const path = `/v1/phone-numbers/${id}`;
    t.match(await plane.call('DELETE', path), {
      status: 409,
      body: { code: 'resource_in_use', refs: [{ id: bound.body.id }] },
    });
    await plane.call('DELETE', `/v1/inbound-deployments/${bound.body.id}`);
    t.match(await plane.call('DELETE', path), { status: 202, body: { status: 'releasing' } });
    t.match(await becomes(id, 'released'), { released_at: /^20/ });
    t.equal(held(carrier, phone_number), undefined);
    t.match(await plane.call('DELETE', path), { status: 409, body: { code: 'invalid_state' } });
  });

for (const carrier of CARRIERS)
  void t.test(`${carrier}: imported and forgotten`, async (t) => {
    const number = `+1415555020${CARRIERS.indexOf(carrier)}`;
    const imported = await post(carrier, 'import', number);
    t.match(imported, { status: 201, body: { status: 'active', origin: 'imported' } });
    const settings = () => JSON.stringify(held(carrier, number)?.settings);
    t.match(settings(), carrier === 'twilio' ? /voice_url":"http/ : /\d{9}/);
    t.match(await post(carrier, 'import', number), { status: 409, body: { code: 'duplicate' } });
    const notOwned = await post(carrier, 'import', '+12125552009');
    t.match(notOwned, { status: 409, body: { code: 'invalid_state' } });
    t.match((await post(carrier, 'import', '+12125552009')).body.code, 'invalid_state', 'nothing is left');
    emulators[carrier].setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
    const failed = await post(carrier, 'import', '+14155550300');
    t.match(failed, { status: 502, body: { code: 'provider_error' } });
    const { id } = imported.body;
    emulators[carrier].setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
    t.match(await plane.call('DELETE', `/v1/phone-numbers/${id}`), { status: 502 });
    t.equal((await read(id)).status, 'active', 'and stays until its webhooks are cleared');
    t.equal((await plane.call('DELETE', `/v1/phone-numbers/${id}`)).status, 204);
    t.notMatch(settings(), carrier === 'twilio' ? /voice_url":"http/ : /\d{9}/);
    t.ok(held(carrier, number), 'the account keeps it');
  });

/** An order as a process left it. */
async function abandoned(
  phone_number: string,
  order: { sent_at: Date | null; tries: number } | null,
  carrier: CarrierName = 'telnyx',
): Promise<string> {
  const { org_id, project_id } = { org_id: plane.first.org._id, project_id: plane.first.project._id };
  const record = await database.model(phoneNumberCollection).create({
    ...{ _id: newId('phn'), org_id, project_id, telephony_account_id: accounts[carrier] },
    ...{ provider: carrier, phone_number, active_number: phone_number, country: 'US', type: 'local' },
    ...{ origin: 'bought', status: 'provisioning', order, due_at: null },
  });
  return record._id;
}
const ago = (ms: number) => new Date(clock.now() - ms);

void t.test('a process that died buys nothing twice and forgets nothing', async (t) => {
  for (const [index, carrier] of CARRIERS.entries()) {
    const { numbers } = emulators[carrier];
    const before = numbers.orders;
    // It died when the order had left and before it knew what came of it.
    const bought = `+1646555201${index}`;
    const client = (await telephonyAccounts.open(accounts[carrier]))!.numbers!;
    const id = await abandoned(bought, { sent_at: ago(1000), tries: 1 }, carrier);
    const webhooks = provisioning.webhooks(await stored(id));
    await client.order({ orderId: id, phoneNumber: bought, webhooks });
    t.match(await look(id), { status: 'active' }, `${carrier}: what was bought is ours`);
    t.equal(numbers.orders, before + 1);

    // It died before the order came to the carrier.
    const lost = await abandoned(`+1646555202${index}`, { sent_at: ago(1000), tries: 1 }, carrier);
    t.match(await look(lost), { status: 'provisioning' }, 'it may be on its way');
    t.equal(numbers.orders, before + 1);
    await change(lost, { order: { sent_at: ago(300_000), tries: 1 } });
    t.match(await look(lost), { status: 'active' }, 'it is certain that it never came');
    t.equal(numbers.orders, before + 2);

    // An order gets no answer, and three of them do not.
    const silent = await abandoned(`+1646555200${index + 3}`, null, carrier);
    emulators[carrier].setFaults([{ kind: 'order_lost', count: 3 }]);
    for (let tries = 1; tries <= 3; tries++) {
      t.match(await look(silent), { status: 'provisioning' });
      t.equal((await stored(silent)).order?.tries, tries);
      await change(silent, { order: { sent_at: ago(300_000), tries } });
    }
    t.match(await look(silent), { status: 'failed', status_reason: 'order_unanswered' });
    t.equal((await stored(silent)).active_number, null);
    t.equal(numbers.orders, before + 2);
  }
});

void t.test('two processes at once order once', async (t) => {
  const { numbers } = emulators.plivo;
  const before = numbers.orders;
  const id = await abandoned('+16465552025', null, 'plivo');
  await change(id, { due_at: new Date(0) });
  const { signal } = new AbortController();
  await Promise.all([provisioning.run(signal), provisioning.run(signal), provisioning.run(signal)]);
  t.match(await read(id), { status: 'active' });
  t.equal(numbers.orders, before + 1);
});

void t.test('an order that is refused, waits, or is of a number that the account has', async (t) => {
  t.match(await post('telnyx', 'buy', '+14155550400'), { status: 409 }, 'not for sale');
  const sold = await post('telnyx', 'buy', '+16465552029');
  t.equal(sold.status, 202);
  t.match(await becomes(sold.body.id, 'failed'), { status_reason: 'refused: 85006' });
  const waiting = (await post('telnyx', 'buy', '+16465552028')).body.id;
  await eventually(async () => (await read(waiting)).status_reason === 'requirements_not_met');
  emulators.telnyx.numbers.settle('+16465552028');
  t.match(await look(waiting), { status: 'active', status_reason: null });
  const own = await abandoned('+14155550401', null);
  t.match(await look(own), { status: 'failed', status_reason: 'already_owned' });
  const limited = await abandoned('+16465552027', null, 'twilio');
  emulators.twilio.setFaults([{ kind: 'refuse', status: 429, count: 2 }]);
  t.match(await look(limited), { status: 'provisioning' });
  emulators.twilio.setFaults([]);
  t.match(await look(limited), { status: 'active' });
});

void t.test('what a carrier does to a number is seen', async (t) => {
  const { id } = (await post('telnyx', 'import', '+14155550500')).body;
  emulators.telnyx.numbers.suspend('+14155550500');
  t.match(await look(id), { status: 'suspended', status_reason: 'requirement-info-exception' });
  emulators.telnyx.numbers.settle('+14155550500');
  t.match(await look(id), { status: 'active', status_reason: null });
  emulators.telnyx.numbers.lose('+14155550500');
  t.match(await look(id), { status: 'suspended', status_reason: 'not_owned' });
  emulators.telnyx.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
  t.match(await look(id), { status: 'suspended' }, 'a carrier that does not answer says nothing');
  t.equal((await plane.call('DELETE', `/v1/phone-numbers/${id}`)).status, 204);
});

void t.test('money, and another project', async (t) => {
  const { wallets } = plane.app.services;
  const orgId = plane.first.org._id;
  t.teardown(() => wallets.configure(orgId, { mode: 'unlimited' }, 'USD'));
  await wallets.configure(orgId, { mode: 'prepaid' }, 'USD');
  t.match(await post('plivo', 'buy', '+442079460005'), { status: 402 }, 'nothing');
  const topUp = (amount: bigint) =>
    wallets.topUp(orgId, { reference: randomUUID(), amount: amount * 10n ** 9n, currency: 'USD' });
  await wallets.topUp(orgId, { reference: randomUUID(), amount: 5n * 10n ** 8n, currency: 'USD' });
  t.match(await post('plivo', 'buy', '+442079460005'), { status: 402 }, 'less than the set-up');
  await topUp(1n);
  const bought = await post('plivo', 'buy', '+442079460005');
  t.equal(bought.status, 202);
  await becomes(bought.body.id, 'active');

  const other = await plane.makeTenant();
  const path = `/v1/phone-numbers/${bought.body.id}`;
  const move = (project_id: string) => plane.call('PATCH', path, { body: { project_id } });
  t.equal((await move(other.project._id)).status, 403, 'a key moves nothing out of its project');
  t.equal((await move(plane.first.project._id)).status, 200, 'where it is');
});
