import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { CallPrices } from '@parley/shared/contracts/call-prices';
import type { recordingStoreSchema } from '@parley/shared/contracts/recordings';
import { EVENT_INDEXES_PER_LEG, type SessionPlanWire } from '@parley/shared/contracts/session-plan';
import type { Turn } from '@parley/shared/contracts/turn';
import type { z } from 'zod';
import { toNano } from '../billing/money.ts';
import type { ModelCatalog, PlanProviderWire } from '../providers/model-catalog.ts';
import { WIDGET_SESSION_SECONDS } from './visitor-limits.ts';
import { NO_AGENT, type SessionAgent } from './session-agent.ts';
import { TEXT_TRANSPORT, type SessionRecord } from './session-record.ts';

export interface PlanFacts {
  session: SessionRecord;
  agent: SessionAgent | null;
  /** IANA name, for sessions whose agent sets none. */
  projectTimezone: string;
  claimId: string;
  leg: number;
  /** The leg's own: the same for every repetition. */
  recording: { _id: string; key: string; format: 'wav' | 'mp3' };
  recordingStore: z.infer<typeof recordingStoreSchema>;
  history: Turn[];
  providers: PlanProviders;
  flow: SessionPlanWire['flow'];
  /** Null: nothing is counted. */
  prices: (CallPrices & { spent: number }) | null;
  tools: SessionPlanWire['tools'];
  /** Of the agent's, those that its org may use. */
  knowledgeBaseIds: readonly string[];
  memories: readonly { kind: string; content: string; created_at: Date }[];
  /** What the agent notes of the person would be kept. */
  mayNote: boolean;
  toolCallLimits: NonNullable<SessionPlanWire['limits']['tool_calls']>;
  /** By id: those that are ready. */
  assets: Record<string, PlanAsset>;
  outboundAllow: readonly string[];
}

export interface PlanProviders {
  stt: PlanProviderWire[];
  llm: PlanProviderWire[];
  tts: PlanProviderWire[];
  /** By BCP 47 tag: those of which a model can be used now. */
  languages: NonNullable<SessionPlanWire['languages']>;
}

/** Session, agent version and what they name, put together for the gateway (pure). */
export function toSessionPlan(facts: PlanFacts): SessionPlanWire {
  const { session, agent, leg } = facts;
  const config = agent?.config ?? NO_AGENT.config;
  const inbound = session.direction === 'inbound';
  return {
    v: 1,
    session_id: session._id,
    org_id: session.org_id,
    project_id: session.project_id,
    channel: session.channel,
    direction: session.direction,
    provider: session.provider,
    room_name: roomName(session),
    claim_id: facts.claimId,
    leg,
    first_event_index: leg * EVENT_INDEXES_PER_LEG,
    history: facts.history,
    known_history: knownHistoryOf(session),
    answered_at: session.started_at?.toISOString() ?? null,
    returned_from: session.transfer?.outcome === 'failed' ? (session.transfer.destination_id ?? null) : null,
    agent: {
      agent_id: agent?.agent_id ?? null,
      version: agent?.version ?? null,
      name: agent?.name ?? NO_AGENT.name,
      system_prompt: agent?.system_prompt ?? NO_AGENT.system_prompt,
      greeting: agent?.greeting ?? NO_AGENT.greeting,
      // What the gateway has no use for stays here: addresses and headers of calls that the control plane makes.
      config: {
        ...config,
        pre_call: NO_AGENT.config.pre_call,
        webhooks: NO_AGENT.config.webhooks,
        memory: { ...config.memory, write: facts.mayNote },
      },
    },
    flow: facts.flow,
    memories: facts.memories.map(({ kind, content, created_at }) => ({
      kind,
      content,
      noted_at: created_at.toISOString(),
    })),
    knowledge: { base_ids: [...facts.knowledgeBaseIds] },
    assets: facts.assets,
    variables: session.variables,
    trusted_variables: session.trusted_variables ?? [],
    system: {
      caller_number: inbound ? session.from_number : session.to_number,
      called_number: inbound ? session.to_number : session.from_number,
      timezone: config.timezone ?? facts.projectTimezone,
      attempt_number: session.attempt_number,
      user_identifier: session.user_identifier,
    },
    ...answerDetectionOf(facts),
    stt: facts.providers.stt,
    llm: facts.providers.llm,
    tts: facts.providers.tts,
    languages: facts.providers.languages,
    tools: facts.tools,
    tool_mocks:
      session.tool_mocks === null
        ? []
        : (JSON.parse(session.tool_mocks) as NonNullable<SessionPlanWire['tool_mocks']>),
    text_only: session.transport === TEXT_TRANSPORT,
    redaction: { kinds: config.privacy.redact, before_llm: config.privacy.redact_before_llm },
    record: {
      enabled: session.record && session.erased_at === null,
      recording_id: facts.recording._id,
      channels: config.recording.channels,
      format: facts.recording.format,
      store: facts.recordingStore,
      key: facts.recording.key,
    },
    ...(facts.prices && {
      prices: { ...facts.prices, ceiling: ceilingOf(config.limits.max_cost_amount) },
    }),
    limits: {
      max_duration_seconds: session.widget
        ? Math.min(config.limits.max_duration_seconds, WIDGET_SESSION_SECONDS)
        : config.limits.max_duration_seconds,
      max_cost_amount: config.limits.max_cost_amount,
      client_overrides:
        session.channel === 'web'
          ? [...(session.client_tools ? (['tools'] as const) : []), 'voice', 'turn_detection']
          : [],
      tool_calls: facts.toolCallLimits,
    },
    ...(session.audio ? { audio: session.audio } : {}),
    outbound_allow: [...facts.outboundAllow],
  };
}

