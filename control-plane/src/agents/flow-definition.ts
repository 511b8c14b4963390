import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import {
  flowDefinitionSchema,
  type CollectField,
  type FlowDefinition,
  type FlowNode,
} from '@parley/shared/contracts/flow-definition';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { agentConfigSchema } from '@parley/shared/contracts/agent-config';
import { OVERRIDDEN_SECTIONS } from '@parley/shared/contracts/flow-definition';
import { toValidationDetails } from '../http/validation.ts';

const MAX_BYTES = 512 * 1024;

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
  const found = [
    ...checkGraph(flow, agentConfig),
    ...checkOverrides(flow, agentConfig),
    ...checkVariables(flow),
  ];
  const details = found.map(({ loc, msg, type }) => ({
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
    if (flow.nodes.find(({ id }) => id === one.from)?.type === 'end')
      report(['edges', index, 'from'], 'must not be a node of the type end, which ends the call');
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
  }
  const looping = silentCycle(flow);
  if (looping !== null) {
    const index = flow.nodes.findIndex((one) => one.id === looping);
    report(['nodes', index], 'is part of a cycle in which no node waits for the caller');
  }
  return details;
}

/** Types of fields that cannot be entered with the keys of a telephone. */
const SPOKEN_ONLY: readonly CollectField['type'][] = ['string', 'email'];

/** What is wrong with the fields of nodes that collect values, and with names of variables that nodes set. */
function checkVariables(flow: FlowDefinition): ValidationDetail[] {
  const details: ValidationDetail[] = [];
  const report = (loc: (string | number)[], msg: string, type = 'flow_invalid') =>
    details.push({ loc, msg, type });
  for (const [index, one] of flow.nodes.entries()) {
    const [list, named] = variablesOf(one);
    for (const [at, { name }] of named.entries()) {
      const loc = ['nodes', index, list, at, 'name'];
      if (name.startsWith('system.'))
        report(loc, 'must not begin with "system.": such variables are read-only');
      if (one.type === 'collect' && named.findIndex((other) => other.name === name) < at)
        report(loc, 'must be unique', 'duplicate');
    }
    if (one.type !== 'collect') continue;
    for (const [at, { type, options }] of one.fields.entries()) {
      const loc = ['nodes', index, 'fields', at];
      if (type === 'enum' && options.length === 0) report([...loc, 'options'], 'Field required', 'missing');
      if (type !== 'enum' && options.length > 0)
        report([...loc, 'options'], 'must be empty unless the type is enum');
      if (one.input === 'dtmf' && SPOKEN_ONLY.includes(type))
        report([...loc, 'type'], `cannot be entered with keys alone: use input "both" or "speech"`);
    }
  }
  return details;
}

/** The variables that a node sets, and the field that lists them. */
function variablesOf(one: FlowNode): [string, readonly { name: string }[]] {
  if (one.type === 'set') return ['assignments', one.assignments];
  if (one.type === 'tool') return ['result_variables', one.result_variables];
  return ['fields', one.type === 'collect' ? one.fields : []];
}

/** Sections of overrides must fit those of the agent. */
function checkOverrides(flow: FlowDefinition, agentConfig: AgentConfig): ValidationDetail[] {
  return flow.nodes.flatMap(({ overrides }, index) =>
    OVERRIDDEN_SECTIONS.flatMap((section) => {
      if (overrides[section] === undefined) return [];
      const merged = { ...agentConfig[section], ...overrides[section] };
      const parsed = agentConfigSchema.safeParse(
        { ...agentConfig, [section]: merged },
        { reportInput: true },
      );
      const found = parsed.success ? [] : toValidationDetails(parsed.error, ['body', 'config']);
      return found.map((detail) => ({
        ...detail,
        loc: ['nodes', index, 'overrides', ...detail.loc.slice(2)],
      }));
    }),
  );
}

function needsEdge(
  one: FlowNode,
  destinations: ReadonlyMap<string, { on_failure: 'return' | 'hangup' | 'voicemail' }>,
): boolean {
  if (one.type === 'end' || one.type === 'agent') return false;
  // It goes back by itself.
  if (one.global?.return === true) return false;
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
    flow.nodes.filter(({ type }) => ['say', 'branch', 'set'].includes(type)).map((one) => one.id),
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
    for (const [at, id] of (one.overrides.llm?.fallback_llm_ids ?? []).entries())
      add('llm', id, [...loc, 'overrides', 'llm', 'fallback_llm_ids', at]);
    if (one.type === 'conversation') {
      for (const [at, id] of one.tool_ids.entries()) add('tool', id, [...loc, 'tool_ids', at]);
      for (const [at, id] of one.knowledge_base_ids.entries())
        add('knowledge_base', id, [...loc, 'knowledge_base_ids', at]);
    }
    if (one.type === 'agent') add('agent', one.agent_id, [...loc, 'agent_id']);
    if (one.type === 'tool') add('tool', one.tool_id, [...loc, 'tool_id']);
    if (one.type === 'say') add('audio_asset', one.audio_asset_id, [...loc, 'audio_asset_id']);
    if (one.type === 'wait') add('audio_asset', one.hold_audio_asset_id, [...loc, 'hold_audio_asset_id']);
    if (one.type === 'transfer' && one.destination) {
      const { target, hold_audio_asset_id: hold } = one.destination;
      if (target.type === 'agent')
        add('agent', target.agent_id, [...loc, 'destination', 'target', 'agent_id']);
      add('audio_asset', hold, [...loc, 'destination', 'hold_audio_asset_id']);
    }
  }
  return references;
}
