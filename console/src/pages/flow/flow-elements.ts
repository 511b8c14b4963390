import { MarkerType } from '@xyflow/react';
import type { Edge } from '@xyflow/react';
import { conditionText, exitOf, summaryOf } from './flow-graph.ts';
import type { Flow, FlowEdge, FlowError, FlowNode } from './flow-graph.ts';
import { lookOf } from './flow-node.tsx';
import type { CanvasNode } from './flow-node.tsx';

/** @param how.known what the canvas knows of it besides, such as its size, stays; `isActive`: a call is there */
export function toCanvasNode(
  flow: Flow,
  node: FlowNode,
  {
    errors = [],
    known,
    isActive = false,
  }: {
    errors?: readonly FlowError[] | undefined;
    known?: CanvasNode | undefined;
    isActive?: boolean;
  },
): CanvasNode {
  const data: CanvasNode['data'] = {
    title: node.name ? node.name : node.id,
    type: node.type,
    summary: summaryOf(node),
    isStart: node.id === flow.start_node_id,
    isGlobal: node['global'] != null,
    exit: exitOf(flow, node),
    isActive,
    errors: errors.map(({ loc, msg }) => (loc.length > 0 ? `${loc.join('.')}: ${msg}` : msg)),
  };
  return {
    ...known,
    id: node.id,
    type: 'step',
    position: node.position ?? { x: 0, y: 0 },
    data: known && JSON.stringify(known.data) === JSON.stringify(data) ? known.data : data,
    ariaLabel: `${lookOf(node.type).title}: ${data.title}${isActive ? ', where the call is' : ''}`,
  };
}

export function toCanvasEdge(edge: FlowEdge, isWrong: boolean, known: Edge | undefined): Edge {
  return {
    ...known,
    id: edge.id,
    source: edge.from,
    target: edge.to,
    label: shorten(conditionText(edge)),
    type: 'smoothstep',
    markerEnd: { type: MarkerType.ArrowClosed },
    style: isWrong ? { stroke: 'var(--mantine-color-error)' } : {},
    ariaLabel: `Edge from ${edge.from} to ${edge.to}`,
  };
}

function shorten(text: string): string {
  return text.length > 42 ? `${text.slice(0, 40)}…` : text;
}