/** The session with the models of the agent that speaks: its own agent's were chosen when it was made. */
export function withModelsOf(session: SessionRecord, agent: SessionAgent | null): SessionRecord {
  if (!agent || !session.hand_overs?.length || agent.agent_id === session.agent_id) return session;
  const { llm_id, stt_id, tts_id, tts_voice_id } = agent;
  return { ...session, llm_id, stt_id, tts_id, tts_voice_id };
}

/** The variables of a session that the agent knows which speaks: an agent that took over may not have been given all. */
export function visibleVariables({ variables, hand_overs: agents }: SessionRecord): Record<string, string> {
  const hidden = new Map(agents?.flatMap((one) => one.hidden_variables ?? []));
  // What was set anew since is known to whoever speaks.
  return Object.fromEntries(Object.entries(variables).filter(([name, value]) => hidden.get(name) !== value));
}

/** What the model of the agent that speaks may know of earlier turns; null: all. */
function knownHistoryOf({ hand_overs: agents }: SessionRecord): SessionPlanWire['known_history'] {
  const last = agents?.findLast(({ summary }) => summary !== undefined);
  return last ? { from_index: last.from_index, summary: last.summary! } : null;
}

/** Of outbound telephone calls whose agent is to find out who has answered; a later leg goes on with whoever it was. */
function answerDetectionOf({ session, agent, leg }: PlanFacts): Pick<SessionPlanWire, 'answer_detection'> {
  const { enabled, decide_within_seconds: seconds } = (agent?.config ?? NO_AGENT.config).answer_detection;
  if (!enabled || leg > 0 || session.channel !== 'telephony' || session.direction !== 'outbound') return {};
  // A carrier is asked in the request that dials: a registered call was dialled by somebody else.
  const carrier = session.dial ? 'async' : 'none';
  return { answer_detection: { deadline_ms: seconds * 1000, carrier } };
}

/** A limit in 10⁻⁹ of the currency, or the largest there is. */
function ceilingOf(amount: string | null): number | null {
  return amount === null ? null : Math.min(Number(toNano(amount)), Number.MAX_SAFE_INTEGER);
}

/** The room of a web session; a phone call has none. */
export function roomName(session: Pick<SessionRecord, '_id' | 'channel'>): string | null {
  return session.channel === 'web' ? `room_${session._id}` : null;
}

/**
 * Addresses and credentials of the session's models, fallbacks behind them. Fallbacks that can't be used now are left
 * out; the first of each kind must be there, and any voice.
 * @throws ModelUnavailableError
 */
