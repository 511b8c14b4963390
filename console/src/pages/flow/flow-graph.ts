import { isObject, setAt } from '../../components/schema-form/form-value.ts';
import type { Json, Path } from '../../components/schema-form/form-value.ts';

/** A flow as the API has it, as far as the canvas must know it; the rest of a node is its form's. */

export interface FlowNode extends Json {
  id: string;
  type: string;
  name?: string;
  position?: { x: number; y: number };
}

export interface FlowEdge extends Json {
  id: string;
  from: string;
  to: string;
  label?: string;
  priority?: number;
  condition: Json & { type: string };
}

export interface Flow extends Json {
  start_node_id: string;
  nodes: FlowNode[];
  edges: FlowEdge[];
}

/** A flow that is one conversation. */
export function newFlow(): Flow {
  return {
    start_node_id: 'start',
    nodes: [
      {
        id: 'start',
        type: 'conversation',
        name: 'Start',
        prompt: 'Greet the caller and find out what they want.',
        position: { x: 0, y: 0 },
      },
      { id: 'end', type: 'end', name: 'Goodbye', message: 'Goodbye.', position: { x: 0, y: 180 } },
    ],
    edges: [
      {
        id: 'done',
        from: 'start',
        to: 'end',
        condition: { type: 'llm', prompt: 'The caller has no further question.' },
      },
    ],
  };
}

/** @returns null where there is no flow */
export function readFlow(definition: unknown): Flow | null {
  if (!isObject(definition)) return null;
  const { nodes, edges } = definition;
  return {
    ...definition,
    start_node_id: String(definition['start_node_id'] ?? ''),
    nodes: Array.isArray(nodes) ? (nodes as FlowNode[]) : [],
    edges: Array.isArray(edges) ? (edges as FlowEdge[]) : [],
  };
}

/** `conversation`, `conversation_2`, …: the first that is free. */
export function freeId(taken: readonly { id: string }[], wish: string): string {
  const ids = new Set(taken.map(({ id }) => id));
  if (!ids.has(wish)) return wish;
  for (let number = 2; ; number++) if (!ids.has(`${wish}_${number}`)) return `${wish}_${number}`;
}

/** How far a node is moved aside that would lie on another one. */
const ASIDE = 40;

/** @param node its place is a wish: none lies on another one */
export function addNode(
  flow: Flow,
  node: Omit<FlowNode, 'id'> & { type: string },
): { flow: Flow; id: string } {
  const id = freeId(flow.nodes, String(node.type));
  const added = { ...node, id } as FlowNode;
  const isFree = ({ x, y }: { x: number; y: number }) =>
    flow.nodes.every(
      ({ position }) => !position || Math.abs(position.x - x) >= ASIDE || Math.abs(position.y - y) >= ASIDE,
    );
  while (added.position && !isFree(added.position))
    added.position = { x: added.position.x + ASIDE, y: added.position.y + ASIDE };
  const start = flow.nodes.length === 0 ? id : flow.start_node_id;
  return { flow: { ...flow, start_node_id: start, nodes: [...flow.nodes, added] }, id };
}

/** A copy of nodes and of the edges between them, a little aside. */
export function duplicate(flow: Flow, ids: readonly string[]): { flow: Flow; ids: string[] } {
  const chosen = flow.nodes.filter(({ id }) => ids.includes(id));
  const nodes = [...flow.nodes];
  const renamed = new Map<string, string>();
  for (const node of chosen) {
    const id = freeId(nodes, node.id.replace(/_\d+$/, ''));
    const { x = 0, y = 0 } = node.position ?? {};
    renamed.set(node.id, id);
    nodes.push({ ...node, id, position: { x: x + 40, y: y + 40 } });
  }
  const edges = [...flow.edges];
  for (const edge of flow.edges) {
    const [from, to] = [renamed.get(edge.from), renamed.get(edge.to)];
    if (from !== undefined && to !== undefined) edges.push({ ...edge, id: freeId(edges, edge.id), from, to });
  }
  return { flow: { ...flow, nodes, edges }, ids: [...renamed.values()] };
}

/** Takes nodes with their edges, and edges, away. */
export function remove(flow: Flow, nodeIds: readonly string[], edgeIds: readonly string[]): Flow {
  const gone = new Set(nodeIds);
  const cut = new Set(edgeIds);
  return {
    ...flow,
    nodes: flow.nodes.filter(({ id }) => !gone.has(id)),
    edges: flow.edges.filter(({ id, from, to }) => !cut.has(id) && !gone.has(from) && !gone.has(to)),
  };
}

/** Whether edges lead on from a node of this type: those of every other one do, if only where it fails. */
function leadsOn(type: string): boolean {
  return type !== 'end';
}

/** Whether edges may be drawn from a node; `closed`: not, but a program has given it some. */
export function exitOf(flow: Flow, { id, type }: FlowNode): 'open' | 'closed' | 'none' {
  if (leadsOn(type)) return 'open';
  return flow.edges.some(({ from }) => from === id) ? 'closed' : 'none';
}

/**
 * Joins two nodes, where the first one leads on. The edge is taken when the model finds something true, or always, where no
 * other way leads on from a node that does its work by itself.
 */
