import t from 'tap';
import { gridColumns } from './database-grid.ts';

void t.test('a grid is headed by the labels of its columns, in their order', async (t) => {
  const described = [
    { key: 'call_result', label: 'Result', type: 'text' },
    { key: 'score', label: 'Score', type: 'number' },
  ];
  t.same(gridColumns(described, [{ score: 1, note: 'x' }, { call_result: 'ok' }]), [
    { key: 'call_result', label: 'Result' },
    { key: 'score', label: 'Score' },
    { key: 'note', label: 'note' },
  ]);
  t.same(gridColumns(undefined, [{ a: 1 }]), [{ key: 'a', label: 'a' }]);
});
