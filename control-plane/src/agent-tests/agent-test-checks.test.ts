import t from 'tap';
import { evaluate } from './agent-test-checks.ts';
import type { Observed } from './agent-test-checks.ts';

type Check = Parameters<typeof evaluate>[0];

const TOOL = 'tol_a';
const OBSERVED: Observed = {
  said: [
    { role: 'agent', text: 'Good evening.', turn: 0 },
    { role: 'caller', text: 'What does it cost?', turn: 1 },
    { role: 'agent', text: 'It costs\n12 Euros.', turn: 1 },
    { role: 'caller', text: 'Thanks.', turn: 2 },
  ],
  toolCalls: [
    { toolId: TOOL, name: 'price_of', arguments: { dish: 'pizza', n: 1 }, turn: 1, code: null },
    { toolId: 'tol_b', name: 'broken', arguments: undefined, turn: 2, code: null },
    { toolId: null, name: 'end_call', arguments: {}, turn: 2, code: null },
  ],
  nodes: [
    { nodeId: 'hello', turn: 0 },
    { nodeId: 'price', turn: 1 },
  ],
  answers: [
    { turn: 1, latencyMs: 700 },
    { turn: 1, latencyMs: 650 },
    { turn: 2, latencyMs: 900 },
  ],
  variables: { name: 'Asha', price: '12', empty: '' },
  endedBy: 'agent',
};

const CASES: [check: Omit<Check, 'id'>, turn: number | undefined, passed: boolean][] = [
  [{ kind: 'contains', text: 'costs 12 euros' } as Check, undefined, true],
  [{ kind: 'contains', text: 'good evening' } as Check, undefined, true],
  [{ kind: 'contains', text: 'good evening' } as Check, 1, false],
  [{ kind: 'contains', text: 'thanks' } as Check, undefined, false],
  [{ kind: 'not_contains', text: '12 euros' } as Check, undefined, false],
  [{ kind: 'not_contains', text: '12 euros' } as Check, 2, true],
  [{ kind: 'tool_called', tool_id: TOOL } as Check, undefined, true],
  [{ kind: 'tool_called', tool_id: TOOL } as Check, 2, false],
  [{ kind: 'tool_called', tool_id: TOOL, arguments: { dish: 'pizza' } } as Check, 1, true],
  [{ kind: 'tool_called', tool_id: TOOL, arguments: { dish: 'pasta' } } as Check, 1, false],
  [{ kind: 'tool_called', tool_id: 'tol_b' } as Check, undefined, true],
  [{ kind: 'tool_called', tool_id: 'tol_b', arguments: {} } as Check, undefined, false],
  [{ kind: 'tool_not_called', tool_id: TOOL } as Check, undefined, false],
  [{ kind: 'tool_not_called', tool_id: TOOL } as Check, 2, true],
  [{ kind: 'tool_not_called', tool_id: 'tol_c' } as Check, undefined, true],
  [{ kind: 'max_latency_ms', value: 900 } as Check, undefined, true],
  [{ kind: 'max_latency_ms', value: 899 } as Check, undefined, false],
  [{ kind: 'max_latency_ms', value: 700 } as Check, 1, true],
  [{ kind: 'max_latency_ms', value: 699 } as Check, 1, false],
  [{ kind: 'max_latency_ms', value: 600_000 } as Check, 3, false],
  [{ kind: 'node_reached', node_id: 'price' } as Check, undefined, true],
  [{ kind: 'node_reached', node_id: 'price' } as Check, 1, true],
  [{ kind: 'node_reached', node_id: 'hello' } as Check, 1, false],
  [{ kind: 'node_reached', node_id: 'gone' } as Check, undefined, false],
  [{ kind: 'ended_by', value: 'agent' } as Check, undefined, true],
  [{ kind: 'ended_by', value: 'caller' } as Check, undefined, false],
];

void t.test('checks look at what was said and done in their turn, or in all of it', async (t) => {
  for (const [check, turn, passed] of CASES) {
    const outcome = evaluate({ id: 'c', ...check } as Check, OBSERVED, turn);
    t.equal(outcome.passed, passed, `${JSON.stringify(check)} in ${turn ?? 'all'}: ${outcome.reason}`);
    t.match(outcome.reason, /\S/);
  }
});

const VARIABLES: [name: string, op: string, value: unknown, passed: boolean][] = [
  ['name', 'eq', 'Asha', true],
  ['name', 'eq', 'asha', false],
  ['name', 'ne', 'Asha', false],
  ['price', 'eq', 12, true],
  ['price', 'eq', '12.0', true],
  ['price', 'gt', 9, true],
  ['price', 'gt', '9', true],
  ['price', 'gte', 12, true],
  ['price', 'lt', 100, true],
  ['price', 'lte', 11, false],
  ['name', 'gt', 'Anna', true],
  ['name', 'contains', 'SH', true],
  ['name', 'not_contains', 'sh', false],
  ['name', 'in', ['Asha', 'Anna'], true],
  ['name', 'not_in', ['Asha'], false],
  ['name', 'in', 'Asha', true],
  ['name', 'exists', undefined, true],
  ['empty', 'exists', undefined, false],
  ['other', 'exists', undefined, false],
  ['other', 'not_exists', undefined, true],
  ['other', 'eq', '', true],
];

void t.test('variables are compared as numbers where both sides are numbers', async (t) => {
  for (const [name, op, value, passed] of VARIABLES) {
    const check = { id: 'c', kind: 'variable', name, op, value } as Check;
    t.equal(evaluate(check, OBSERVED).passed, passed, `${name} ${op} ${JSON.stringify(value)}`);
  }
});

void t.test('a long answer is quoted in part', async (t) => {
  const said = [{ role: 'agent' as const, text: 'x'.repeat(5000), turn: 0 }];
  const { reason } = evaluate({ id: 'c', kind: 'contains', text: 'x' }, { ...OBSERVED, said });
  t.ok(reason.length < 400);
});