export async function resolveProviders(
  catalog: Pick<ModelCatalog, 'resolve'>,
  session: SessionRecord,
  agent: SessionAgent | null,
): Promise<PlanProviders> {
  const config = agent?.config ?? NO_AGENT.config;
  const language = config.language.primary;
  const sttUse = (language: string) => ({
    language,
    options: {
      keywords: config.stt.keywords,
      ...(config.stt.endpointing_ms === null ? {} : { endpointing_ms: config.stt.endpointing_ms }),
    },
  });
  const resolve = (id: string, use: Parameters<ModelCatalog['resolve']>[2]) =>
    catalog.resolve(session.org_id, id, { ...use, projectId: session.project_id });
  const stts = (first: string, language: string) =>
    Promise.all([first, ...config.stt.fallback_stt_ids].map((id) => resolve(id, sttUse(language))));
  const voices = (ttsId: string, voiceId: string | null, primary: string) => {
    const spoken = { ...config, language: { ...config.language, primary } };
    return Promise.all([
      resolve(ttsId, ttsUse(spoken, voiceId)),
      ...config.tts.fallback_voices.map((voice) => resolve(voice.tts_id, ttsUse(spoken, voice.tts_voice_id))),
    ]);
  };
  const languages = config.language.additional.map(async (tag) => {
    const own = config.language.voices[tag];
    const voice = own?.tts_voice_id ?? (own?.tts_id === undefined ? session.tts_voice_id : null);
    const [stt, tts] = await Promise.all([
      stts(own?.stt_id ?? session.stt_id, tag),
      voices(own?.tts_id ?? session.tts_id, voice, tag),
    ]);
    const part = {
      stt: stt.filter((one) => one !== undefined),
      tts: tts.filter((one) => one !== undefined),
      greeting: own?.greeting ?? null,
    };
    return part.stt.length === 0 || part.tts.length === 0 ? [] : [[tag, part] as const];
  });
  return {
    languages: Object.fromEntries((await Promise.all(languages)).flat()),
    stt: present(session.stt_id, await stts(session.stt_id, language)),
    llm: present(
      session.llm_id,
      await Promise.all(
        [session.llm_id, ...config.llm.fallback_llm_ids].map((id) => resolve(id, llmUse(config))),
      ),
    ),
    // A voice may have been withdrawn by those who lent it: that is what fallback voices are for.
    tts: anyPresent(session.tts_id, await voices(session.tts_id, session.tts_voice_id, language)),
  };
}

/** A model that a call may use, by what it does, and the provider's own id of its voice. */
export interface PlannedModel {
  kind: 'stt' | 'llm' | 'tts';
  model_id: string;
  voice?: string;
}

/** All models of a plan, each once; those that the call begins with first. */
export function modelsOf(
  { stt, llm, tts, languages }: PlanProviders,
  flow: SessionPlanWire['flow'],
): PlannedModel[] {
  const others = Object.values(languages);
  const used = {
    stt: [...stt, ...others.flatMap((one) => one.stt)],
    llm: [...llm, ...Object.values(flow?.llms ?? {})],
    tts: [...tts, ...others.flatMap((one) => one.tts), ...Object.values(flow?.voices ?? {})],
  };
  const found = new Map<string, PlannedModel>();
  for (const kind of ['stt', 'llm', 'tts'] as const)
    for (const { id, voice } of used[kind])
      found.set(`${id} ${voice ?? ''}`, { kind, model_id: id, ...(voice !== undefined && { voice }) });
  return [...found.values()];
}

/** How an agent's language models are used. */
export function llmUse({ language, llm }: AgentConfig) {
  const { temperature, max_output_tokens, request_timeout_ms } = llm;
  return { language: language.primary, options: { temperature, max_output_tokens, request_timeout_ms } };
}

/** How an agent's voices are used. */
export function ttsUse({ language, tts: { speed, volume, stability } }: AgentConfig, voice: string | null) {
  const options = { speed, volume, ...(stability === null ? {} : { stability }) };
  return { language: language.primary, voice, options };
}

function anyPresent(id: string, providers: (PlanProviderWire | undefined)[]): PlanProviderWire[] {
  const usable = providers.filter((provider) => provider !== undefined);
  if (usable.length === 0) throw new ModelUnavailableError(id);
  return usable;
}

function present(id: string, providers: (PlanProviderWire | undefined)[]): PlanProviderWire[] {
  if (!providers[0]) throw new ModelUnavailableError(id);
  return providers.filter((provider) => provider !== undefined);
}

/** A model that was there when the session was made can't be used any more. */
export class ModelUnavailableError extends Error {
  readonly modelId: string;

  constructor(modelId: string) {
    super(`The model ${modelId} cannot be used: it has no credentials or is disabled.`);
    this.name = 'ModelUnavailableError';
    this.modelId = modelId;
  }
}
