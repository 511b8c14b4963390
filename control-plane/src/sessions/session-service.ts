import { randomUUID } from 'node:crypto';
import type { Bus } from '@parley/shared/bus/bus';
import { realtimeWsUrl, mediaWsUrl } from '@parley/shared/contracts/addresses';
import { PARTICIPANT_TOKEN_LIFE_SECONDS, TICKET_LIFE_SECONDS } from '@parley/shared/contracts/admission';
import { TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import type { CarrierName, Channel, Direction } from '@parley/shared/contracts/session-values';
import {
  ConflictError,
  NotFoundError,
  TooManyRequestsError,
  UnavailableError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import { uuidV7 } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { PlanToolMock } from '@parley/shared/contracts/session-plan';
import type { CallLog } from '../calls/call-log.ts';
import type { GatewayCommands } from '../calls/gateway-commands.ts';
import type { SigningKeys } from '../crypto/signing-keys.ts';
import { signParticipantToken } from '../participant-tokens/participant-token.ts';
import type { ModelCatalog, ModelKind } from '../providers/model-catalog.ts';
import { invalid } from '../http/validation.ts';
import type { Access } from '../tenancy/access.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Scope } from '../tenancy/scope.ts';
import { WIDGET_SESSIONS_AT_ONCE, WIDGET_TOKEN_SECONDS } from '../widget/widget-limits.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import type { PreCallService } from './pre-call.ts';
import type { SessionCloser } from './session-closer.ts';
import { NO_AGENT, type SessionAgent, type SessionAgents } from './session-agent.ts';
import { roomName } from './session-plan.ts';
import { isLive, isTerminal } from './session-states.ts';
import type { SessionStore } from './session-store.ts';
import type {
  ClientSecretBody,
  CreateSessionBody,
  MintBody,
  SessionAddresses,
  SessionEventBody,
} from './session-schema.ts';
import { sessionCollection, TEXT_TRANSPORT } from './session-model.ts';
import type { SessionRecord } from './session-model.ts';

/** Limits of the installation; 0 means none. */
export interface SessionLimits {
  concurrentSessionsPerOrg: number;
  sessionStartsPerMinute: number;
}

export interface SessionSettings {
  /** REST and, unless told otherwise, media; no trailing slash. */
  publicUrl: string;
  /** Where media sockets go, if elsewhere. */
  mediaPublicUrl?: string | undefined;
  limits: SessionLimits;
}

/** Limits that an org has set itself, below those of the installation. */
export interface SessionOwnLimits {
  matching(
    resource: 'session_starts' | 'concurrent_sessions',
    orgId: string,
    projectId: string,
  ): Promise<{ _id: string; project_id: string | null; limit: number; window_seconds: number | null }[]>;
}

/** The telephony account a session without a named carrier belongs to. */
export interface SessionAccounts {
  /** The project's default account, or the first usable one it may use; null when there is none. */
  defaultFor(orgId: string, projectId: string): Promise<{ id: string; provider: CarrierName } | null>;
}

/** Which analyses a project may name. */
export interface SessionAnalyses {
  missing(orgId: string, projectId: string, ids: readonly string[]): Promise<string[]>;
}

export interface Credentials {
  token?: string;
  ws_ticket?: string;
  expiresAt: Date;
}

/** The start of a call that a carrier brought. */
export interface InboundCall {
  accountId: string;
  carrier: CarrierName;
  carrierCallId: string;
  from: string | null;
  to: string | null;
  phoneNumberId: string;
  inboundDeploymentId: string;
  agent: SessionAgent;
  variables: Record<string, string>;
}

/** Removes what one feature keeps of a session. Doing it twice is harmless. */
export type SessionEraser = (sessionId: string) => Promise<unknown>;

/** What agents remember of people, as far as it goes with them. */
export interface SubjectMemories {
  /** @returns how many there were */
  forgetSession(sessionId: string): Promise<number>;
  /** @returns how many there were */
  forgetSubject(scope: Scope, subject: string): Promise<number>;
}

/** A place is kept this much longer than the credential it was taken for. */
const SLOT_GRACE_MS = 60_000;
/** Places of a running call; the sweeper renews them. */
export const SLOT_TTL_MS = 120_000;
const EVENTS_PER_MINUTE = 20;
const ERASED_AT_ONCE = 100;

interface NewSession {
  scope: { orgId: string; projectId: string };
  agent: SessionAgent | null;
  channel: Channel;
  direction: Direction;
  provider: CarrierName | null;
  transport: string;
  models: Record<ModelKind, string>;
  record: boolean;
  variables: Record<string, string>;
  analysisIds: string[] | null;
  lifeSeconds: number;
  more?: Partial<SessionRecord>;
  /** Begun by a visitor of a public page: places of its own, and a last word once it has one. */
  widget?: { admit(): Promise<void> };
}

/** Permission for one conversation: who may have it, with what, and how its far end gets in. */
export class SessionService {
  readonly #store: SessionStore;
  readonly #tickets: WsTicketService;
  readonly #callLog: CallLog;
  readonly #commands: GatewayCommands;
  readonly #closer: SessionCloser;
  readonly #agents: SessionAgents;
  readonly #accounts: SessionAccounts;
  readonly #analyses: SessionAnalyses | undefined;
  readonly #ownLimits: SessionOwnLimits;
  readonly #catalog: ModelCatalog;
  readonly #directory: Directory;
  readonly #preCall: PreCallService;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #settings: SessionSettings;
  readonly #signingKeys: SigningKeys;
  readonly #erasers: readonly SessionEraser[];
  readonly #memories: SubjectMemories;
  readonly addresses: SessionAddresses;

  constructor(deps: {
    store: SessionStore;
    tickets: WsTicketService;
    callLog: CallLog;
    commands: GatewayCommands;
    closer: SessionCloser;
    agents: SessionAgents;
    accounts: SessionAccounts;
    analyses?: SessionAnalyses | undefined;
    ownLimits: SessionOwnLimits;
    catalog: ModelCatalog;
    directory: Directory;
    preCall: PreCallService;
    bus: Bus;
    clock: Clock;
    logger: Logger;
    settings: SessionSettings;
    signingKeys: SigningKeys;
    erasers: readonly SessionEraser[];
    memories: SubjectMemories;
  }) {
    this.#store = deps.store;
    this.#tickets = deps.tickets;
    this.#callLog = deps.callLog;
    this.#commands = deps.commands;
    this.#closer = deps.closer;
    this.#agents = deps.agents;
    this.#accounts = deps.accounts;
    this.#analyses = deps.analyses;
    this.#ownLimits = deps.ownLimits;
    this.#catalog = deps.catalog;
    this.#directory = deps.directory;
    this.#preCall = deps.preCall;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#settings = deps.settings;
    this.#signingKeys = deps.signingKeys;
    this.#erasers = deps.erasers;
    this.#memories = deps.memories;
    const media = deps.settings.mediaPublicUrl ?? deps.settings.publicUrl;
    this.addresses = {
      realtimeWsUrl: realtimeWsUrl(media),
      mediaWsUrl: (carrier) => mediaWsUrl(media, carrier),
    };
  }

  /**
   * A web session, or a call that the client's own carrier logic will connect.
   * @throws ValidationError, ConflictError `invalid_state` (agent archived), TooManyRequestsError
   */
  async create(
    access: Access,
    body: CreateSessionBody,
  ): Promise<{ session: SessionRecord; credentials: Credentials }> {
    const agent = body.agent_id
      ? await this.#visibleAgent(access, body.agent_id, ['body', 'agent_id'])
      : null;
    const scope = await this.#scopeOf(access, body, agent);
    await access.permit(scope, 'editor', { write: true });
    if (agent?.archived) throw new ConflictError('invalid_state', 'The agent is archived.');
    const telephony = body.channel === 'telephony';
    const carrier = telephony ? await this.#carrier(scope, body.provider ?? null) : null;
    const models = await this.#models(scope, agent, body);
    const analysisIds = await this.#analysisIds(scope, body.post_call_analysis_ids ?? null);
    const variables = effectiveVariables(agent, body.variables ?? {});
    const session = await this.#insert({
      scope,
      agent,
      channel: body.channel,
      direction: telephony ? 'outbound' : 'web',
      provider: carrier?.provider ?? null,
      transport: telephony ? 'media_stream' : 'websocket',
      models,
      record: body.record,
      variables,
      analysisIds,
      lifeSeconds: telephony ? TICKET_LIFE_SECONDS : PARTICIPANT_TOKEN_LIFE_SECONDS,
      more: { telephony_account_id: carrier?.accountId ?? null },
    });
    return { session, credentials: await this.#issue(session) };
  }

  /** A session for one connection to `/v1/realtime`, opened with an opaque token. */
  async mint(
    access: Access,
    body: MintBody,
  ): Promise<{ session: SessionRecord; token: string; expiresAt: Date }> {
    const agent = await this.#visibleAgent(access, body.agent_id, ['body', 'agent_id']);
    const scope = await access.project(agent.project_id);
    await access.permit(scope, 'editor', { write: true, feature: 'realtime_websocket' });
    if (agent.archived) throw new ConflictError('invalid_state', 'The agent is archived.');
    const session = await this.#insert({
      scope,
      agent,
      channel: 'web',
      direction: 'web',
      provider: null,
      transport: 'websocket',
      models: await this.#models(scope, agent, {}),
      record: body.record,
      variables: effectiveVariables(agent, body.variables ?? {}),
      analysisIds: await this.#analysisIds(scope, body.post_call_analysis_ids ?? null),
      lifeSeconds: body.expires_in_seconds,
      more: {
        user_identifier: body.user_identifier ?? null,
        audio: { input_format: body.input_format, output_format: body.output_format },
        client_tools: body.client_tools,
      },
    });
    const issued = await this.#tickets.issueRealtimeToken({
      sessionId: session._id,
      lifeSeconds: body.expires_in_seconds,
    });
    return { session, token: issued.credential, expiresAt: issued.expiresAt };
  }

  /**
   * A session in which a test writes to one version of an agent. Nothing of it is heard, recorded, analysed or
   * delivered; what is written is kept, whoever wrote it is no caller.
   * @throws ValidationError for a required variable without a value or a model that can't be used;
   *   TooManyRequestsError when there is no place for it
   */
  async createForTest(
    agent: SessionAgent,
    test: {
      runId: string;
      variables: Record<string, string>;
      toolMocks: PlanToolMock[];
      lifeSeconds: number;
    },
  ): Promise<{ session: SessionRecord; token: string }> {
    const scope = { orgId: agent.org_id, projectId: agent.project_id };
    const session = await this.#insert({
      scope,
      agent,
      channel: 'web',
      direction: 'web',
      provider: null,
      transport: TEXT_TRANSPORT,
      models: await this.#models(scope, agent, {}),
      record: false,
      variables: effectiveVariables(agent, test.variables),
      analysisIds: [],
      lifeSeconds: test.lifeSeconds,
      more: {
        store_transcript: true,
        client_tools: false,
        test_run_id: test.runId,
        tool_mocks: JSON.stringify(test.toolMocks),
      },
    });
    const { credential } = await this.#tickets.issueRealtimeToken({
      sessionId: session._id,
      lifeSeconds: test.lifeSeconds,
    });
    return { session, token: credential };
  }

  /**
   * The same for a visitor of a public page: nobody in particular, nothing of their own but some variables.
   * @param origin the only one that may use the token
   * @param admit the last word, asked once there is a place
   * @throws TooManyRequestsError `concurrency_limit`; UnavailableError when places can't be counted; what `admit` throws
   */
  async mintForWidget(
    agent: SessionAgent,
    visit: { variables: Record<string, string>; origin: string; admit(): Promise<void> },
  ): Promise<{ session: SessionRecord; token: string; expiresAt: Date }> {
    const scope = { orgId: agent.org_id, projectId: agent.project_id };
    const session = await this.#insert({
      scope,
      agent,
      channel: 'web',
      direction: 'web',
      provider: null,
      transport: 'websocket',
      models: await this.#models(scope, agent, {}),
      record: true,
      variables: effectiveVariables(agent, visit.variables),
      analysisIds: null,
      lifeSeconds: WIDGET_TOKEN_SECONDS,
      widget: visit,
      more: {
        widget: true,
        client_tools: false,
        audio: { input_format: 'pcm16_24000', output_format: 'pcm16_24000' },
      },
    });
    const issued = await this.#tickets.issueRealtimeToken({
      sessionId: session._id,
      lifeSeconds: WIDGET_TOKEN_SECONDS,
      origin: visit.origin,
    });
    return { session, token: issued.credential, expiresAt: issued.expiresAt };
  }

  /** The same in the words of the stock SDKs. */
  mintClientSecret(access: Access, body: ClientSecretBody) {
    return this.mint(access, {
      agent_id: body.session.model,
      record: true,
      client_tools: true,
      input_format: body.session.audio?.input?.format ?? 'pcm16_24000',
      output_format: body.session.audio?.output?.format ?? 'pcm16_24000',
      expires_in_seconds: body.expires_after?.seconds ?? 600,
    });
  }

  /**
   * The session of a call that a carrier brought; the same call again is the same session.
   * @throws TooManyRequestsError when there is no place for it
   */
  async createInbound(call: InboundCall): Promise<SessionRecord> {
    const known = await this.findCall(call.accountId, call.carrierCallId);
    if (known) return known;
    const scope = { orgId: call.agent.org_id, projectId: call.agent.project_id };
    try {
      return await this.#insert({
        scope,
        agent: call.agent,
        channel: 'telephony',
        direction: 'inbound',
        provider: call.carrier,
        transport: 'media_stream',
        models: { llm: call.agent.llm_id, stt: call.agent.stt_id, tts: call.agent.tts_id },
        record: true,
        variables: effectiveVariables(call.agent, call.variables, { required: false }),
        analysisIds: null,
        lifeSeconds: TICKET_LIFE_SECONDS,
        more: {
          status: 'ringing',
          telephony_account_id: call.accountId,
          carrier_call_id: call.carrierCallId,
          phone_number_id: call.phoneNumberId,
          inbound_deployment_id: call.inboundDeploymentId,
          from_number: call.from,
          to_number: call.to,
        },
      });
    } catch (error) {
      // Two tellings of the same call raced: the unique index let one of them through.
      const winner = await this.findCall(call.accountId, call.carrierCallId);
      if (winner) return winner;
      throw error;
    }
  }

  async findCall(accountId: string, carrierCallId: string): Promise<SessionRecord | null> {
    const [session] = await this.#store.findMany(
      { telephony_account_id: accountId, carrier_call_id: carrierCallId },
      { limit: 1 },
    );
    return session ?? null;
  }

  /** A fresh ticket for a carrier's stream; those nobody used are worthless from now on. */
  async issueTicket(session: SessionRecord): Promise<{ ticket: string; streamUrl: string }> {
    const { credential, expiresAt } = await this.#newTicket(session);
    await this.#store.change(session._id, { join_by: expiresAt });
    return { ticket: credential, streamUrl: `${this.addresses.mediaWsUrl(session.provider!)}/${credential}` };
  }

  /**
   * A new credential, to rejoin or when the first answer was lost.
   * @throws ConflictError `invalid_state` when the session is over
   */
  async renewCredential(session: SessionRecord): Promise<Credentials> {
    if (isTerminal(session.status)) throw new ConflictError('invalid_state', 'The session is over.');
    await this.#tickets.revokeUnclaimed(session._id);
    const credentials = await this.#issue(session);
    const current = await this.#store.change(session._id, { join_by: credentials.expiresAt });
    if (!current || isTerminal(current.status)) {
      await this.#tickets.revokeUnclaimed(session._id);
      throw new ConflictError('invalid_state', 'The session is over.');
    }
    return credentials;
  }

  /**
   * Ends a session: at once when nobody has joined, else by its gateway.
   * @throws ConflictError `invalid_state` when it is over already
   */
  async end(session: SessionRecord): Promise<void> {
    const cancelled = await this.#closer.close(session._id, 'cancelled', {
      // Once a gateway has it, only the gateway ends it: it may be answering right now.
      where: { leg: -1 },
      set: {
        ended_at: new Date(this.#clock.now()),
        ended_by: 'api',
        hangup_reason: 'api_hangup',
        closed_by: 'api',
        post_call_status: 'skipped',
        post_call_finished_at: new Date(this.#clock.now()),
      },
    });
    if (cancelled) return;
    const current = await this.#store.find(session._id);
    if (!current) throw new NotFoundError();
    if (isTerminal(current.status) || current.gateway_id === null) {
      throw new ConflictError('invalid_state', 'The session is over.');
    }
    await this.#commands.send({ gatewayId: current.gateway_id, sessionId: current._id }, 'end', {
      ended_by: 'api',
      hangup_reason: 'api_hangup',
    });
  }

  /** @throws ConflictError `invalid_state` when it is not live; TooManyRequestsError */
  async sendEvent(session: SessionRecord, event: SessionEventBody): Promise<void> {
    if (!isLive(session.status) || session.gateway_id === null) {
      throw new ConflictError('invalid_state', 'The session is not live.');
    }
    const hit = await this.#unlessSilent(this.#bus.rates.hit(`session_events:${session._id}`, 60));
    if (hit && hit.count > EVENTS_PER_MINUTE) {
      throw new TooManyRequestsError(
        'rate_limited',
        `At most ${EVENTS_PER_MINUTE} events a minute reach one session.`,
        Math.max(1, Math.ceil((hit.resetAt - this.#clock.now()) / 1000)),
      );
    }
    await this.#commands.send({ gatewayId: session.gateway_id, sessionId: session._id }, 'event', {
      name: event.name,
      ...(event.variables ? { variables: event.variables } : {}),
      ...(event.say === undefined ? {} : { say: event.say }),
    });
  }

  /**
   * Erases what a session knows of people; times stay.
   * @returns how many memories came from it
   * @throws ConflictError `invalid_state` while it is not over
   */
  async erase(session: SessionRecord): Promise<{ memories: number }> {
    if (!isTerminal(session.status)) throw new ConflictError('invalid_state', 'The session is not over yet.');
    // The marks first: whatever arrives from now on is not stored, and what a crash leaves is erased later.
    await this.#store.change(session._id, {
      erase_at_end: true,
      erased_at: session.erased_at ?? new Date(this.#clock.now()),
      variables: {},
      from_number: null,
      to_number: null,
      user_identifier: null,
      goal_status: null,
      outcome: null,
      recording_id: null,
      tool_mocks: null,
    });
    for (const erase of this.#erasers) await erase(session._id);
    const memories = await this.#memories.forgetSession(session._id);
    await this.#store.change(session._id, { erase_at_end: false });
    return { memories };
  }

  /**
   * Erases every session of a person in a project; those that still go on are erased when they end.
   * @param subject a phone number or a `user_identifier`
   */
  async eraseSubject(
    scope: Scope,
    subject: string,
  ): Promise<{ sessions: number; recordings: number; memories: number }> {
    const sessions = scope.collection(sessionCollection);
    const theirs = [{ numbers: subject }, { user_identifier: subject }];
    const erased = { sessions: 0, recordings: 0, memories: 0 };
    for (const which of theirs) {
      const live = { ...which, status: { $nin: [...TERMINAL_STATUSES] }, erase_at_end: false };
      erased.sessions += await sessions.updateMany(live, { $set: { erase_at_end: true } });
      // What was erased is not found again.
      for (;;) {
        const page = await sessions.find(
          { ...which, status: { $in: [...TERMINAL_STATUSES] } },
          { limit: ERASED_AT_ONCE },
        );
        for (const session of page) {
          erased.memories += (await this.erase(session)).memories;
          erased.sessions++;
          if (session.recording_id !== null) erased.recordings++;
        }
        if (page.length < ERASED_AT_ONCE) break;
      }
    }
    // Last: no session of theirs adds any more.
    erased.memories += await this.#memories.forgetSubject(scope, subject);
    return erased;
  }

  /** The agent version of a session; null for a session without an agent. */
  async agentOf(session: SessionRecord): Promise<SessionAgent | null> {
    if (session.agent_id === null || session.agent_version === null) return null;
    return this.#agents.version(session.agent_id, session.agent_version);
  }

  /** The scopes a session holds a place in, with their limits as they are now. */
  async placesOf(session: SessionRecord): Promise<{ scope: string; limit: number }[]> {
    const agent = await this.agentOf(session);
    const places = await this.#places(session.org_id, session.project_id, agent, session.widget);
    return places.filter(({ scope }) => session.slot_scopes.includes(scope));
  }

  async #insert(options: NewSession): Promise<SessionRecord> {
    const { scope, agent } = options;
    const config = agent?.config ?? NO_AGENT.config;
    const now = this.#clock.now();
    const sessionId = uuidV7(now);
    // Tests and visitors take a place like others, but no caller's start: they have a bound of their own.
    if (options.transport !== TEXT_TRANSPORT && !options.widget)
      await this.#limitStarts(scope.orgId, scope.projectId);
    const project = await this.#directory.project(scope.projectId);
    const places = await this.#places(scope.orgId, scope.projectId, agent, options.widget !== undefined);
    const scopes = await this.#takePlaces(sessionId, places, options);
    try {
      await options.widget?.admit();
      const session = await this.#store.insert({
        _id: sessionId,
        org_id: scope.orgId,
        project_id: scope.projectId,
        agent_id: agent?.agent_id ?? null,
        agent_version: agent?.version ?? null,
        channel: options.channel,
        direction: options.direction,
        provider: options.provider,
        transport: options.transport,
        status: 'created',
        llm_id: options.models.llm,
        stt_id: options.models.stt,
        tts_id: options.models.tts,
        tts_voice_id: agent?.tts_voice_id ?? project?.default_voice_id ?? null,
        record:
          options.record &&
          config.recording.enabled &&
          config.privacy.store_audio &&
          (project?.recording_enabled ?? true),
        store_transcript: config.privacy.store_transcript,
        retention_days: config.privacy.retention_days,
        post_call_analysis_ids: options.analysisIds,
        variables: options.variables,
        ...EMPTY,
        created_at: new Date(now),
        join_by: new Date(now + options.lifeSeconds * 1000),
        slot_scopes: scopes,
        ...options.more,
      });
      return await this.#preCall.start(session, agent);
    } catch (error) {
      await this.#bus.slots.release(sessionId, scopes).catch((failure: unknown) => {
        this.#logger.warn({ err: failure, sessionId }, 'slots not given back');
      });
      throw error;
    }
  }

  async #issue(session: SessionRecord): Promise<Credentials> {
    if (session.channel === 'telephony') {
      const ticket = await this.#newTicket(session);
      return { ws_ticket: ticket.credential, expiresAt: ticket.expiresAt };
    }
    const jti = randomUUID();
    const { token, expiresAt } = await signParticipantToken(
      { sessionId: session._id, room: roomName(session)!, jti },
      { keys: this.#signingKeys, issuer: this.#settings.publicUrl, nowMs: this.#clock.now() },
    );
    await this.#tickets.registerParticipant({ sessionId: session._id, jti, expiresAt });
    return { token, expiresAt };
  }

  async #newTicket(session: SessionRecord) {
    await this.#tickets.revokeUnclaimed(session._id);
    return this.#tickets.issueTicket({
      sessionId: session._id,
      carrier: session.provider!,
      carrierCallId: session.carrier_call_id,
    });
  }

  async #visibleAgent(access: Access, agentId: string, loc: string[]): Promise<SessionAgent> {
    const agent = await this.#agents.forNewSession(agentId);
    const visible = agent && (await orNull(access.project(agent.project_id, agent.org_id)));
    if (!visible) throw notFound(loc);
    return agent;
  }

  /** The project: of the key, of the agent, or the one named; what is named must agree. */
  async #scopeOf(access: Access, body: CreateSessionBody, agent: SessionAgent | null): Promise<Scope> {
    const caller = access.principal;
    const projectId =
      caller.auth === 'api_key' ? caller.project_id : (agent?.project_id ?? body.project_id ?? undefined);
    if (projectId === undefined) throw invalid(['body', 'project_id'], 'Field required', 'missing');
    const scope = await orNull(access.project(projectId));
    if (!scope) throw notFound(['body', 'project_id']);
    const mismatch = (field: string) =>
      invalid(['body', field], `does not agree with the ${agent ? 'agent' : 'caller'}'s`, 'mismatch');
    if (agent && agent.project_id !== projectId) throw notFound(['body', 'agent_id']);
    if (body.project_id && body.project_id !== projectId) throw mismatch('project_id');
    if (body.org_id && body.org_id !== scope.orgId) throw mismatch('org_id');
    return scope;
  }

  /** A named carrier is the client's own; without a name it is the project's default account. */
  async #carrier(
    scope: Scope,
    provider: CarrierName | null,
  ): Promise<{ provider: CarrierName; accountId: string | null }> {
    if (provider !== null) return { provider, accountId: null };
    const account = await this.#accounts.defaultFor(scope.orgId, scope.projectId);
    if (!account)
      throw invalid(['body', 'provider'], 'the project has no telephony account: name a carrier', 'missing');
    return { provider: account.provider, accountId: account.id };
  }

  async #models(
    scope: Pick<Scope, 'orgId' | 'projectId'>,
    agent: SessionAgent | null,
    body: Partial<Pick<CreateSessionBody, 'llm_id' | 'stt_id' | 'tts_id'>>,
  ): Promise<Record<ModelKind, string>> {
    const project = await this.#directory.project(scope.projectId);
    const choose = async (kind: ModelKind): Promise<string> => {
      const field = `${kind}_id` as const;
      const id =
        body[field] ??
        agent?.[field] ??
        project?.[`default_${kind}_id`] ??
        (await this.#catalog.fallback(scope.orgId, kind, scope.projectId));
      if (!id) throw invalid(['body', field], 'Field required', 'missing');
      const model = await this.#catalog.find(scope.orgId, id, scope.projectId);
      if (!model || model.kind !== kind) throw notFound(['body', field]);
      if (model.status !== 'available') {
        throw invalid(['body', field], `the model can not be used: ${model.status}`, 'model_unavailable');
      }
      return id;
    };
    return { llm: await choose('llm'), stt: await choose('stt'), tts: await choose('tts') };
  }

  async #analysisIds(scope: Scope, ids: string[] | null): Promise<string[] | null> {
    if (ids === null || ids.length === 0) return ids;
    const missing = this.#analyses ? await this.#analyses.missing(scope.orgId, scope.projectId, ids) : ids;
    if (missing.length === 0) return [...new Set(ids)];
    throw new ValidationError(
      missing.map((id) => ({
        loc: ['body', 'post_call_analysis_ids', ids.indexOf(id)],
        msg: 'There is no such analysis in the project',
        type: 'reference_not_found',
      })),
    );
  }

  async #limitStarts(orgId: string, projectId: string): Promise<void> {
    const own = await this.#ownLimits.matching('session_starts', orgId, projectId);
    const limits = own.map(({ _id, limit, window_seconds }) => ({
      scope: _id,
      limit,
      seconds: window_seconds ?? 60,
    }));
    const ofInstallation = this.#settings.limits.sessionStartsPerMinute;
    if (ofInstallation > 0) limits.push({ scope: projectId, limit: ofInstallation, seconds: 60 });
    for (const { scope, limit, seconds } of limits) {
      const hit = await this.#unlessSilent(this.#bus.rates.hit(`session_starts:${scope}`, seconds));
      if (!hit || hit.count <= limit) continue;
      const { resetAt } = hit;
      throw new TooManyRequestsError(
        'rate_limited',
        `At most ${limit} sessions start here in ${seconds} seconds.`,
        Math.max(1, Math.ceil((resetAt - this.#clock.now()) / 1000)),
      );
    }
  }

  /** Without the bus calls still go on, uncounted: gateways have a limit of their own. */
  async #unlessSilent<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      this.#logger.warn({ err: error }, 'sessions are not counted: the bus is not reachable');
      return undefined;
    }
  }

  async #takePlaces(
    sessionId: string,
    scopes: readonly { scope: string; limit: number }[],
    { lifeSeconds, widget }: Pick<NewSession, 'lifeSeconds' | 'widget'>,
  ): Promise<string[]> {
    if (scopes.length === 0) return [];
    const full = await this.#unlessSilent(
      this.#bus.slots.take(sessionId, scopes, lifeSeconds * 1000 + SLOT_GRACE_MS),
    );
    if (full === undefined) {
      // Nothing else bounds what strangers cost.
      if (widget) throw new UnavailableError('Visitors can not be counted just now.');
      return [];
    }
    if (full !== null) {
      const [who] = full.split(':');
      throw new TooManyRequestsError('concurrency_limit', `The ${who} has no place for another session.`, 10);
    }
    return scopes.map(({ scope }) => scope);
  }

  async #places(
    orgId: string,
    projectId: string,
    agent: SessionAgent | null,
    widget: boolean,
  ): Promise<{ scope: string; limit: number }[]> {
    const own = await this.#ownLimits.matching('concurrent_sessions', orgId, projectId);
    const ofInstallation = this.#settings.limits.concurrentSessionsPerOrg;
    const perOrg = [
      ...own.filter((limit) => limit.project_id === null).map(({ limit }) => limit),
      ...(ofInstallation > 0 ? [ofInstallation] : []),
    ];
    const perProject = own.find((limit) => limit.project_id !== null)?.limit;
    const perAgent = agent?.config.limits.max_concurrent_sessions ?? null;
    return [
      ...(perOrg.length > 0 ? [{ scope: `org:${orgId}`, limit: Math.min(...perOrg) }] : []),
      ...(perProject === undefined ? [] : [{ scope: `project:${projectId}`, limit: perProject }]),
      ...(agent && perAgent !== null ? [{ scope: `agent:${agent.agent_id}`, limit: perAgent }] : []),
      ...(agent && widget ? [{ scope: `widget:${agent.agent_id}`, limit: WIDGET_SESSIONS_AT_ONCE }] : []),
    ];
  }
}

