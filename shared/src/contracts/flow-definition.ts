import { z } from 'zod';
import { VARIABLE_OPS } from '../values/variable-comparison.ts';
import {
  agentConfigSchema,
  transferDestinationSchema,
  type AgentConfigInput,
  type TransferDestination,
} from './agent-config.ts';

/** The graph that an agent's calls go through: the same schema where it is stored and where it is run. */

const nodeId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z, a-z, 0-9, _ and -');
const variableName = z.string().min(1).max(64);
const recordId = z.string().min(1).max(120);
const config = agentConfigSchema.shape;

/** Sections of an agent's config that a node may change for itself. */
export const OVERRIDDEN_SECTIONS = ['interruption', 'turn_taking', 'silence', 'filler', 'llm'] as const;
export type OverriddenSection = (typeof OVERRIDDEN_SECTIONS)[number];

/** What a node may have otherwise than its agent: each setting by itself, with the defaults of a config. */
export const nodeOverridesSchema = z
  .strictObject({
    interruption: config.interruption,
    turn_taking: config.turn_taking,
    silence: config.silence,
    filler: config.filler,
    llm: config.llm,
    llm_id: recordId,
    tts_voice_id: z.string().min(1).max(200),
  })
  .partial();

/** What a node has otherwise than its agent. What a section does not say stays the agent's. */
export type NodeOverrides = { [Section in OverriddenSection]?: AgentConfigInput[Section] } & {
  llm_id?: string;
  tts_voice_id?: string;
};

/** Checked with the defaults of a config, and kept without them. */
const overrides = z
  .record(z.string(), z.unknown())
  .default({})
  .transform((sent, context): NodeOverrides => {
    const { error } = nodeOverridesSchema.safeParse(sent);
    for (const issue of error?.issues ?? []) context.addIssue({ ...issue });
    // It was found to be one just now; what was parsed has defaults in it.
    return sent as NodeOverrides;
  });

const common = {
  id: nodeId,
  name: z.string().max(120).default(''),
  /** In an editor. */
  position: z.strictObject({ x: z.number(), y: z.number() }).default({ x: 0, y: 0 }),
  /** For this node only. */
  overrides,
  /** Reachable from anywhere when the LLM finds the condition true. */
  global: z
    .strictObject({
      condition: z.string().min(1).max(1000),
      cooldown_turns: z.number().int().min(0).max(50).default(0),
      return: z.boolean().default(true),
    })
    .nullable()
    .default(null),
};

const collectField = z.strictObject({
  name: variableName,
  type: z.enum(['string', 'number', 'boolean', 'date', 'phone', 'email', 'enum', 'digits']).default('string'),
  description: z.string().max(500).default(''),
  options: z.array(z.string().min(1).max(100)).max(50).default([]),
  required: z.boolean().default(true),
  confirm: z.boolean().default(false),
});
export type CollectField = z.output<typeof collectField>;

const node = z.discriminatedUnion('type', [
  z.strictObject({
    ...common,
    type: z.literal('conversation'),
    prompt: z.string().max(20_000),
    use_global_prompt: z.boolean().default(true),
    tool_ids: z.array(recordId).max(30).default([]),
    knowledge_base_ids: z.array(recordId).max(10).default([]),
    max_turns: z.number().int().min(1).max(100).default(30),
  }),
  z
    .strictObject({
      ...common,
      type: z.literal('say'),
      text: z.string().max(2000).default(''),
      audio_asset_id: recordId.nullable().default(null),
      interruptible: z.boolean().default(true),
    })
    .refine((say) => say.text !== '' || say.audio_asset_id !== null, {
      path: ['text'],
      message: 'Field required',
    }),
  z.strictObject({
    ...common,
    type: z.literal('collect'),
    prompt: z.string().max(20_000).default(''),
    fields: z.array(collectField).min(1).max(20),
    input: z.enum(['speech', 'dtmf', 'both']).default('speech'),
    max_attempts: z.number().int().min(1).max(10).default(3),
  }),
  z.strictObject({
    ...common,
    type: z.literal('set'),
    assignments: z
      .array(z.strictObject({ name: variableName, value: z.string().max(4096) }))
      .min(1)
      .max(50),
  }),
  z.strictObject({
    ...common,
    type: z.literal('tool'),
    tool_id: recordId,
    // Names of a tool's arguments; they become fields of a stored document.
    arguments: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/), z.unknown()).default({}),
    result_variables: z
      .array(z.strictObject({ path: z.string().min(1).max(200), name: variableName }))
      .max(50)
      .default([]),
  }),
  z.strictObject({ ...common, type: z.literal('branch') }),
  z
    .strictObject({
      ...common,
      type: z.literal('transfer'),
      destination_id: z.string().min(1).max(64).nullable().default(null),
      destination: transferDestinationSchema.nullable().default(null),
    })
    .refine((transfer) => (transfer.destination_id === null) !== (transfer.destination === null), {
      path: ['destination_id'],
      message: 'exactly one of destination_id and destination is required',
    }),
  z.strictObject({
    ...common,
    type: z.literal('agent'),
    agent_id: recordId,
    pass_variables: z.boolean().default(true),
    pass_history: z.enum(['all', 'summary', 'none']).default('all'),
  }),
  z.strictObject({
    ...common,
    type: z.literal('wait'),
    event: z.string().min(1).max(64).nullable().default(null),
    timeout_seconds: z.number().int().min(1).max(600),
    hold_audio_asset_id: recordId.nullable().default(null),
  }),
  z.strictObject({
    ...common,
    type: z.literal('end'),
    message: z.string().max(2000).default(''),
    outcome: z.string().max(60).default(''),
  }),
]);
export type FlowNode = z.output<typeof node>;

