import t from 'tap';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { RUNNING_SLOT_MS } from '../sessions/session-slots.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { Reaper, REAPER_INTERVAL_MS } from './reaper.ts';

const never = new AbortController().signal;

/** A reaper, the sessions that it finds waiting and under way, and what it does to them. */
function scene() {
  const clock = new ManualClock(1_000_000);
  const world = {
    waiting: [] as Partial<SessionRecord>[],
    calls: [] as Partial<SessionRecord>[],
    alive: ['gw_1'],
    holders: new Map<string, string>(),
    expiry: null as Date | null,
    healthy: true,
    ping: true,
    lease: true,
    closes: true,
  };
  const did: unknown[][] = [];
  const asked: { filter: Record<string, unknown>; limit: number }[] = [];
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      Promise.resolve(void did.push([name, ...args]));
  const reaper = new Reaper({
    store: {
      findMany: (filter: Record<string, unknown>, { limit }: { limit: number }) => {
        asked.push({ filter, limit });
        if ('join_by' in filter) return Promise.resolve(world.waiting);
        const after = (filter['_id'] as { $gt: string }).$gt;
        return Promise.resolve(world.calls.filter(({ _id }) => _id! > after).slice(0, limit));
      },
      change: note('change'),
    } as never,
    tickets: { lastUnclaimedExpiry: () => Promise.resolve(world.expiry) } as never,
    gatewayCommands: { send: note('send') } as never,
    closer: {
      close: (...args: unknown[]) => (did.push(['close', ...args]), Promise.resolve(world.closes)),
      repair: note('repair'),
    } as never,
    bus: {
      healthy: () => world.healthy,
      ping: () => (world.ping ? Promise.resolve() : Promise.reject(new Error('gone'))),
      leases: {
        acquire: (...args: unknown[]) => (did.push(['lease', ...args]), Promise.resolve(world.lease)),
        release: note('release'),
      },
      presence: {
        gateways: () => Promise.resolve(world.alive.map((gateway_id) => ({ gateway_id }))),
        callHolders: (ids: string[]) => Promise.resolve(ids.map((id) => world.holders.get(id) ?? null)),
      },
      slots: { renew: note('renew') },
    } as never,
    clock,
    logger: silentLogger(),
    owner: 'one',
  });
  const sweep = async (signal = never) => {
    did.length = 0;
    await reaper.sweep(signal);
    return did.filter(([name]) => name !== 'lease' && name !== 'repair');
  };
  const ago = (ms: number) => new Date(clock.now() - ms);
  const call = (more: Partial<SessionRecord> = {}): Partial<SessionRecord> => ({
    ...{ _id: 'ses_1', status: 'in_progress', gateway_id: 'gw_2', claim_id: 'clm_1', leg: 0 },
    ...{ slot_scopes: [], unheld_since: null, carrier_ended_at: null, started_at: null },
    ...more,
  });
  return { clock, world, did, asked, reaper, sweep, ago, call };
}

void t.test('one process sweeps, while the bus is well', async (t) => {
  const { world, did, reaper, asked, sweep } = scene();
  await reaper.sweep(never);
  t.same(did, [
    ['lease', 'reaper', 'one', 3 * REAPER_INTERVAL_MS],
    ['repair', never],
  ]);
  t.same(
    asked.map(({ limit }) => limit),
    [500, 500],
  );
  for (const key of ['healthy', 'ping', 'lease'] as const) {
    world[key] = false;
    asked.length = 0;
    await sweep();
    t.same(asked, [], key);
    world[key] = true;
  }
  await reaper.release();
  t.same(did.at(-1), ['release', 'reaper', 'one']);
});

void t.test('a session that nobody joined expires with its last credential', async (t) => {
  const { world, sweep, ago, asked, clock } = scene();
  const one = (more: Partial<SessionRecord>) =>
    [{ _id: 'ses_1', status: 'created', join_by: ago(6000), ...more }] as never;
  world.waiting = one({});
  const verdict = {
    ...{ ended_at: new Date(clock.now()), ended_by: 'system', closed_by: 'expiry' },
    ...{ post_call_status: 'skipped', post_call_finished_at: new Date(clock.now()) },
  };
  t.same(await sweep(), [['close', 'ses_1', 'expired', { where: { leg: -1 }, set: verdict }]]);
  t.same(asked[0]!.filter, {
    status: { $in: ['created', 'ringing'] },
    leg: -1,
    join_by: { $lt: ago(5000) },
  });
  world.expiry = ago(5000);
  t.equal((await sweep())[0]![0], 'close', 'it had its time');
  world.expiry = ago(4999);
  t.same(await sweep(), [['change', 'ses_1', { join_by: ago(4999) }]], 'another credential is out');
  world.expiry = null;
  world.waiting = one({ status: 'ringing', join_by: ago(60_000) });
  t.same(await sweep(), [], 'it may ring for a minute');
  world.waiting = one({ status: 'ringing', join_by: ago(60_001) });
  t.match(await sweep(), [
    [
      'close',
      'ses_1',
      'failed',
      { where: { leg: -1 }, set: { ...verdict, failure_reason: 'media_timeout' } },
    ],
  ]);
  world.waiting = one({ status: 'ringing', join_by: ago(60_001), treatment: { action: 'reject' } as never });
  t.match(await sweep(), [['close', 'ses_1', 'ended', { set: { closed_by: 'expiry' } }]], 'an own end');
  t.same(await sweep(AbortSignal.abort()), []);
});

