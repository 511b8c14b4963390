import type { Slots, Wakeup } from '@parley/shared/bus/bus';
import type { FailureReason } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { CarrierError, type Carrier } from '../carriers/carrier.ts';
import type { SessionFunds } from '../sessions/session-funds.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import type { SessionDial, SessionRecord } from '../sessions/session-record.ts';
import { isTerminal, type TerminalStatus } from '../sessions/session-states.ts';
import { owner, type SessionStore } from '../sessions/session-store.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { DialStore } from './dial-store.ts';
import { API_DIALS } from './sleeping-scopes.ts';

/** How long after the ringing should be over callbacks are awaited. */
export const CALLBACK_GRACE_MS = 60_000;

/** What happened at a carrier, for the session's events. */
export interface DialNews {
  result: 'placed' | 'refused' | 'unknown' | 'found' | 'not_placed' | 'given_up' | 'answered' | 'ended';
  cause: string | null;
}

/** Where the events of sessions go: `CallLog`. */
export interface DialLog {
  append(
    owner: { session_id: string; org_id: string; project_id: string },
    event: {
      type: 'dial';
      data: DialNews & { attempt: number; carrier: NonNullable<SessionRecord['provider']> };
      key?: string;
      alone?: boolean;
    },
  ): Promise<void>;
}

