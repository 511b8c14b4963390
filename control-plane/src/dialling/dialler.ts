import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type { FailureReason } from '@parley/shared/contracts/session-values';
import { PaymentRequiredError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { DialAnswer, DialRequest } from '../carriers/carrier-dialling.ts';
import type { Carrier } from '../carriers/carrier.ts';
import type { PreCallService } from '../sessions/pre-call.ts';
import { agentOf, type SessionAgent, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionFunds } from '../sessions/session-funds.ts';
import type { SessionCredentials } from '../sessions/session-credentials.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { DIAL_SETTLED_MS } from '../carriers/carrier-dialling.ts';
import { DIAL_LEASE_MS } from './dial-store.ts';
import type { DialMoves } from './dial-moves.ts';

/** A ticket that a dial carries outlives the ringing by this. */
const TICKET_GRACE_SECONDS = 60;
/** What a call may last at the carrier at least: it goes on after a transfer. */
const TIME_LIMIT_SECONDS = 14_400;
/** A process that was stopped for so long between noting that a request leaves and sending it sends it no more. */
const SEND_WITHIN_MS = 5000;
/** How long a call waits that the carrier refused for now: for each refusal, up to so long in all. */
const AGAIN_AFTER_MS = 2000;
const AGAIN_AT_MOST_MS = 30_000;
/** A campaign's call that the carrier has refused so often is given up. */
const MAX_TRIES = 20;

/** Accounts at carriers: `TelephonyAccountService`. */
export interface DialAccounts {
  /** @returns null when there is no such account */
  open(accountId: string): Promise<Carrier | null>;
}

/** Makes the request of one call that was taken up, and takes in what the carrier answers. */
export class Dialler {
  readonly #moves: DialMoves;
  readonly #accounts: DialAccounts;
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #costs: SessionFunds;
  readonly #preCall: PreCallService;
  readonly #credentials: SessionCredentials;
  readonly #site: { publicUrl: string; clock: Clock; logger: Logger };

  constructor(deps: {
    moves: DialMoves;
    accounts: DialAccounts;
    agents: Pick<SessionAgents, 'version'>;
    costs: SessionFunds;
    preCall: PreCallService;
    credentials: SessionCredentials;
    site: { publicUrl: string; clock: Clock; logger: Logger };
  }) {
    this.#moves = deps.moves;
    this.#accounts = deps.accounts;
    this.#agents = deps.agents;
    this.#costs = deps.costs;
    this.#preCall = deps.preCall;
    this.#credentials = deps.credentials;
    this.#site = deps.site;
  }

  /** @param claimed a call that this process has taken up. Throws nothing: what fails is left to the recovery. */
  async dial(claimed: SessionRecord): Promise<void> {
    try {
      await this.#dial(claimed);
    } catch (error) {
      this.#site.logger.error(
        { err: error, sessionId: claimed._id },
        'an outbound call could not be dialled; it is looked at again',
      );
    }
  }

  async #dial(claimed: SessionRecord): Promise<void> {
    const agent = await agentOf(this.#agents, claimed);
    const carrier = await this.#accounts.open(claimed.dial!.account_id);
    if (!agent || !carrier) return this.#moves.fail(claimed, 'internal');
    try {
      await this.#costs.reserve(claimed);
    } catch (error) {
      if (!(error instanceof PaymentRequiredError)) throw error;
      return this.#moves.fail(claimed, 'insufficient_balance');
    }
    // Once, however often the call is taken up.
    const asks = claimed.pre_call ? claimed : await this.#preCall.start(claimed, agent);
    const session = await this.#preCall.settled(asks);
    const asked = session.pre_call?.state ?? 'done';
    if (asked !== 'done' && agent.config.pre_call.on_error === 'reject')
      return this.#moves.fail(claimed, 'missing_variable');
    const request = await this.#request(session, agent, carrier);
    const { clock } = this.#site;
    const sentAt = clock.now();
    const sent = await this.#moves.sent(session, {
      sent_at: new Date(sentAt),
      lease_until: new Date(sentAt + DIAL_LEASE_MS),
    });
    // Cancelled meanwhile, or taken from this process.
    if (!sent) return;
    if (clock.now() - sentAt > SEND_WITHIN_MS) return this.#moves.unknown(sent, sentAt + DIAL_SETTLED_MS);
    await this.#taken(sent, carrier, await carrier.dialling.dial(request));
  }

  async #request(session: SessionRecord, agent: SessionAgent, carrier: Carrier): Promise<DialRequest> {
    const dial = session.dial!;
    const callback = (kind: 'voice' | 'status' | 'amd') =>
      `${this.#site.publicUrl}${carrierCallbackPath(carrier.name, kind, dial.account_id)}?dial=${dial.id}`;
    return {
      dialId: dial.id!,
      from: session.from_number!,
      to: session.to_number!,
      answerUrl: callback('voice'),
      statusUrl: callback('status'),
      machineUrl: detectsMachines(session, agent) ? callback('amd') : null,
      ringTimeoutSeconds: dial.ring_timeout_seconds,
      timeLimitSeconds: Math.max(TIME_LIMIT_SECONDS, agent.config.limits.max_duration_seconds + 60),
      streamUrl: carrier.answersByCommand ? await this.#streamUrl(session) : null,
    };
  }

  /** Carriers that open the stream with the call get its ticket with the dial. */
  async #streamUrl(session: SessionRecord): Promise<string> {
    const lifeSeconds = session.dial!.ring_timeout_seconds + TICKET_GRACE_SECONDS;
    return (await this.#credentials.issueTicket(session, lifeSeconds)).streamUrl;
  }

  async #taken(sent: SessionRecord, carrier: Carrier, answer: DialAnswer): Promise<void> {
    const { clock, logger } = this.#site;
    const dial = sent.dial!;
    switch (answer.placed) {
      case 'yes':
        return this.#moves.placed(sent, carrier, answer);
      case 'unknown':
        logger.warn({ sessionId: sent._id, code: answer.code }, 'the carrier did not answer a dial');
        return this.#moves.unknown(sent, dial.sent_at!.getTime() + DIAL_SETTLED_MS);
      case 'no': {
        logger.info({ sessionId: sent._id, code: answer.code, cause: answer.cause }, 'dial refused');
        const failure: FailureReason = answer.failure;
        if (!answer.again || dial.tries >= MAX_TRIES)
          return this.#moves.refused(sent, { failure, cause: answer.cause ?? answer.code });
        const waitMs = Math.min(AGAIN_AT_MOST_MS, AGAIN_AFTER_MS * dial.tries);
        return this.#moves.again(sent, clock.now() + waitMs, {
          result: 'refused',
          cause: answer.cause ?? answer.code,
        });
      }
    }
  }
}

/** Whether the carrier is to tell who or what has answered. */
function detectsMachines({ consult }: SessionRecord, agent: SessionAgent): boolean {
  return consult ? consult.extension === null : agent.config.answer_detection.enabled;
}
