import { readFileSync } from 'node:fs';
import t from 'tap';
import { defaultAgentConfig } from '@parley/shared/contracts/agent-config';
import { checkFlow } from './flow-definition.ts';

const always = { type: 'always' };
const talk = (id: string, more: object = {}) => ({ id, type: 'conversation', prompt: 'Talk.', ...more });
const say = (id: string) => ({ id, type: 'say', text: 'Hello.' });
const end = (id = 'end') => ({ id, type: 'end' });
const edge = (from: string, to: string, more: object = {}) => ({
  id: `${from}-${to}`,
  from,
  to,
  condition: always,
  ...more,
});
const flow = (nodes: object[], edges: object[], more: object = {}) => ({
  start_node_id: (nodes[0] as { id: string }).id,
  nodes,
  edges,
  ...more,
});
const config = defaultAgentConfig();
const found = (definition: unknown) => checkFlow(definition, config).details;
const places = (definition: unknown) => found(definition).map(({ loc }) => loc.slice(2).join('.'));

void t.test('a sound flow has no findings and names what it refers to', async (t) => {
  const definition = flow(
    [
      talk('hello', { tool_ids: ['tol_a'], overrides: { silence: { max_reminders: 1 }, llm_id: 'llm_b' } }),
      { id: 'ask', type: 'collect', fields: [{ name: 'size', type: 'enum', options: ['s', 'l'] }] },
      { id: 'book', type: 'tool', tool_id: 'tol_c', arguments: { size: '{{size}}' } },
      { id: 'pick', type: 'branch' },
      end(),
    ],
    [
      edge('hello', 'ask', { condition: { type: 'llm', prompt: 'The caller wants to book.' } }),
      edge('ask', 'book'),
      edge('book', 'pick'),
      edge('pick', 'hello', {
        priority: 1,
        condition: { type: 'expression', rules: [{ variable: 'again', op: 'eq', value: 'yes' }] },
      }),
      edge('pick', 'end'),
    ],
  );
  const { references } = checkFlow(definition, config);
  t.same(found(definition), []);
  t.same(references, [
    { kind: 'llm', id: 'llm_b', loc: ['body', 'flow_definition', 'nodes', 0, 'overrides', 'llm_id'] },
    { kind: 'tool', id: 'tol_a', loc: ['body', 'flow_definition', 'nodes', 0, 'tool_ids', 0] },
    { kind: 'tool', id: 'tol_c', loc: ['body', 'flow_definition', 'nodes', 2, 'tool_id'] },
  ]);
});

void t.test('what is wrong is named with its place', async (t) => {
  const cases: [string, unknown, string[]][] = [
    ['no nodes', { start_node_id: 'a', nodes: [], edges: [] }, ['nodes']],
    ['an unknown node type', flow([{ id: 'a', type: 'dance' }], []), ['nodes.0.type']],
    ['a field of another type', flow([{ ...end('a'), prompt: 'x' }], []), ['nodes.0.prompt']],
    ['ids used twice', flow([talk('a'), end('a')], [edge('a', 'a')]), ['nodes.1.id', 'nodes.1'].slice(0, 1)],
    ['a start that is not there', flow([end('a')], [], { start_node_id: 'b' }), ['start_node_id', 'nodes.0']],
    ['an edge to nowhere', flow([talk('a')], [edge('a', 'b')]), ['edges.0.to']],
    [
      'an edge from the end',
      flow([talk('a'), end()], [edge('a', 'end'), edge('end', 'a', { id: 'back' })]),
      ['edges.1.from'],
    ],
    ['a node nobody reaches', flow([talk('a'), end('b'), end('c')], [edge('a', 'b')]), ['nodes.2']],
    ['a dead end', flow([talk('a')], []), ['nodes.0']],
    ['a say without words', flow([{ id: 'a', type: 'say' }, end()], [edge('a', 'end')]), ['nodes.0.text']],
    [
      'an enum without options',
      flow([{ id: 'a', type: 'collect', fields: [{ name: 'x', type: 'enum' }] }, end()], [edge('a', 'end')]),
      ['nodes.0.fields.0.options'],
    ],
    [
      'options of something else',
      flow(
        [{ id: 'a', type: 'collect', fields: [{ name: 'x', type: 'date', options: ['y'] }] }, end()],
        [edge('a', 'end')],
      ),
      ['nodes.0.fields.0.options'],
    ],
    [
      'a text by keys, and a field twice',
      flow(
        [
          { id: 'a', type: 'collect', input: 'dtmf', fields: [{ name: 'x' }, { name: 'x', type: 'digits' }] },
          end(),
        ],
        [edge('a', 'end')],
      ),
      ['nodes.0.fields.1.name', 'nodes.0.fields.0.type'],
    ],
    [
      'a variable of the system',
      flow(
        [{ id: 'a', type: 'set', assignments: [{ name: 'system.now', value: 'x' }] }, end()],
        [edge('a', 'end')],
      ),
      ['nodes.0.assignments.0.name'],
    ],
    [
      'always before another edge',
      flow(
        [talk('a'), end()],
        [edge('a', 'end'), edge('a', 'end', { id: 'z', condition: { type: 'dtmf', digits: '1' } })],
      ),
      ['edges.0.condition'],
    ],
    [
      'a circle that never waits',
      flow([say('a'), { id: 'b', type: 'branch' }], [edge('a', 'b'), edge('b', 'a')]),
      ['nodes.1'],
    ],
    [
      'an unknown destination',
      flow([{ id: 'a', type: 'transfer', destination_id: 'sales' }], []),
      ['nodes.0.destination_id'],
    ],
    ['a transfer to nobody', flow([{ id: 'a', type: 'transfer' }], []), ['nodes.0.destination_id']],
    [
      'an argument name that no document may hold',
      flow([{ id: 'a', type: 'tool', tool_id: 't', arguments: { 'a.$b': 1 } }, end()], [edge('a', 'end')]),
      ['nodes.0.arguments.a.$b'],
    ],
  ];
  for (const [name, definition, expected] of cases) t.same(places(definition), expected, name);
});

