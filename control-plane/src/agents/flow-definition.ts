import { z } from 'zod';
import { agentConfigSchema, transferDestinationSchema } from '@parley/shared/contracts/agent-config';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { toValidationDetails } from '../http/validation.ts';
import { VARIABLE_OPS } from './variable-ops.ts';

const MAX_BYTES = 512 * 1024;

const nodeId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z, a-z, 0-9, _ and -');
const variableName = z.string().min(1).max(64);
const recordId = z.string().min(1).max(120);
const config = agentConfigSchema.shape;

const common = {
  id: nodeId,
  name: z.string().max(120).default(''),
  position: z.strictObject({ x: z.number(), y: z.number() }).default({ x: 0, y: 0 }),
  /** For this node only. */
  overrides: z
    .strictObject({
      interruption: config.interruption,
      turn_taking: config.turn_taking,
      silence: config.silence,
      filler: config.filler,
      llm: config.llm,
      llm_id: recordId,
      tts_voice_id: z.string().min(1).max(200),
    })
    .partial()
    .default({}),
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
    type: z.literal('end'),
    message: z.string().max(2000).default(''),
    outcome: z.string().max(60).default(''),
  }),
]);

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
  say: z.string().max(1000).nullable().default(null),
});

/** The graph of an agent. Node types are those that a call can run. */
export const flowDefinitionSchema = z.strictObject({
  schema_version: z.literal(1).default(1),
  start_node_id: nodeId,
  global_prompt: z.string().max(20_000).default(''),
  routing_llm_id: recordId.nullable().default(null),
  nodes: z.array(node).min(1).max(200),
  edges: z.array(edge).max(600).default([]),
});

export type FlowDefinition = z.output<typeof flowDefinitionSchema>;
type FlowNode = FlowDefinition['nodes'][number];

/** Something a flow names, and where. */
export interface FlowReference {
  kind: 'tool' | 'knowledge_base' | 'audio_asset' | 'agent' | 'llm';
  id: string;
  loc: (string | number)[];
}

/**
 * Checks the form of a flow and its graph; whether what it names exists is asked elsewhere.
 * @param agentConfig the agent's, for its transfer destinations
 */
export function checkFlow(
  definition: unknown,
  agentConfig: AgentConfig,
): { details: ValidationDetail[]; references: FlowReference[] } {
  const base = ['body', 'flow_definition'];
  if (Buffer.byteLength(JSON.stringify(definition)) > MAX_BYTES) {
    const msg = `must be at most ${MAX_BYTES} bytes`;
    return { details: [{ loc: base, msg, type: 'too_long' }], references: [] };
  }
  const parsed = flowDefinitionSchema.safeParse(definition, { reportInput: true });
  if (!parsed.success) return { details: toValidationDetails(parsed.error, base), references: [] };
  const flow = parsed.data;
  const details = checkGraph(flow, agentConfig).map(({ loc, msg, type }) => ({
    loc: [...base, ...loc],
    msg,
    type,
  }));
  const references = referencesOf(flow).map((reference) => ({
    ...reference,
    loc: [...base, ...reference.loc],
  }));
  return { details, references };
}

