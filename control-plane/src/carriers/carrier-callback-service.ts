import { randomUUID } from 'node:crypto';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type { Bus } from '@parley/shared/bus/bus';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { AppError, ForbiddenError, TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { CallLog } from '../calls/call-log.ts';
import type { CarrierCommands } from '../calls/carrier-commands.ts';
import { agentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionCreation } from '../sessions/session-creation.ts';
import type { SessionCredentials } from '../sessions/session-credentials.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import { isLive, isTerminal } from '../sessions/session-states.ts';
import { owner, type SessionStore } from '../sessions/session-store.ts';
import type { SessionRecord } from '../sessions/session-model.ts';
import type { InboundDeploymentService } from '../telephony/inbound-deployment-service.ts';
import type { PhoneNumberService } from '../telephony/phone-number-service.ts';
import type { TelephonyAccountService } from '../telephony/telephony-account-service.ts';
import type { TelephonyAccountRecord } from '../telephony/telephony-account-model.ts';
import type { Directory } from '../tenancy/directory.ts';
import {
  CarrierError,
  CarrierProtocolError,
  type Carrier,
  type CarrierCallback,
  type CarrierDocument,
  type CarrierRequest,
} from './carrier.ts';

/** A carrier repeats a webhook within seconds, or not at all. */
const ANSWER_ONCE_MS = 60_000;

/** A callback that may be trusted, and what it is about. */
interface Trusted {
  carrier: Carrier;
  account: TelephonyAccountRecord;
  request: CarrierRequest;
}

/** What carriers tell, and what they are answered. Touches nothing that is not of the account in the path. */
export class CarrierCallbackService {
  readonly #accounts: TelephonyAccountService;
  readonly #numbers: PhoneNumberService;
  readonly #deployments: InboundDeploymentService;
  readonly #creation: SessionCreation;
  readonly #credentials: SessionCredentials;
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #agents: SessionAgents;
  readonly #commands: CarrierCommands;
  readonly #callLog: CallLog;
  readonly #directory: Directory;
  readonly #bus: Bus;
  readonly #publicUrl: string;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    telephonyAccounts: TelephonyAccountService;
    phoneNumbers: PhoneNumberService;
    inboundDeployments: InboundDeploymentService;
    creation: SessionCreation;
    credentials: SessionCredentials;
    store: SessionStore;
    closer: SessionCloser;
    agents: SessionAgents;
    carrierCommands: CarrierCommands;
    callLog: CallLog;
    directory: Directory;
    bus: Bus;
    publicUrl: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#accounts = deps.telephonyAccounts;
    this.#numbers = deps.phoneNumbers;
    this.#deployments = deps.inboundDeployments;
    this.#creation = deps.creation;
    this.#credentials = deps.credentials;
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#agents = deps.agents;
    this.#commands = deps.carrierCommands;
    this.#callLog = deps.callLog;
    this.#directory = deps.directory;
    this.#bus = deps.bus;
    this.#publicUrl = deps.publicUrl;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /**
   * @param request its `url` holds path and query only; the public address is put in front
   * @throws ForbiddenError for unknown accounts and bad signatures alike: nothing but a log line remains
   */
  async handle(
    carrierName: CarrierName,
    accountId: string,
    request: CarrierRequest,
  ): Promise<CarrierDocument> {
    const account = await this.#accounts.find(accountId);
    const carrier = account?.provider === carrierName ? await this.#accounts.open(accountId) : null;
    const signed = { ...request, url: `${this.#publicUrl}${request.url}` };
    if (!account || !carrier?.verifyWebhook(signed)) {
      this.#logger.warn(
        { carrier: carrierName, known: account !== null },
        'carrier callback refused: bad signature',
      );
      throw new ForbiddenError('bad_signature', 'The signature is not valid.');
    }
    const trusted = { carrier, account, request: signed };
    let callback: CarrierCallback | undefined;
    try {
      callback = carrier.parseCallback(signed);
    } catch (error) {
      if (!(error instanceof CarrierProtocolError)) throw error;
      throw new AppError(400, 'bad_request', error.message, { cause: error });
    }
    return callback ? this.#answer(trusted, callback) : carrier.acknowledge();
  }

  async #answer(trusted: Trusted, callback: CarrierCallback): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    // A transfer under way asks at the voice address too: for its document first.
    const transferId = new URL(trusted.request.url).searchParams.get('transfer');
    if (transferId !== null && callback.type !== 'ended') {
      return this.#transferDocument(trusted, callback.carrierCallId, transferId);
    }
    switch (callback.type) {
      case 'incoming':
        return callback.direction === 'inbound'
          ? this.#incoming(trusted, callback)
          : this.#dialAnswered(trusted, callback.carrierCallId);
      case 'ringing': {
        const session = await this.#store.findCall(account._id, callback.carrierCallId);
        if (session) await this.#store.transition(session._id, 'ringing', { cause: 'carrier' });
        return carrier.acknowledge();
      }
      case 'answered':
        return carrier.acknowledge();
      case 'ended':
        await this.#ended(account._id, callback);
        return carrier.acknowledge();
      case 'transfer_ended':
        return this.#transferEnded(trusted, callback);
      case 'stream':
        await this.#stream(account._id, callback);
        return carrier.acknowledge();
    }
  }

  /** A call arrives, or is told of again. */
  async #incoming(
    trusted: Trusted,
    call: Extract<CarrierCallback, { type: 'incoming' }>,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    const refuse = (reason: 'busy' | 'rejected', why: string) => {
      this.#logger.info({ carrier: carrier.name, accountId: account._id, why }, 'incoming call refused');
      return carrier.refuse(call.carrierCallId, reason);
    };
    const number = call.to === null ? null : await this.#numbers.findActive(account._id, call.to);
    if (!number) return refuse('rejected', 'unknown_number');
    const deployment = await this.#deployments.forNumber(number._id);
    if (!deployment) return refuse('rejected', 'not_deployed');
    if (call.from !== null && deployment.blocked_numbers.includes(call.from))
      return refuse('busy', 'blocked');
    const org = await this.#directory.org(number.org_id);
    if (org?.status !== 'active') return refuse('busy', 'org_suspended');
    const agent =
      deployment.agent_version === null
        ? await this.#agents.forNewSession(deployment.agent_id)
        : await this.#agents.version(deployment.agent_id, deployment.agent_version);
    if (!agent || agent.archived || agent.project_id !== number.project_id)
      return refuse('rejected', 'no_agent');
    try {
      const session = await this.#creation.createInbound({
        accountId: account._id,
        carrier: carrier.name,
        carrierCallId: call.carrierCallId,
        from: call.from,
        to: call.to,
        phoneNumberId: number._id,
        inboundDeploymentId: deployment._id,
        agent,
        variables: deployment.variables,
      });
      if (isTerminal(session.status)) return carrier.acknowledge('hangup');
      return await this.#connect(trusted, session);
    } catch (error) {
      if (error instanceof TooManyRequestsError) return refuse('busy', error.code);
      throw error;
    }
  }

  /** The far end of a call that was dialled has answered. */
  async #dialAnswered(trusted: Trusted, carrierCallId: string): Promise<CarrierDocument> {
    const session = await this.#store.findCall(trusted.account._id, carrierCallId);
    if (!session || isTerminal(session.status)) return trusted.carrier.acknowledge('hangup');
    return this.#connect(trusted, session);
  }

  /** A fresh ticket, and the stream that takes it. The old ticket, if nobody used it, is worthless now. */
  async #connect({ carrier, account }: Trusted, session: SessionRecord): Promise<CarrierDocument> {
    if (carrier.answersByCommand && !(await this.#firstAnswer(session))) return carrier.acknowledge();
    const { streamUrl } = await this.#credentials.issueTicket(session);
    const statusUrl = `${this.#publicUrl}${carrierCallbackPath(carrier.name, 'stream', account._id)}`;
    try {
      return await carrier.answer(session.carrier_call_id!, { streamUrl, statusUrl });
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.code }, 'carrier did not take the answer');
      await this.#closer.close(session._id, 'failed', {
        where: { leg: -1 },
        set: this.#over({ ended_by: 'carrier', failure_reason: 'carrier_error' }),
      });
      return carrier.acknowledge('hangup');
    }
  }

  /** Whether nobody is answering this leg already: a repeated webhook must not revoke the ticket that is on its way. */
  async #firstAnswer(session: SessionRecord): Promise<boolean> {
    try {
      return await this.#bus.leases.acquire(
        `answer:${session._id}:${session.leg}`,
        randomUUID(),
        ANSWER_ONCE_MS,
      );
    } catch (error) {
      // Calls are answered without the bus, too.
      this.#logger.warn({ err: error, sessionId: session._id }, 'repeated webhooks are not told apart');
      return true;
    }
  }

  /** The carrier's word on the end: the last one only where no media ever flowed. */
  async #ended(accountId: string, call: Extract<CarrierCallback, { type: 'ended' }>): Promise<void> {
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
      set: this.#over(
        inbound
          ? { ended_by: 'caller', hangup_reason: 'caller_hangup' }
          : { ended_by: 'carrier', failure_reason: call.failure ?? 'no_answer' },
      ),
    });
    if (!closed) return;
    this.#logger.info({ sessionId: session._id }, 'call ended before media flowed');
  }

  async #transferDocument(
    { carrier, account }: Trusted,
    carrierCallId: string,
    transferId: string,
  ): Promise<CarrierDocument> {
    const session = await this.#store.findCall(account._id, carrierCallId);
    if (!session?.transfer || session.transfer.transfer_id !== transferId)
      return carrier.acknowledge('hangup');
    return carrier.transferDocument(this.#commands.transferTarget(session, session.transfer));
  }

  /** Back to the agent when the other side did not answer, unless the agent was told otherwise. */
  async #transferEnded(
    trusted: Trusted,
    call: Extract<CarrierCallback, { type: 'transfer_ended' }>,
  ): Promise<CarrierDocument> {
    const { carrier, account } = trusted;
    const session = await this.#store.findCall(account._id, call.carrierCallId);
    const transferId = new URL(trusted.request.url).searchParams.get('transfer_result');
    if (!session || isTerminal(session.status) || call.bridged) return carrier.acknowledge('hangup');
    if (session.transfer?.transfer_id !== transferId) return carrier.acknowledge('hangup');
    const agent = await agentOf(this.#agents, session);
    const destination = agent?.config.transfer.destinations.find(
      ({ target }) => target.type === 'phone' && target.phone_number === session.transfer?.to,
    );
    if (destination && destination.on_failure !== 'return') return carrier.acknowledge('hangup');
    return this.#connect(trusted, session);
  }

  async #stream(accountId: string, call: Extract<CarrierCallback, { type: 'stream' }>): Promise<void> {
    if (call.phase !== 'failed' && call.phase !== 'degraded') return;
    const session = await this.#store.findCall(accountId, call.carrierCallId);
    if (!session || !isLive(session.status) || session.erased_at) return;
    await this.#callLog.append(owner(session), {
      type: 'warning',
      data: { code: `carrier_stream_${call.phase}`, reason: call.reason },
      offsetMs: session.started_at ? this.#clock.now() - session.started_at.getTime() : 0,
    });
  }

  #over(how: Partial<SessionRecord>) {
    const now = new Date(this.#clock.now());
    return {
      ...how,
      ended_at: now,
      closed_by: 'carrier' as const,
      post_call_status: 'skipped' as const,
      post_call_finished_at: now,
    };
  }
}
