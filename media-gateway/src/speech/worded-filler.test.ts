import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { LlmMessage, LlmProvider, LlmRequest } from '../providers/llm/llm-provider.ts';
import { wordedFiller } from './worded-filler.ts';

const HISTORY: LlmMessage[] = [
  { role: 'system', content: 'You are an agent.' },
  { role: 'user', content: 'Hello.' },
  { role: 'assistant', content: 'Hello.' },
  { role: 'user', content: 'Is there a table?' },
  { role: 'system', content: 'A note.' },
];

/** What is said of what the model wrote, and what it was asked. */
async function worded(
  written: string,
  {
    messages = HISTORY,
    said = [],
    mayBeSaid,
  }: { messages?: LlmMessage[]; said?: string[]; mayBeSaid?: (text: string) => Promise<boolean> } = {},
) {
  const requests: LlmRequest[] = [];
  const llm = {
    name: 'some-model',
    model: { provider: 'openai', model: 'm' },
    async *stream(request: LlmRequest) {
      requests.push(request);
      await Promise.resolve();
      yield { type: 'text', text: written };
    },
  } as unknown as LlmProvider;
  const word = wordedFiller({
    llm,
    language: 'de-DE',
    cacheKey: 'agent_1',
    clock: new ManualClock(),
    usage: {
      stt_seconds: 0,
      llm_input_tokens: 0,
      llm_output_tokens: 0,
      tts_characters: 0,
      carrier_seconds: 0,
    },
    messages: () => messages,
    mayBeSaid,
  });
  const text = await word({ said, withinMs: 1000, signal: new AbortController().signal });
  return { text, requests };
}

void t.test('a filler fits what the caller said last', async (t) => {
  const { text, requests } = await worded('I am looking for a table.');
  t.equal(text, 'I am looking for a table.');
  const [request] = requests;
  t.match(request, { temperature: 0.7, maxOutputTokens: 40, cacheKey: 'agent_1:filler' });
  t.match(request!.messages[0]!.content, /one short sentence in German/);
  t.notMatch(request!.messages[0]!.content, /already/);
  t.same(request!.messages.slice(1), [{ role: 'user', content: 'Is there a table?' }]);
  const silent = await worded('I am looking.', { messages: HISTORY.slice(0, 1) });
  t.equal(silent.text, undefined);
  t.equal(silent.requests.length, 0, 'nobody has said anything');
});

void t.test('it is another one than those before', async (t) => {
  const said = ['I am looking.', 'One moment.'];
  const { text, requests } = await worded('I am looking.', { said });
  t.equal(text, undefined);
  t.match(requests[0]!.messages[0]!.content, 'already: I am looking. One moment. Say something else.');
  t.equal((await worded('Just a second.', { said })).text, 'Just a second.');
});

void t.test('what is no short sentence is not said', async (t) => {
  t.equal((await worded(' "I am looking." ')).text, 'I am looking.');
  t.equal((await worded('„Ich sehe nach.“')).text, 'Ich sehe nach.');
  t.equal((await worded('It is "fine".')).text, 'It is "fine".', 'marks within stay');
  for (const written of [
    '',
    '  ',
    '""',
    'one\ntwo',
    'a *bold* one',
    '# Title',
    'a `code`',
    '{"a": 1}',
    '[sighs]',
  ])
    t.equal((await worded(written)).text, undefined, written);
  t.equal((await worded('x'.repeat(160))).text, 'x'.repeat(160));
  t.equal((await worded('x'.repeat(161))).text, undefined);
});

void t.test('what must not be said is not', async (t) => {
  const asked: string[] = [];
  const answering = (answer: boolean) => ({
    mayBeSaid: (text: string) => (asked.push(text), Promise.resolve(answer)),
  });
  t.equal((await worded('I am looking.', answering(false))).text, undefined);
  t.equal((await worded('I am looking.', answering(true))).text, 'I am looking.');
  t.same(asked, ['I am looking.', 'I am looking.']);
});
