import { randomInt } from 'node:crypto';
import t from 'tap';
import { uuidV7 } from '@parley/shared/ids/new-id';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { LONG } from '../../shared/test/fixtures/long.ts';
import type { BookedCall } from '../src/billing/booked-call.ts';
import { invoiceCommand } from '../src/invoices/invoice-commands.ts';
import { invoiceCollection } from '../src/invoices/invoice-model.ts';
import { InvoiceNumbers } from '../src/invoices/invoice-numbers.ts';
import type { BootstrapResult } from '../src/bootstrap.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openMortalProcess } from './fixtures/mortal-process.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

t.setTimeout(300_000);
/** All steps are a process's last in `npm run test:long`: otherwise one in so many. */
const STRIDE = LONG ? 1 : 4;
const FIRST_STEP = randomInt(STRIDE);
const clock = new ManualClock(Date.parse('2037-11-03T20:00:00Z'));
const plane = await openTestControlPlane({
  clock,
  env: {
    INVOICE_SELLER_NAME: 'Parley Installation Ltd.',
    INVOICE_SELLER_ADDRESS: '1 Long Road | 10115 Berlin',
    INVOICE_TAX_PERCENT: '19',
    INVOICE_TAX_NAME: 'VAT',
  },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const { services } = plane.app;
const { database, usageSums, invoices } = services;
const invoiceCloser = services.invoiceCloser!;
const signal = new AbortController().signal;
const signalled = { caller: 'cli', signal };

interface Invoice {
  id: string;
  number: string;
  status: string;
  period_start: string;
  period_end: string;
  subtotal_amount: string;
  tax_amount: string;
  total_amount: string;
  issued_at: string;
  due_at: string;
  paid_at: string | null;
}

function book(of: BootstrapResult, ended: string, nano: bigint): Promise<void> {
  const call: BookedCall = {
    session_id: uuidV7(),
    org_id: of.org._id,
    project_id: of.project._id,
    agent_id: null,
    agent_version: null,
    replies: { count: 0, total_ms: 0 },
    latencies: null,
    end_reason: null,
    ...{ channel: 'web', direction: 'web', connected: true, connected_ms: 60_000, currency: 'USD' },
    ended_at: new Date(ended),
    amount_nano: nano,
  };
  return usageSums.booked(call);
}

async function list(of: BootstrapResult, query = ''): Promise<Invoice[]> {
  const answer = await plane.call<{ items: Invoice[]; total: number }>(
    'GET',
    `/v1/orgs/${of.org._id}/billing/invoices${query}`,
    { token: of.apiKey },
  );
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.items;
}

/** Every number that was given. */
async function numbers(): Promise<number[]> {
  const all = await database
    .model(invoiceCollection)
    .find({ number: { $ne: null } })
    .lean();
  return all.map(({ number }) => Number(number!.replace('INV-', ''))).sort((a, b) => a - b);
}
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

void t.test('a month has one invoice for each org that owes something, whoever makes it', async (t) => {
  const orgs = await Promise.all(Array.from({ length: 5 }, () => plane.makeTenant()));
  for (const one of orgs) {
    await book(one, '2037-09-30T23:59:59.999Z', 7_000_000_000n);
    await book(one, '2037-10-01T00:00:00Z', 1_003_000_000n);
    await book(one, '2037-10-31T23:59:59.999Z', 1_003_000_000n);
    await book(one, '2037-11-01T00:00:00Z', 9_000_000_000n);
  }
  const nothing = await plane.makeTenant();
  const others = await Promise.all([1, 2].map(() => openMortalProcess(plane)));
  t.teardown(() => Promise.all(others.map((one) => one[Symbol.asyncDispose]())));
  const closers = [invoiceCloser, ...others.map((one) => one.services.invoiceCloser!)];
  const made = await Promise.all([...closers, ...closers].map((one) => one.close('2037-10', signalled)));
  t.ok(made.reduce((sum, one) => sum + one) >= 5, `${made}`);
  t.equal(await invoiceCloser.close('2037-10', signalled), 0);
  for (const one of orgs)
    t.match(await list(one), [
      {
        status: 'open',
        period_start: '2037-10-01',
        period_end: '2037-10-31',
        // 2.006, rounded once.
        subtotal_amount: '2.010000',
        tax_amount: '0.380000',
        total_amount: '2.390000',
        issued_at: '2037-11-03T20:00:00.000Z',
        due_at: '2037-11-17T20:00:00.000Z',
        paid_at: null,
      },
    ]);
  t.same(await list(nothing), []);
  t.same(await numbers(), upTo(5));
  await t.rejects(invoiceCloser.close('2037-11', signalled), /not over/);
});

void t.test('numbers have no gaps where many are given at once', async (t) => {
  const { org } = await plane.makeTenant();
  const drafts = upTo(8).map((n) => `inv_race${n}`);
  for (const _id of drafts) {
    await database.model(invoiceCollection).create({
      ...{ _id, org_id: org._id, month_key: _id, status: 'draft', currency: 'USD', buyer: 'x', lines: [] },
      ...{ period_start: '2020-01-01', period_end: '2020-01-31', seller: { name: 'x' } },
      ...{ subtotal_nano: 1n, tax_nano: 0n, total_nano: 1n },
    });
  }
  const before = (await numbers()).length;
  const givers = upTo(2).map(() => new InvoiceNumbers({ database, clock, prefix: 'INV-', dueDays: 14 }));
  await Promise.all(givers.flatMap((giver) => drafts.map((id) => giver.issue(id))));
  t.same(await numbers(), upTo(before + 8));
});

void t.test('a process may die after any step, and leaves no gap', async (t) => {
  let lived = false;
  let before = (await numbers()).length;
  for (let steps = FIRST_STEP; !lived; steps += STRIDE) {
    const one = await plane.makeTenant();
    await book(one, '2037-10-05T00:00:00Z', 5_000_000_000n);
    await usageSums.work(signal);
    const mortal = await openMortalProcess(plane);
    lived = await mortal.live(steps, ({ invoiceCloser: closer }) =>
      closer!.close('2037-10', { ...signalled, orgId: one.org._id }),
    );
    await mortal[Symbol.asyncDispose]();
    t.ok(steps < 40);
    // Somebody else's is next, and then what is left is made whole.
    const other = await plane.makeTenant();
    await book(other, '2037-10-05T00:00:00Z', 5_000_000_000n);
    await invoiceCloser.close('2037-10', { ...signalled, orgId: other.org._id });
    t.equal((await list(other)).length, 1);
    await invoiceCloser.close('2037-10', { ...signalled, orgId: one.org._id });
    t.equal((await list(one)).length, 1, `after ${steps} steps`);
    before += 2;
    t.same(await numbers(), upTo(before));
  }
});

void t.test('what is paid, void or uncollectible is told once', async (t) => {
  const one = await plane.makeTenant();
  await book(one, '2037-10-05T00:00:00Z', 5_000_000_000n);
  await invoiceCloser.close('2037-10', { ...signalled, orgId: one.org._id });
  const [invoice] = await list(one);
  await invoices.mark(invoice!.number, 'uncollectible');
  await t.rejects(invoices.mark(invoice!.number, 'void'), { code: 'invalid_state' });
  const paid = await Promise.allSettled([1, 2, 3].map(() => invoices.mark(invoice!.id, 'paid')));
  t.equal(paid.filter(({ status }) => status === 'fulfilled').length, 1);
  t.match(await list(one), [{ status: 'paid', paid_at: '2037-11-03T20:00:00.000Z' }]);
  await t.rejects(invoices.mark('INV-999999', 'paid'), { code: 'not_found' });
});

void t.test('the list is filtered and sorted, and shows no drafts', async (t) => {
  const one = await plane.makeTenant();
  for (const month of ['2037-07', '2037-08', '2037-09']) {
    await book(one, `${month}-15T00:00:00Z`, 5_000_000_000n);
    await invoiceCloser.close(month, { ...signalled, orgId: one.org._id });
  }
  const months = async (query: string) => (await list(one, query)).map(({ period_start }) => period_start);
  t.same(await months(''), ['2037-09-01', '2037-08-01', '2037-07-01']);
  t.same(await months('?sort=period_start&limit=2'), ['2037-07-01', '2037-08-01']);
  t.same(await months('?period_after=2037-08-01'), ['2037-09-01', '2037-08-01']);
  t.same(await months('?period_after=2037-08-01&period_before=2037-09-01'), ['2037-08-01']);
  const [newest] = await list(one);
  await invoices.mark(newest!.number, 'void');
  t.same(await months('?status=void'), ['2037-09-01']);
  t.same(await months('?status=open&status=void'), ['2037-09-01', '2037-08-01', '2037-07-01']);
  await database.model(invoiceCollection).updateOne({ _id: newest!.id }, { $set: { status: 'draft' } });
  t.same(await months(''), ['2037-08-01', '2037-07-01']);
  await database.model(invoiceCollection).updateOne({ _id: newest!.id }, { $set: { status: 'void' } });
  for (const bad of ['status=draft', 'period_after=yesterday', 'sort=number']) {
    const { status } = await plane.call('GET', `/v1/orgs/${plane.first.org._id}/billing/invoices?${bad}`);
    t.equal(status, 422, bad);
  }
});

void t.test('an invoice is a PDF, for its own org alone', async (t) => {
  const one = await plane.makeTenant('viewer');
  await book(one, '2037-10-05T00:00:00Z', 5_000_000_000n);
  await invoiceCloser.close('2037-10', { ...signalled, orgId: one.org._id });
  const [invoice] = await list(one);
  const path = `/v1/orgs/${one.org._id}/billing/invoices/${invoice!.id}/pdf`;
  const get = async () => {
    const answer = await fetch(`${plane.url}${path}`, { headers: { authorization: `Bearer ${one.apiKey}` } });
    t.equal(answer.status, 200);
    t.equal(answer.headers.get('content-type'), 'application/pdf');
    t.equal(answer.headers.get('content-disposition'), `attachment; filename="${invoice!.number}.pdf"`);
    return Buffer.from(await answer.arrayBuffer());
  };
  const first = await get();
  t.equal(first.subarray(0, 5).toString(), '%PDF-');
  await invoices.mark(invoice!.number, 'paid');
  t.ok(first.equals(await get()), 'the same when it is paid');
  t.equal((await plane.call('GET', path)).status, 404, 'to a key of another org');
  const other = `/v1/orgs/${plane.first.org._id}/billing/invoices/${invoice!.id}/pdf`;
  t.equal((await plane.call('GET', other)).status, 404, 'under another org');
});

void t.test('the command line makes, lists and marks', async (t) => {
  const one = await plane.makeTenant();
  await book(one, '2037-10-05T00:00:00Z', 5_000_000_000n);
  const say = (words: string, options: { month?: string; orgId?: string } = { orgId: one.org._id }) =>
    invoiceCommand(services, words.split(' '), options, clock.now());
  t.equal(await say('close'), '1 made for 2037-10\n', 'the last month');
  const [invoice] = await list(one);
  t.equal(await say('list'), `${invoice!.number}  ${one.org._id}  2037-10  open           5.950000 USD\n`);
  t.equal(await say(`paid ${invoice!.number}`), `${invoice!.number} is paid\n`);
  t.equal(await say('paid'), undefined);
  t.equal(await say('forget it'), undefined);
  await t.rejects(say('close', { month: '2037-13' }), /YYYY-MM/);
  await t.rejects(
    invoiceCommand({ invoices, invoiceCloser: null }, ['close'], {}, clock.now()),
    /INVOICE_SELLER_NAME/,
  );
});

void t.test('a month closes by itself, three days after its end', async (t) => {
  const one = await plane.makeTenant();
  await book(one, '2037-10-05T00:00:00Z', 5_000_000_000n);
  await plane.atRest();
  t.same(await list(one), [], 'it is the third');
  clock.advance(3 * 3_600_000);
  await plane.atRest();
  t.same(await list(one), []);
  // Hour by hour: a task that is at work while the clock moves looks again an hour later.
  await eventually(async () => {
    clock.advance(3_600_000);
    await plane.atRest();
    return (await list(one)).length === 1;
  });
  t.match(await list(one), [{ period_start: '2037-10-01', total_amount: '5.950000' }]);
});

void t.test('what is used outside of calls is invoiced, too, whatever the wallet is', async (t) => {
  const one = await plane.makeTenant();
  const orgId = one.org._id;
  const { rates } = services;
  t.teardown(() => rates.set(null));
  const llm = 'llm_openai_gpt41_mini';
  await rates.set({
    currency: 'USD',
    calls: [],
    models: [
      { model: 'tts_elevenlabs_flash', unit: '1k_characters', amount: '0.6' },
      { model: llm, unit: '1m_output_tokens', amount: '8' },
    ],
  });
  clock.advance(Date.parse('2037-11-30T12:00:00Z') - clock.now());
  const speech = { orgId, ttsId: 'tts_elevenlabs_flash', characters: 500 };
  await services.speechCharges.pay(speech, () => Promise.resolve());
  await services.speechCharges.pay(speech, () => Promise.reject(new Error('silent'))).catch(() => null);
  const use = { orgId, projectId: one.project._id, llmId: llm };
  await services.chatCharges.charge(use, { read: 0, written: 100_000 });
  await book(one, '2037-11-02T00:00:00Z', 2_000_000_000n);
  clock.advance(Date.parse('2037-12-05T00:00:00Z') - clock.now());
  t.equal(await invoiceCloser.close('2037-11', { ...signalled, orgId }), 1);
  const [invoice] = await list(one);
  t.match(invoice, { subtotal_amount: '3.100000', total_amount: '3.690000' });
  const stored = await database.model(invoiceCollection).findById(invoice!.id).lean();
  t.match(stored!.lines, [{ sessions: 1 }, { project_id: null, sessions: 2 }]);
});
