import t from 'tap';
import { parseChatRequest } from './chat-request.ts';
import { improvise } from './improvise.ts';

const PROMPT = [
  'You answer the telephone of the bakery Golden Crust. You are friendly.',
  'The bakery opens at six in the morning and closes at two. Rye bread costs four euros, a croissant costs two euros.',
  'The address is 12 Mill Lane. Take orders with the tool order_bread.',
].join(' ');
const SPOKEN = (language: string) =>
  `\n\nYou are speaking with a person on a live voice call. The call is in ${language}: speak it, unless you are told otherwise above.`;
const ORDER = {
  type: 'function',
  function: {
    name: 'order_bread',
    description: 'Orders bread to be picked up.',
    parameters: {
      type: 'object',
      properties: {
        item: { type: 'string', description: 'What to bake' },
        quantity: { type: 'integer', description: 'How many' },
        day: { type: 'string', description: 'Day of the week' },
      },
      required: ['item', 'quantity', 'day'],
    },
  },
};
const END = { type: 'function', function: { name: 'end_call', description: 'Ends the call.' } };
const OTHER = {
  type: 'function',
  function: {
    name: 'track_parcel',
    description: 'Says where a parcel is.',
    parameters: { type: 'object', properties: {} },
  },
};

/** Turns of caller and agent, the caller first. */
function ask(
  turns: readonly (string | object)[],
  { prompt = PROMPT, language = 'English', tools = [OTHER, ORDER, END] as object[] } = {},
) {
  return improvise(
    parseChatRequest({
      model: 'm',
      messages: [
        { role: 'system', content: `${prompt}${SPOKEN(language)}` },
        ...turns.map((turn, index) =>
          typeof turn === 'string' ? { role: index % 2 === 0 ? 'user' : 'assistant', content: turn } : turn,
        ),
      ],
      ...(tools.length > 0 ? { tools } : {}),
    }),
  );
}

void t.test('a question is answered by the sentence of the prompt that is about it', async (t) => {
  const answers = {
    'When do you open?': /opens at six/,
    'How much is the rye bread?': /four euros/,
    'Where are you?': /12 Mill Lane/,
  };
  for (const [question, answer] of Object.entries(answers))
    t.match(ask([question]), { text: answer, toolCalls: [] }, question);
  t.match(ask(['What is the weather like?']), { text: /only an emulated.*Orders bread/, toolCalls: [] });
  t.match(ask(['What is the weather like?'], { tools: [] }), { text: /only an emulated/, toolCalls: [] });
});

void t.test('a tool is chosen by its description, and what it requires is asked for', async (t) => {
  t.match(ask(['I would like to order two rye bread for Saturday.']), {
    text: 'One moment, please.',
    toolCalls: [{ name: 'order_bread', arguments: { item: /rye bread/i, quantity: 2, day: 'Saturday' } }],
  });
  const first = ask(['I would like to place an order.']);
  t.same(first, { text: 'Please tell me: What to bake?', toolCalls: [] });
  const conversation = ['I would like to place an order.', first.text, 'A walnut loaf, please.'];
  const second = ask(conversation);
  t.same(second, { text: 'Please tell me: How many?', toolCalls: [] });
  t.match(ask([...conversation, second.text, 'Three, for Monday.']), {
    toolCalls: [{ name: 'order_bread', arguments: { item: /walnut loaf/i, quantity: 3, day: 'Monday' } }],
  });
  t.match(ask([...conversation, second.text, 'When do you close on Saturday, by the way?']), {
    text: /closes at two/,
  });
});

void t.test("a tool's result is told, a failure too", async (t) => {
  const after = (content: string) =>
    ask([
      'Two rye breads for Saturday.',
      {
        role: 'assistant',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'order_bread', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content },
    ]).text;
  t.equal(
    after('{"ok":true,"order_id":"B 17","ready":"at seven"}'),
    'That is done. order id: B 17, ready: at seven.',
  );
  t.equal(after('{"message":"Two loaves are set aside."}'), 'Two loaves are set aside.');
  t.match(after('{"ok":false,"error":"We are sold out."}'), /did not work\. We are sold out/);
  t.equal(after('Noted'), 'That is done. Noted');
});

void t.test('goodbyes, keys and silence have their answers', async (t) => {
  t.same(ask(['Thank you, goodbye.']), {
    text: 'Thank you for calling. Goodbye.',
    toolCalls: [{ name: 'end_call', arguments: {} }],
  });
  t.same(ask(['Goodbye.'], { tools: [] }).toolCalls, []);
  t.match(ask(['[The caller pressed these keys: 12#]']), { text: 'You pressed 12#.' });
  t.match(ask(['[The caller has been silent for a while.]']), { text: 'Are you still there?' });
});

void t.test('it speaks the language that the prompt names', async (t) => {
  const prompt =
    'Sie arbeiten für die Bäckerei Goldkruste. Die Bäckerei ist ab sechs Uhr geöffnet. Brötchen kosten 50 Cent.';
  const german = { prompt, language: 'German (Switzerland)', tools: [END] };
  t.match(ask(['Wann sind Sie geöffnet?'], german), { text: 'Die Bäckerei ist ab sechs Uhr geöffnet.' });
  t.match(ask(['Was kosten die Brötchen?'], german), { text: /50 Cent/ });
  t.match(ask(['Wie wird das Wetter?'], german), { text: /nur ein emuliertes Sprachmodell/ });
  t.match(ask(['Danke, auf Wiederhören.'], german), {
    text: /Auf Wiederhören/,
    toolCalls: [{ name: 'end_call' }],
  });
});