/** Fields that fill themselves later. */
const EMPTY = {
  user_identifier: null,
  attempt_number: 1,
  audio: null,
  client_tools: true,
  widget: false,
  pre_call: null,
  from_number: null,
  to_number: null,
  telephony_account_id: null,
  phone_number_id: null,
  inbound_deployment_id: null,
  campaign_id: null,
  contact_id: null,
  test_run_id: null,
  tool_mocks: null,
  carrier_call_id: null,
  carrier_cause: null,
  carrier_cost: null,
  carrier_ended_at: null,
  transfer: null,
  gateway_id: null,
  claim_id: null,
  leg: -1,
  claimed_at: null,
  started_at: null,
  ended_at: null,
  ended_by: null,
  hangup_reason: null,
  failure_reason: null,
  language: null,
  message_count: 0,
  duration_seconds: null,
  agent_duration_seconds: null,
  transfer_duration_seconds: null,
  avg_agent_latency_ms: null,
  avg_user_latency_ms: null,
  goal_status: null,
  answered_by: null,
  outcome: null,
  metrics: null,
  usage: null,
  report_id: null,
  closed_by: null,
  post_call_status: 'pending',
  post_call_finished_at: null,
  recording_id: null,
  unheld_since: null,
  erased_at: null,
  erase_at_end: false,
} as const satisfies Partial<SessionRecord>;

/**
 * The agent's defaults, and over them what was asked for.
 * @throws ValidationError for a required variable without a value
 */
function effectiveVariables(
  agent: SessionAgent | null,
  given: Record<string, string>,
  { required = true }: { required?: boolean } = {},
): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const { name, default: value } of agent?.config.variables ?? [])
    if (value !== null) variables[name] = value;
  Object.assign(variables, given);
  // What is still missing may come from the agent's own call before the call.
  if (!required || agent?.config.pre_call.url) return variables;
  const missing = (agent?.config.variables ?? []).filter(
    (variable) => variable.required && (variables[variable.name] ?? '') === '',
  );
  if (missing.length === 0) return variables;
  throw new ValidationError(
    missing.map(({ name }) => ({ loc: ['body', 'variables', name], msg: 'Field required', type: 'missing' })),
  );
}

function notFound(loc: (string | number)[]): ValidationError {
  return invalid(loc, 'There is no such record in the project', 'reference_not_found');
}

async function orNull<T>(lookup: Promise<T>): Promise<T | null> {
  try {
    return await lookup;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
