import type { Bus } from '@parley/shared/bus/bus';
import { LIVE_STATUSES } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionCloser } from '../sessions/session-closer.ts';
import { RUNNING_SLOT_MS } from '../sessions/session-slots.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { treatmentEnd } from '../sessions/session-treatment.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import type { GatewayCommands } from './gateway-commands.ts';

export const REAPER_INTERVAL_MS = 15_000;
const JOINABLE = ['created', 'dialing', 'ringing'] as const;
const LEASE = 'reaper';
/** How long a call may be held by no gateway before it counts as over. */
const UNHELD_MS = 60_000;
/** How long the bus must have been reachable before missing presence counts. */
const SETTLE_MS = 60_000;
/** How long after its credential expired a session is spared: a socket may be claiming it. */
const EXPIRY_GRACE_MS = 5000;
/** How long a call may ring whose carrier reports no end. */
const RINGING_GRACE_MS = 60_000;
/** How long after the carrier's hang-up the gateway's report may take. */
const REPORT_DUE_MS = 30_000;
const PAGE = 500;

/** Finds sessions that nobody joined and calls whose gateway died. One process at a time. */
export class Reaper {
  readonly #store: SessionStore;
  readonly #tickets: WsTicketService;
  readonly #gatewayCommands: GatewayCommands;
  readonly #closer: SessionCloser;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #owner: string;
  #wellSince: number | null = null;

  constructor(deps: {
    store: SessionStore;
    tickets: WsTicketService;
    gatewayCommands: GatewayCommands;
    closer: SessionCloser;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    /** Names this process. */
    owner: string;
  }) {
    this.#store = deps.store;
    this.#tickets = deps.tickets;
    this.#gatewayCommands = deps.gatewayCommands;
    this.#closer = deps.closer;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#owner = deps.owner;
  }

