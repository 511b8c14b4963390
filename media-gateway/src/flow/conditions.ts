import type { FlowEdge } from '@parley/shared/contracts/flow-definition';
import { variableHolds } from '@parley/shared/values/variable-comparison';

/** What edges are asked about. `done`: the node has done what it does by itself. */
export type Happening =
  | { type: 'turn' | 'result' | 'done' | 'failed' }
  | { type: 'keys'; digits: string }
  | { type: 'event'; name: string }
  | { type: 'silence'; count: number };

/** Whether a condition is true that needs no model. */
export function isTrue(
  condition: FlowEdge['condition'],
  happening: Happening,
  lookup: (name: string) => string | undefined,
): boolean {
  switch (condition.type) {
    case 'always':
      // What comes in while a node talks is no reason to leave it; that it has failed is.
      return ['turn', 'keys', 'done', 'failed'].includes(happening.type);
    case 'expression': {
      const holds = ({ variable, op, value }: (typeof condition.rules)[number]) =>
        variableHolds(lookup(variable), op, value);
      return condition.logic === 'all' ? condition.rules.every(holds) : condition.rules.some(holds);
    }
    case 'dtmf':
      return happening.type === 'keys' && happening.digits === condition.digits;
    case 'event':
      return happening.type === 'event' && happening.name === condition.name;
    case 'silence':
      return happening.type === 'silence' && happening.count >= condition.count;
    case 'error':
      return happening.type === 'failed';
    case 'llm':
      return false;
  }
}