void t.test('a node that is reachable from anywhere needs no edge to it', async (t) => {
  t.same(
    places(
      flow(
        [talk('a'), talk('help', { global: { condition: 'The caller asks for help.' } }), end()],
        [edge('a', 'end'), edge('help', 'a')],
      ),
    ),
    [],
  );
});

void t.test('a transfer that returns needs a way on, one that hangs up does not', async (t) => {
  const target = { type: 'phone', phone_number: '+14155550100' };
  const transfer = (on_failure: string) =>
    flow([{ id: 'a', type: 'transfer', destination: { id: 'x', target, on_failure } }], []);
  t.same(places(transfer('return')), ['nodes.0']);
  t.same(places(transfer('hangup')), []);
});

void t.test('every kind of node is taken', async (t) => {
  const definition = flow(
    [
      { id: 'a', type: 'say', audio_asset_id: 'aud_1' },
      { id: 'b', type: 'collect', fields: [{ name: 'x' }] },
      { id: 'd', type: 'wait', timeout_seconds: 5, hold_audio_asset_id: 'aud_1' },
      { id: 'e', type: 'agent', agent_id: 'agt_1', global: { condition: 'x' } },
      talk('c'),
      end(),
    ],
    [edge('a', 'b'), edge('b', 'd'), edge('d', 'c'), edge('c', 'end')],
  );
  t.same(found(definition), []);
});

void t.test('overrides join the settings of the agent, and must fit them', async (t) => {
  const patient = {
    ...config,
    silence: { ...config.silence, reminder_after_seconds: 40, end_call_after_seconds: 60 },
  };
  const overriding = (silence: object) =>
    checkFlow(flow([talk('a', { overrides: { silence } }), end()], [edge('a', 'end')]), patient).details.map(
      ({ loc, type }) => `${loc.slice(2).join('.')} ${type}`,
    );
  t.same(overriding({ max_reminders: 5 }), []);
  t.same(overriding({ end_call_after_seconds: 30 }), [
    'nodes.0.overrides.silence.end_call_after_seconds value_error',
  ]);
  t.same(overriding({ max_reminders: 99, unknown: 1 }), [
    'nodes.0.overrides.silence.max_reminders less_than_equal',
    'nodes.0.overrides.silence.unknown extra_forbidden',
  ]);
});

void t.test('the example of the documentation is sound', async (t) => {
  const page = readFileSync(new URL('../../../docs/flows.md', import.meta.url), 'utf8');
  const { details } = checkFlow(JSON.parse(/```json\n([^]*?)```/.exec(page)![1]!), config);
  t.same(details, []);
});

void t.test('bounds on size hold', async (t) => {
  const many = Array.from({ length: 201 }, (_, index) => end(`n${index}`));
  t.same(places(flow(many, [])), ['nodes']);
  t.same(
    checkFlow(flow([talk('a', { prompt: 'x'.repeat(600_000) })], []), config).details.map(({ type }) => type),
    ['too_long'],
  );
});
