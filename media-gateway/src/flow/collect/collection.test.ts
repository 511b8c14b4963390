import t from 'tap';
import { edge, end, error, flowOf, is, keys, llm, say, talk, tool } from '../fixtures.ts';
import type { FlowInput } from '../flow-effects.ts';
import { played, press, run, start, take, turn } from '../walk.fixture.ts';

const says = (text: string, asked?: string): FlowInput => ({ type: 'turn', text, ...(asked && { asked }) });
const happens = (name: string): FlowInput => ({ type: 'event', name });
const reads = (values: Record<string, unknown> | null, said = ''): FlowInput => ({
  ...{ type: 'read', choice: null, values, said },
});
const here = {
  'system.language': 'en-US',
  'system.now': '2026-11-23T12:00:00Z',
  'system.timezone': 'UTC',
  'system.caller_number': '+14155550100',
};
const collect = (fields: object[], more: object = {}) => ({ id: 'ask', type: 'collect', fields, ...more });
const flow = (fields: object[], more: object = {}) =>
  flowOf(
    [collect(fields, more), end('bye'), end('sorry')],
    [edge('ask', 'sorry', error, { priority: 1 }), edge('ask', 'bye')],
  );
/** The steps behind the first, in which the caller is asked. */
const steps = (definition: ReturnType<typeof flow>, ...inputs: FlowInput[]) =>
  run(definition, [start, ...inputs], here).steps.slice(1);

void t.test('fields are asked for one after the other, and fill variables', async (t) => {
  const definition = flow([
    { name: 'people', type: 'number', description: 'For how many?' },
    { name: 'day', type: 'date' },
    { name: 'size', type: 'enum', options: ['small', 'large'] },
    { name: 'window', type: 'boolean' },
  ]);
  const { steps, variables } = run(
    definition,
    [start, says('For four people.'), says('On Friday.'), says('A large one.'), says('Yes, please.')],
    here,
  );
  t.same(steps, [
    'start ask, (Ask the caller now for "For how many?" (a number).), reply',
    'people=4, (Ask the caller now for "day" (a date).), reply',
    'day=2026-11-27, (Ask the caller now for "size" (one of: small, large).), reply',
    'size=large, (Ask the caller now for "window" (yes or no).), reply',
    'window=true, edge bye, end "Goodbye."',
  ]);
  t.match(variables, { people: '4', day: '2026-11-27', size: 'large', window: 'true' });
});

void t.test('what is not understood is read by a model, then asked for again, and fails', async (t) => {
  const definition = flow([{ name: 'day', type: 'date' }, { name: 'name' }], { max_attempts: 2 });
  t.same(steps(definition, says('A week after Easter.'), reads({ day: '2027-04-04', name: 'Ada' })), [
    'read day, name',
    'name=Ada, day=2027-04-04, edge bye, end "Goodbye."',
  ]);
  t.same(
    steps(definition, says('Hm.'), reads({}), says('What?'), reads({ day: 'soon' })),
    [
      'read day, name',
      '(What the caller has given was not understood as a date. Ask once more, in other words, for "day" (a date).), reply',
      'read day, name',
      'edge sorry, end "Goodbye."',
    ],
    'the last attempt leads along the edge for errors',
  );
  const name = flow([{ name: 'name' }]);
  t.equal(
    steps(name, says('Ada'), reads(null, 'Ada'))[1],
    'name=Ada, edge bye, end "Goodbye."',
    'without a model',
  );
  const optional = flow([{ name: 'mail', type: 'email', required: false }]);
  t.equal(
    steps(optional, says('I have none.'), reads({}))[1],
    'edge bye, end "Goodbye."',
    'it is asked for once',
  );
});

void t.test('digits in pieces, a correction, and the yes of the caller', async (t) => {
  const definition = flow([{ name: 'code', type: 'digits', confirm: true }]);
  t.same(
    steps(
      definition,
      says('four one five'),
      says('five five five'),
      says('No, five five six.'),
      says('Yes, that is right.'),
    ),
    [
      '"I understood: 4 1 5. Is that right?"',
      '"I understood: 4 1 5, 5 5 5. Is that right?"',
      '"I understood: 4 1 5, 5 5 6. Is that right?"',
      'code=415556, edge bye, end "Goodbye."',
    ],
  );
  const phone = flow([{ name: 'phone', type: 'phone' }]);
  t.same(steps(phone, says('four one five'), says('five five five'), says('two six seven one')), [
    '(The caller gives "phone" (a telephone number) in pieces, and so far has said 4 1 5. Ask for the rest in a word or two, and say nothing else.), reply',
    '(The caller gives "phone" (a telephone number) in pieces, and so far has said 4 1 5, 5 5 5. Ask for the rest in a word or two, and say nothing else.), reply',
    'phone=+14155552671, edge bye, end "Goodbye."',
  ]);
  const once = flow([{ name: 'code', type: 'digits', confirm: true }], { max_attempts: 2 });
  t.same(steps(once, says('one two three'), says('No.'), says('four five six'), says('No, no.')).slice(1), [
    '(What the caller has given was not understood as digits. Ask once more, in other words, for "code" (digits).), reply',
    '"I understood: 4 5 6. Is that right?"',
    'edge sorry, end "Goodbye."',
  ]);
});

