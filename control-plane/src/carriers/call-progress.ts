import { UnavailableError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { COMMAND_ARGS } from '@parley/shared/contracts/commands';
import type { FailureReason } from '@parley/shared/contracts/session-values';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionCloser } from '../sessions/session-closer.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isLive, isTerminal } from '../sessions/session-states.ts';
import { lateOutcome, treatmentEnd } from '../sessions/session-treatment.ts';
import { owner, type SessionEventLog, type SessionStore } from '../sessions/session-store.ts';
import type { z } from 'zod';
import { CarrierError, type Carrier, type CarrierCallback } from './carrier.ts';
import { sentDial } from './carrier-dialling.ts';
import { carrierVerdict, type TrustedCallback } from './trusted-callback.ts';

/** Reaches the gateway that holds a call: `GatewayCommands`. */
interface CallGateways {
  /** @throws UnavailableError when the gateway can't be reached */
  send(
    target: { gatewayId: string; sessionId: string },
    type: 'answer_verdict',
    args: z.input<typeof COMMAND_ARGS.answer_verdict>,
  ): Promise<unknown>;
}

/** Calls of which two belong together: `Consults`. */
export interface PairedCalls {
  rings(session: SessionRecord): Promise<void>;
  /** The carrier says that one is over. Safe to repeat. */
  legEnded(session: SessionRecord): Promise<void>;
}

/**
 * What a carrier says of a call on its way: it rings, who answers, its stream fails, it is over. `known`: its session, where that was
 * read just now.
 */
export class CallProgress {
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #events: SessionEventLog;
  readonly #consults: PairedCalls;
  readonly #gateways: CallGateways;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    store: SessionStore;
    closer: SessionCloser;
    events: SessionEventLog;
    consults: PairedCalls;
    gateways: CallGateways;
    clock: Clock;
    logger: Logger;
  }) {
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#events = deps.events;
    this.#consults = deps.consults;
    this.#gateways = deps.gateways;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** It rings somewhere. */
  async rings(accountId: string, carrierCallId: string, known?: SessionRecord): Promise<void> {
    const session = known ?? (await this.#store.findCall(accountId, carrierCallId));
    if (!session) return;
    await this.#store.transition(session._id, 'ringing', { cause: 'carrier' });
    await this.#consults.rings(session);
  }

  /** The carrier has begun a call. One that does not say when it rings says this. */
  async begun(accountId: string, carrierCallId: string, known?: SessionRecord): Promise<void> {
    const session = known ?? (await this.#store.findCall(accountId, carrierCallId));
    if (session) await this.#consults.rings(session);
  }

  /** The carrier's word on the end: the last one only where no media ever flowed. @returns the call's session, if it has one */
  async ended(
    { account, carrier }: Pick<TrustedCallback, 'account' | 'carrier'>,
    call: Extract<CarrierCallback, { type: 'ended' }>,
    known?: SessionRecord,
  ): Promise<SessionRecord | null> {
    const session = known ?? (await this.#store.findCall(account._id, call.carrierCallId));
    if (!session) return null;
    const told = {
      carrier_cause: call.cause,
      ...(call.cost === null ? {} : { carrier_cost: call.cost }),
      carrier_ended_at: session.carrier_ended_at ?? new Date(this.#clock.now()),
    };
    const inbound = session.direction === 'inbound';
    const closed = await this.#closer.close(session._id, inbound ? 'ended' : 'failed', {
      // A session that a gateway has taken up is the gateway's to end.
      where: { leg: -1, status: { $in: ['dialing', 'ringing'] } },
      set: {
        ...told,
        ...carrierVerdict(
          this.#clock.now(),
          session.treatment
            ? treatmentEnd(session.treatment)
            : inbound
              ? { ended_by: 'caller', hangup_reason: 'caller_hangup' }
              : { ended_by: 'carrier', failure_reason: await this.#failure(session, carrier, call) },
        ),
      },
    });
    if (closed) this.#logger.info({ sessionId: session._id }, 'the call ended before its media stream began');
    else await this.#store.change(session._id, told);
    // What became of a forward may have been told since the session was read.
    const late = closed && lateOutcome(closed);
    if (late) await this.#store.change(session._id, late, { erased_at: null });
    await this.#consults.legEnded(closed ?? session);
    return closed ?? session;
  }

  /** Why a call failed that no gateway has taken up: where somebody had answered, its media never began. */
  async #failure(
    session: SessionRecord,
    { dialling }: Carrier,
    { failure }: Extract<CarrierCallback, { type: 'ended' }>,
  ): Promise<FailureReason> {
    if (failure !== null) return failure;
    const { leg, status, dial } = session;
    const isOpen = leg === -1 && !isTerminal(status) && dial?.sent_at != null;
    if (!isOpen || dial.answered_at || !dialling.wasAnswered) return 'media_timeout';
    try {
      // What was told of the answer may be lost.
      return (await dialling.wasAnswered(sentDial(session))) ? 'media_timeout' : 'no_answer';
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.code }, 'a dial could not be looked up');
      return 'no_answer';
    }
  }

  /** Who or what has answered, as the carrier hears it: the gateway weighs it with what it hears itself. */
  async answeredBy(accountId: string, call: Extract<CarrierCallback, { type: 'machine' }>): Promise<void> {
    const session = await this.#store.findCall(accountId, call.carrierCallId);
    if (session && !session.erased_at)
      await this.#events.append(owner(session), {
        type: 'carrier_verdict',
        data: { class: call.verdict, beep: call.beep },
        key: `carrier_verdict_${call.verdict}_${call.beep}`,
        offsetMs: session.started_at ? this.#clock.now() - session.started_at.getTime() : 0,
      });
    if (!session?.gateway_id || !isLive(session.status)) return;
    const beep = call.beep ? { beep_at: new Date(this.#clock.now()).toISOString() } : {};
    try {
      await this.#gateways.send({ gatewayId: session.gateway_id, sessionId: session._id }, 'answer_verdict', {
        source: 'carrier',
        class: call.verdict,
        ...beep,
      });
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      // It would come too late.
      this.#logger.warn({ sessionId: session._id }, "the carrier's verdict did not reach the gateway");
    }
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

  /** A recording of the carrier's own is noted, once, in the session's events: where the caller is heard besides. */
  async recorded(accountId: string, call: Extract<CarrierCallback, { type: 'recording' }>): Promise<void> {
    const { recordingId, failure } = call;
    const session = await this.#store.findCall(accountId, call.carrierCallId);
    if (!session || session.erased_at) return;
    const code = failure === null ? 'carrier_recording_saved' : 'carrier_recording_failed';
    await this.#events.append(owner(session), {
      type: 'warning',
      data: { code, ...(recordingId !== null && { name: recordingId }), reason: failure },
      key: `${code}:${recordingId}`,
      offsetMs: session.started_at ? this.#clock.now() - session.started_at.getTime() : 0,
    });
  }
}
