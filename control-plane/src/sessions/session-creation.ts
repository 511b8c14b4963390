import { PARTICIPANT_TOKEN_LIFE_SECONDS, TICKET_LIFE_SECONDS } from '@parley/shared/contracts/admission';
import type { PlanToolMock } from '@parley/shared/contracts/session-plan';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { ValidationError, type ValidationDetail } from '@parley/shared/errors/app-error';
import { uuidV7 } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { ModelKind } from '../providers/model-catalog.ts';
import type { Access } from '../tenancy/access.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { PreCallService } from './pre-call.ts';
import { NO_AGENT, type SessionAgent } from './session-agent.ts';
import { effectiveVariables, refuseArchived, type SessionChoices } from './session-choices.ts';
import type { Credentials, SessionCredentials } from './session-credentials.ts';
import { TEXT_TRANSPORT } from './session-record.ts';
import type { SessionConsult, SessionDial, SessionRecord } from './session-record.ts';
import type { FundedSession, SessionFunds } from './session-funds.ts';
import type { SessionSlots } from './session-slots.ts';
import type { SessionTreatment } from './session-treatment.ts';
import type { ClientSecretBody, CreateSessionBody, MintBody } from './session-schema.ts';
import type { NewSessionRecord, SessionStore } from './session-store.ts';
import { WIDGET_TOKEN_SECONDS } from './visitor-limits.ts';

/** An order for the session of a call that a carrier brought. */
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

/** An order for the session of a call that is to be dialled. */
export interface DialledCall {
  /** A new one without it. */
  sessionId?: string | undefined;
  agent: SessionAgent;
  from: string;
  to: string;
  carrier: CarrierName;
  /** JSON; null: as the agent is. */
  overrides: string | null;
  variables: Record<string, string>;
  analysisIds: string[] | null;
  campaignId: string | null;
  contactId: string | null;
  attemptNumber: number;
  dial: SessionDial;
  /** Of a call to whom a caller is to be transferred to: nothing that is said in it is kept. */
  consult?: { parentId: string; consult: SessionConsult } | undefined;
}

/** A session's start for one connection to `/v1/realtime`. */
export interface Minted {
  session: SessionRecord;
  token: string;
  expiresAt: Date;
}

const WEB = { channel: 'web', direction: 'web', transport: 'websocket' } as const;
const CALL = { channel: 'telephony', direction: 'outbound', transport: 'media_stream' } as const;

/** The fields that all sessions of a kind have in common. */
const KINDS = {
  web: WEB,
  outbound: CALL,
  dialled: { ...CALL, status: 'queued' },
  inbound: { ...CALL, direction: 'inbound', status: 'ringing' },
  visitor: {
    ...WEB,
    widget: true,
    client_tools: false,
    audio: { input_format: 'pcm16_24000', output_format: 'pcm16_24000' },
  },
  // The transcript is kept: a test, not a caller, wrote it.
  test: { ...WEB, transport: TEXT_TRANSPORT, store_transcript: true, client_tools: false },
} as const satisfies Record<string, Partial<SessionRecord>>;

/** Of a test that talks. */
const SPOKEN_TEST = {
  transport: WEB.transport,
  audio: { input_format: 'pcm16_24000', output_format: 'pcm16_24000' },
} as const satisfies Partial<SessionRecord>;

/** Kinds of session that take slots but do not count as starts: tests and visitors have limits of their own. */
const STARTS_UNCOUNTED: readonly (keyof typeof KINDS)[] = ['visitor', 'test'];

interface NewSession {
  kind: keyof typeof KINDS;
  scope: { orgId: string; projectId: string };
  agent: SessionAgent | null;
  models: Record<ModelKind, string>;
  /** Whether it was asked for; agent and project have a say, too. */
  record: boolean;
  variables: Record<string, string>;
  /** null = the agent's. */
  analysisIds: string[] | null;
  /** Lifetime of the first credential. */
  lifeSeconds: number;
  own?: Partial<SessionRecord>;
  deployment?: { id: string; limit: number } | undefined;
  /** The last check, made once the slots are taken. */
  admit?: () => Promise<void>;
  /** Makes a credential that nobody knows yet, once the session is stored, while its first event is written. */
  issue?: (session: SessionRecord) => Promise<unknown>;
}

/** Creates sessions: each is permission for one conversation, with the agent it runs. */
export class SessionCreation {
  readonly #store: SessionStore;
  readonly #choices: SessionChoices;
  readonly #slots: SessionSlots;
  readonly #credentials: SessionCredentials;
  readonly #costs: SessionFunds;
  readonly #preCall: PreCallService;
  readonly #directory: Directory;
  readonly #clock: Clock;

