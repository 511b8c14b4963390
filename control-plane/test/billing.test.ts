import { createHash, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import type { CallReport } from '@parley/shared/contracts/call-events';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { runRatesCommand, runWalletCommand } from '../src/billing/billing-commands.ts';
import type { BootstrapResult } from '../src/bootstrap.ts';
import { costEntryCollection } from '../src/billing/cost-entry-model.ts';
import { rateTableSchema } from '../src/billing/rate-table.ts';
import { walletEntryCollection } from '../src/billing/wallet-model.ts';
import type { WalletResponse } from '../src/billing/wallet-schema.ts';
import { memberCollection } from '../src/members/member-model.ts';
import { sessionExists } from '../src/sessions/live-sessions.ts';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { openMortalProcess } from './fixtures/mortal-process.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';
import { signInUser } from './fixtures/test-users.ts';

const NANO = 1_000_000_000n;
const PAGE = 'https://page.example.com';

const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({
  clock,
  env: {
    REGISTRATION: 'open',
    CONCURRENT_SESSIONS_PER_ORG: '0',
    SESSION_STARTS_PER_MINUTE: '0',
    ELEVENLABS_API_KEY: 'a-key-of-the-installation',
    OPENAI_API_KEY: 'another-of-the-installation',
  },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const { callEvents, database, rates, wallets } = plane.app.services;
const gateway = new TestGateway(plane);

/** 6 a minute. */
const TABLE = rateTableSchema.parse({ currency: 'EUR', calls: [{ per_minute: '6' }] });

const walletOf = async ({ org, apiKey }: BootstrapResult) =>
  (await plane.call<WalletResponse>('GET', `/v1/orgs/${org._id}/billing/wallet`, { token: apiKey })).body;

/** A tenant that pays in advance. */
async function prepaid(balance: bigint): Promise<BootstrapResult> {
  const tenant = await plane.makeTenant();
  await wallets.configure(tenant.org._id, { mode: 'prepaid' }, 'EUR');
  if (balance > 0n)
    await wallets.topUp(tenant.org._id, { reference: 'first', amount: balance, currency: 'EUR' });
  return tenant;
}

const create = (tenant: BootstrapResult, body: object = {}) =>
  plane.call<SessionResponse & { code: string }>('POST', '/v1/sessions', {
    token: tenant.apiKey,
    body: { channel: 'telephony', provider: 'plivo', ...body },
  });

/** A call that a gateway has begun. */
async function begin(tenant: BootstrapResult): Promise<TestPlan> {
  const { body: session, status } = await create(tenant);
  if (status !== 200) throw new Error(JSON.stringify(session));
  const start = { carrier_call_id: randomUUID() };
  const plan = (await gateway.redeem({ ticket: session.ws_ticket!, start })).body;
  await callEvents.handle(
    gateway.event(plan, 'call_started', {
      answered_at: new Date(clock.now()).toISOString(),
      ...{ encoding: 'pcmu', sample_rate: 8000, emulated: [] },
    }),
  );
  return plan;
}

/** Its end, after so long. */
const ended = (plan: TestPlan, ms: number, more: Partial<CallReport> = {}) =>
  gateway.ended(plan, {
    answered_at: new Date(clock.now()).toISOString(),
    ended_at: new Date(clock.now() + ms).toISOString(),
    duration_ms: ms,
    ...more,
  });

const cost = (plan: TestPlan, amount: bigint) =>
  callEvents.handle(gateway.event(plan, 'cost', { amount: Number(amount) }));
const entry = (plan: TestPlan) => database.read(costEntryCollection, plan.session_id);

/** What the ledger and what waits for it come to. */
async function historyOf(tenant: BootstrapResult): Promise<{ sum: bigint; references: string[] }> {
  const filed = await database
    .model(walletEntryCollection)
    .collection.find({ org_id: tenant.org._id }, { useBigInt64: true })
    .toArray();
  const changes = [
    ...(filed as unknown as { amount_nano: bigint; reference: string }[]),
    ...((await wallets.find(tenant.org._id))?.pending ?? []),
  ];
  return {
    sum: changes.reduce((sum, { amount_nano }) => sum + amount_nano, 0n),
    references: changes.map(({ reference }) => reference),
  };
}

void t.test('a wallet that nobody has set up limits nothing', async (t) => {
  const tenant = await plane.makeTenant();
  t.match(await walletOf(tenant), {
    ...{ org_id: tenant.org._id, mode: 'unlimited', currency: 'USD', status: 'ok' },
    ...{ balance_amount: '0.000000', reserved_amount: '0.000000', available_amount: '0.000000' },
    low_balance_amount: null,
  });
  const { status } = await create(tenant);
  t.equal(status, 200);
  t.equal((await wallets.find(tenant.org._id)) ?? null, null, 'and leaves no trace');
});

void t.test('money is paid in once for each reference', async (t) => {
  const tenant = await prepaid(0n);
  t.match(await walletOf(tenant), { mode: 'prepaid', currency: 'EUR', status: 'empty' });
  const topUp = (reference: string) =>
    wallets.topUp(tenant.org._id, { reference, amount: 5n * NANO, currency: 'EUR' });
  const together = await Promise.all(Array.from({ length: 8 }, (_, n) => topUp(`bill ${n % 2}`)));
  t.equal(together.filter(Boolean).length, 2);
  t.equal(await topUp('bill 0'), false);
  t.match(await walletOf(tenant), { balance_amount: '10.000000', status: 'ok' });
  await wallets.configure(tenant.org._id, { low_balance_nano: 10n * NANO }, 'EUR');
  t.match(await walletOf(tenant), { low_balance_amount: '10.000000', status: 'low' });
  t.match(await historyOf(tenant), { sum: 10n * NANO });
});

void t.test('the wallet is the whole org’s: a user of some projects does not see it', async (t) => {
  const tenant = await prepaid(NANO);
  await signInUser(plane, 'first@example.com');
  const user = await signInUser(plane, 'narrow@example.com');
  await user.join(tenant.org._id, 'viewer');
  const path = `/v1/orgs/${tenant.org._id}/billing/wallet`;
  t.equal((await plane.call('GET', path, { token: user.token })).status, 200);
  await database
    .model(memberCollection)
    .updateOne(
      { org_id: tenant.org._id, user_id: user.userId },
      { $set: { project_ids: [tenant.project._id] } },
    );
  plane.app.services.directory.forget(user.userId);
  t.match(await plane.call('GET', path, { token: user.token }), { status: 403, body: { code: 'forbidden' } });
  t.equal((await plane.call('GET', path)).status, 404, 'nor does another org');
});

void t.test('a call is priced when it begins, and booked once when it is over', async (t) => {
  await rates.set(TABLE);
  const tenant = await prepaid(20n * NANO);
  const plan = await begin(tenant);
  t.match(plan.prices, {
    ...{ currency: 'EUR', per_minute: 6e9, stt_minute: 0, llm_in: 0, llm_out: 0 },
    ...{ ceiling: null, spent: 0 },
  });
  t.match(await walletOf(tenant), { reserved_amount: '6.000000', available_amount: '14.000000' });
  await rates.set({ ...TABLE, calls: [{ per_minute: '600' }] });
  t.teardown(() => rates.set(TABLE));
  await cost(plan, 9n * NANO);
  await cost(plan, 8n * NANO);
  t.match(await walletOf(tenant), { reserved_amount: '9.000000' }, 'what it costs only grows');
  t.match(await entry(plan), { state: 'reserved' });

  const event = ended(plan, 95_000);
  for (let time = 0; time < 3; time++) await callEvents.handle(event);
  await cost(plan, 500n * NANO);
  t.match(await entry(plan), { state: 'booked', currency: 'EUR' });
  t.match(await walletOf(tenant), { balance_amount: '10.500000', reserved_amount: '0.000000' });
  t.same((await historyOf(tenant)).references.sort(), ['first', plan.session_id].sort());
  t.equal((await historyOf(tenant)).sum, 10_500_000_000n);
  const shown = await plane.call<{ items: { type: string }[] }>(
    'GET',
    `/v1/sessions/${plan.session_id}/events`,
    { token: tenant.apiKey },
  );
  t.ok(shown.body.items.length > 0 && !shown.body.items.some(({ type }) => type === 'cost'));
  await plane.call('DELETE', `/v1/sessions/${plan.session_id}`, { token: tenant.apiKey });
  t.match(await entry(plan), { state: 'booked' }, 'an amount tells of nobody, and stays');
});

void t.test('a session that nobody joined costs nothing', async (t) => {
  const tenant = await prepaid(20n * NANO);
  const { body } = await create(tenant);
  t.match(await walletOf(tenant), { reserved_amount: '6.000000' });
  await plane.call('POST', `/v1/sessions/${body.session_id}/end`, { token: tenant.apiKey });
  t.match(await walletOf(tenant), { balance_amount: '20.000000', reserved_amount: '0.000000' });
  t.match(await database.read(costEntryCollection, body.session_id), { state: 'booked', amount_nano: 0 });
});

void t.test('without money nothing begins, and what runs goes on', async (t) => {
  const tenant = await prepaid(6n * NANO);
  const agent = await plane.call<{ id: string }>(
    'POST',
    `/v1/orgs/${tenant.org._id}/projects/${tenant.project._id}/agents`,
    {
      token: tenant.apiKey,
      body: { name: 'Desk', config: { widget: { enabled: true, allowed_origins: [PAGE] } } },
    },
  );
  const agent_id = agent.body.id;
  const plan = await begin(tenant);
  const refused = { status: 402, body: { code: 'insufficient_balance' } };
  t.match(await create(tenant), refused);
  const post = (path: string, body: object) => plane.call('POST', path, { token: tenant.apiKey, body });
  t.match(await post('/v1/realtime/sessions', { agent_id }), refused);
  t.match(await post('/v1/realtime/client_secrets', { session: { model: agent_id } }), refused);
  const visit = { token: null, headers: { origin: PAGE } };
  t.match(await plane.call('POST', `/public/v1/agents/${agent_id}/sessions`, visit), refused);
  t.match(
    await gateway.internal('POST', '/internal/v1/admissions/redeem', {
      ...{ kind: 'api_key', token: tenant.apiKey, agent_id, claim_id: randomUUID(), gateway_id: gateway.id },
      start: { encoding: 'pcmu', sample_rate: 8000 },
    }),
    refused,
    'a connection by API key, too',
  );

  await callEvents.handle(ended(plan, 120_000));
  t.match(await walletOf(tenant), { balance_amount: '-6.000000', status: 'empty' }, 'it went on');
  t.match(await create(tenant), refused);
  await wallets.topUp(tenant.org._id, { reference: 'more', amount: 12n * NANO, currency: 'EUR' });
  t.equal((await create(tenant)).status, 200);
});

void t.test('a hundred at once share what there is for ten', async (t) => {
  const tenant = await prepaid(65n * NANO);
  const answers = await Promise.all(Array.from({ length: 100 }, () => create(tenant)));
  t.equal(answers.filter(({ status }) => status === 200).length, 10);
  t.equal(answers.filter(({ status }) => status === 402).length, 90);
  t.match(await walletOf(tenant), { reserved_amount: '60.000000', available_amount: '5.000000' });
});

void t.test('two processes that get the same report book it once', async (t) => {
  const tenant = await prepaid(100n * NANO);
  const other = await openMortalProcess(plane);
  t.teardown(() => other[Symbol.asyncDispose]());
  for (let round = 0; round < 5; round++) {
    const plan = await begin(tenant);
    const event = ended(plan, 10_000);
    await Promise.all([
      callEvents.handle(event),
      other.services.callEvents.handle(event),
      callEvents.handle(event),
    ]);
  }
  t.match(await walletOf(tenant), { balance_amount: '95.000000', reserved_amount: '0.000000' });
  const { sum, references } = await historyOf(tenant);
  t.equal(sum, 95n * NANO);
  t.equal(new Set(references).size, references.length);
});

void t.test('one that dies while it makes a session leaves nothing set aside for long', async (t) => {
  const tenant = await prepaid(12n * NANO);
  await wallets.hold(tenant.org._id, randomUUID(), () => Promise.resolve(6n * NANO));
  const { body } = await create(tenant);
  t.match(await walletOf(tenant), { reserved_amount: '12.000000' });
  const sweep = (beforeMs: number) =>
    wallets.sweep(beforeMs, sessionExists(database), AbortSignal.timeout(10_000));
  await sweep(clock.now());
  t.match(await walletOf(tenant), { reserved_amount: '12.000000' }, 'not while it may still be made');
  await sweep(clock.now() + 1);
  t.match(await walletOf(tenant), { reserved_amount: '6.000000' }, 'that of a session stays');
  t.ok((await wallets.find(tenant.org._id))?.holds[body.session_id]);
});

void t.test('an org’s own table replaces the installation’s', async (t) => {
  const tenant = await plane.makeTenant();
  await rates.set(rateTableSchema.parse({ currency: 'EUR', calls: [{ per_minute: '1.5' }] }), tenant.org._id);
  t.match((await begin(tenant)).prices, { per_minute: 1.5e9 });
  await rates.set(null, tenant.org._id);
  t.match((await begin(tenant)).prices, { per_minute: 6e9 });
});

void t.test('models cost only where the account is the installation’s', async (t) => {
  const tenant = await plane.makeTenant();
  await rates.set({
    ...TABLE,
    models: [{ model: 'tts_elevenlabs_flash', unit: '1k_characters', amount: '0.18' }],
  });
  t.teardown(() => rates.set(TABLE));
  const spoken = (plan: TestPlan) => plan.prices?.['tts_1k'];
  const withVoice = async () => {
    const { body } = await create(tenant, { tts_id: 'tts_elevenlabs_flash' });
    const start = { carrier_call_id: randomUUID() };
    return (await gateway.redeem({ ticket: body.ws_ticket!, start })).body;
  };
  t.equal(spoken(await withVoice()), 180_000_000);
  const admin = await signInUser(plane, 'admin@example.com');
  await admin.join(tenant.org._id, 'admin');
  const stored = await plane.call('POST', `/v1/orgs/${tenant.org._id}/provider-credentials`, {
    token: admin.token,
    body: { provider: 'elevenlabs', name: 'Ours', values: { api_key: createHash('sha1').digest('hex') } },
  });
  t.equal(stored.status, 201, JSON.stringify(stored.body));
  t.equal(spoken(await withVoice()), 0);
});

void t.test('each agent that holds a call costs what its own models do', async (t) => {
  const [llm, voice] = ['llm_openai_gpt41_mini', 'tts_elevenlabs_flash'];
  const priced = (perMinute: string, written: string) =>
    rateTableSchema.parse({
      currency: 'EUR',
      calls: [{ per_minute: perMinute }],
      models: [
        { model: llm, unit: '1m_output_tokens', amount: written },
        { model: voice, unit: '1k_characters', amount: '1' },
      ],
    });
  await rates.set(priced('6', '2'));
  t.teardown(() => rates.set(TABLE));
  const tenant = await prepaid(100n * NANO);
  const makeAgent = async (body: object) =>
    (
      await plane.call<{ id: string }>(
        'POST',
        `/v1/orgs/${tenant.org._id}/projects/${tenant.project._id}/agents`,
        { token: tenant.apiKey, body: { llm_id: llm, ...body } },
      )
    ).body.id;
  // Its voice costs nothing.
  const expert = await makeAgent({
    ...{ name: 'Expert', tts_id: 'tts_local' },
    config: { limits: { max_cost_amount: '40' } },
  });
  const destination = { id: 'expert', target: { type: 'agent', agent_id: expert } };
  const desk = await makeAgent({
    ...{ name: 'Desk', tts_id: voice },
    config: { transfer: { destinations: [destination] } },
  });
  const { body: session } = await create(tenant, { agent_id: desk });
  const start = { carrier_call_id: randomUUID() };
  const plan = (await gateway.redeem({ ticket: session.ws_ticket!, start })).body;
  t.match(plan.prices, { per_minute: 6e9, llm_out: 2e9, tts_1k: 1e9, ceiling: null });
  await callEvents.handle(gateway.started(plan));

  await rates.set(priced('600', '8'));
  const handOver = { handover_id: 'hand-over-1', agent_id: expert, from_index: 3 };
  const take = () => gateway.internal('POST', `/internal/v1/sessions/${plan.session_id}/handover`, handOver);
  const expected = { per_minute: 6e9, llm_out: 8e9, tts_1k: 0, ceiling: 40e9 };
  t.match((await take()).body.prices, expected, 'its models as they are now, and the minute as it was');
  await rates.set(priced('600', '800'));
  t.match((await take()).body.prices, expected, 'asked for again');

  const used = (llm_output_tokens: number, tts_characters: number) => ({
    ...{ stt_seconds: 0, llm_input_tokens: 0, llm_output_tokens, tts_characters, carrier_seconds: 0 },
  });
  const before = used(1_000_000, 3000);
  await callEvents.handle(
    ended(plan, 60_000, {
      usage: used(1_500_000, 9000),
      hand_overs: [{ handover_id: handOver.handover_id, usage: before }],
    }),
  );
  t.match(
    await walletOf(tenant),
    { balance_amount: '85.000000' },
    'a minute 6, the first agent 2 and 3, the second 4',
  );
});

void t.test('what a fallback was used for costs what the fallback does', async (t) => {
  const [first, second] = ['stt_deepgram_flux', 'stt_deepgram_nova3'];
  const models = [
    { model: first, unit: 'minute', amount: '1' },
    { model: second, unit: 'minute', amount: '3' },
  ];
  await rates.set(rateTableSchema.parse({ ...TABLE, models }));
  t.teardown(() => rates.set(TABLE));
  const tenant = await prepaid(100n * NANO);
  const config = { stt: { fallback_stt_ids: [second] } };
  const path = `/v1/orgs/${tenant.org._id}/projects/${tenant.project._id}/agents`;
  const agent = await plane.call<{ id: string }>('POST', path, {
    ...{ token: tenant.apiKey, body: { name: 'Desk', stt_id: first, config } },
  });
  const { body: session } = await create(tenant, { agent_id: agent.body.id });
  const start = { carrier_call_id: randomUUID() };
  const plan = (await gateway.redeem({ ticket: session.ws_ticket!, start })).body;
  const named = [
    { model_id: first, stt_minute: 1e9 },
    { model_id: second, stt_minute: 3e9 },
  ];
  t.match(plan.prices, { stt_minute: 1e9, models: named });
  await callEvents.handle(gateway.started(plan));
  const none = { llm_input_tokens: 0, llm_output_tokens: 0, tts_characters: 0 };
  const heard = (model_id: string, stt_seconds: number) => ({ ...none, model_id, stt_seconds });
  const usage = {
    ...none,
    stt_seconds: 180,
    carrier_seconds: 0,
    models: [heard(first, 60), heard(second, 120)],
  };
  await callEvents.handle(ended(plan, 60_000, { usage }));
  t.match(await walletOf(tenant), { balance_amount: '87.000000' }, 'a minute 6, the first 1, the second 6');
  const metricsPath = `/v1/sessions/${plan.session_id}/metrics`;
  const metrics = await plane.call<{ usage: object }>('GET', metricsPath, { token: tenant.apiKey });
  t.same(metrics.body.usage, usage);
});

void t.test('an operator sets rates and keeps wallets', async (t) => {
  const tenant = await plane.makeTenant();
  const orgId = tenant.org._id;
  const { services } = plane.app;
  const file = (text: string) => join(t.testdir({ 'rates.json': text }), 'rates.json');
  const onRates = (...words: string[]) => runRatesCommand(services, { words, orgId });
  const onWallet = (...words: string[]) => runWalletCommand(services, { words, orgId, reference: 'bank 1' });

  t.equal(await onRates('show'), 'There are no rates.\n');
  const own = { currency: 'EUR', calls: [{ prefix: '+49', per_minute: '0.0127' }] };
  t.equal(await onRates('set', file(JSON.stringify(own))), 'done\n');
  t.same(JSON.parse(await onRates('show')), own);
  t.equal(await onWallet('top-up', '12.50'), 'done\n');
  t.match(await onWallet('top-up', '12.50'), /used before/);
  await onWallet('mode', 'prepaid');
  await onWallet('low-balance', '5');
  t.match(await onWallet('show'), /prepaid[^]*EUR[^]*balance +12\.500000[^]*low balance +5\.000000/);
  await onWallet('low-balance', 'none');
  t.match(await onWallet('show'), /low balance +none/);

  for (const [wrong, why] of [
    [() => onWallet('top-up', '-1'), /amount/],
    [() => onWallet('top-up', '1000000000'), /amount/],
    [() => onWallet('mode', 'free'), /unlimited or prepaid/],
    [() => onWallet('empty'), /needs show/],
    [() => onRates('set'), /needs a file/],
    [() => onRates('set', file('{')), /is not JSON/],
    [() => onRates('set', file('{"currency":"EUR","calls":[{"per_minute":1}]}')), /per_minute/],
    [() => onRates('set', file('{"currency":"USD"}')), /in USD, but wallets or other rates are in EUR/],
    [() => runWalletCommand(services, { words: ['show'], orgId: 'org_none' }), /no org/],
    [() => runWalletCommand(services, { words: ['top-up', '1'], orgId }), /--reference/],
  ] as const)
    await t.rejects(wrong(), { message: why });
  await onRates('remove');
  t.equal(await onRates('show'), 'There are no rates.\n');
  const audited = await database.model(auditCollection).find({ org_id: orgId, actor: 'cli' }).lean();
  const ours = audited.map(({ action }) => action).filter((action) => /^(rates|wallet)\./.test(action));
  const configured = ['wallet.changed', 'wallet.changed', 'wallet.changed', 'wallet.topped_up'];
  t.same(ours.sort(), ['rates.changed', 'rates.changed', ...configured]);
});

void t.test('speech outside of calls is paid for when it was spoken', async (t) => {
  const tenant = await prepaid(NANO);
  const { speechCharges } = plane.app.services;
  await rates.set({
    ...TABLE,
    models: [{ model: 'tts_elevenlabs_flash', unit: '1k_characters', amount: '0.6' }],
  });
  t.teardown(() => rates.set(TABLE));
  const speech = { orgId: tenant.org._id, ttsId: 'tts_elevenlabs_flash', characters: 1000 };
  await t.rejects(
    speechCharges.pay(speech, () => Promise.reject(new Error('no voice'))),
    { message: 'no voice' },
  );
  t.match(await walletOf(tenant), { balance_amount: '1.000000', reserved_amount: '0.000000' });
  t.equal(await speechCharges.pay(speech, () => Promise.resolve('hello')), 'hello');
  t.match(await walletOf(tenant), { balance_amount: '0.400000', reserved_amount: '0.000000' });
  await t.rejects(
    speechCharges.pay(speech, () => Promise.resolve(t.fail('spoken'))),
    { message: /balance of the org/ },
  );
  t.equal((await historyOf(tenant)).sum, 400_000_000n);
});

void t.test('answers of models outside of calls are booked whatever is left', async (t) => {
  const tenant = await prepaid(NANO);
  const { chatCharges } = plane.app.services;
  const llmId = 'llm_openai_gpt41_mini';
  await rates.set({
    ...TABLE,
    models: [
      { model: llmId, unit: '1m_input_tokens', amount: '2' },
      { model: llmId, unit: '1m_output_tokens', amount: '8' },
    ],
  });
  t.teardown(() => rates.set(TABLE));
  const use = { orgId: tenant.org._id, projectId: tenant.project._id, llmId };
  await chatCharges.requireFunds(use);
  for (const left of ['0.400000', '-0.200000']) {
    await chatCharges.charge(use, { read: 100_000, written: 50_000 });
    t.match(await walletOf(tenant), { balance_amount: left, reserved_amount: '0.000000' });
  }
  await t.rejects(chatCharges.requireFunds(use), { message: /balance of the org/ });
  t.equal((await historyOf(tenant)).sum, -200_000_000n);
  const own = { ...use, llmId: 'llm_of_nobody' };
  await chatCharges.requireFunds(own);
  await chatCharges.charge(own, { read: 100_000, written: 50_000 });
  t.match(await walletOf(tenant), { balance_amount: '-0.200000' }, 'only what the installation pays');
});

void t.test('a clone is paid for once there is one', async (t) => {
  const tenant = await prepaid(2n * NANO);
  const { speechCharges } = plane.app.services;
  await rates.set({
    ...TABLE,
    models: [{ model: 'tts_elevenlabs_flash', unit: 'clone', amount: '1.5' }],
  });
  t.teardown(() => rates.set(TABLE));
  const clone = (id: string) => ({ orgId: tenant.org._id, ttsId: 'tts_elevenlabs_flash', id });
  const failed = await speechCharges.holdClone(clone('voc_1'));
  t.match(await walletOf(tenant), { balance_amount: '2.000000', reserved_amount: '1.500000' });
  await t.rejects(speechCharges.holdClone(clone('voc_2')), { message: /balance of the org/ });
  await failed.release();
  const made = await speechCharges.holdClone(clone('voc_3'));
  await made.settle();
  t.match(await walletOf(tenant), { balance_amount: '0.500000', reserved_amount: '0.000000' });
});