function checkGraph(flow: FlowDefinition, agentConfig: AgentConfig): ValidationDetail[] {
  const details: ValidationDetail[] = [];
  const report = (loc: (string | number)[], msg: string, type = 'flow_invalid') =>
    details.push({ loc, msg, type });
  const byId = new Map(flow.nodes.map((one) => [one.id, one]));

  for (const part of ['nodes', 'edges'] as const) {
    const seen = new Set<string>();
    for (const [index, { id }] of flow[part].entries()) {
      if (seen.has(id)) report([part, index, 'id'], 'must be unique', 'duplicate');
      seen.add(id);
    }
  }
  if (!byId.has(flow.start_node_id)) report(['start_node_id'], 'Node not found', 'reference_not_found');
  for (const [index, one] of flow.edges.entries()) {
    for (const end of ['from', 'to'] as const) {
      if (!byId.has(one[end])) report(['edges', index, end], 'Node not found', 'reference_not_found');
    }
  }

  const reachable = reachableFrom(flow, [
    flow.start_node_id,
    ...flow.nodes.filter((one) => one.global).map((one) => one.id),
  ]);
  const leaving = Map.groupBy(flow.edges, (one) => one.from);
  const destinations = new Map(agentConfig.transfer.destinations.map((one) => [one.id, one]));
  for (const [index, one] of flow.nodes.entries()) {
    if (!reachable.has(one.id)) report(['nodes', index], 'is not reachable from the start node');
    if (one.type === 'transfer' && one.destination_id !== null && !destinations.has(one.destination_id)) {
      report(['nodes', index, 'destination_id'], 'Transfer destination not found', 'reference_not_found');
    }
    const edges = leaving.get(one.id) ?? [];
    if (edges.length === 0 && needsEdge(one, destinations))
      report(['nodes', index], 'must have an outgoing edge');
    // Stable: edges of one priority stay in the order given.
    const sorted = edges.toSorted((a, b) => a.priority - b.priority);
    const always = sorted.findIndex((candidate) => candidate.condition.type === 'always');
    if (always !== -1 && always !== sorted.length - 1) {
      const where = flow.edges.indexOf(sorted[always]!);
      report(
        ['edges', where, 'condition'],
        "must have the lowest priority of its node's edges, as its condition is always",
      );
    }
    if (one.type === 'collect') {
      for (const [at, field] of one.fields.entries()) {
        const needsOptions = field.type === 'enum' && field.options.length === 0;
        if (needsOptions) report(['nodes', index, 'fields', at, 'options'], 'Field required', 'missing');
      }
    }
  }
  const looping = silentCycle(flow);
  if (looping !== null) {
    const index = flow.nodes.findIndex((one) => one.id === looping);
    report(['nodes', index], 'is part of a cycle in which no node waits for the caller');
  }
  return details;
}

function needsEdge(
  one: FlowNode,
  destinations: ReadonlyMap<string, { on_failure: 'return' | 'hangup' | 'voicemail' }>,
): boolean {
  if (one.type === 'end') return false;
  if (one.type !== 'transfer') return true;
  const destination = one.destination ?? destinations.get(one.destination_id ?? '');
  return destination?.on_failure === 'return';
}

function reachableFrom(flow: FlowDefinition, starts: readonly string[]): Set<string> {
  const next = Map.groupBy(flow.edges, (one) => one.from);
  const seen = new Set<string>();
  const open = [...starts];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    open.push(...(next.get(id) ?? []).map((one) => one.to));
  }
  return seen;
}

/** A node of a cycle made only of nodes that pass at once, joined by `always`; null when there is none. */
function silentCycle(flow: FlowDefinition): string | null {
  const passing = new Set(
    flow.nodes.filter((one) => one.type === 'say' || one.type === 'branch').map((one) => one.id),
  );
  const next = new Map<string, string>();
  for (const one of flow.edges) {
    if (one.condition.type === 'always' && passing.has(one.from) && passing.has(one.to))
      next.set(one.from, one.to);
  }
  // Each node has at most one such edge, so a walk of as many steps as there are nodes has gone round.
  for (const start of passing) {
    let at: string | undefined = start;
    for (let step = 0; step <= passing.size && at !== undefined; step++) at = next.get(at);
    if (at !== undefined) return at;
  }
  return null;
}

function referencesOf(flow: FlowDefinition): FlowReference[] {
  const references: FlowReference[] = [];
  const add = (kind: FlowReference['kind'], id: string | null | undefined, loc: (string | number)[]) => {
    if (id != null) references.push({ kind, id, loc });
  };
  add('llm', flow.routing_llm_id, ['routing_llm_id']);
  for (const [index, one] of flow.nodes.entries()) {
    const loc = ['nodes', index];
    add('llm', one.overrides.llm_id, [...loc, 'overrides', 'llm_id']);
    if (one.type === 'conversation') {
      for (const [at, id] of one.tool_ids.entries()) add('tool', id, [...loc, 'tool_ids', at]);
      for (const [at, id] of one.knowledge_base_ids.entries())
        add('knowledge_base', id, [...loc, 'knowledge_base_ids', at]);
    }
    if (one.type === 'tool') add('tool', one.tool_id, [...loc, 'tool_id']);
    if (one.type === 'say') add('audio_asset', one.audio_asset_id, [...loc, 'audio_asset_id']);
    if (one.type === 'transfer' && one.destination) {
      const { target, hold_audio_asset_id: hold } = one.destination;
      if (target.type === 'agent')
        add('agent', target.agent_id, [...loc, 'destination', 'target', 'agent_id']);
      add('audio_asset', hold, [...loc, 'destination', 'hold_audio_asset_id']);
    }
  }
  return references;
}
