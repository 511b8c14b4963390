import t from 'tap';
import { ToolCallCollector } from './tool-call-collector.ts';
import type { ToolCallDelta } from './tool-call-collector.ts';

function collect(...deltas: ToolCallDelta[]) {
  const collector = new ToolCallCollector();
  for (const delta of deltas) collector.add(delta);
  return collector.finish({ onlyComplete: false });
}

const cases: [title: string, deltas: ToolCallDelta[], calls: object[]][] = [
  [
    'fragments of two calls, interleaved',
    [
      { index: 0, id: 'a', function: { name: 'f', arguments: '' } },
      { index: 1, id: 'b', function: { name: 'g', arguments: '' } },
      { index: 0, function: { arguments: '{"x":' } },
      { index: 1, function: { arguments: '{}' } },
      { index: 0, function: { arguments: '1}' } },
    ],
    [
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'g', arguments: '{}' },
    ],
  ],
  [
    'whole calls that all have index 0',
    [
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } },
      { index: 0, id: 'b', function: { name: 'f', arguments: '{"x":2}' } },
    ],
    [
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'f', arguments: '{"x":2}' },
    ],
  ],
  [
    'a new id with each fragment of one call',
    [
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } },
      { index: 0, id: 'b', function: { arguments: ':' } },
      { index: 0, id: 'c', function: { name: 'f', arguments: '1}' } },
    ],
    [{ id: 'a', name: 'f', arguments: '{"x":1}' }],
  ],
  [
    'no index: ids tell, and what has none goes on',
    [
      { id: 'a', function: { name: 'f', arguments: '{' } },
      { function: { arguments: '}' } },
      { id: 'b', function: { name: 'g', arguments: '{"y":' } },
      { id: 'b', function: { arguments: '2}' } },
    ],
    [
      { id: 'a', name: 'f', arguments: '{}' },
      { id: 'b', name: 'g', arguments: '{"y":2}' },
    ],
  ],
  [
    'arguments as an object, none at all, and null in every place',
    [
      { index: 0, id: 'a', function: { name: 'f', arguments: { x: 1 } } },
      { index: 1, id: 'b', function: { name: 'g' } },
      { index: 1, id: null, function: null },
    ],
    [
      { id: 'a', name: 'f', arguments: '{"x":1}' },
      { id: 'b', name: 'g', arguments: '{}' },
    ],
  ],
  ['a call that never got a name', [{ index: 0, id: 'a', function: { arguments: '{}' } }], []],
];
for (const [title, deltas, calls] of cases) {
  void t.test(title, (t) => {
    t.same(collect(...deltas), calls);
    t.end();
  });
}

void t.test('calls without an id get one each', (t) => {
  const calls = collect(
    { index: 0, function: { name: 'f', arguments: '{}' } },
    { index: 1, function: { name: 'f', arguments: '{}' } },
  );
  t.match(calls, [{ id: /^call_\w{24}$/ }, { id: /^call_\w{24}$/ }]);
  t.not(calls[0]!.id, calls[1]!.id);
  t.end();
});

void t.test('of an answer that was cut off only complete calls count', (t) => {
  const collector = new ToolCallCollector();
  collector.add({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x":1}' } });
  collector.add({ index: 1, id: 'b', function: { name: 'g', arguments: '{"y":' } });
  t.same(collector.finish({ onlyComplete: true }), [{ id: 'a', name: 'f', arguments: '{"x":1}' }]);
  t.end();
});
