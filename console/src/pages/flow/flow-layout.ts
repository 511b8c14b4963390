import { Graph, layout } from '@dagrejs/dagre';
import { isPlaced, place } from './flow-graph.ts';
import type { Flow } from './flow-graph.ts';

export const NODE_WIDTH = 220;
export const NODE_HEIGHT = 84;

/** Places for all nodes, from the start downwards. */
export function arrange(flow: Flow): Map<string, { x: number; y: number }> {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'TB', nodesep: 48, ranksep: 72 });
  graph.setDefaultEdgeLabel(() => ({}));
  const first = flow.nodes.filter(({ id }) => id === flow.start_node_id);
  for (const { id } of [...first, ...flow.nodes])
    graph.setNode(id, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { from, to } of flow.edges)
    if (from !== to && graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  layout(graph);
  return new Map(
    flow.nodes.map(({ id }) => {
      const { x, y } = graph.node(id) as { x: number; y: number };
      return [id, { x: x - NODE_WIDTH / 2, y: y - NODE_HEIGHT / 2 }];
    }),
  );
}

/** The flow, with places for its nodes where nobody has given them any. */
export function placed(flow: Flow): Flow {
  return isPlaced(flow) ? flow : place(flow, arrange(flow));
}