  constructor(deps: {
    store: SessionStore;
    choices: SessionChoices;
    slots: SessionSlots;
    credentials: SessionCredentials;
    costs: SessionFunds;
    preCall: PreCallService;
    directory: Directory;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#choices = deps.choices;
    this.#slots = deps.slots;
    this.#credentials = deps.credentials;
    this.#costs = deps.costs;
    this.#preCall = deps.preCall;
    this.#directory = deps.directory;
    this.#clock = deps.clock;
  }

  /**
   * A web session, or a call that the client's own carrier logic will connect.
   * @throws ValidationError, ConflictError `invalid_state` (agent archived), TooManyRequestsError
   */
  async create(
    access: Access,
    body: CreateSessionBody,
  ): Promise<{ session: SessionRecord; credentials: Credentials }> {
    const agent = body.agent_id ? await this.#choices.agent(access, body.agent_id, null) : null;
    const scope = await this.#choices.scope(access, body, agent);
    await access.permit(scope, 'editor', { write: true });
    refuseArchived(agent);
    const telephony = body.channel === 'telephony';
    const carrier = telephony ? await this.#choices.carrier(scope, body.provider ?? null) : null;
    let issuing!: Promise<Credentials>;
    const session = await this.#insert({
      kind: telephony ? 'outbound' : 'web',
      scope,
      agent,
      models: await this.#choices.models(scope, agent, body),
      record: body.record,
      analysisIds: await this.#choices.analysisIds(scope, body.post_call_analysis_ids ?? null),
      variables: effectiveVariables(agent, body.variables ?? {}),
      lifeSeconds: telephony ? TICKET_LIFE_SECONDS : PARTICIPANT_TOKEN_LIFE_SECONDS,
      own: { provider: carrier?.provider ?? null, telephony_account_id: carrier?.accountId ?? null },
      // Nobody can use it before the answer, so that no event of its use comes before the first one.
      issue: (made) => (issuing = this.#credentials.issue(made)),
    });
    return { session, credentials: await issuing };
  }

  /**
   * A session for one connection to `/v1/realtime`, opened with an opaque token.
   * @param token one that its holder has already; a new one without it
   */
  async mint(access: Access, body: MintBody, token?: string): Promise<Minted> {
    const chosen = await this.#choices.agent(access, body.agent_id, body.user_identifier ?? null);
    const scope = await access.project(chosen.project_id);
    await access.permit(scope, 'editor', { write: true, feature: 'realtime_websocket' });
    refuseArchived(chosen);
    const agent = await this.#choices.version(chosen, body.agent_version ?? null);
    const order: NewSession = {
      kind: 'web',
      scope,
      agent,
      models: await this.#choices.models(scope, agent, {}),
      record: body.record,
      variables: effectiveVariables(agent, body.variables ?? {}),
      analysisIds: await this.#choices.analysisIds(scope, body.post_call_analysis_ids ?? null),
      lifeSeconds: body.expires_in_seconds,
      own: {
        user_identifier: body.user_identifier ?? null,
        audio: { input_format: body.input_format, output_format: body.output_format },
        client_tools: body.client_tools,
        tool_mocks: await this.#choices.toolMocks(scope, body.tool_mocks),
      },
    };
    return this.#mint(order, { credential: token });
  }

  /** As `mint`, for the request of the stock SDKs, which names an agent and nothing else that could be wrong. */
  async mintClientSecret(access: Access, body: ClientSecretBody): Promise<Minted> {
    try {
      return await this.mint(access, {
        agent_id: body.session.model,
        record: true,
        ...{ client_tools: true, tool_mocks: [] },
        input_format: body.session.audio?.input?.format ?? 'pcm16_24000',
        output_format: body.session.audio?.output?.format ?? 'pcm16_24000',
        expires_in_seconds: body.expires_after?.seconds ?? 600,
      });
    } catch (error) {
      throw error instanceof ValidationError ? new ValidationError(error.details.map(ofTheModel)) : error;
    }
  }

