import t from 'tap';
import { wantedBy } from './test-form.ts';

void t.test('what a check asks for is told in words', async (t) => {
  const test: Parameters<typeof wantedBy>[0] = {
    turns: [
      { caller: 'Hello', expect: [{ id: 'check_1', kind: 'contains', text: 'Lakeside' }] },
      { caller: 'Bye', expect: [{ id: 'check_2', kind: 'variable', name: 'guest', op: 'exists' }] },
    ],
    checks: [
      { id: 'check_3', kind: 'tool_called', tool_id: 'tol_1', arguments: { people: 2 } },
      { id: 'polite', kind: 'judge', criterion: 'The agent is polite.' },
      { id: 'check_4', kind: 'variable', name: 'people', op: 'eq', value: 2 },
    ],
  };
  for (const [id, wanted] of [
    ['check_1', 'Says “Lakeside”'],
    ['check_2', 'guest exists'],
    ['check_3', 'Calls the tool tol_1 with {"people":2}'],
    ['polite', 'The agent is polite.'],
    ['check_4', 'people eq 2'],
    ['check_5', undefined],
  ] as const)
    t.equal(wantedBy(test, id), wanted, id);
});
