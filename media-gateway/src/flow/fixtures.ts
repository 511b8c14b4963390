import { flowDefinitionSchema, type FlowDefinition } from '@parley/shared/contracts/flow-definition';

/** Flows in few words, for tests. */

type Part = Record<string, unknown>;

export const talk = (id: string, more: Part = {}): Part => ({
  id,
  type: 'conversation',
  prompt: `Do ${id}.`,
  ...more,
});
export const say = (id: string, text: string, more: Part = {}): Part => ({ id, type: 'say', text, ...more });
export const set = (id: string, values: Record<string, string>): Part => ({
  id,
  type: 'set',
  assignments: Object.entries(values).map(([name, value]) => ({ name, value })),
});
export const tool = (id: string, more: Part = {}): Part => ({ id, type: 'tool', tool_id: 'tol_1', ...more });
export const wait = (id: string, more: Part = {}): Part => ({
  id,
  type: 'wait',
  timeout_seconds: 10,
  ...more,
});
export const transfer = (id: string, more: Part): Part => ({ id, type: 'transfer', ...more });
export const agent = (id: string, more: Part = {}): Part => ({
  id,
  type: 'agent',
  agent_id: 'agt_2',
  ...more,
});
export const branch = (id: string): Part => ({ id, type: 'branch' });
export const end = (id = 'end', more: Part = {}): Part => ({ id, type: 'end', message: 'Goodbye.', ...more });

export const always = { type: 'always' };
export const llm = (prompt: string) => ({ type: 'llm', prompt });
export const keys = (digits: string) => ({ type: 'dtmf', digits });
export const event = (name: string) => ({ type: 'event', name });
export const silence = (count: number) => ({ type: 'silence', count });
export const error = { type: 'error' };
export const is = (variable: string, value: string) => ({
  type: 'expression',
  rules: [{ variable, op: 'eq', value }],
});

/** An edge whose id is `from-to`. */
export const edge = (from: string, to: string, condition: Part = always, more: Part = {}): Part => ({
  id: `${from}-${to}`,
  from,
  to,
  condition,
  ...more,
});

/** A flow that starts with its first node. */
export function flowOf(nodes: Part[], edges: Part[], more: Part = {}): FlowDefinition {
  return flowDefinitionSchema.parse({ start_node_id: nodes[0]!['id'], nodes, edges, ...more });
}
