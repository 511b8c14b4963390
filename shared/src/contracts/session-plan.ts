import { z } from 'zod';
import { Secret } from '../config/secret.ts';
import { agentConfigSchema } from './agent-config.ts';
import { planAnswerDetectionSchema } from './answer-detection.ts';
import { planAssetSchema } from './audio-assets.ts';
import { callPricesSchema, nanoSchema } from './call-prices.ts';
import { planConsultSchema } from './consult.ts';
import { flowDefinitionSchema } from './flow-definition.ts';
import { flowStateSchema } from './flow-state.ts';
import { carrierSchema, channelSchema, directionSchema, providerSchema } from './session-values.ts';
import { recordingStoreSchema } from './recordings.ts';
import { redactionKindSchema } from '../redaction/kinds.ts';
import { turnSchema } from './turn.ts';

const secret = z.string().transform((value) => new Secret(value));

/** One model at one address. The gateway has no provider settings of its own: everything comes from here. */
export const planProviderSchema = z.object({
  /** Model id (`stt_…`, `llm_…`, `tts_…`). */
  id: z.string(),
  provider: providerSchema,
  /** An emulator stands behind `base_url`. */
  emulated: z.boolean(),
  /** For OpenAI-compatible ones with `/v1`; `http(s)` for WebSocket providers too; empty for flite. */
  base_url: z.string(),
  /** The tenant gave this address, not the installation: it may only be a public one. */
  tenant_address: z.boolean().default(false),
  credential: secret.nullable(),
  model: z.string(),
  /** Provider's own voice id (TTS). */
  voice: z.string().optional(),
  language: z.string(),
  /** Passed to the provider where its adapter knows the key. */
  options: z.record(z.string(), z.unknown()).default({}),
});
export type PlanProvider = z.output<typeof planProviderSchema>;

