import t from 'tap';
import type { Schemas } from '../../components/schema-form/field.ts';
import { flowForms } from './flow-form.ts';
import {
  addNode,
  change,
  conditionText,
  connect,
  duplicate,
  errorsOf,
  exitOf,
  freeId,
  isPlaced,
  newFlow,
  readFlow,
  remove,
  rename,
  summaryOf,
} from './flow-graph.ts';
import { begin, commit, redo, undo } from './flow-history.ts';
import { changedMeanwhile } from './flow-meanwhile.ts';

void t.test('a flow is changed as a whole', async (t) => {
  const first = newFlow();
  const { flow, id } = addNode(first, { type: 'say', text: 'One moment.' });
  t.equal(id, 'say');
  t.equal(freeId(flow.nodes, 'say'), 'say_2');
  const aside = addNode(addNode(first, { type: 'say', position: { x: 5, y: 5 } }).flow, {
    type: 'say',
    position: { x: 5, y: 5 },
  });
  t.same(
    aside.flow.nodes.slice(2).map(({ position }) => position),
    [
      { x: 45, y: 45 },
      { x: 85, y: 85 },
    ],
    'none lies on another one',
  );
  const joined = connect(flow, 'say', 'end');
  t.same(joined.edges.at(-1), { id: 'say_end', from: 'say', to: 'end', condition: { type: 'always' } });
  const other = connect(joined, 'say', 'start');
  t.match(other.edges.at(-1), { condition: { type: 'llm' }, priority: 50 }, 'before what is always true');

  const renamed = rename(other, 'start', 'hello');
  t.equal(renamed.start_node_id, 'hello');
  t.same(
    renamed.edges.map(({ from, to }) => `${from}>${to}`),
    ['hello>end', 'say>end', 'say>hello'],
  );
  t.equal(rename(renamed, 'hello', 'end'), renamed, 'an id that is taken is not given');

  const without = remove(renamed, ['end'], []);
  t.same(
    without.edges.map(({ id }) => id),
    ['say_start'],
    'edges go with their node',
  );
  const twice = duplicate(renamed, ['hello', 'say']);
  t.same(twice.ids, ['hello_2', 'say_2']);
  t.match(twice.flow.edges.at(-1), { from: 'say_2', to: 'hello_2' });
  t.equal(change(renamed, 'nodes', 'say', ['text'], 'Now.').nodes[2]?.['text'], 'Now.');
  t.equal(change(renamed, 'nodes', 'gone', ['text'], 'Now.'), renamed);
  t.equal(first.nodes.length, 2, 'nothing is changed in place');
});

void t.test('nothing leads on from an end', async (t) => {
  const flow = newFlow();
  t.equal(connect(flow, 'end', 'start'), flow);
  const [start, end] = flow.nodes;
  t.equal(exitOf(flow, start!), 'open');
  t.equal(exitOf(flow, end!), 'none');
  t.equal(exitOf(flow, { id: 'other', type: 'agent' }), 'open', 'what cannot be handed over goes on');
  const back = { id: 'back', from: 'end', to: 'start', condition: { type: 'always' } };
  t.equal(exitOf({ ...flow, edges: [back] }, end!), 'closed', 'what a program has drawn is shown');
});

void t.test('another flow that was saved meanwhile is told from other settings', async (t) => {
  const flow = newFlow();
  t.equal(changedMeanwhile(flow, newFlow()), 'others');
  t.equal(changedMeanwhile(null, null), 'others');
  t.equal(changedMeanwhile(flow, connect(flow, 'start', 'start')), 'flow');
  t.equal(changedMeanwhile(flow, null), 'flow');
  t.equal(changedMeanwhile(undefined, flow), 'flow', 'what it was is not known');
});