/** What becomes of a call on its way: session and dial move together, and what was taken for it is given back. */
export class DialMoves {
  readonly #dials: DialStore;
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #costs: Pick<SessionFunds, 'release'>;
  readonly #bus: { slots: Slots; dispatch: Wakeup };
  readonly #events: DialLog;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    dials: DialStore;
    store: SessionStore;
    closer: SessionCloser;
    costs: Pick<SessionFunds, 'release'>;
    bus: { slots: Slots; dispatch: Wakeup };
    events: DialLog;
    clock: Clock;
    logger: Logger;
  }) {
    this.#dials = deps.dials;
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#costs = deps.costs;
    this.#bus = deps.bus;
    this.#events = deps.events;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Notes that the request leaves now. @returns null when the call is no longer this process's to make */
  sent(
    session: SessionRecord,
    dial: Pick<SessionDial, 'sent_at' | 'lease_until'>,
  ): Promise<SessionRecord | null> {
    const { id, owner: process } = session.dial!;
    return this.#store.transition(session._id, 'dialing', {
      where: { 'dial.state': 'claimed', 'dial.id': id, 'dial.owner': process },
      dial: { ...dial, state: 'sent', answered_at: null, carrier_request_id: null, look_up_at: null },
    });
  }

  /** The carrier has the call. One that was cancelled meanwhile is hung up. */
  async placed(
    sent: SessionRecord,
    carrier: Carrier,
    ids: { carrierCallId: string | null; requestId: string | null },
  ): Promise<void> {
    const { dial, _id } = sent;
    const mine = { 'dial.id': dial!.id };
    const known =
      (await this.#dials.move(_id, 'known', { where: mine, dial: { carrier_request_id: ids.requestId } })) ??
      // Its first callback was here before.
      (await this.#dials.change(_id, mine, { dial: { carrier_request_id: ids.requestId } }));
    if (!known) return;
    await this.tell(known, { result: 'placed', cause: null });
    if (ids.carrierCallId !== null) await this.bind(known, ids.carrierCallId);
    if (isTerminal(known.status)) await this.hangUp(carrier, known, ids);
  }

  /**
   * The carrier has it, as a callback or a look-up says.
   * @param carrierCallId which of the carrier's calls it is
   * @returns null when it is known already or gone, or when that cannot be noted by the same write
   */
  async known(session: SessionRecord, carrierCallId?: string): Promise<SessionRecord | null> {
    const isThis = { 'dial.id': session.dial!.id };
    if (carrierCallId === undefined) return this.#dials.move(session._id, 'known', { where: isThis });
    try {
      return await this.#dials.move(session._id, 'known', {
        where: { ...isThis, carrier_call_id: { $in: [null, carrierCallId] } },
        fields: { carrier_call_id: carrierCallId },
      });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return null;
    }
  }

  /** Notes which of the carrier's calls it is. @returns false when it is another one */
  async bind(session: SessionRecord, carrierCallId: string): Promise<boolean> {
    if (session.carrier_call_id === carrierCallId) return true;
    try {
      const bound = await this.#store.change(
        session._id,
        { carrier_call_id: carrierCallId },
        { carrier_call_id: { $in: [null, carrierCallId] } },
      );
      return bound !== null;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      this.#logger.error({ sessionId: session._id }, 'a call of the carrier is bound to another session');
      return false;
    }
  }

  /** Nobody knows whether the carrier has the call: it is looked for later, and its callbacks are awaited. */
  async unknown(sent: SessionRecord, lookUpAtMs: number): Promise<void> {
    const uncertain = await this.#dials.move(sent._id, 'uncertain', {
      where: { 'dial.id': sent.dial!.id },
      dial: { look_up_at: new Date(lookUpAtMs) },
    });
    if (uncertain) await this.tell(uncertain, { result: 'unknown', cause: null });
  }

  /**
   * Back to the queue: nobody was called. A session that is over does not go back.
   * @param notBeforeMs not at once: what was taken for it is given back first
   */
  async again(session: SessionRecord, notBeforeMs: number, news: DialNews | null): Promise<void> {
    const { dial, status } = session;
    if (isTerminal(status)) return this.gone(session);
    if (news) await this.tell(session, news);
    const where = { 'dial.id': dial!.id, 'dial.state': dial!.state };
    const free = {
      state: 'waiting' as const,
      owner: null,
      lease_until: null,
      not_before: new Date(notBeforeMs),
    };
    const waits =
      status === 'queued'
        ? await this.#dials.move(session._id, 'waiting', { where, dial: free, fields: { slot_scopes: [] } })
        : await this.#store.transition(session._id, 'queued', {
            where,
            dial: free,
            set: { slot_scopes: [] },
          });
    if (!waits) return;
    await this.#bus.slots.release(session._id, session.slot_scopes);
    await this.#costs.release(session);
    await this.#bus.dispatch.publish();
  }

  /** The carrier will not call. */
  async refused(
    session: SessionRecord,
    { failure, cause }: { failure: FailureReason; cause: string | null },
  ): Promise<void> {
    await this.tell(session, { result: 'refused', cause });
    await this.ended(session, { failure, cause });
  }

  /** It ended at the carrier, and no gateway has taken it up. @param how `failure` null: somebody had answered, and its media never began */
  async ended(
    session: SessionRecord,
    { failure, cause }: { failure: FailureReason | null; cause: string | null },
  ): Promise<void> {
    await this.#close(session, 'failed', {
      ended_by: 'carrier',
      failure_reason: failure ?? 'media_timeout',
      carrier_cause: cause,
      closed_by: 'carrier',
    });
    await this.gone(session);
  }

  /** It ends without anybody at the other side, by our own word. */
  async fail(session: SessionRecord, reason: FailureReason): Promise<void> {
    await this.finish(session, { status: 'failed', failure_reason: reason });
  }

  async finish(
    session: SessionRecord,
    end: { status: 'failed' | 'cancelled'; failure_reason: string },
  ): Promise<void> {
    await this.#close(session, end.status, {
      ended_by: 'system',
      failure_reason: end.failure_reason,
      closed_by: 'expiry',
    });
  }

  /** What became of a call is not known in time: it is hung up, if there is one, and over. */
  async giveUp(session: SessionRecord, carrier: Carrier | null, reason: FailureReason): Promise<void> {
    await this.tell(session, { result: 'given_up', cause: reason });
    if (carrier)
      await this.hangUp(carrier, session, {
        carrierCallId: session.carrier_call_id,
        requestId: session.dial!.carrier_request_id,
      });
    await this.fail(session, reason);
    await this.gone(session);
  }

  /** There is nothing more to do for the dial. */
  async gone(session: SessionRecord): Promise<void> {
    await this.#dials.move(session._id, 'gone', { where: { 'dial.id': session.dial!.id } });
  }

  /** Somebody has answered: the call no longer counts as one that is being dialled. */
  async answered(session: SessionRecord): Promise<SessionRecord | null> {
    const answered = await this.#dials.change(
      session._id,
      { 'dial.answered_at': null },
      { dial: { answered_at: new Date(this.#clock.now()) } },
    );
    if (!answered) return null;
    await this.#bus.slots.release(session._id, [API_DIALS]);
    await this.#bus.dispatch.publish();
    await this.tell(answered, { result: 'answered', cause: null });
    return answered;
  }

  /** Ends a call at its carrier. A failure is logged and not thrown: the carrier's own time-out ends it then. */
  async hangUp(
    carrier: Carrier,
    session: SessionRecord,
    ids: { carrierCallId: string | null; requestId: string | null },
  ): Promise<void> {
    try {
      await carrier.dialling.cancel(ids);
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.code }, 'a call could not be cancelled');
    }
    if (isTerminal(session.status)) await this.gone(session);
  }

  async tell(session: SessionRecord, news: DialNews): Promise<void> {
    const { id, tries } = session.dial!;
    if (session.erased_at !== null) return;
    await this.#events.append(owner(session), {
      type: 'dial',
      data: { ...news, attempt: tries, carrier: session.provider! },
      key: `dial_${id}_${news.result}`,
      alone: session.leg === -1,
    });
  }

  async #close(session: SessionRecord, to: TerminalStatus, how: Partial<SessionRecord>): Promise<void> {
    const now = new Date(this.#clock.now());
    await this.#closer.close(session._id, to, {
      // One that a gateway has taken up is the gateway's to end.
      where: { leg: -1, 'dial.id': session.dial!.id },
      set: { ...how, ended_at: now, post_call_status: 'skipped', post_call_finished_at: now },
    });
  }
}
