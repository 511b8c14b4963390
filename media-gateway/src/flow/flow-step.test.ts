import { readFileSync } from 'node:fs';
import t from 'tap';
import { flowDefinitionSchema } from '@parley/shared/contracts/flow-definition';
import {
  flowStateSchema,
  MAX_FLOW_STATE_BYTES,
  MAX_NODE_ENTRIES,
  MAX_RETURNS,
  MAX_STEPS_ALONE,
} from '@parley/shared/contracts/flow-state';
import {
  agent,
  always,
  branch,
  edge,
  end,
  error,
  event,
  flowOf,
  is,
  keys,
  llm,
  say,
  set,
  silence,
  talk,
  tool,
  transfer,
  wait,
} from './fixtures.ts';
import { toFlowGraph, unbegun } from './flow-graph.ts';
import type { FlowInput } from './flow-effects.ts';
import { goBack, played, press, run, start, stay, take, turn } from './walk.fixture.ts';

void t.test('a call from the first node to the last, by each kind of edge', async (t) => {
  const definition = flowOf(
    [
      talk('hello'),
      set('note', { size: 'large', greeting: 'Hello {{name}}' }),
      branch('which'),
      say('told', 'You chose {{size}}, {{name|friend}}.', { interruptible: false }),
      talk('more'),
      end('bye', { outcome: 'done' }),
    ],
    [
      edge('hello', 'note', keys('1')),
      edge('hello', 'more', llm('The caller wants more.')),
      edge('hello', 'bye', silence(2)),
      edge('hello', 'told', event('paid')),
      edge('note', 'which'),
      edge('which', 'told', is('size', 'large'), { say: 'One moment.' }),
      edge('which', 'bye', always),
      edge('told', 'more'),
      edge('more', 'bye'),
    ],
  );
  t.same(run(definition, [start, turn, stay, press('1'), played, played, turn]).steps, [
    'start hello, reply',
    'ask hello-more',
    'reply',
    'edge note, missing name, size=large greeting=Hello , edge which, "One moment."',
    'edge told, "You chose large, friend."!',
    'edge more, reply',
    'edge bye, outcome=done, end "Goodbye."',
  ]);
  const asked = run(definition, [start, turn, take('edge', 'hello-more')]);
  t.equal(asked.steps.at(-1), 'edge more, reply');
  t.same(
    run(definition, [start, { type: 'silence', count: 1 }, { type: 'silence', count: 2 }]).steps.slice(1),
    ['', 'edge bye, outcome=done, end "Goodbye."'],
  );
  t.equal(
    run(definition, [start, { type: 'event', name: 'paid' }]).steps.at(-1),
    'edge told, missing size, "You chose , friend."!',
  );
  const over = run(definition, [start, press('1'), played, played, turn, turn, played, start]);
  t.same(over.steps.slice(-3), ['', '', ''], 'nothing happens behind the end');
  t.equal(over.state.phase, 'done');
});

void t.test('an agent that has greeted waits for the caller', async (t) => {
  const definition = flowOf([talk('a'), end()], [edge('a', 'end', keys('9'))]);
  t.same(run(definition, [{ type: 'start', greeted: true }, turn]).steps, ['start a', 'reply']);
});

void t.test('deterministic conditions go before the model, in order of priority', async (t) => {
  const definition = flowOf(
    [talk('a'), end('late'), end('early'), end('asked')],
    [
      edge('a', 'asked', llm('x'), { priority: 0 }),
      edge('a', 'late', is('ready', 'yes'), { priority: 20 }),
      edge('a', 'early', is('ready', 'yes'), { priority: 10 }),
    ],
  );
  t.equal(run(definition, [start, turn], { ready: 'yes' }).steps[1], 'edge early, end "Goodbye."');
  t.equal(run(definition, [start, turn]).steps[1], 'ask a-asked');
});

void t.test('what tools have set may lead on; that the node may always be left is no reason', async (t) => {
  const definition = flowOf(
    [talk('a'), end('verified'), end('other')],
    [edge('a', 'verified', is('ok', 'true')), edge('a', 'other', always, { priority: 900 })],
  );
  t.same(run(definition, [start, { type: 'result' }, { type: 'event', name: 'x' }]).steps.slice(1), ['', '']);
  t.equal(
    run(definition, [start, { type: 'result' }], { ok: 'true' }).steps[1],
    'edge verified, end "Goodbye."',
  );
});

void t.test('a missing variable is told, makes an expression untrue, and may be asked for', async (t) => {
  const gone = (op: string) => ({ type: 'expression', rules: [{ variable: 'name', op }] });
  const definition = flowOf(
    [branch('a'), say('known', 'Hello {{name}}.'), say('unknown', 'Hello{{ name }}.'), end()],
    [
      edge('a', 'known', gone('exists')),
      edge('a', 'unknown', gone('not_exists')),
      edge('known', 'end'),
      edge('unknown', 'end'),
    ],
  );
  t.equal(run(definition, [start]).steps[0], 'start a, edge unknown, missing name, "Hello."');
  t.equal(run(definition, [start], { name: 'Ada' }).steps[0], 'start a, edge known, "Hello Ada."');
});

