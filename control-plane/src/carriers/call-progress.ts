import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionCloser } from '../sessions/session-closer.ts';
import { isLive } from '../sessions/session-states.ts';
import { owner, type SessionEventLog, type SessionStore } from '../sessions/session-store.ts';
import type { CarrierCallback } from './carrier.ts';
import { carrierVerdict } from './trusted-callback.ts';

/** What a carrier says of a call on its way: it rings, its stream fails, it is over. */
export class CallProgress {
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #events: SessionEventLog;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    store: SessionStore;
    closer: SessionCloser;
    events: SessionEventLog;
    clock: Clock;
    logger: Logger;
  }) {
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#events = deps.events;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** It rings somewhere. */
  async rings(accountId: string, carrierCallId: string): Promise<void> {
    const session = await this.#store.findCall(accountId, carrierCallId);
    if (session) await this.#store.transition(session._id, 'ringing', { cause: 'carrier' });
  }

  /** The carrier's word on the end: the last one only where no media ever flowed. */
  async ended(accountId: string, call: Extract<CarrierCallback, { type: 'ended' }>): Promise<void> {
    const session = await this.#store.findCall(accountId, call.carrierCallId);
    if (!session) return;
    await this.#store.change(session._id, {
      carrier_cause: call.cause,
      ...(call.cost === null ? {} : { carrier_cost: call.cost }),
      carrier_ended_at: session.carrier_ended_at ?? new Date(this.#clock.now()),
    });
    const inbound = session.direction === 'inbound';
    const closed = await this.#closer.close(session._id, inbound ? 'ended' : 'failed', {
      // A session that a gateway has taken up is the gateway's to end.
      where: { leg: -1, status: { $in: ['dialing', 'ringing'] } },
      set: carrierVerdict(
        this.#clock.now(),
        inbound
          ? { ended_by: 'caller', hangup_reason: 'caller_hangup' }
          : { ended_by: 'carrier', failure_reason: call.failure ?? 'no_answer' },
      ),
    });
    if (!closed) return;
    this.#logger.info({ sessionId: session._id }, 'the call ended before its media stream began');
  }

  /** A media stream that fails is noted in the session's events. */
  async stream(accountId: string, call: Extract<CarrierCallback, { type: 'stream' }>): Promise<void> {
    if (call.phase !== 'failed' && call.phase !== 'degraded') return;
    const session = await this.#store.findCall(accountId, call.carrierCallId);
    if (!session || !isLive(session.status) || session.erased_at) return;
    await this.#events.append(owner(session), {
      type: 'warning',
      data: { code: `carrier_stream_${call.phase}`, reason: call.reason },
      offsetMs: session.started_at ? this.#clock.now() - session.started_at.getTime() : 0,
    });
  }
}
