import t from 'tap';
import { ZodError } from 'zod';
import { BadChatRequestError, parseChatRequest } from './chat-request.ts';
import { answerByScript, parseScript } from './script.ts';

const user = (content: string) => ({ role: 'user', content });
const ask = (script: object, request: object) =>
  answerByScript(parseScript(script), parseChatRequest({ model: 'm', ...request }));
const CALL = { id: 'c1', type: 'function', function: { name: 'find_room', arguments: '{}' } };
const TOOLS = [{ type: 'function', function: { name: 'find_room', parameters: { type: 'object' } } }];

void t.test('the first rule that holds answers, and the fallback when none does', async (t) => {
  const script = {
    rules: [
      { when: { user: ['opening', 'hours'], system: 'hotel' }, reply: { text: 'hotel hours' } },
      { when: { user: 'HOURS' }, reply: { text: 'hours' } },
      {
        when: { assistant: 'which day', user: { regex: '^(monday|tuesday)' } },
        reply: { text: 'On {{1}}, then.' },
      },
      { when: { model: 'other' }, reply: { text: 'other model' } },
    ],
    fallback: { text: 'what?' },
  };
  const text = (request: object) => ask(script, request).text;
  t.equal(
    text({ messages: [{ role: 'system', content: 'You are a Hotel.' }, user('Your hours?')] }),
    'hotel hours',
  );
  t.equal(text({ messages: [user('Your hours?')] }), 'hours');
  t.equal(
    text({ messages: [user('hours'), { role: 'assistant', content: 'Which day?' }, user('Monday please')] }),
    'On Monday, then.',
  );
  t.equal(text({ messages: [user([{ type: 'text', text: 'hours' }] as unknown as string)] }), 'hours');
  t.equal(text({ model: 'other', messages: [user('x')] }), 'other model');
  t.same(ask(script, { messages: [user('x')] }), { rule: undefined, text: 'what?', toolCalls: [] });
});

void t.test(
  'a tool is called only where it is offered, and its result answered by its own rule',
  async (t) => {
    const script = {
      rules: [
        {
          when: { user: { regex: '(?<n>\\d+) (?:people|guests)' }, tool: 'find_room' },
          reply: {
            text: 'One moment.',
            tool_calls: [{ name: 'find_room', arguments: { guests: '{{n}}', note: 'for {{n}}: {{user}}' } }],
          },
        },
        { when: { user: 'people' }, reply: { text: 'no tool' } },
        { when: { after_tool: 'other' }, reply: { text: 'wrong' } },
        {
          when: { after_tool: 'find_room' },
          reply: { text: 'Room {{tool.room.number}} with {{ tool.beds }} beds{{tool.none}}.' },
        },
      ],
    };
    const question = user('4 people');
    t.same(ask(script, { messages: [question], tools: TOOLS }), {
      rule: 0,
      text: 'One moment.',
      toolCalls: [{ name: 'find_room', arguments: { guests: '4', note: 'for 4: 4 people' } }],
    });
    t.same(ask(script, { messages: [question], tools: TOOLS, tool_choice: 'none' }).toolCalls, []);
    t.equal(ask(script, { messages: [question] }).text, 'no tool');
    const result = { role: 'tool', tool_call_id: 'c1', content: '{"room":{"number":12},"beds":2}' };
    const after = [question, { role: 'assistant', content: null, tool_calls: [CALL] }, result];
    t.equal(ask(script, { messages: after, tools: TOOLS }).text, 'Room 12 with 2 beds.');
  },
);

void t.test('an argument that is one placeholder keeps the type of the field', async (t) => {
  const script = {
    rules: [
      {
        when: { after_tool: '*' },
        reply: { tool_calls: [{ name: 'book', arguments: { n: '{{tool.n}}', list: ['{{tool.l}}'] } }] },
      },
    ],
  };
  const messages = [
    user('x'),
    { role: 'assistant', tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'c1', content: '{"n":3,"l":[1]}' },
  ];
  t.same(ask(script, { messages }).toolCalls[0]?.arguments, { n: 3, list: [[1]] });
});

void t.test(
  'structured output comes from a json rule, fits its schema, and falls back to the lead',
  async (t) => {
    const script = {
      rules: [
        { reply: { text: 'only for text' } },
        {
          when: { schema: 'survey' },
          reply: {
            json: {
              rating: { $match: '(\\d) stars' },
              liked: { $match: 'nothing', else: 'yes' },
              fixed: [1],
            },
          },
        },
      ],
    };
    const format = (name: string, properties: object) => ({
      type: 'json_schema',
      json_schema: {
        name,
        schema: {
          type: 'object',
          properties,
          required: Object.keys(properties),
          additionalProperties: false,
        },
      },
    });
    const messages = [user('Caller: my name is Ada. I give 4 stars')];
    const survey = ask(script, {
      messages,
      response_format: format('survey', { rating: { type: 'integer' }, liked: { type: 'string' } }),
    });
    t.same(JSON.parse(survey.text), { rating: 4, liked: 'yes' });
    const lead = ask(script, {
      messages,
      response_format: format('lead', {
        customer_name: { type: ['string', 'null'] },
        odd: { type: 'number' },
      }),
    });
    t.same(JSON.parse(lead.text), { customer_name: 'Ada', odd: 0 });
    t.match(JSON.parse(ask(script, { messages, response_format: { type: 'json_object' } }).text), {
      customer_name: 'Ada',
    });
    t.equal(ask(script, { messages }).text, 'only for text');
  },
);

void t.test('a script with a mistake is refused', async (t) => {
  for (const script of [
    null,
    { rules: [{ when: { user: { regex: '(' } }, reply: { text: '' } }] },
    { rules: [{ when: { usr: 'x' }, reply: { text: '' } }] },
    { rules: [{ reply: {} }] },
    { rules: [{ reply: { text: 'a', json: {} } }] },
    { rules: [{ reply: { json: { a: { $match: '(' } } } }] },
    { models: [] },
  ]) {
    t.throws(() => parseScript(script), ZodError, JSON.stringify(script));
  }
});

void t.test('requests that the vendor refuses are refused', async (t) => {
  const call = { role: 'assistant', tool_calls: [CALL] };
  const result = { role: 'tool', tool_call_id: 'c1', content: 'ok' };
  for (const [what, request] of [
    ['no messages', { messages: [] }],
    ['an unknown role', { messages: [{ role: 'robot', content: '' }] }],
    ['a result without a call', { messages: [user('x'), result] }],
    ['a call without a result', { messages: [user('x'), call] }],
    ['a call interrupted by the user', { messages: [user('x'), call, user('stop')] }],
    ['a result twice', { messages: [user('x'), call, result, result] }],
    ['a choice without tools', { messages: [user('x')], tool_choice: 'auto' }],
    [
      'a choice of no tool',
      { messages: [user('x')], tools: TOOLS, tool_choice: { type: 'function', function: { name: 'no' } } },
    ],
    ['several answers', { messages: [user('x')], n: 2 }],
  ] as const) {
    t.throws(() => parseChatRequest({ model: 'm', ...request }), BadChatRequestError, what);
  }
  t.doesNotThrow(() =>
    parseChatRequest({ model: 'm', messages: [user('x'), call, result, user('y')], unheard_of: 1 }),
  );
});