  /**
   * A session in which a test writes, or talks, to one version of an agent. Nothing of it is recorded, analysed or
   * delivered.
   * @throws ValidationError for a required variable without a value or a model that can't be used;
   *   TooManyRequestsError when no slot is free
   */
  async createForTest(
    agent: SessionAgent,
    test: {
      runId: string;
      channel: 'text' | 'voice';
      variables: Record<string, string>;
      toolMocks: PlanToolMock[];
      lifeSeconds: number;
    },
  ): Promise<Minted> {
    const scope = scopeOf(agent);
    return this.#mint({
      kind: 'test',
      scope,
      agent,
      models: await this.#choices.models(scope, agent, {}),
      record: false,
      variables: effectiveVariables(agent, test.variables),
      analysisIds: [],
      lifeSeconds: test.lifeSeconds,
      own: {
        test_run_id: test.runId,
        tool_mocks: JSON.stringify(test.toolMocks),
        ...(test.channel === 'voice' && SPOKEN_TEST),
      },
    });
  }

  /**
   * The same for a visitor of a public page: nobody in particular, nothing of their own but some variables.
   * @param visit.origin the only one that may use the token
   * @param visit.admit the last word, asked once there is a place
   * @throws TooManyRequestsError `concurrency_limit`; UnavailableError when slots can't be counted; what `admit`
   * throws
   */
  async mintForWidget(
    agent: SessionAgent,
    visit: { variables: Record<string, string>; origin: string; admit(): Promise<void> },
  ): Promise<Minted> {
    const scope = scopeOf(agent);
    return this.#mint(
      {
        kind: 'visitor',
        scope,
        agent,
        models: await this.#choices.models(scope, agent, {}),
        record: true,
        variables: effectiveVariables(agent, visit.variables),
        analysisIds: null,
        lifeSeconds: WIDGET_TOKEN_SECONDS,
        admit: () => visit.admit(),
      },
      { origin: visit.origin },
    );
  }

  /** The session of a call that a carrier has told of before. */
  knownInbound(call: Pick<InboundCall, 'accountId' | 'carrierCallId'>): Promise<SessionRecord | null> {
    return this.#store.findCall(call.accountId, call.carrierCallId);
  }

  /**
   * The session of a call that a carrier brought; the same call again is the same session.
   * @param maxConcurrent how many calls of the deployment there may be at once; null: as many as other limits allow
   * @throws TooManyRequestsError when no slot is free
   */
  createInbound(call: InboundCall, maxConcurrent: number | null): Promise<SessionRecord> {
    const deployment =
      maxConcurrent === null ? undefined : { id: call.inboundDeploymentId, limit: maxConcurrent };
    return this.#once(call, () =>
      this.#insert({ ...inboundOrder(call), record: true, lifeSeconds: TICKET_LIFE_SECONDS, deployment }),
    );
  }

  /**
   * The session of a call that a carrier brought and that no agent takes: it takes no slot and no money, and nobody can
   * join it. The same call again is the same session.
   * @param lifeSeconds how long it may last, where its carrier tells of no end
   */
  createTreated(call: InboundCall, treatment: SessionTreatment, lifeSeconds: number): Promise<SessionRecord> {
    const order: NewSession = { ...inboundOrder(call), record: false, lifeSeconds };
    return this.#once(call, () => this.#insertFree({ ...order, own: { ...order.own, treatment } }));
  }

  /**
   * The session of a call that waits to be dialled. It takes no slot and sets no money aside before its turn comes, and
   * does not count as a start: paces and places of dials are limits of their own.
   * @throws ValidationError for a required variable without a value or a model that can't be used
   */
  async createOutbound(call: DialledCall): Promise<SessionRecord> {
    const { agent, consult, dial } = call;
    const options: NewSession = {
      kind: 'dialled',
      scope: scopeOf(agent),
      agent,
      models: await this.#choices.models(scopeOf(agent), agent, {}),
      record: true,
      variables: consult ? {} : effectiveVariables(agent, call.variables),
      analysisIds: call.analysisIds,
      lifeSeconds: 0,
      own: {
        ...(consult && {
          ...{ parent_session_id: consult.parentId, consult: consult.consult },
          ...{ record: false, store_transcript: false },
          // The agent was told what it asks for before the caller's own call.
          pre_call: { state: 'done', deadline: new Date(this.#clock.now()) },
        }),
        provider: call.carrier,
        telephony_account_id: dial.account_id,
        phone_number_id: dial.number_id,
        from_number: call.from,
        to_number: call.to,
        campaign_id: call.campaignId,
        contact_id: call.contactId,
        attempt_number: call.attemptNumber,
        join_by: null,
        overrides: call.overrides,
        dial,
      },
    };
    return this.#insertFree(options, call.sessionId);
  }

  /** The session of a carrier's call: as it is known, or made. */
  async #once(call: InboundCall, make: () => Promise<SessionRecord>): Promise<SessionRecord> {
    const known = await this.knownInbound(call);
    if (known) return known;
    try {
      return await make();
    } catch (error) {
      // Two webhooks of the same call raced: the unique index let one of them through.
      const winner = await this.knownInbound(call);
      if (winner) return winner;
      throw error;
    }
  }

  /** Stores a session that takes nothing as long as nobody joins it. */
  async #insertFree(order: NewSession, sessionId?: string): Promise<SessionRecord> {
    const now = this.#clock.now();
    const project = await this.#directory.project(order.scope.projectId);
    return this.#store.insert(toRecord(order, sessionId ?? uuidV7(now), now, project, []));
  }

  async #mint(
    options: NewSession,
    bound: { origin?: string; credential?: string | undefined } = {},
  ): Promise<Minted> {
    const session = await this.#insert(options);
    const { lifeSeconds } = options;
    const issued = await this.#credentials.issueRealtimeToken(session, {
      lifeSeconds,
      ...bound,
    });
    return { session, ...issued };
  }

  async #insert(options: NewSession): Promise<SessionRecord> {
    const { kind, scope, agent } = options;
    const now = this.#clock.now();
    const sessionId = uuidV7(now);
    const accountId = options.own?.telephony_account_id ?? null;
    if (!STARTS_UNCOUNTED.includes(kind))
      await this.#slots.countStart({
        ...{ orgId: scope.orgId, projectId: scope.projectId },
        ...{ agentId: agent?.agent_id ?? null, accountId },
      });
    const project = await this.#directory.project(scope.projectId);
    const slots = await this.#slots.take(
      sessionId,
      {
        ...{ orgId: scope.orgId, projectId: scope.projectId, agent, visitor: kind === 'visitor' },
        deployment: options.deployment,
        accountId,
      },
      options.lifeSeconds,
    );
    const record = toRecord(options, sessionId, now, project, slots);
    let isStored = false;
    try {
      await options.admit?.();
      await this.#costs.reserve(record);
      const session = await this.#store.insert(record, async (made) => {
        isStored = true;
        await options.issue?.(made);
      });
      return await this.#preCall.start(session, agent);
    } catch (error) {
      await this.#slots.release(sessionId, slots);
      if (!isStored) await this.#costs.release(record);
      throw error;
    }
  }
}