void t.test('a call that is held keeps its slots, and is no longer unheld', async (t) => {
  const { world, sweep, call, ago } = scene();
  world.holders.set('ses_1', 'gw_2');
  world.calls = [call({ slot_scopes: ['org:1'], unheld_since: ago(5) })];
  t.same(await sweep(), [
    ['renew', 'ses_1', ['org:1'], RUNNING_SLOT_MS],
    ['change', 'ses_1', { unheld_since: null }],
  ]);
  world.calls = [call()];
  t.same(await sweep(), []);
  t.same(await sweep(AbortSignal.abort()), []);
});

void t.test('a call whose gateway is gone is over after a minute, if the bus was well for one', async (t) => {
  const { world, sweep, call, ago, clock } = scene();
  world.calls = [call()];
  t.same(await sweep(), [['change', 'ses_1', { unheld_since: new Date(clock.now()) }]]);
  const since = new Date(clock.now());
  world.calls = [call({ unheld_since: since, started_at: ago(1500) })];
  clock.advance(59_999);
  t.same(await sweep(), []);
  clock.advance(1);
  t.same(await sweep(), [
    [
      'close',
      'ses_1',
      'ended',
      {
        where: { claim_id: 'clm_1', unheld_since: since },
        set: {
          ...{ ended_at: since, ended_by: 'system', closed_by: 'reaper', failure_reason: 'media_timeout' },
          duration_seconds: 1.5,
        },
      },
    ],
  ]);
  world.ping = false;
  await sweep();
  world.ping = true;
  t.same(await sweep(), [], 'the bus has just come back');
  clock.advance(59_999);
  t.same(await sweep(), []);
  clock.advance(1);
  world.closes = false;
  t.equal((await sweep()).length, 1);
  world.alive = ['gw_2'];
  t.same(await sweep(), [], 'a gateway that lives reports its calls itself');
});

void t.test('a claim that never became a call is closed, though its gateway lives', async (t) => {
  const { world, sweep, call, ago, clock } = scene();
  world.alive = ['gw_2'];
  await sweep();
  clock.advance(60_000);
  for (const [status, to] of [
    ['created', 'expired'],
    ['ringing', 'failed'],
    ['dialing', 'failed'],
  ] as const) {
    world.calls = [call({ status, unheld_since: ago(60_000) })];
    t.match(await sweep(), [
      [
        'close',
        'ses_1',
        to,
        { set: { post_call_status: 'skipped', post_call_finished_at: new Date(clock.now()) } },
      ],
    ]);
  }
  world.calls = [call({ gateway_id: null, unheld_since: null })];
  t.equal((await sweep())[0]![0], 'change', 'a call without a gateway has none that lives');
});

void t.test('a gateway that does not notice the end of the call is told of it', async (t) => {
  const { world, sweep, call, ago } = scene();
  world.holders.set('ses_1', 'gw_2');
  world.calls = [call({ carrier_ended_at: ago(30_000) })];
  t.same(await sweep(), []);
  world.calls = [call({ carrier_ended_at: ago(30_001) })];
  t.same(await sweep(), [
    [
      'send',
      { gatewayId: 'gw_2', sessionId: 'ses_1' },
      'end',
      { ended_by: 'carrier', hangup_reason: 'carrier_hangup' },
    ],
  ]);
  world.calls = [call({ carrier_ended_at: ago(30_001), gateway_id: null })];
  t.same(await sweep(), []);
});

void t.test('all calls are looked at, however many', async (t) => {
  const { world, sweep, call, asked } = scene();
  world.calls = Array.from({ length: 1001 }, (_, at) => call({ _id: `ses_${String(at).padStart(5, '0')}` }));
  t.equal((await sweep()).length, 1001);
  t.same(
    asked.slice(1).map(({ filter }) => (filter['_id'] as { $gt: string }).$gt),
    ['', 'ses_00499', 'ses_00999'],
  );
  const { filter } = asked[1]!;
  t.same(filter['$or'], [
    { status: { $in: ['in_progress', 'transferring', 'transferred'] } },
    { leg: { $gte: 0 } },
  ]);
  t.match((filter['status'] as { $in: string[] }).$in, [
    'in_progress',
    'transferring',
    'transferred',
    'created',
    'dialing',
    'ringing',
  ]);
});