export function connect(flow: Flow, from: string, to: string): Flow {
  const source = flow.nodes.find(({ id }) => id === from);
  if (source && !leadsOn(source.type)) return flow;
  const isFirst = !flow.edges.some((edge) => edge.from === from);
  const condition =
    source?.type !== 'conversation' && isFirst
      ? { type: 'always' }
      : { type: 'llm', prompt: `Go on to ${titleOf(flow, to)}.` };
  const id = freeId(flow.edges, `${from}_${to}`.slice(0, 56));
  const edge: FlowEdge = { id, from, to, condition };
  // What is always true comes after everything else.
  if (
    condition.type === 'llm' &&
    flow.edges.some((one) => one.from === from && one.condition.type === 'always')
  )
    edge.priority = 50;
  return { ...flow, edges: [...flow.edges, edge] };
}

/** Gives a node another id, in its edges as well. @returns the flow as it was when the id is taken */
export function rename(flow: Flow, id: string, next: string): Flow {
  if (id === next || flow.nodes.some((node) => node.id === next)) return flow;
  return {
    ...flow,
    start_node_id: flow.start_node_id === id ? next : flow.start_node_id,
    nodes: flow.nodes.map((node) => (node.id === id ? { ...node, id: next } : node)),
    edges: flow.edges.map((edge) => ({
      ...edge,
      from: edge.from === id ? next : edge.from,
      to: edge.to === id ? next : edge.to,
    })),
  };
}

export function place(flow: Flow, positions: ReadonlyMap<string, { x: number; y: number }>): Flow {
  return {
    ...flow,
    nodes: flow.nodes.map((node) => {
      const at = positions.get(node.id);
      return at ? { ...node, position: { x: Math.round(at.x), y: Math.round(at.y) } } : node;
    }),
  };
}

/** Whether somebody has placed the nodes: those of a program all stand at the same point. */
export function isPlaced(flow: Flow): boolean {
  const points = flow.nodes.map(({ position }) => `${position?.x ?? 0},${position?.y ?? 0}`);
  return points.length < 2 || new Set(points).size > 1;
}

export function change(flow: Flow, part: 'nodes' | 'edges', id: string, path: Path, next: unknown): Flow {
  const index = (flow[part] as { id: string }[]).findIndex((one) => one.id === id);
  return index < 0 ? flow : (setAt(flow, [part, index, ...path], next) as Flow);
}

export function titleOf(flow: Flow, id: string): string {
  const node = flow.nodes.find((one) => one.id === id);
  return node?.name ? node.name : id;
}

/** A condition in a few words, for the label of its edge. */
export function conditionText({ condition, label }: FlowEdge): string {
  if (label) return label;
  switch (condition.type) {
    case 'always':
      return '';
    case 'llm':
      return String(condition['prompt'] ?? '');
    case 'dtmf':
      return `keys ${String(condition['digits'] ?? '')}`;
    case 'event':
      return `event ${String(condition['name'] ?? '')}`;
    case 'silence':
      return `silence ×${String(condition['count'] ?? 1)}`;
    case 'error':
      return 'failed';
    case 'expression': {
      const rules = Array.isArray(condition['rules']) ? (condition['rules'] as Json[]) : [];
      const words = rules.map((rule) =>
        `${String(rule['variable'])} ${String(rule['op'])} ${valueText(rule['value'])}`.trim(),
      );
      return words.join(condition['logic'] === 'any' ? ' or ' : ' and ');
    }
    default:
      return condition.type;
  }
}

function valueText(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What a node does, in one line. */
export function summaryOf(node: FlowNode): string {
  for (const key of ['prompt', 'text', 'message', 'tool_id', 'event']) {
    const value = node[key];
    if (typeof value === 'string' && value !== '') return value;
  }
  const { assignments, fields } = node;
  if (Array.isArray(assignments))
    return (assignments as Json[])
      .map((one) => `${String(one['name'])} = ${String(one['value'])}`)
      .join(', ');
  if (Array.isArray(fields)) return (fields as Json[]).map((one) => String(one['name'])).join(', ');
  return '';
}

/** Found by the server, by the node or edge that they concern; `rest` is about the flow. */
export interface FlowErrors {
  nodes: ReadonlyMap<string, readonly FlowError[]>;
  edges: ReadonlyMap<string, readonly FlowError[]>;
  rest: readonly FlowError[];
}

export interface FlowError {
  /** Inside the node or edge, or the flow. */
  loc: Path;
  msg: string;
}

/** @param errors with `loc` as the API gives it: `["body", "flow_definition", "nodes", 3, "prompt"]` */
export function errorsOf(flow: Flow, errors: readonly { loc: Path; msg: string }[]): FlowErrors {
  const nodes = new Map<string, FlowError[]>();
  const edges = new Map<string, FlowError[]>();
  const rest: FlowError[] = [];
  for (const { loc, msg } of errors) {
    const [part, index, ...inner] = loc.slice(2);
    const record =
      loc[1] === 'flow_definition' && typeof index === 'number' && (part === 'nodes' || part === 'edges')
        ? flow[part][index]
        : undefined;
    if (!record) {
      rest.push({ loc: loc.slice(1), msg });
      continue;
    }
    const found = part === 'nodes' ? nodes : edges;
    found.set(record.id, [...(found.get(record.id) ?? []), { loc: inner, msg }]);
  }
  return { nodes, edges, rest };
}