void t.test('an interruption in the middle of a text: it is over, and the caller goes first', async (t) => {
  const definition = flowOf(
    [say('terms', 'A long text.'), talk('ask'), end('out')],
    [edge('terms', 'out', keys('0')), edge('terms', 'ask'), edge('ask', 'out', keys('1'))],
  );
  t.same(run(definition, [start, turn]).steps, ['start terms, "A long text."', 'edge ask, reply']);
  t.equal(run(definition, [start, press('0')]).steps[1], 'edge out, end "Goodbye."');
  t.equal(
    run(definition, [start, { type: 'silence', count: 1 }]).steps[1],
    'edge ask, reply',
    'who interrupted it and says nothing is not waited for forever',
  );
  const on = flowOf(
    [talk('a'), talk('b'), end()],
    [edge('a', 'b', keys('1'), { say: 'On the way.' }), edge('b', 'end')],
  );
  t.same(run(on, [start, press('1'), turn]).steps.slice(1), ['"On the way."', 'edge b, reply']);
});

void t.test('a text without a way on waits for what its edges want', async (t) => {
  const definition = flowOf(
    [say('menu', 'Press one.'), end('one'), end('two')],
    [edge('menu', 'one', keys('1')), edge('menu', 'two', llm('The caller wants two.'))],
  );
  t.same(run(definition, [start, played, turn, stay, press('1')]).steps.slice(1), [
    '',
    'ask menu-two',
    'reply',
    'edge one, end "Goodbye."',
  ]);
});

void t.test('a loop ends the call: without the caller, and by the entries of a node', async (t) => {
  const alone = flowOf(
    [set('a', { x: '1' }), branch('b'), end()],
    [edge('a', 'b'), edge('b', 'a', is('x', '1')), edge('b', 'end')],
  );
  const looped = run(alone, [start]);
  t.match(looped.steps[0], /, flow_loop$/);
  t.equal(looped.state.phase, 'done');
  t.ok(looped.state.steps <= MAX_STEPS_ALONE);

  const said = flowOf(
    [say('a', 'Again.'), say('b', 'And again.'), end()],
    [edge('a', 'b', is('x', '')), edge('b', 'a', is('x', '')), edge('a', 'end', keys('1'))],
  );
  const texts = run(said, [start, ...Array.from({ length: MAX_STEPS_ALONE }, () => played)]);
  t.ok(texts.steps.includes('edge b, "And again."'));
  t.match(texts.steps.filter((one) => one !== '').at(-1), /flow_loop$/);

  const withCaller = flowOf(
    [talk('a'), talk('b'), end()],
    [edge('a', 'b'), edge('b', 'a'), edge('b', 'end', keys('1'), { priority: 1 })],
  );
  const turns = run(withCaller, [start, ...Array.from({ length: 2 * MAX_NODE_ENTRIES }, () => turn)]);
  const last = turns.steps.findIndex((one) => one.endsWith('flow_loop'));
  t.equal(turns.steps[last], 'edge a, flow_loop');
  t.equal(turns.state.entries[0], MAX_NODE_ENTRIES);
  t.equal(last, 2 * (MAX_NODE_ENTRIES - 1));
});

void t.test('a node that talks for too long fails, and so does one whose model fails', async (t) => {
  const definition = flowOf([talk('a', { max_turns: 2 }), end('help')], [edge('a', 'help', error)]);
  t.same(run(definition, [start, turn, turn]).steps.slice(1), ['reply', 'edge help, end "Goodbye."']);
  t.equal(run(definition, [start, { type: 'failed' }]).steps[1], 'edge help, end "Goodbye."');
  const bare = flowOf([talk('a', { max_turns: 1 }), end()], [edge('a', 'end', keys('1'))]);
  t.same(run(bare, [start, { type: 'failed' }, turn]).steps.slice(1), ['', 'end']);
});

void t.test('a branch of which nothing is true ends the call', async (t) => {
  const definition = flowOf([branch('a'), end()], [edge('a', 'end', is('x', 'y'))]);
  t.equal(run(definition, [start]).steps[0], 'start a, flow_stuck');
  const asked = flowOf([branch('a'), talk('b'), end()], [edge('a', 'b', llm('x')), edge('b', 'end')]);
  t.same(run(asked, [start, take('edge', 'a-b')]).steps, ['start a, ask a-b', 'edge b, reply']);
  t.same(
    run(asked, [start, stay, turn]).steps.slice(1),
    ['reply', 'ask a-b'],
    'no decision: the agent talks',
  );
});

