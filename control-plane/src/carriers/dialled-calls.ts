import type { Logger } from '@parley/shared/logging/logger';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { CallAnswers } from './call-answers.ts';
import { CarrierError, type CarrierCallback, type CarrierDocument } from './carrier.ts';
import type { TrustedCallback } from './trusted-callback.ts';

/** Whose call it is that was dialled: `DialCallbacks`. */
export interface DialBinding {
  /**
   * Binds the carrier's call to the session that it was dialled for.
   * @returns null when nobody wants the call any more
   */
  bind(accountId: string, dialId: string, carrierCallId: string): Promise<SessionRecord | null>;
  /** Somebody has answered. Safe to repeat. */
  answered(session: SessionRecord): Promise<void>;
}

/** What carriers tell of calls that were dialled, before they are known by their own ids and when they are answered. */
export class DialledCalls {
  readonly #store: SessionStore;
  readonly #answers: CallAnswers;
  readonly #dials: DialBinding;
  readonly #logger: Logger;

  constructor(deps: { store: SessionStore; answers: CallAnswers; dials: DialBinding; logger: Logger }) {
    this.#store = deps.store;
    this.#answers = deps.answers;
    this.#dials = deps.dials;
    this.#logger = deps.logger;
  }

  /**
   * A callback names the dial that it is of.
   * @returns the call's session; `answer` where the call was given up, and is hung up. Without one it is taken as any other
   */
  async named(
    { carrier, account }: TrustedCallback,
    dialId: string,
    callback: CarrierCallback,
  ): Promise<{ answer?: CarrierDocument; session?: SessionRecord }> {
    const session = await this.#dials.bind(account._id, dialId, callback.carrierCallId);
    if (session) return { session };
    if (callback.type === 'ended') return {};
    this.#logger.info(
      { carrier: carrier.name, accountId: account._id },
      'a call that was given up is hung up',
    );
    try {
      await carrier.dialling.cancel({ carrierCallId: callback.carrierCallId, requestId: null });
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ carrier: carrier.name, code: error.code }, 'a call could not be cancelled');
    }
    return { answer: carrier.acknowledge('hangup') };
  }

  /** Somebody has answered, and the carrier asks where the audio goes. */
  async connect(trusted: TrustedCallback, carrierCallId: string): Promise<CarrierDocument> {
    const session = await this.#store.findCall(trusted.account._id, carrierCallId);
    if (!session || isTerminal(session.status)) return trusted.carrier.acknowledge('hangup');
    await this.#dials.answered(session);
    return this.#answers.connect(trusted, session);
  }

  /** Somebody has answered; where the audio goes is known. */
  async answered({ account }: TrustedCallback, carrierCallId: string): Promise<void> {
    const session = await this.#store.findCall(account._id, carrierCallId);
    if (session && !isTerminal(session.status)) await this.#dials.answered(session);
  }
}
