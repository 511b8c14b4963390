import t from 'tap';
import { diffOf, exchangesOf } from './replay-diff.ts';
import type { StoredToolCall, StoredTurn } from './replay-diff.ts';

const turn = (
  role: StoredTurn['role'],
  text: string,
  start_ms: number,
  more: Partial<StoredTurn> = {},
): StoredTurn => ({
  ...{ role, text, start_ms, end_ms: start_ms + 500, interrupted: false, latency: null },
  ...more,
});
const call = (tool_name: string, given: string, offset_ms: number): StoredToolCall => ({
  ...{ tool_name, arguments: given, ok: true, code: null, duration_ms: 12, offset_ms },
});

const BEFORE = exchangesOf(
  [
    turn('agent', 'Hello.', 0),
    turn('caller', 'Where is A1?', 1000),
    turn('agent', 'One moment.', 2000, { latency: { e2e: 700, llm_first_token: 300 } }),
    turn('agent', 'It is on its way.', 4000, { latency: { e2e: null, llm_first_token: 90 } }),
    turn('caller', '(keys) 42', 6000),
    turn('agent', 'Thank you.', 7000),
    turn('caller', 'Tell me all.', 9000),
    turn('agent', 'There is a', 10_000, { interrupted: true }),
  ],
  [call('find', '{"id":"A1","fast":true}', 2500)],
);

void t.test('a conversation is what the caller said, and what the agent did about it', async (t) => {
  t.match(BEFORE, [
    { caller: null, text: 'Hello.', tools: [] },
    {
      caller: 'Where is A1?',
      text: 'One moment. It is on its way.',
      ...{ latency_ms: 700, llm_first_token_ms: 300 },
      tools: [{ name: 'find', duration_ms: 12 }],
    },
    { caller: '(keys) 42', text: 'Thank you.' },
    { caller: 'Tell me all.', text: 'There is a', interrupted: true },
  ]);
});

void t.test('two of them are compared by the turns of the caller; keys are not said again', async (t) => {
  const after = exchangesOf(
    [
      turn('agent', 'Hello.', 0),
      turn('caller', 'Where is A1?', 10),
      turn('agent', 'It is at the door.', 20),
      turn('caller', 'Tell me all.', 30),
      turn('agent', 'There is a lot to tell.', 40),
    ],
    [call('find', '{"fast": true, "id": "A1"}', 15)],
  );
  const diff = diffOf(BEFORE, after);
  t.match(
    diff.map(({ reply_changed, tools_changed }) => [reply_changed, tools_changed]),
    [
      [false, false],
      [true, false],
      [false, false],
      [false, false],
    ],
    'arguments are compared by value, and what was cut off by its beginning',
  );
  t.equal(diff[2]!.after, null);
  t.equal(diff[1]!.after?.text, 'It is at the door.');
});

void t.test('where the repetition ended earlier there is nothing to compare', async (t) => {
  const diff = diffOf(BEFORE, exchangesOf([turn('agent', 'Good day.', 0)], []));
  t.match(diff, [{ reply_changed: true }, { after: null, reply_changed: false }, {}, { after: null }]);
  const other = exchangesOf([turn('caller', 'Where is A1?', 10)], [call('find', '{"id":"B2"}', 15)]);
  t.match(diffOf(BEFORE, other)[1], { tools_changed: true });
});