void t.test('global nodes are reached from everywhere, rest for a while, and return', async (t) => {
  const definition = flowOf(
    [
      talk('order'),
      say('hours', 'We close at six.', { global: { condition: 'Asks for hours.', cooldown_turns: 2 } }),
      talk('complain', { global: { condition: 'Complains.', return: true } }),
      talk('sales', { global: { condition: 'Wants sales.', return: false } }),
      end(),
    ],
    [edge('order', 'end', keys('9')), edge('sales', 'end', keys('9'))],
  );
  const hours = run(definition, [start, turn, take('global', 'hours'), played, turn, stay, turn, stay]);
  t.same(hours.steps, [
    'start order, reply',
    'ask hours, complain, sales',
    'global hours, "We close at six."',
    'return order, reply',
    'ask complain, sales',
    'reply',
    'ask hours, complain, sales',
    'reply',
  ]);
  const inside = run(definition, [start, turn, take('global', 'complain'), turn, goBack, turn]);
  t.same(inside.steps.slice(2), [
    'global complain, reply',
    'ask hours, sales, return',
    'return order, reply',
    'ask hours, complain, sales',
  ]);
  const gone = run(definition, [start, turn, take('global', 'sales'), turn]);
  t.equal(gone.steps.at(-1), 'ask hours, complain', 'it does not return');
});

void t.test('a tool: its arguments, what it answers, and that it fails', async (t) => {
  const definition = flowOf(
    [
      tool('book', {
        arguments: { size: '{{size}}', of: [{ at: '{{gone}}' }], n: 2 },
        result_variables: [
          { path: 'table.id', name: 'table' },
          { path: 'note', name: 'note' },
        ],
      }),
      say('booked', 'Table {{table}}.'),
      end(),
      end('sorry'),
    ],
    [edge('book', 'sorry', error, { priority: 1 }), edge('book', 'booked'), edge('booked', 'end')],
  );
  const answered: FlowInput = { type: 'tool_done', ok: true, result: { table: { id: 7 } } };
  t.same(run(definition, [start, turn, answered], { size: 'l' }).steps, [
    'start book, missing gone, run tol_1 {"size":"l","of":[{"at":""}],"n":2}',
    '',
    'table=7 note=, edge booked, "Table 7."',
  ]);
  const failed: FlowInput = { type: 'tool_done', ok: false, result: { table: { id: 7 } } };
  const sorry = run(definition, [start, failed, answered]);
  t.same(sorry.steps.slice(1), ['edge sorry, end "Goodbye."', '']);
  t.notOk(Object.hasOwn(sorry.variables, 'table'));
  t.equal(run(definition, [start, { type: 'resume' }]).steps[1], 'resume book, edge sorry, end "Goodbye."');
  const bare = flowOf([tool('a'), end()], [edge('a', 'end', is('x', 'y'))]);
  t.equal(run(bare, [start, failed]).steps[1], 'flow_stuck');
});

void t.test('a wait: for an event, a time, keys; the caller alone does not end it', async (t) => {
  const definition = flowOf(
    [wait('pay', { event: 'paid' }), say('thanks', 'Thank you.'), end('late'), end('out')],
    [edge('pay', 'out', keys('0')), edge('pay', 'late', error), edge('pay', 'thanks'), edge('thanks', 'out')],
  );
  const paid: FlowInput = { type: 'event', name: 'paid' };
  const other: FlowInput = { type: 'event', name: 'other' };
  t.same(run(definition, [start, turn, other, { type: 'silence', count: 1 }, paid]).steps, [
    'start pay, wait 10',
    '',
    '',
    '',
    'edge thanks, "Thank you."',
  ]);
  t.equal(run(definition, [start, { type: 'timer' }]).steps[1], 'edge late, end "Goodbye."');
  t.equal(run(definition, [start, press('0')]).steps[1], 'edge out, end "Goodbye."');
  t.equal(run(definition, [start, { type: 'resume' }]).steps[1], 'resume pay, wait 10');
  const pause = flowOf([wait('a'), end()], [edge('a', 'end')]);
  t.equal(run(pause, [start, { type: 'timer' }]).steps[1], 'edge end, end "Goodbye."');
});

void t.test('audio in nodes: of a text, and while a wait lasts', async (t) => {
  const definition = flowOf(
    [
      { id: 'jingle', type: 'say', audio_asset_id: 'aud_1' },
      say('terms', 'The terms of {{firm}}.', { audio_asset_id: 'aud_2', interruptible: false }),
      wait('hold', { hold_audio_asset_id: 'aud_3' }),
      end(),
    ],
    [edge('jingle', 'terms'), edge('terms', 'hold'), edge('hold', 'end')],
  );
  t.same(run(definition, [start, played, played], { firm: 'Parley' }).steps, [
    'start jingle, aud_1 ""',
    'edge terms, aud_2 "The terms of Parley."!',
    'edge hold, wait 10 aud_3',
  ]);
});