  /** One round. */
  async sweep(signal: AbortSignal): Promise<void> {
    if (!(await this.#busIsWell())) return;
    if (!(await this.#bus.leases.acquire(LEASE, this.#owner, REAPER_INTERVAL_MS * 3))) return;
    await this.#expire(signal);
    await this.#followCalls(signal);
    await this.#closer.repair(signal);
  }

  /** Lets another process take over at once. */
  async release(): Promise<void> {
    await this.#bus.leases.release(LEASE, this.#owner);
  }

  async #busIsWell(): Promise<boolean> {
    try {
      if (!this.#bus.healthy()) throw new Error('unhealthy');
      await this.#bus.ping();
    } catch {
      this.#wellSince = null;
      return false;
    }
    this.#wellSince ??= this.#clock.monotonic();
    return true;
  }

  /** Ends sessions whose credentials expired before anybody joined. */
  async #expire(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    const waiting = await this.#store.findMany(
      {
        status: { $in: ['created', 'ringing'] },
        leg: -1,
        join_by: { $lt: new Date(now - EXPIRY_GRACE_MS) },
      },
      { limit: PAGE },
    );
    for (const session of waiting) {
      if (signal.aborted) return;
      const later = await this.#tickets.lastUnclaimedExpiry(session._id);
      if (later && later.getTime() > now - EXPIRY_GRACE_MS) {
        await this.#store.change(session._id, { join_by: later });
      } else if (session.status === 'created') {
        await this.#closer.close(session._id, 'expired', {
          where: { leg: -1 },
          set: this.#verdict('expiry', {}),
        });
      } else if (session.join_by!.getTime() < now - RINGING_GRACE_MS) {
        const { treatment } = session;
        await this.#closer.close(session._id, treatment ? 'ended' : 'failed', {
          where: { leg: -1 },
          set: this.#verdict(
            'expiry',
            treatment ? treatmentEnd(treatment) : { failure_reason: 'media_timeout' },
          ),
        });
      }
    }
  }

  /** Renews the slots of calls that are held; ends those that nobody holds. */
  async #followCalls(signal: AbortSignal): Promise<void> {
    const alive = new Set((await this.#bus.presence.gateways()).map((gateway) => gateway.gateway_id));
    for (let after = ''; ;) {
      const page = await this.#store.findMany(
        {
          _id: { $gt: after },
          // Said for both branches at once, so that the index on it is used in order.
          status: { $in: [...LIVE_STATUSES, ...JOINABLE] },
          $or: [{ status: { $in: [...LIVE_STATUSES] } }, { leg: { $gte: 0 } }],
        },
        { limit: PAGE },
      );
      const holders = await this.#bus.presence.callHolders(page.map((session) => session._id));
      for (const [index, session] of page.entries()) {
        if (signal.aborted) return;
        await this.#follow(session, holders[index] ?? null, alive);
      }
      const last = page.at(-1);
      if (!last || page.length < PAGE) return;
      after = last._id;
    }
  }

  async #follow(session: SessionRecord, holder: string | null, alive: ReadonlySet<string>): Promise<void> {
    const now = this.#clock.now();
    if (
      session.carrier_ended_at &&
      session.gateway_id &&
      now - session.carrier_ended_at.getTime() > REPORT_DUE_MS
    ) {
      await this.#gatewayCommands.send({ gatewayId: session.gateway_id, sessionId: session._id }, 'end', {
        ended_by: 'carrier',
        hangup_reason: 'carrier_hangup',
      });
    }
    if (holder !== null) {
      if (session.slot_scopes.length > 0) {
        await this.#bus.slots.renew(session._id, session.slot_scopes, RUNNING_SLOT_MS);
      }
      if (session.unheld_since) await this.#store.change(session._id, { unheld_since: null });
      return;
    }
    // A gateway that lives reports its calls itself. A claim whose answer it never got is a call it never had.
    const begun = LIVE_STATUSES.includes(session.status);
    if (begun && session.gateway_id !== null && alive.has(session.gateway_id)) return;
    if (!session.unheld_since) {
      await this.#store.change(session._id, { unheld_since: new Date(now) });
      return;
    }
    // Right after the bus came back no gateway has renewed its presence yet.
    const settled = this.#wellSince !== null && this.#clock.monotonic() - this.#wellSince >= SETTLE_MS;
    if (settled && now - session.unheld_since.getTime() >= UNHELD_MS) await this.#end(session);
  }

  async #end(session: SessionRecord): Promise<void> {
    const started = session.started_at?.getTime();
    const ended = session.unheld_since!.getTime();
    const begun = LIVE_STATUSES.includes(session.status);
    const set = this.#verdict('reaper', {
      // Nothing follows a call that never was, unless a late report says that it was one.
      ...(begun ? {} : this.#nothingFollows()),
      failure_reason: 'media_timeout',
      ended_at: new Date(ended),
      ...(started === undefined ? {} : { duration_seconds: Math.max(0, ended - started) / 1000 }),
    });
    const to = begun ? 'ended' : session.status === 'created' ? 'expired' : 'failed';
    // The claim must be the one that was read: a rejoin in between changes it.
    const closed = await this.#closer.close(session._id, to, {
      where: { claim_id: session.claim_id, unheld_since: session.unheld_since },
      set,
    });
    if (!closed) return;
    this.#logger.warn(
      { sessionId: session._id, gatewayId: session.gateway_id },
      'call was lost with its media gateway',
    );
  }

  #verdict(closedBy: 'expiry' | 'reaper', more: Partial<SessionRecord>) {
    const now = new Date(this.#clock.now());
    return {
      ended_at: now,
      ended_by: 'system',
      closed_by: closedBy,
      ...(closedBy === 'expiry' ? this.#nothingFollows() : {}),
      ...more,
    };
  }

  #nothingFollows() {
    return { post_call_status: 'skipped' as const, post_call_finished_at: new Date(this.#clock.now()) };
  }
}
