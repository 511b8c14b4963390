import type { Bus } from '@parley/shared/bus/bus';
import { toWebSocketUrl } from '@parley/shared/contracts/addresses';
import {
  credentialDigest,
  type AdmissionCheckRequest,
  type AdmissionCheckResponse,
  type RedeemRequest,
} from '@parley/shared/contracts/admission';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { ConflictError, TooManyRequestsError, UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { toTurn, type CallLog } from '../calls/call-log.ts';
import type { Carrier } from '../carriers/carrier.ts';
import type { SigningKeys } from '../crypto/signing-keys.ts';
import { verifyParticipantToken } from '../participant-tokens/participant-token.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { RecordingService } from '../recordings/recording-service.ts';
import type { PreCallService } from '../sessions/pre-call.ts';
import type { SessionMemories } from '../memories/session-memories.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import type { SessionTools } from '../sessions/session-agent.ts';
import { resolveProviders, toSessionPlan } from '../sessions/session-plan.ts';
import { SLOT_TTL_MS, type SessionService } from '../sessions/session-service.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { SessionRecord } from '../sessions/session-model.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import type { WsTicketRecord } from '../ws-tickets/ws-ticket-model.ts';

/** The signalling of an account, for the signature of an upgrade. */
export interface AdmissionCarriers {
  open(accountId: string): Promise<Carrier | null>;
}

export interface AdmissionSettings {
  publicUrl: string;
  mediaPublicUrl?: string | undefined;
  recordingStore: 'file' | 's3' | 'upload';
  outboundAllow: readonly string[];
}

/** What gateways ask: may this socket in, and what is it to run. */
export class AdmissionService {
  readonly #tickets: WsTicketService;
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #sessions: SessionService;
  readonly #carriers: AdmissionCarriers;
  readonly #recordings: RecordingService;
  readonly #callLog: CallLog;
  readonly #catalog: ModelCatalog;
  readonly #tools: SessionTools | undefined;
  readonly #memories: SessionMemories;
  readonly #directory: Directory;
  readonly #preCall: PreCallService;
  readonly #keys: SigningKeys;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #settings: AdmissionSettings;

  constructor(deps: {
    tickets: WsTicketService;
    store: SessionStore;
    closer: SessionCloser;
    sessions: SessionService;
    carriers: AdmissionCarriers;
    recordings: RecordingService;
    callLog: CallLog;
    catalog: ModelCatalog;
    tools?: SessionTools | undefined;
    memories: SessionMemories;
    directory: Directory;
    preCall: PreCallService;
    signingKeys: SigningKeys;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    settings: AdmissionSettings;
  }) {
    this.#tickets = deps.tickets;
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#sessions = deps.sessions;
    this.#carriers = deps.carriers;
    this.#recordings = deps.recordings;
    this.#callLog = deps.callLog;
    this.#catalog = deps.catalog;
    this.#tools = deps.tools;
    this.#memories = deps.memories;
    this.#directory = deps.directory;
    this.#preCall = deps.preCall;
    this.#keys = deps.signingKeys;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#settings = deps.settings;
  }

  /**
   * Looks before the upgrade is answered; changes nothing.
   * @throws UnauthorizedError `credential_invalid`, `signature_invalid`
   */
  async check(request: AdmissionCheckRequest): Promise<AdmissionCheckResponse> {
    const ticket = await this.#tickets.check(request.kind, request.digest, request.carrier);
    const session = await this.#store.find(ticket.session_id);
    if (!session || isTerminal(session.status)) throw credentialInvalid();
    if (ticket.kind === 'ticket' && session.telephony_account_id !== null) {
      const carrier = await this.#carriers.open(session.telephony_account_id);
      const media = toWebSocketUrl(this.#settings.mediaPublicUrl ?? this.#settings.publicUrl);
      if (!carrier?.verifyUpgrade(`${media}${request.path ?? ''}`, request.signature_headers ?? {})) {
        throw new UnauthorizedError('signature_invalid', 'The carrier’s signature is not valid.');
      }
    }
    return { session_id: session._id, expires_at: ticket.expires_at.toISOString() };
  }

  /**
   * Claims the credential for one socket and answers with the plan. The same `claim_id` may ask again and gets the
   * same answer.
   * @throws UnauthorizedError `credential_invalid`; ConflictError `in_use`, `session_over`, `call_id_mismatch`;
   *   TooManyRequestsError `limit`
   */
  async redeem(request: RedeemRequest): Promise<SessionPlanWire> {
    const { digest, sessionId } = await this.#identify(request);
    const ticket = await this.#tickets.claim(request.kind, digest, request.claim_id, {
      carrier: request.start.carrier,
      carrierCallId: request.start.carrier_call_id,
      origin: request.origin,
    });
    if (sessionId !== null && ticket.session_id !== sessionId) throw credentialInvalid();
    const admitted = await this.#admit(ticket, request);
    const session = await this.#preCall.settled(admitted);
    const agent = await this.#sessions.agentOf(session);
    if (session.agent_id !== null && !agent) throw over();
    if (
      session.pre_call &&
      session.pre_call.state !== 'done' &&
      agent?.config.pre_call.on_error === 'reject'
    ) {
      await this.#closer.close(session._id, 'failed', {
        set: {
          ended_at: new Date(this.#clock.now()),
          ended_by: 'system',
          failure_reason: 'missing_variable',
          post_call_status: 'skipped',
        },
      });
      throw over();
    }
    const [recording, providers, history, project, tools, memories] = await Promise.all([
      this.#recordings.forLeg(session, session.leg),
      resolveProviders(this.#catalog, session, agent),
      session.leg === 0 ? [] : this.#callLog.turns(session._id),
      this.#directory.project(session.project_id),
      agent && this.#tools ? this.#tools.forPlan(agent) : [],
      this.#memories.forPlan(session, agent),
    ]);
    if (session.recording_id === null && session.record) {
      await this.#store.change(session._id, { recording_id: recording._id }, { recording_id: null });
    }
    const org = await this.#directory.org(session.org_id);
    return toSessionPlan({
      session,
      agent,
      projectTimezone: project?.timezone ?? org?.timezone ?? 'UTC',
      claimId: request.claim_id,
      leg: session.leg,
      recordingId: recording._id,
      recordingStore: this.#settings.recordingStore,
      history: history.map(toTurn),
      providers,
      tools,
      memories,
      outboundAllow: this.#settings.outboundAllow,
    });
  }

  /** The credential's digest, and for a participant token the session it names. */
  async #identify(request: RedeemRequest): Promise<{ digest: string; sessionId: string | null }> {
    if (request.kind !== 'participant') return { digest: request.digest!, sessionId: null };
    const token = await verifyParticipantToken(request.token!, {
      keys: this.#keys,
      issuer: this.#settings.publicUrl,
      nowMs: this.#clock.now(),
    });
    return { digest: credentialDigest(token.jti), sessionId: token.sessionId };
  }

  /** Binds session and socket, once for each claim. */
  async #admit(ticket: WsTicketRecord, request: RedeemRequest): Promise<SessionRecord> {
    const socket = {
      gatewayId: request.gateway_id,
      claimId: request.claim_id,
      carrierCallId: ticket.kind === 'ticket' ? (request.start.carrier_call_id ?? null) : null,
    };
    // A claim that has become a leg already only asks for its answer again.
    if (ticket.leg === null) {
      await this.#renewPlaces(ticket.session_id);
      const admitted = await this.#store
        .admit(ticket.session_id, socket, new Date(this.#clock.now()))
        .catch((error: unknown) => {
          // The call has a session of its own.
          if (isDuplicateKey(error)) throw callIdMismatch();
          throw error;
        });
      if (admitted) {
        await this.#tickets.setLeg(ticket._id, admitted.leg);
        return admitted;
      }
    }
    const current = await this.#store.find(ticket.session_id);
    if (!current || isTerminal(current.status)) throw over();
    if (current.claim_id === request.claim_id) {
      if (ticket.leg === null) await this.#tickets.setLeg(ticket._id, current.leg);
      return current;
    }
    if (ticket.leg !== null) throw new ConflictError('in_use', 'Another socket has taken the session over.');
    if (socket.carrierCallId !== null && ![null, socket.carrierCallId].includes(current.carrier_call_id)) {
      throw callIdMismatch();
    }
    throw over();
  }

  /** Places were taken when the session was made; they may have run out since. */
  async #renewPlaces(sessionId: string): Promise<void> {
    const session = await this.#store.find(sessionId);
    if (!session || session.slot_scopes.length === 0) return;
    try {
      const limits = await this.#sessions.placesOf(session);
      const full = await this.#bus.slots.take(sessionId, limits, SLOT_TTL_MS);
      if (full !== null) {
        const limit = limits.find(({ scope }) => scope === full)?.limit;
        throw new TooManyRequestsError('limit', `Concurrent session limit reached (${limit}).`, 10);
      }
    } catch (error) {
      if (error instanceof TooManyRequestsError) throw error;
      // Without the bus calls still go on: the gateway has a limit of its own.
      this.#logger.warn({ err: error, sessionId }, 'places not renewed');
    }
  }
}

function credentialInvalid(): UnauthorizedError {
  return new UnauthorizedError('credential_invalid', 'The credential is not valid.');
}

function callIdMismatch(): ConflictError {
  return new ConflictError('call_id_mismatch', 'The ticket belongs to another call.');
}

function over(): ConflictError {
  return new ConflictError('session_over', 'The session is over.');
}
