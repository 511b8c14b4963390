import t from 'tap';
import { printReplay, type Replay } from './print-replay.ts';

const reply = (text: string, more: object = {}) => ({
  ...{ text, interrupted: false, latency_ms: null, llm_first_token_ms: 20, tools: [] },
  ...more,
});
const replay: Replay = {
  ...{ id: 'rpl_1', version: 9, status: 'completed', error: null, replies_changed: 1, tools_changed: 1 },
  turns: [
    {
      caller: null,
      before: reply('Hello.'),
      after: reply('Hello.'),
      reply_changed: false,
      tools_changed: false,
    },
    {
      caller: 'Where is A1?',
      before: reply('On its way.', {
        tools: [{ name: 'find', arguments: '{"id":"A1"}', ok: true, code: null }],
      }),
      after: reply('I do not know.', { llm_first_token_ms: null }),
      ...{ reply_changed: true, tools_changed: true },
    },
    { caller: '(keys) 1', before: reply('Thanks.'), after: null, reply_changed: false, tools_changed: false },
  ],
};
const plain = (_: unknown, text: string) => text;

void t.test('what has changed stands below what the caller said', async (t) => {
  t.equal(
    printReplay(replay, false, plain),
    `caller: Where is A1?
- agent: On its way.
+ agent: I do not know.
- tool: find {"id":"A1"} ok
  first token 20 ms before, none now
3 turns with version 9: 1 other replies, other tools in 1.
`,
  );
  t.match(printReplay(replay, true, plain), /\(at the beginning\)\n {2}agent: Hello\.[^]*\(not said again\)/);
  t.match(printReplay({ ...replay, status: 'failed', error: 'Gone.' }, false, plain), /failed: Gone\./);
});
