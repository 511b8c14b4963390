import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import type { InboundCall, SessionCreation } from '../sessions/session-creation.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { TerminalStatus } from '../sessions/session-states.ts';
import { owner, type SessionEventLog, type SessionStore } from '../sessions/session-store.ts';
import {
  lateOutcome,
  treatmentEnd,
  type SessionTreatment,
  type TreatmentReason,
} from '../sessions/session-treatment.ts';
import {
  CarrierError,
  type CallTreatment,
  type Carrier,
  type CarrierCallback,
  type CarrierDocument,
} from './carrier.ts';
import type { CalledNumber, DeployedNumber } from './deployed-number.ts';
import { carrierVerdict, type TrustedCallback } from './trusted-callback.ts';

/** Whether calls of an account may go to a number: `TelephonyAccountService`. */
export interface ForwardTargets {
  mayCall(accountId: string, number: string): Promise<boolean>;
}

const FORWARD_RING_SECONDS = 30;
/** Why a call is not sent on. */
const NOT_ALLOWED = 'target_not_allowed';
const REFUSED: DeployedNumber['outside_hours'] = {
  ...{ type: 'hangup', message: '', forward_to: null, agent_id: null },
};
/** How long a call may last whose carrier tells of no end: the carriers end calls that are sent on after four hours. */
const LIFE_SECONDS = { hangup: 60, message: 10 * 60, forward: 5 * 60 * 60 } as const;

/** Calls that no agent takes: what they are told, where they go, and the sessions that they leave. */
export class CallTreatments {
  readonly #creation: SessionCreation;
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #events: SessionEventLog;
  readonly #forwards: ForwardTargets;
  readonly #publicUrl: string;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    creation: SessionCreation;
    store: SessionStore;
    closer: SessionCloser;
    events: SessionEventLog;
    forwards: ForwardTargets;
    publicUrl: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#creation = deps.creation;
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#events = deps.events;
    this.#forwards = deps.forwards;
    this.#publicUrl = deps.publicUrl;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Stores the session of a call that no agent takes. @returns the call's own where another process was faster */
  begin(
    call: InboundCall,
    { deployment, number }: { deployment: DeployedNumber; number: CalledNumber },
    reason: TreatmentReason,
  ): Promise<SessionRecord> {
    const treatment = treatmentOf(reason, { deployment, number, agent: call.agent });
    return this.#creation.createTreated(call, treatment, LIFE_SECONDS[treatment.action]);
  }

  /**
   * Tells the caller something, sends the call on, or refuses it; the same call again gets the same.
   * @param session one that `begin` has made
   */
  async treat(trusted: TrustedCallback, session: SessionRecord): Promise<CarrierDocument> {
    const { carrier } = trusted;
    const over = isTerminal(session.status);
    if (over && carrier.answersByCommand) return carrier.acknowledge();
    const steps = over ? null : await this.#allowed(trusted, session);
    if (!steps) return this.#refuse(trusted, session);
    await this.#tell(session, 'begun', null);
    try {
      return await carrier.treat(session.carrier_call_id!, steps);
    } catch (error) {
      this.#onlyLogged(error, session);
      // The caller may be gone already.
      await this.#close(session, 'failed', { ended_by: 'carrier', failure_reason: 'carrier_error' });
      return carrier.acknowledge('hangup');
    }
  }

  /** The next step, at carriers that take one at a time. */
  async continue(
    trusted: TrustedCallback,
    { carrierCallId, step, cause }: Extract<CarrierCallback, { type: 'treated' }>,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    // What a callback says is the account's own word: of another's call it learns nothing.
    const session = await this.#store.findCall(account._id, carrierCallId);
    const isTreated = session?.treatment != null;
    if (isTreated && step === 'forward_answered') {
      await this.#noteForward(session, 'answered', cause);
      return carrier.acknowledge();
    }
    const lives = isTreated && !isTerminal(session.status);
    const steps = lives ? await this.#allowed(trusted, session) : null;
    if (isTreated && step === 'forwarded') await this.#noteForward(session, 'failed', cause);
    // A step of a call that is over says nothing about where it might have gone.
    else if (lives && !steps) await this.#noteForward(session, 'failed', NOT_ALLOWED);
    try {
      if (steps) await carrier.continueTreatment(carrierCallId, steps, step);
      else await carrier.hangup(carrierCallId);
    } catch (error) {
      this.#onlyLogged(error, session);
    }
    return carrier.acknowledge();
  }

  /**
   * The call that it was sent on to is over, as carriers say that run a document.
   * @returns null for a call that an agent takes
   */
  async forwarded(
    { carrier, account }: TrustedCallback,
    call: Extract<CarrierCallback, { type: 'transfer_ended' }>,
  ): Promise<CarrierDocument | null> {
    const session = await this.#store.findCall(account._id, call.carrierCallId);
    if (!session?.treatment) return null;
    await this.#noteForward(session, call.bridged ? 'answered' : 'failed', call.cause);
    return carrier.acknowledge('hangup');
  }

