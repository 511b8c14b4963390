import t from 'tap';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { createLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { scopesOf } from '../dialling/sleeping-scopes.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { OutboundLimits } from './outbound-limits.ts';
import type { LimitedResource, RateLimitRecord } from './rate-limit-model.ts';

const logger = createLogger({ name: 'test', level: 'silent' });

function config(resource: LimitedResource, limit: number, target: Partial<RateLimitRecord>): RateLimitRecord {
  const now = new Date(0);
  return {
    ...{ _id: `rlc_${limit}`, org_id: 'org_1', project_id: null, agent_id: null, telephony_account_id: null },
    ...{
      resource,
      limit,
      window_seconds: null,
      burst: null,
      enabled: true,
      created_at: now,
      updated_at: now,
    },
    ...target,
  };
}

const CALL = {
  ...{ _id: 'session', org_id: 'org_1', project_id: 'prj_1', agent_id: 'agt_1', campaign_id: null },
  dial: { account_id: 'tel_1' },
} as unknown as SessionRecord;
const ORDER = { orgId: 'org_1', projectId: 'prj_1', agentId: 'agt_1', accountId: 'tel_1' };

async function limits(t: { teardown(act: () => unknown): void }, configs: RateLimitRecord[]) {
  const clock = new ManualClock(0);
  const bus = await openLocalBus({ path: ':memory:', logger, clock });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const matching = (resource: LimitedResource) =>
    Promise.resolve(configs.filter((one) => one.resource === resource));
  return { bus, clock, limits: new OutboundLimits({ limits: { matching }, bus, clock, logger }) };
}

void t.test('each target has places and a pace of its own, which the queue knows calls by', async (t) => {
  const targets: Partial<RateLimitRecord>[] = [
    {},
    { project_id: 'prj_1' },
    { project_id: 'prj_1', agent_id: 'agt_1' },
    { telephony_account_id: 'tel_1' },
    { project_id: 'prj_1', telephony_account_id: 'tel_1' },
    { project_id: 'prj_1', agent_id: 'agt_1', telephony_account_id: 'tel_1' },
  ];
  const { limits: gate } = await limits(t, [
    ...targets.map((target, n) => config('concurrent_outbound', n + 1, target)),
    ...targets.map((target, n) => config('outbound_dials', n + 1, { ...target, window_seconds: 10 })),
  ]);
  const { places, paces } = await gate.check(CALL);
  t.same(
    places.map(({ limit }) => limit),
    [1, 2, 3, 4, 5, 6],
  );
  t.same(
    paces.map(({ perSecond }) => perSecond * 10),
    [1, 2, 3, 4, 5, 6],
  );
  const names = [...places.map(({ bucket }) => bucket), ...paces.map(({ scope }) => scope)];
  t.equal(new Set(names).size, targets.length);
  for (const name of names) t.ok(scopesOf(CALL).includes(name), name);
});

void t.test('what is to be refused is refused as it is ordered; what is to wait is not', async (t) => {
  const { bus, limits: waits } = await limits(t, [
    config('outbound_dials', 1, { window_seconds: 60, action: 'queue' }),
    config('concurrent_outbound', 1, { action: 'queue' }),
  ]);
  await bus.slots.take('another', [{ bucket: 'limit:org_1', limit: 1 }], 60_000);
  for (let i = 0; i < 3; i++) await waits.order(ORDER);

  const refuses = await limits(t, [
    config('outbound_dials', 2, { window_seconds: 60 }),
    config('concurrent_outbound', 1, { action: 'reject' }),
  ]);
  const { clock, bus: theirs, limits: own } = refuses;
  await own.order(ORDER);
  await own.order(ORDER);
  clock.advance(15_000);
  await t.rejects(own.order(ORDER), { status: 429, code: 'rate_limited', retryAfterSeconds: 45 });
  clock.advance(45_000);
  await own.order(ORDER);
  await theirs.slots.take('another', [{ bucket: 'limit:org_1', limit: 1 }], 60_000);
  await t.rejects(own.order(ORDER), { status: 429, code: 'concurrency_limit' });
});