void t.test('what is read', async (t) => {
  t.equal(readFlow(null), null);
  t.same(readFlow({ start_node_id: 'a' }), { start_node_id: 'a', nodes: [], edges: [] });
  t.equal(isPlaced(newFlow()), true);
  t.equal(
    isPlaced({ ...newFlow(), nodes: newFlow().nodes.map((node) => ({ ...node, position: { x: 0, y: 0 } })) }),
    false,
  );
  const edge = { id: 'e', from: 'a', to: 'b' };
  t.equal(conditionText({ ...edge, condition: { type: 'silence', count: 2 } }), 'silence ×2');
  t.equal(
    conditionText({
      ...edge,
      condition: {
        type: 'expression',
        logic: 'any',
        rules: [
          { variable: 'people', op: 'gt', value: 8 },
          { variable: 'name', op: 'exists' },
        ],
      },
    }),
    'people gt 8 or name exists',
  );
  t.equal(conditionText({ ...edge, label: 'Yes', condition: { type: 'always' } }), 'Yes');
  t.equal(summaryOf({ id: 'a', type: 'set', assignments: [{ name: 'x', value: '1' }] }), 'x = 1');
});

void t.test('errors stand at their node', async (t) => {
  const at = (...loc: (string | number)[]) => ({ loc: ['body', 'flow_definition', ...loc], msg: 'wrong' });
  const { nodes, edges, rest } = errorsOf(newFlow(), [
    at('nodes', 1, 'message'),
    at('nodes', 1),
    at('edges', 0, 'condition', 'prompt'),
    at('nodes', 7),
    at('start_node_id'),
  ]);
  t.same(nodes.get('end'), [
    { loc: ['message'], msg: 'wrong' },
    { loc: [], msg: 'wrong' },
  ]);
  t.same(edges.get('done'), [{ loc: ['condition', 'prompt'], msg: 'wrong' }]);
  t.equal(rest.length, 2);
});

void t.test('what was done can be undone', async (t) => {
  let history = begin('a');
  history = commit(history, 'b');
  history = commit(history, 'bc', 'text');
  history = commit(history, 'bcd', 'text');
  t.equal(undo(history).present, 'b', 'a word is one step');
  history = undo(undo(history));
  t.equal(history.present, 'a');
  t.equal(undo(history).present, 'a');
  t.equal(redo(redo(history)).present, 'bcd');
  t.equal(redo(commit(history, 'x')).present, 'x', 'a new change ends what was undone');
  let long = begin(0);
  for (let step = 1; step <= 500; step++) long = commit(long, step);
  t.equal(long.past.length, 200);
});

void t.test('forms of a flow', async (t) => {
  const schemas: Schemas = {
    FlowDefinition: {
      type: 'object',
      properties: {
        start_node_id: { type: 'string' },
        global_prompt: { type: 'string', maxLength: 20_000 },
        nodes: {
          type: 'array',
          items: {
            oneOf: [
              {
                type: 'object',
                properties: {
                  id: { type: 'string' },
                  overrides: { type: 'object', properties: { llm_id: { type: 'string' } } },
                  type: { type: 'string', const: 'say' },
                  text: { type: 'string' },
                },
              },
              {
                type: 'object',
                properties: { id: { type: 'string' }, type: { type: 'string', const: 'branch' } },
              },
              {
                type: 'object',
                properties: {
                  type: {
                    type: 'string',
                    const: 'dance',
                    description: 'What it does. Only another type is taken in this version.',
                  },
                },
              },
            ],
          },
        },
        edges: {
          type: 'array',
          items: { type: 'object', properties: { id: { type: 'string' }, label: { type: 'string' } } },
        },
      },
    },
  };
  const forms = flowForms(schemas);
  t.same([...(forms?.nodes.keys() ?? [])], ['say', 'branch']);
  const say = forms?.nodes.get('say');
  t.same(
    say?.fields.map(({ key }) => key),
    ['text', 'overrides'],
    'its own fields first',
  );
  t.match(say?.fields[1], { kind: 'group', label: 'Otherwise than the agent' });
  t.same(
    forms?.flow.fields.map(({ key }) => key),
    ['global_prompt'],
  );
  t.equal(flowForms({}), undefined, 'a description without it has no forms');
});
