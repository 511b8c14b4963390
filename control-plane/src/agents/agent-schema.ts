import { z } from 'zod';
import { agentConfigSchema } from '@parley/shared/contracts/agent-config';
import type { MaskedSecret } from '../crypto/secret-box.ts';
import { patchOf } from '../http/patch-schema.ts';
import { maybeTime, recordFields, time, timestamp, toTimes } from '../http/record-schema.ts';
import { maskedSecret } from '../http/value-schemas.ts';
import { describeConfig } from './agent-config-texts.ts';
import { flowJsonSchema } from './flow-definition-texts.ts';
import { fillConfig } from './agent-config-input.ts';
import type { AgentContent, AgentRecord, AgentVersionRecord } from './agent-record.ts';
import { maskHeaders } from './header-secrets.ts';

const modelId = z.string().min(1).max(120);

/** The JSON Schema of what a client may send, made when somebody asks for the description. */
function described(schema: () => z.ZodType) {
  return ({ jsonSchema }: { jsonSchema: object }) => {
    const { $schema: _, ...json } = z.toJSONSchema(schema(), { io: 'input', unrepresentable: 'any' });
    describeConfig(json, { defaults: true });
    Object.assign(jsonSchema, json);
  };
}

/** Checked on top of what is stored, so that a part of it can be sent; the answer shows every key. */
const configPatch = z.record(z.string(), z.unknown()).meta({
  id: 'AgentConfigPatch',
  description: 'Keys of AgentConfig to change; null resets a key to its default.',
  example: { greeting: { mode: 'caller_first' } },
  override: described(() => patchOf(agentConfigSchema.shape)),
});

/** Checked when it is stored, so that each fault is told at its place. */
const flowDefinition = z
  .record(z.string(), z.unknown())
  .meta({
    id: 'FlowDefinition',
    description: 'A graph of nodes and edges.',
    example: {
      start_node_id: 'bye',
      nodes: [{ id: 'bye', type: 'end', message: 'Goodbye.' }],
    },
    override: ({ jsonSchema }: { jsonSchema: object }) => void Object.assign(jsonSchema, flowJsonSchema()),
  })
  .nullable()
  .meta({
    description: 'A graph of nodes and edges that calls go through; null: the model alone leads them.',
  });

/** What an agent says and with what, each with its bounds. */
export const agentFields = {
  system_prompt: z.string().max(65_536),
  greeting: z.string().max(2000),
  llm_id: modelId,
  stt_id: modelId,
  tts_id: modelId,
  tts_voice_id: z.string().min(1).max(200).nullable(),
};

const writable = {
  name: z.string().trim().min(1).max(120).meta({ example: 'Order desk' }),
  ...agentFields,
  config: configPatch,
  flow_definition: flowDefinition,
};

export const createAgentRequest = z
  .strictObject(writable)
  .partial()
  .required({ name: true })
  .meta({ id: 'CreateAgentRequest' });
export const patchAgentRequest = patchOf(
  {
    ...writable,
    system_prompt: writable.system_prompt.default(''),
    greeting: writable.greeting.default(''),
  },
  ['config'],
).meta({ id: 'PatchAgentRequest' });
export type CreateAgentRequest = z.output<typeof createAgentRequest>;
export type PatchAgentRequest = z.output<typeof patchAgentRequest>;

/** Fields of the record that a client may send back. */
export const AGENT_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'version',
  'created_at',
  'updated_at',
  'archived_at',
  'auto_database_id',
] as const;

const agentConfigResponse = agentConfigSchema
  .extend({
    pre_call: agentConfigSchema.shape.pre_call
      .unwrap()
      .extend({ headers: z.record(z.string(), maskedSecret) }),
  })
  .meta({
    id: 'AgentConfig',
    override: ({ jsonSchema }: { jsonSchema: object }) => describeConfig(jsonSchema),
  });

export const agentResponse = z
  .object({
    id: z.string().meta({ example: 'agt_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    system_prompt: z.string(),
    greeting: z.string(),
    llm_id: z.string(),
    stt_id: z.string(),
    tts_id: z.string(),
    tts_voice_id: z.string().nullable(),
    config: agentConfigResponse,
    version: z.number().int(),
    flow_definition: flowDefinition,
    archived_at: maybeTime,
    auto_database_id: z.string().nullable(),
    ...recordFields,
  })
  .meta({ id: 'Agent' });

type MaskedConfig = ReturnType<typeof fillConfig> & {
  pre_call: { headers: Record<string, string> & Record<string, MaskedSecret> };
};

export function toAgentResponse(
  agent: AgentRecord,
  content: AgentContent = agent,
): z.input<typeof agentResponse> {
  const config = fillConfig({ config: content.config, webhooks: agent.webhooks });
  const masked = {
    ...config,
    pre_call: { ...config.pre_call, headers: maskHeaders(config.pre_call.headers) },
  };
  return {
    id: agent._id,
    org_id: agent.org_id,
    project_id: agent.project_id,
    name: content.name,
    system_prompt: content.system_prompt,
    greeting: content.greeting,
    llm_id: content.llm_id,
    stt_id: content.stt_id,
    tts_id: content.tts_id,
    tts_voice_id: content.tts_voice_id,
    config: masked as unknown as MaskedConfig,
    version: agent.version,
    flow_definition: content.flow_definition,
    archived_at: time(agent.archived_at),
    auto_database_id: agent.auto_database_id,
    ...toTimes(agent),
  };
}

const versionShape = {
  agent_id: z.string(),
  version: z.number().int(),
  label: z.string().nullable(),
  restored_from: z.number().int().nullable(),
  created_by: z.string(),
  created_at: timestamp,
};

export const versionSummaryResponse = z.object(versionShape).meta({ id: 'AgentVersionSummary' });
export const versionResponse = z
  .object({ ...versionShape, snapshot: z.record(z.string(), z.unknown()) })
  .meta({ id: 'AgentVersion' });

export function toVersionSummary(version: AgentVersionRecord): z.input<typeof versionSummaryResponse> {
  return {
    agent_id: version.agent_id,
    version: version.version,
    label: version.label,
    restored_from: version.restored_from,
    created_by: version.created_by,
    created_at: time(version.created_at),
  };
}

export function toVersionResponse(version: AgentVersionRecord): z.input<typeof versionResponse> {
  const { snapshot } = version;
  const { pre_call: preCall } = snapshot.config;
  const config = preCall?.headers
    ? { ...snapshot.config, pre_call: { ...preCall, headers: maskHeaders(preCall.headers) } }
    : snapshot.config;
  return { ...toVersionSummary(version), snapshot: { ...snapshot, config } };
}

export const patchVersionRequest = z
  .strictObject({ label: z.string().max(120).nullable() })
  .meta({ id: 'PatchAgentVersionRequest' });

export const trafficSchema = z
  .strictObject({
    mode: z.enum(['latest', 'pinned']).default('latest'),
    splits: z
      .array(z.strictObject({ version: z.number().int().min(1), weight: z.number().int().min(1).max(100) }))
      .max(4)
      .default([]),
    require_passed_tests: z.boolean().default(false),
  })
  .meta({ id: 'AgentTraffic' });

export const duplicateAgentRequest = z
  .strictObject({ name: writable.name.optional(), project_id: z.string().optional() })
  .meta({ id: 'DuplicateAgentRequest' });

const finding = z.object({
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
  type: z.string(),
});
export const validateAgentResponse = z
  .object({ valid: z.boolean(), errors: z.array(finding), warnings: z.array(finding) })
  .meta({ id: 'AgentValidation' });