void t.test('a transfer that comes back leaves by the edge for errors, or by the last one', async (t) => {
  const inline = { id: 'boss', target: { type: 'phone', phone_number: '+14155550100' } };
  const definition = flowOf(
    [
      transfer('sales', { destination_id: 'sales' }),
      transfer('boss', { destination: inline }),
      agent('billing'),
      talk('sorry'),
      end(),
    ],
    [
      edge('sales', 'sorry', error, { priority: 1 }),
      edge('sales', 'end'),
      edge('boss', 'billing'),
      edge('billing', 'end', error),
      edge('sorry', 'boss', keys('1')),
    ],
  );
  const back: FlowInput = { type: 'returned' };
  t.same(
    run(definition, [start, { type: 'silence', count: 1 }, press('1'), back]).steps,
    ['start sales, transfer sales', '', 'edge sorry, reply', ''],
    'who speaks before the word of it is with the agent again',
  );
  t.same(run(definition, [start, back, back, press('1'), back, back]).steps.slice(1), [
    'edge sorry, reply',
    '',
    'edge boss, transfer to boss',
    'edge billing, hand over to agt_2',
    'edge end, end "Goodbye."',
  ]);
  const bare = flowOf([agent('billing')], []);
  t.same(run(bare, [start, back]).steps, ['start billing, hand over to agt_2', 'flow_stuck']);
  t.equal(run(definition, [start, { type: 'resume' }]).steps[1], 'resume sales', 'it is not begun again');
});

void t.test('a later leg goes on where the one before stood', async (t) => {
  const definition = flowOf(
    [say('a', 'A text.'), talk('b'), end()],
    [edge('a', 'b'), edge('b', 'end', keys('1'))],
  );
  t.same(
    run(definition, [start, { type: 'resume' }]).steps[1],
    'resume a, edge b, reply',
    'the text was cut off',
  );
  t.same(run(definition, [start, played, { type: 'resume' }, press('1')]).steps.slice(2), [
    'resume b',
    'edge end, end "Goodbye."',
  ]);
});

void t.test('the state of the largest flow stays within its bound', async (t) => {
  const id = (n: number) => `n${n}`.padEnd(64, 'x');
  const nodes = Array.from({ length: 200 }, (_, n) => talk(id(n)));
  const edges = nodes.map((_, n) => ({ id: `e${n}`, from: id(n), to: id((n + 1) % 200), condition: always }));
  const state = unbegun(toFlowGraph(flowOf(nodes, edges), 'agt_1'));
  const collecting = (candidate: string | null) => {
    const filled = Array.from({ length: 20 }, () => false);
    return { at: 19, attempts: 10, candidate, partial: false, filled };
  };
  const full = flowStateSchema.parse({
    ...state,
    edge_id: id(1),
    entries: state.entries.map(() => MAX_NODE_ENTRIES),
    cooldowns: state.cooldowns.map(() => MAX_NODE_ENTRIES),
    returns: Array.from({ length: MAX_RETURNS }, (_, n) => id(n)),
    collect: collecting('\u0001'.repeat(200)),
    collects: Array.from({ length: MAX_RETURNS }, () => collecting(null)),
    turns: 100,
    steps: 100,
  });
  t.ok(Buffer.byteLength(JSON.stringify(full)) <= MAX_FLOW_STATE_BYTES);
});

void t.test('the example of the documentation', async (t) => {
  const page = readFileSync(new URL('../../../docs/flows.md', import.meta.url), 'utf8');
  const definition = flowDefinitionSchema.parse(JSON.parse(/```json\n([^]*?)```/.exec(page)![1]!));
  const answer: FlowInput = { type: 'tool_done', ok: true, result: { table: { name: 'seven' } } };
  const people = { people: '4' };
  t.same(run(definition, [start, { type: 'result' }, played, answer, played], people).steps, [
    'start hello, reply',
    'edge size, "One moment, please."',
    'edge book, run tol_book {"people":"4"}',
    'table=seven, edge booked, "Your table is seven."!',
    'edge bye, outcome=booked, end "Goodbye."',
  ]);
  const refused =
    'edge sorry, reason=no table for 12, edge no, outcome=refused, end "I am sorry, there is no table for 12. Goodbye."';
  t.equal(run(definition, [start, turn], { people: '12' }).steps[1], `edge size, ${refused}`);
  t.same(
    run(definition, [
      start,
      turn,
      take('global', 'hours'),
      played,
      { type: 'silence', count: 1 },
    ]).steps.slice(1),
    [
      'ask never_mind, hours',
      'global hours, "We are open from five to eleven."',
      'return hello, reply',
      'edge no, outcome=refused, end "I am sorry, there is no table. Goodbye."',
    ],
  );
});
