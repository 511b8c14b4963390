import type { FlowDefinition, FlowEdge, FlowNode } from '@parley/shared/contracts/flow-definition';
import type { FlowState } from '@parley/shared/contracts/flow-state';

/** A flow, laid out for walking. */
export interface FlowGraph {
  readonly definition: FlowDefinition;
  /** Whose flow it is. */
  readonly agentId: string | null;
  readonly nodes: ReadonlyMap<string, FlowNode>;
  /** The place of each node in the definition. */
  readonly places: ReadonlyMap<string, number>;
  /** The edges that leave each node, lowest priority number first. */
  readonly leaving: ReadonlyMap<string, readonly FlowEdge[]>;
  readonly edges: ReadonlyMap<string, FlowEdge>;
  readonly globals: readonly FlowNode[];
  /** Tools that run only with the caller's yes. */
  readonly confirmed: ReadonlySet<string>;
}

export function toFlowGraph(
  definition: FlowDefinition,
  agentId: string | null,
  confirmed: ReadonlySet<string> = new Set(),
): FlowGraph {
  const { nodes, edges } = definition;
  // Stable: edges of one priority stay in the order given.
  const sorted = edges.toSorted((a, b) => a.priority - b.priority);
  return {
    definition,
    agentId,
    nodes: new Map(nodes.map((node) => [node.id, node])),
    places: new Map(nodes.map(({ id }, place) => [id, place])),
    leaving: Map.groupBy(sorted, ({ from }) => from),
    edges: new Map(edges.map((edge) => [edge.id, edge])),
    globals: nodes.filter(({ global }) => global !== null),
    confirmed,
  };
}

/** A flow that has not begun. */
export function unbegun({ definition, agentId }: FlowGraph): FlowState {
  return {
    agent_id: agentId,
    node_id: definition.start_node_id,
    phase: 'talking',
    edge_id: null,
    entries: definition.nodes.map(() => 0),
    cooldowns: definition.nodes.map(() => 0),
    returns: [],
    collect: null,
    collects: [],
    turns: 0,
    steps: 0,
  };
}