export const planToolSchema = z.object({
  tool_id: z.string(),
  /** Function name told to the LLM. */
  name: z.string(),
  description: z.string(),
  /** JSON Schema of the arguments. */
  parameters: z.record(z.string(), z.unknown()),
  /** Whether the model has it throughout the call; otherwise only in the nodes of the flow that name it. */
  attached: z.boolean().default(true),
  type: z.enum(['webhook', 'app', 'mcp']),
  /** Of an MCP server: its own name of the tool; of an app: the action. */
  function: z.string().optional(),
  webhook: z
    .object({
      url: z.string(),
      method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
      /** Values are secrets. */
      headers: z.record(z.string(), secret),
      auth: z
        .discriminatedUnion('type', [
          z.object({ type: z.literal('none') }),
          z.object({ type: z.literal('bearer'), token: secret }),
          z.object({ type: z.literal('basic'), username: z.string(), password: secret }),
          z.object({ type: z.literal('header'), name: z.string(), value: secret }),
          z.object({ type: z.literal('hmac'), secret }),
        ])
        .default({ type: 'none' }),
      body_template: z.string().optional(),
      query_template: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  execution: z
    .object({
      mode: z.enum(['sync', 'async']).default('sync'),
      timeout_ms: z.number().int().min(500).max(60_000).default(8000),
      retries: z.number().int().min(0).max(3).default(0),
      say_before: z.string().default(''),
      confirm: z.boolean().default(false),
    })
    .prefault({}),
  response: z
    .object({
      max_characters: z.number().int().min(100).max(20_000).default(4000),
      assign: z.array(z.object({ path: z.string(), name: z.string() })).default([]),
    })
    .prefault({}),
});
export type PlanTool = z.output<typeof planToolSchema>;

/**
 * What is answered in place of a tool, in an agent test or where somebody tries an agent. The gateway never calls a function that has one: the first whose `match`
 * the arguments hold answers, and without one the call fails with the code `no_mock_matched`.
 */
export const planToolMockSchema = z.object({
  tool_id: z.string(),
  /** `function` of the plan's tool; null: each of the tool's. */
  function: z.string().nullable().default(null),
  /** A subset of the arguments; see isSubset of shared/src/json. */
  match: z.record(z.string(), z.unknown()).default({}),
  /** As the tool's own answer: text as it is, everything else as JSON. */
  result: z.unknown().default(null),
  /** The tool fails with these words instead. */
  error: z.string().nullable().default(null),
});
export type PlanToolMock = z.output<typeof planToolMockSchema>;

/** The flow of an agent, with the models and voices that its nodes name. */
export const planFlowSchema = z.object({
  definition: flowDefinitionSchema,
  /** By model id. One that cannot be used is not there: the agent's own stands in. */
  llms: z.record(z.string(), planProviderSchema).default({}),
  /** The agent's TTS with other voices, by voice id. */
  voices: z.record(z.string(), planProviderSchema).default({}),
  /** Where earlier legs have come to; null: the flow begins. */
  state: flowStateSchema.nullable().default(null),
});
export type PlanFlow = z.output<typeof planFlowSchema>;

/**
 * Everything a gateway needs for one conversation, given once the credential was claimed.
 * Secret as a whole: held in memory, never logged, streamed or stored.
 */
export const sessionPlanSchema = z.object({
  v: z.literal(1),
  session_id: z.uuid(),
  org_id: z.string(),
  project_id: z.string(),
  channel: channelSchema,
  direction: directionSchema,
  provider: carrierSchema.nullable(),
  room_name: z.string().nullable(),
  claim_id: z.string(),
  /** 1, 2… on rejoin or return from a transfer. */
  leg: z.number().int().min(0),
  /** `leg * 100_000`: indexes rise over legs, gaps between legs are normal. */
  first_event_index: z.number().int().min(0),
  /** What was said on earlier legs. */
  history: z.array(turnSchema),
  /** What the model is told of the history: turns from here on, and in short what was before; null: all. */
  known_history: z
    .object({ from_index: z.number().int().min(0), summary: z.string() })
    .nullable()
    .default(null),
  /** When the first leg was answered; null on leg 0. */
  answered_at: z.string().nullable().default(null),
  /** The destination of a transfer that failed while the carrier had the caller, who is back with this leg. */
  returned_from: z.string().nullable().default(null),
  agent: z.object({
    agent_id: z.string().nullable(),
    version: z.number().int().nullable(),
    name: z.string(),
    /** Placeholders are not rendered yet. */
    system_prompt: z.string(),
    greeting: z.string(),
    config: agentConfigSchema,
  }),
  /** What the call goes through; null: the model alone leads it. */
  flow: planFlowSchema.nullable().default(null),
  /** What is known of the far end from earlier calls: data for the prompt, never instructions. */
  memories: z.array(z.object({ kind: z.string(), content: z.string(), noted_at: z.string() })).default([]),
  /** Knowledge bases that the agent may look things up in. */
  knowledge: z.object({ base_ids: z.array(z.string()) }).default({ base_ids: [] }),
  /** Audio that the call may play, by id. */
  assets: z.record(z.string(), planAssetSchema).default({}),
  variables: z.record(z.string(), z.string()),
  /** Names of variables that the request before the call, tools or the flow have given: these may hold a number to transfer to. */
  trusted_variables: z.array(z.string()).default([]),
  system: z.object({
    /** The person's number, whoever called. */
    caller_number: z.string().nullable(),
    called_number: z.string().nullable(),
    timezone: z.string(),
    attempt_number: z.number().int(),
    user_identifier: z.string().nullable(),
  }),
  /** Outbound calls whose far end the agent listens to before it greets. */
  answer_detection: planAnswerDetectionSchema.optional(),
  /** The call is to somebody whom a caller is to be transferred to, and is no conversation with the agent. */
  consult: planConsultSchema.optional(),
  /** `[0]` is in use, the rest are fallbacks in order. */
  stt: z.array(planProviderSchema).min(1),
  llm: z.array(planProviderSchema).min(1),
  tts: z.array(planProviderSchema).min(1),
  /** Further languages that the call may change to, by BCP 47 tag, each with what takes the place of the above. */
  languages: z
    .record(
      z.string(),
      z.object({
        stt: z.array(planProviderSchema).min(1),
        tts: z.array(planProviderSchema).min(1),
        /** Placeholders are not rendered yet; null: the agent has none in this language. */
        greeting: z.string().nullable(),
      }),
    )
    .default({}),
  tools: z.array(planToolSchema),
  /** Of an agent test. */
  tool_mocks: z.array(planToolMockSchema).default([]),
  /** The far end writes and reads (agent tests): the gateway neither listens nor speaks. */
  text_only: z.boolean().default(false),
  /** What is masked in all that is reported of the call, and whether the LLM gets it masked as well. */
  redaction: z
    .object({ kinds: z.array(redactionKindSchema).default([]), before_llm: z.boolean().default(false) })
    .prefault({}),
  record: z.object({
    enabled: z.boolean(),
    recording_id: z.string(),
    channels: z.enum(['dual', 'mono']),
    format: z.enum(['wav', 'mp3']),
    store: recordingStoreSchema,
    key: z.string(),
    settings: z.record(z.string(), z.unknown()).optional(),
  }),
  /** What the call costs, for the gateway to count; without it nothing is counted. */
  prices: callPricesSchema
    .extend({
      /** At which the call ends; null: never. */
      ceiling: nanoSchema.nullable(),
      /** Of earlier legs. */
      spent: nanoSchema,
    })
    .optional(),
  limits: z.object({
    max_duration_seconds: z.number().int(),
    max_cost_amount: z.string().nullable(),
    client_overrides: z.array(z.enum(['tools', 'voice', 'turn_detection'])),
    /** How many tools may run in a window, over all calls that share the bucket. */
    tool_calls: z
      .array(z.object({ bucket: z.string(), limit: z.number().int(), window_seconds: z.number().int() }))
      .default([]),
  }),
  /** For realtime sessions: the audio formats fixed at mint time, if they were. */
  audio: z
    .object({
      input_format: z.enum(['pcm16_24000', 'pcmu_8000', 'pcma_8000']),
      output_format: z.enum(['pcm16_24000', 'pcmu_8000', 'pcma_8000']),
    })
    .optional(),
  /** The installation's allow-list for tool addresses: exact origins. */
  outbound_allow: z.array(z.string()),
});

/** As parsed, with secrets wrapped. */
export type SessionPlan = z.output<typeof sessionPlanSchema>;
/** As sent by the control plane, secrets in the clear: only ever on the internal listener. */
export type SessionPlanWire = z.input<typeof sessionPlanSchema>;

/** Events of leg `n` start here. */
export const EVENT_INDEXES_PER_LEG = 100_000;