void t.test('keys, and words where keys are wanted', async (t) => {
  const definition = flow([{ name: 'pin', type: 'digits', confirm: true }], { input: 'dtmf' });
  const { steps } = run(definition, [start, press('0815'), press('2'), press('0816'), press('1')], here);
  t.match(steps[0], /They cannot say it: tell them to enter it with the keys/);
  t.same(steps.slice(1, 2), ['"I understood: 0 8 1 5. Is that right?"']);
  t.same(steps.slice(3), ['"I understood: 0 8 1 6. Is that right?"', 'pin=0816, edge bye, end "Goodbye."']);
  const spoken = run(definition, [start, says('zero eight one five')], here);
  t.match(spoken.steps[1], /^\(What the caller has given was not understood as digits/);
  const none = flow([{ name: 'pin', type: 'digits' }]);
  t.match(
    run(none, [start, press('5')], here).steps[1],
    /^\(What the caller has given was not understood as digits/,
    'and keys where words are',
  );
});

void t.test('what the caller has said leads on before all is collected', async (t) => {
  const definition = flowOf(
    [
      collect([{ name: 'people', type: 'number' }, { name: 'day', type: 'date' }, { name: 'name' }]),
      end('out'),
      end('bye'),
    ],
    [
      edge('ask', 'out', is('people', '9'), { priority: 2, say: 'So many.' }),
      edge('ask', 'out', is('system.node_turns', '3'), { id: 'slow', priority: 3 }),
      edge('ask', 'out', is('vip', 'yes'), { id: 'vip', priority: 4 }),
      edge('ask', 'out', keys('0'), { id: 'zero', priority: 5 }),
      edge('ask', 'out', llm('Wants a person.'), { id: 'person' }),
      edge('ask', 'bye'),
    ],
  );
  const last = (...inputs: FlowInput[]) => steps(definition, ...inputs).at(-1);
  const out = 'edge out, end "Goodbye."';
  t.equal(last(says('Nine.')), 'people=9, "So many."', 'and nothing more is asked');
  t.equal(last(says('A whole team.'), reads({ people: 9, name: 'Ada' })), 'name=Ada, people=9, "So many."');
  t.match(last(says('Four.'), says('Hm.')), /^read day, name or go on$/);
  t.equal(last(says('Four.'), says('Hm.'), reads({}), says('Hm.')), out, 'no model is asked');
  t.equal(last(press('0')), out, 'keys of an edge are no value');
  const vip = (input: FlowInput) => run(definition, [start, input], { ...here, vip: 'yes' });
  t.match(vip(says('Four.')).variables, { people: '4' }, 'what was said with it is kept');
  for (const input of [says('Four.'), says('Hm.'), press('0'), { type: 'result' } as const, happens('paid')])
    t.match(vip(input).steps[1], /edge out/, JSON.stringify(input));
  t.match(vip(says('Four.')).steps[0], /^start ask, \(Ask the caller now/, 'it asks first');
});

void t.test('edges of a node that collects, and a global node in between', async (t) => {
  const definition = flowOf(
    [
      collect([
        { name: 'a', type: 'number' },
        { name: 'b', type: 'number' },
      ]),
      say('hours', 'From five.', { global: { condition: 'Asks for hours.' } }),
      end('bye'),
      end('out'),
    ],
    [
      edge('ask', 'out', keys('0'), { priority: 1 }),
      edge('ask', 'out', llm('Wants a person.'), { id: 'person', priority: 2 }),
      edge('ask', 'bye'),
    ],
  );
  const all = run(
    definition,
    [start, says('one'), says('When are you open?'), take('global', 'hours'), played, says('two')],
    here,
  );
  t.same(all.steps.slice(2), [
    'read b or go on',
    'global hours, "From five."',
    'return ask, (Ask the caller now for "b" (a number).), reply',
    'b=2, edge bye, end "Goodbye."',
  ]);
  t.equal(run(definition, [start, press('0')], here).steps[1], 'edge out, end "Goodbye."');
  const person: FlowInput = { ...reads(null), choice: { by: 'edge', id: 'person' } } as FlowInput;
  t.equal(run(definition, [start, says('A person!'), person], here).steps[2], 'edge out, end "Goodbye."');
  t.match(
    run(definition, [start, says('one'), { type: 'resume' }, says('two')], here).steps.slice(2),
    [/^resume ask, \(Ask the caller now for "b"/, 'b=2, edge bye, end "Goodbye."'],
    'a later leg goes on with the field that was asked for',
  );
});

void t.test('a tool that needs a yes', async (t) => {
  const definition = flowOf(
    [tool('book', { arguments: { size: '{{size}}' } }), talk('sorry'), end()],
    [edge('book', 'sorry', error, { priority: 1 }), edge('book', 'end'), edge('sorry', 'end')],
  );
  const asked = 'Shall I book a large table?';
  const told = (...inputs: FlowInput[]) =>
    run(definition, [start, ...inputs], { ...here, size: 'large' }, ['tol_1']).steps;
  t.same(told(says('Yes, book it.', asked), { type: 'tool_done', ok: true, result: {} }), [
    'start book, ask for a yes to tol_1 {"size":"large"}',
    'yes, run tol_1 {"size":"large"}',
    'edge end, end "Goodbye."',
  ]);
  t.equal(told(says('No, thanks.', asked))[1], 'no, edge sorry, reply');
  t.same(told(says('Which one?', asked), says('Hm.', asked)).slice(1), [
    'unclear, ask for a yes again to tol_1 {"size":"large"}',
    'unconfirmed, edge sorry, reply',
  ]);
  t.equal(run(definition, [start, turn], here).steps[0], 'start book, missing size, run tol_1 {"size":""}');
});
