import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { KnownAgents } from '../sessions/known-agents.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { AccountGate, type DialAccountLimits } from './account-gate.ts';
import { DialCallbacks } from './dial-callbacks.ts';
import { DialMoves } from './dial-moves.ts';
import { DialQueue } from './dial-queue.ts';
import { DialRecovery } from './dial-recovery.ts';
import { DialStore } from './dial-store.ts';
import { Dialler } from './dialler.ts';
import { Dispatcher, SWEEP_MS } from './dispatcher.ts';
import { HoursGate } from './hours-gate.ts';
import { NumberGate } from './number-gate.ts';
import type { DialFollower, DialGate } from './outbound-calls.ts';
import { OutboundQueue } from './outbound-queue.ts';
import { SleepingScopes } from './sleeping-scopes.ts';
import { TenantGate } from './tenant-gate.ts';

type StoreDeps = ConstructorParameters<typeof DialStore>[0];
type MoveDeps = ConstructorParameters<typeof DialMoves>[0];
type DiallerDeps = ConstructorParameters<typeof Dialler>[0];
type NumberDeps = ConstructorParameters<typeof NumberGate>[0];
type TenantDeps = ConstructorParameters<typeof TenantGate>[0];
type QueueDeps = ConstructorParameters<typeof OutboundQueue>[0];

/**
 * Outbound calls, from the order to the answer. What other features have to say of them they add to `dialGates` and
 * `dialFollowers`.
 */
export function createDialling({
  bus,
  config,
  processName,
  ...deps
}: Pick<Platform, 'bus' | 'config' | 'processName'> &
  Omit<StoreDeps, 'sessions'> &
  Pick<StoreDeps, 'sessions'> &
  Omit<MoveDeps, 'dials' | 'bus'> &
  Omit<DiallerDeps, 'moves' | 'site'> & { accounts: DialAccountLimits } & Pick<NumberDeps, 'numbers'> &
  TenantDeps &
  Pick<QueueDeps, 'creation' | 'orderLimits' | 'wallets'>) {
  const { clock, logger } = deps;
  const dials = new DialStore(deps);
  const agents = new KnownAgents(deps);
  const moves = new DialMoves({ ...deps, dials, bus });
  const dialFollowers: DialFollower[] = [];
  const dialCallbacks = new DialCallbacks({
    dials,
    moves,
    accounts: deps.accounts,
    followers: dialFollowers,
  });
  const dialGates: DialGate[] = [
    new HoursGate(),
    new TenantGate({ ...deps, agents }),
    new NumberGate({ numbers: deps.numbers, rates: bus.rates, dials, clock }),
    new AccountGate({
      accounts: deps.accounts,
      limits: {
        maxConcurrentApiDials: config.MAX_CONCURRENT_API_OUTBOUND_DIALS,
        callsPerSecond: config.OUTBOUND_CALLS_PER_SECOND,
        inboundReserve: config.INBOUND_RESERVE_PERCENT / 100,
      },
    }),
  ];
  const sleeping = new SleepingScopes();
  const dispatcher = new Dispatcher({
    ...{ dials, moves, sleeping, gates: dialGates },
    queue: new DialQueue({ calls: dials, sleeping }),
    dialler: new Dialler({ ...deps, agents, moves, site: { publicUrl: config.PUBLIC_URL, clock, logger } }),
    recovery: new DialRecovery({ ...deps, dials, moves, callbacks: dialCallbacks }),
    process: { name: processName, bus, clock, logger },
  });
  const outboundCalls = new OutboundQueue({
    ...deps,
    dials,
    site: { bus, clock, maxQueuedPerOrg: config.OUTBOUND_QUEUE_SIZE },
  });
  return {
    ...{ dialCallbacks, dialFollowers, dialGates, dispatcher, outboundCalls },
    /** Told of every session that is over. */
    dialEnded: (session: SessionRecord) => dialCallbacks.ended(session),
    workers: [
      {
        name: 'outbound calls',
        everyMs: SWEEP_MS,
        work: (signal) => dispatcher.work(signal),
        wakeWith: (task) => dispatcher.wakeWith(task),
        release: () => dispatcher.release(),
      },
    ],
  } satisfies Feature & { outboundCalls: OutboundQueue; dialEnded: unknown };
}