  /**
   * What the carrier is to do.
   * @returns null where the call is refused: by the rules, or because the account may not call where it is to go
   */
  async #allowed(
    { carrier, account }: TrustedCallback,
    { treatment }: SessionRecord,
  ): Promise<CallTreatment | null> {
    const { action, message, language, forward_to: to, caller_id: callerId } = treatment!;
    if (action === 'hangup') return null;
    // Countries may have been taken from the account since the deployment was made, or it has spent what it may in a day.
    if (to !== null && !(await this.#forwards.mayCall(account._id, to))) return null;
    const voiceUrl = `${this.#publicUrl}${carrierCallbackPath(carrier.name, 'voice', account._id)}`;
    return {
      say: message === '' ? null : { text: message, language },
      forward:
        to === null
          ? null
          : {
              to,
              callerId,
              ringTimeoutSeconds: FORWARD_RING_SECONDS,
              resultUrl: `${voiceUrl}?forward_result`,
            },
    };
  }

  async #refuse({ carrier }: TrustedCallback, session: SessionRecord): Promise<CarrierDocument> {
    const { reason, action } = session.treatment!;
    const byRule = action === 'hangup';
    const busy = byRule && reason !== 'outside_hours';
    const document = await this.#refusal(carrier, session, busy ? 'busy' : 'rejected');
    if (isTerminal(session.status)) return document;
    await this.#tell(session, 'refused', byRule ? null : NOT_ALLOWED);
    if (byRule) await this.#close(session, 'ended', treatmentEnd(session.treatment!));
    else await this.#close(session, 'failed', { ended_by: 'system', failure_reason: 'blocked' });
    return document;
  }

  /** The caller may be gone, or refused by another process that was told of the call. */
  async #refusal(
    carrier: Carrier,
    session: SessionRecord,
    reason: 'busy' | 'rejected',
  ): Promise<CarrierDocument> {
    try {
      return await carrier.refuse(session.carrier_call_id!, reason);
    } catch (error) {
      this.#onlyLogged(error, session);
      return carrier.acknowledge('hangup');
    }
  }

  /** Once; that somebody has answered counts whatever was said before it. */
  async #noteForward(
    session: SessionRecord,
    result: 'answered' | 'failed',
    cause: string | null,
  ): Promise<void> {
    const treatment = session.treatment!;
    if (treatment.action !== 'forward') return;
    const noted = await this.#store.change(
      session._id,
      { treatment: { ...treatment, forward_result: result } },
      // Of two that are told at once, too.
      { 'treatment.forward_result': { $nin: ['answered', result] } },
    );
    if (!noted) return;
    await this.#tell(noted, result, cause);
    // Its end was told first.
    const late = lateOutcome(noted);
    if (late) await this.#store.change(session._id, late, { erased_at: null });
  }

  async #tell(
    session: SessionRecord,
    result: 'begun' | 'refused' | 'answered' | 'failed',
    cause: string | null,
  ): Promise<void> {
    if (session.erased_at !== null) return;
    const { reason, action } = session.treatment!;
    await this.#events.append(owner(session), {
      type: 'inbound_action',
      data: { reason, action, result, cause },
      key: `inbound_action_${result}`,
    });
  }

  async #close(session: SessionRecord, to: TerminalStatus, how: Partial<SessionRecord>): Promise<void> {
    await this.#closer.close(session._id, to, {
      where: { leg: -1 },
      set: carrierVerdict(this.#clock.now(), how),
    });
  }

  /** @throws what is no carrier's failure */
  #onlyLogged(error: unknown, session: SessionRecord | null): void {
    if (!(error instanceof CarrierError)) throw error;
    this.#logger.warn(
      { ...(session && { sessionId: session._id }), code: error.code, status: error.status },
      'the carrier refused to treat a call',
    );
  }
}

/** What the rules of a deployment say now. */
function treatmentOf(
  reason: TreatmentReason,
  { deployment, number, agent }: { deployment: DeployedNumber; number: CalledNumber; agent: SessionAgent },
): SessionTreatment {
  const { outside_hours, overflow } = deployment;
  const action =
    reason === 'outside_hours' ? outside_hours : reason === 'overflow' ? overflow.action : REFUSED;
  const type = action.type === 'message' || action.type === 'forward' ? action.type : 'hangup';
  return {
    reason,
    action: type,
    message: type === 'hangup' ? '' : action.message,
    language: agent.config.language.primary,
    forward_to: type === 'forward' ? action.forward_to : null,
    caller_id: number.phone_number,
    forward_result: null,
  };
}
