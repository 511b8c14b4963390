import { randomUUID } from 'node:crypto';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type { Leases } from '@parley/shared/bus/bus';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionCloser } from '../sessions/session-closer.ts';
import type { SessionCredentials } from '../sessions/session-credentials.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { CarrierError, type CarrierDocument } from './carrier.ts';
import { carrierVerdict, type TrustedCallback } from './trusted-callback.ts';

/** A carrier repeats a webhook within seconds, or not at all. */
const ANSWER_ONCE_MS = 60_000;

/** Answers calls: tells a carrier where their media goes. */
export class CallAnswers {
  readonly #credentials: SessionCredentials;
  readonly #closer: SessionCloser;
  readonly #leases: Leases;
  readonly #publicUrl: string;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    credentials: SessionCredentials;
    closer: SessionCloser;
    leases: Leases;
    publicUrl: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#credentials = deps.credentials;
    this.#closer = deps.closer;
    this.#leases = deps.leases;
    this.#publicUrl = deps.publicUrl;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /**
   * A fresh ticket, and the stream that takes it. The old ticket, if nobody used it, is worthless now.
   * @param options.again the call is answered already
   */
  async connect(
    { carrier, account }: TrustedCallback,
    session: SessionRecord,
    { again = false } = {},
  ): Promise<CarrierDocument> {
    if (carrier.answersByCommand && !(await this.#firstAnswer(session))) return carrier.acknowledge();
    const { streamUrl } = await this.#credentials.issueTicket(session);
    const statusUrl = `${this.#publicUrl}${carrierCallbackPath(carrier.name, 'stream', account._id)}`;
    try {
      return await carrier.answer(session.carrier_call_id!, { streamUrl, statusUrl, again });
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn(
        { sessionId: session._id, code: error.code },
        'the carrier rejected the answer command',
      );
      await this.#closer.close(session._id, 'failed', {
        where: { leg: -1 },
        set: carrierVerdict(this.#clock.now(), { ended_by: 'carrier', failure_reason: 'carrier_error' }),
      });
      return carrier.acknowledge('hangup');
    }
  }

  /** Whether nobody is answering this leg already: a repeated webhook must not revoke the ticket that is on its way. */
  async #firstAnswer(session: SessionRecord): Promise<boolean> {
    try {
      return await this.#leases.acquire(`answer:${session._id}:${session.leg}`, randomUUID(), ANSWER_ONCE_MS);
    } catch (error) {
      // Calls are answered without the bus, too.
      this.#logger.warn(
        { err: error, sessionId: session._id },
        'repeated carrier webhooks cannot be recognised: the bus is not reachable',
      );
      return true;
    }
  }
}