function inboundOrder(call: InboundCall): Omit<NewSession, 'record' | 'lifeSeconds'> {
  const { agent } = call;
  return {
    kind: 'inbound',
    scope: scopeOf(agent),
    agent,
    models: { llm: agent.llm_id, stt: agent.stt_id, tts: agent.tts_id },
    variables: effectiveVariables(agent, call.variables, { required: false }),
    analysisIds: null,
    own: {
      provider: call.carrier,
      telephony_account_id: call.accountId,
      carrier_call_id: call.carrierCallId,
      phone_number_id: call.phoneNumberId,
      inbound_deployment_id: call.inboundDeploymentId,
      from_number: call.from,
      to_number: call.to,
    },
  };
}

/** @param slots buckets in which it holds a slot */
function toRecord(
  { kind, scope, agent, ...options }: NewSession,
  sessionId: string,
  nowMs: number,
  project: Awaited<ReturnType<Directory['project']>>,
  slots: string[],
): NewSessionRecord & FundedSession {
  const config = agent?.config ?? NO_AGENT.config;
  return {
    _id: sessionId,
    org_id: scope.orgId,
    project_id: scope.projectId,
    to_number: null,
    llm_id: options.models.llm,
    stt_id: options.models.stt,
    tts_id: options.models.tts,
    tts_voice_id: agent?.tts_voice_id ?? project?.default_voice_id ?? null,
    agent_id: agent?.agent_id ?? null,
    agent_version: agent?.version ?? null,
    status: 'created',
    record:
      options.record &&
      config.recording.enabled &&
      config.privacy.store_audio &&
      (project?.recording_enabled ?? true),
    store_transcript: config.privacy.store_transcript,
    retention_days: config.privacy.retention_days,
    post_call_analysis_ids: options.analysisIds,
    variables: options.variables,
    created_at: new Date(nowMs),
    join_by: new Date(nowMs + options.lifeSeconds * 1000),
    slot_scopes: slots,
    ...KINDS[kind],
    ...options.own,
  };
}

/** What is wrong with an agent, said of the field that names it to the stock SDKs. */
function ofTheModel({ loc, msg, type }: ValidationDetail): ValidationDetail {
  const field = loc.slice(1).join('.');
  return { loc: ['body', 'session', 'model'], msg: field === 'agent_id' ? msg : `${field}: ${msg}`, type };
}

function scopeOf(agent: SessionAgent): { orgId: string; projectId: string } {
  return { orgId: agent.org_id, projectId: agent.project_id };
}