const rule = z.strictObject({
  variable: z.string().min(1).max(64),
  op: z.enum(VARIABLE_OPS),
  value: z
    .union([z.string().max(1000), z.number(), z.boolean(), z.array(z.string().max(1000)).max(100)])
    .optional(),
});

const condition = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('always') }),
  z.strictObject({
    type: z.literal('expression'),
    logic: z.enum(['all', 'any']).default('all'),
    rules: z.array(rule).min(1).max(20),
  }),
  z.strictObject({ type: z.literal('dtmf'), digits: z.string().regex(/^[0-9*#]{1,32}$/) }),
  z.strictObject({ type: z.literal('event'), name: z.string().min(1).max(64) }),
  z.strictObject({ type: z.literal('silence'), count: z.number().int().min(1).max(10) }),
  z.strictObject({ type: z.literal('error') }),
  z.strictObject({ type: z.literal('llm'), prompt: z.string().min(1).max(1000) }),
]);

const edge = z.strictObject({
  id: nodeId,
  from: nodeId,
  to: nodeId,
  label: z.string().max(120).default(''),
  /** Lower first; equal ones in the order given. */
  priority: z.number().int().min(0).max(1000).default(100),
  condition,
  /** Spoken on the way. */
  say: z.string().max(1000).nullable().default(null),
});
export type FlowEdge = z.output<typeof edge>;

export const flowDefinitionSchema = z.strictObject({
  schema_version: z.literal(1).default(1),
  start_node_id: nodeId,
  global_prompt: z.string().max(20_000).default(''),
  /** Decides among edges with a condition for an LLM; null: the agent's own. */
  routing_llm_id: recordId.nullable().default(null),
  nodes: z.array(node).min(1).max(200),
  edges: z.array(edge).max(600).default([]),
});

export type FlowDefinition = z.output<typeof flowDefinitionSchema>;

/** Destinations that nodes bring along: the agent's config does not know them. */
export function destinationsIn({ nodes }: Pick<FlowDefinition, 'nodes'>): TransferDestination[] {
  return nodes.flatMap((one) => (one.type === 'transfer' && one.destination ? [one.destination] : []));
}

/** Agents that nodes name, by themselves or by their destinations. */
export function agentsIn(flow: Pick<FlowDefinition, 'nodes'>): string[] {
  return [
    ...flow.nodes.flatMap((one) => (one.type === 'agent' ? [one.agent_id] : [])),
    ...destinationsIn(flow).flatMap(({ target }) => (target.type === 'agent' ? [target.agent_id] : [])),
  ];
}

/** Audio assets that nodes play, the same one perhaps twice. */
export function assetsIn(flow: Pick<FlowDefinition, 'nodes'>): string[] {
  const played = flow.nodes.flatMap((one) => {
    if (one.type === 'say') return [one.audio_asset_id];
    return one.type === 'wait' ? [one.hold_audio_asset_id] : [];
  });
  const held = destinationsIn(flow).map((one) => (one.mode === 'warm' ? one.hold_audio_asset_id : null));
  return [...played, ...held].filter((id) => id !== null);
}
