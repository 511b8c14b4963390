import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { DIAL_SETTLED_MS, dialVerdict, sentDial } from '../carriers/carrier-dialling.ts';
import { CarrierError, type Carrier } from '../carriers/carrier.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { DialCallbacks } from './dial-callbacks.ts';
import type { DialAccounts } from './dialler.ts';
import { CALLBACK_GRACE_MS, type DialMoves } from './dial-moves.ts';
import type { DialStore } from './dial-store.ts';

/** A look-up that found out nothing is repeated after this. */
const LOOK_AGAIN_MS = 15_000;
/** A call that goes back to the queue waits so long. */
const AGAIN_AFTER_MS = 1000;
/** How long after the answer a call's media may take to begin. */
const MEDIA_DUE_MS = 60_000;
const PAGE = 200;

/** Sees to calls whose process died, whose carrier was silent, or that waited for too long. One process at a time. */
export class DialRecovery {
  readonly #dials: DialStore;
  readonly #moves: DialMoves;
  readonly #accounts: DialAccounts;
  readonly #callbacks: DialCallbacks;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    dials: DialStore;
    moves: DialMoves;
    accounts: DialAccounts;
    callbacks: DialCallbacks;
    clock: Clock;
    logger: Logger;
  }) {
    this.#dials = deps.dials;
    this.#moves = deps.moves;
    this.#accounts = deps.accounts;
    this.#callbacks = deps.callbacks;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const now = this.#clock.now();
    const before = (field: string, ms = now) => ({ [`dial.${field}`]: { $lt: new Date(ms) } });
    const steps = [
      ['waiting', before('give_up_at'), (session) => this.#moves.fail(session, 'queue_timeout')],
      // Its request had not left.
      ['claimed', before('lease_until'), (session) => this.#moves.again(session, now + AGAIN_AFTER_MS, null)],
      ['sent', before('lease_until'), (session) => this.#moves.unknown(session, lookUpAt(session))],
      ['uncertain', before('look_up_at'), (session) => this.#lookUp(session)],
      ['known', before('sent_at', now - CALLBACK_GRACE_MS), (session) => this.#awaited(session)],
    ] satisfies [Parameters<DialStore['inState']>[0], object, (session: SessionRecord) => Promise<void>][];
    for (const [state, where, step] of steps)
      for (const session of await this.#dials.inState(state, where, PAGE)) {
        if (signal.aborted) return;
        await step(session).catch((error: unknown) =>
          this.#logger.error({ err: error, sessionId: session._id }, 'a dial could not be recovered'),
        );
      }
  }

  /** Asks the carrier which call a request has become. */
  async #lookUp(session: SessionRecord): Promise<void> {
    const carrier = await this.#accounts.open(session.dial!.account_id);
    const found = carrier && (await this.#find(session, carrier));
    if (!carrier || !found) return this.#notFound(session, carrier);
    const { verdict, call } = found;
    if (verdict === 'not_placed') {
      await this.#moves.again(session, this.#clock.now() + AGAIN_AFTER_MS, {
        result: 'not_placed',
        cause: null,
      });
      return;
    }
    if (call.carrierCallId !== null && !(await this.#moves.bind(session, call.carrierCallId)))
      return this.#notFound(session, carrier);
    const known = await this.#moves.known(session);
    if (!known) return;
    this.#logger.info({ sessionId: session._id, stage: call.stage }, 'a dial was found at the carrier');
    await this.#moves.tell(known, { result: 'found', cause: call.stage });
    if (isTerminal(known.status)) {
      await this.#moves.hangUp(carrier, known, { carrierCallId: call.carrierCallId, requestId: null });
    } else if (call.stage === 'over') {
      await this.#moves.ended(known, call.end ?? { failure: 'carrier_error', cause: null });
    }
  }

  async #find(session: SessionRecord, carrier: Carrier) {
    const sent = sentDial(session);
    try {
      const calls = await carrier.dialling.find(sent);
      const ids = calls.flatMap(({ carrierCallId: id }) => (id === null ? [] : [id]));
      const taken = await this.#dials.takenCalls(session.dial!.account_id, ids, session._id);
      const verdict = dialVerdict(sent, calls, { nowMs: this.#clock.now(), taken });
      return verdict.verdict === 'unknown' ? null : { call: null, ...verdict };
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.code }, 'a dial could not be looked up');
      return null;
    }
  }

  /** Its callbacks are awaited for as long as they may come; meanwhile it is looked for again. */
  async #notFound(session: SessionRecord, carrier: Carrier | null): Promise<void> {
    const now = this.#clock.now();
    if (now > callbacksDueAt(session)) return this.#moves.giveUp(session, carrier, 'carrier_error');
    await this.#dials.change(
      session._id,
      { 'dial.state': 'uncertain', 'dial.id': session.dial!.id },
      { dial: { look_up_at: new Date(now + LOOK_AGAIN_MS) } },
    );
  }

  /** A call of which the carrier tells nothing more, or whose media do not begin. */
  async #awaited(session: SessionRecord): Promise<void> {
    const now = this.#clock.now();
    const { dial, leg, status } = session;
    if (isTerminal(status)) return this.#moves.gone(session);
    if (leg >= 0) {
      // What it was told of the answer may be lost.
      await this.#callbacks.answered(session);
      return this.#moves.gone(session);
    }
    const mediaDueAt = dial!.answered_at === null ? null : dial!.answered_at.getTime() + MEDIA_DUE_MS;
    if (now <= (mediaDueAt ?? callbacksDueAt(session))) return;
    const carrier = await this.#accounts.open(dial!.account_id);
    await this.#moves.giveUp(session, carrier, mediaDueAt === null ? 'carrier_error' : 'media_timeout');
  }
}

function lookUpAt(session: SessionRecord): number {
  return session.dial!.sent_at!.getTime() + DIAL_SETTLED_MS;
}

function callbacksDueAt({ dial }: SessionRecord): number {
  return dial!.sent_at!.getTime() + dial!.ring_timeout_seconds * 1000 + CALLBACK_GRACE_MS;
}
