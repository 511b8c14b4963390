import { once } from 'node:events';
import { connect } from 'node:net';
import OpenAI from 'openai';
import t from 'tap';
import type { Test } from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openOpenAiEmulator } from './openai-emulator.ts';
import type { OpenAiEmulator, OpenAiEmulatorOptions } from './openai-emulator.ts';
import { parseScript } from './openai/script.ts';

const SCRIPT = parseScript({
  models: ['small', 'large'],
  rules: [
    {
      when: { user: 'room', tool: 'find_room' },
      reply: {
        text: 'One moment.',
        tool_calls: [
          { name: 'find_room', arguments: { guests: 4, floor: 'ground' } },
          { name: 'find_room', arguments: { guests: 2 } },
        ],
      },
    },
    { when: { after_tool: 'find_room' }, reply: { text: 'Room {{tool.number}} is free.' } },
    { when: { user: 'hello' }, reply: { text: 'Hello there, how can I help you today?' } },
  ],
});
const FAST = { firstToken: 0, tokensPerSecond: Infinity };
const HELLO = [{ role: 'user', content: 'hello' }] as const;
const TOOLS = [{ type: 'function', function: { name: 'find_room', parameters: {} } }] as const;

async function open(t: Test, options: Partial<OpenAiEmulatorOptions> = {}) {
  const emulator = await openOpenAiEmulator({ script: SCRIPT, delays: FAST, ...options });
  t.teardown(() => emulator[Symbol.asyncDispose]());
  const client = new OpenAI({ apiKey: 'k', baseURL: `${emulator.url}/v1`, maxRetries: 0, logLevel: 'off' });
  return { emulator, client };
}

type Chunk = Record<string, unknown> & {
  id: string;
  choices: { delta: Record<string, unknown>; finish_reason: string | null }[];
};

/** Reads a stream without the SDK: what is on the wire. */
async function rawStream(
  emulator: OpenAiEmulator,
  body: object,
): Promise<{ chunks: Chunk[]; events: string[] }> {
  const response = await fetch(`${emulator.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'small', stream: true, messages: HELLO, ...body }),
  });
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  const events = (await response.text()).split('\n\n').filter(Boolean);
  const chunks = events
    .filter((event) => event.startsWith('data: {"id":"'))
    .map((event) => JSON.parse(event.slice(6)) as Chunk);
  return { chunks, events };
}

void t.test('a whole answer has the shape of the vendor', async (t) => {
  const { client, emulator } = await open(t);
  const { data, response } = await client.chat.completions
    .create({ model: 'small', messages: [...HELLO] })
    .withResponse();
  t.equal(response.headers.get('x-parley-emulator'), 'openai');
  t.match(response.headers.get('x-request-id'), /^req_/);
  t.match(data, {
    object: 'chat.completion',
    model: 'small',
    system_fingerprint: 'parley-emulator',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'Hello there, how can I help you today?' },
      },
    ],
  });
  t.equal(data.usage!.total_tokens, data.usage!.prompt_tokens + data.usage!.completion_tokens);
  t.match(emulator.requests.at(-1), { model: 'small', messages: HELLO });
});

void t.test('a stream of text comes in the order of the vendor', async (t) => {
  const { emulator } = await open(t);
  const { chunks, events } = await rawStream(emulator, {
    stream_options: { include_usage: true, include_obfuscation: false },
  });
  t.equal(events.at(-1), 'data: [DONE]');
  t.same(chunks[0]!.choices, [
    {
      index: 0,
      delta: { role: 'assistant', content: '', refusal: null },
      logprobs: null,
      finish_reason: null,
    },
  ]);
  const middle = chunks.slice(1, -2);
  t.equal(
    middle.map(({ choices }) => choices[0]!.delta.content).join(''),
    'Hello there, how can I help you today?',
  );
  t.ok(middle.length > 5);
  t.same(chunks.at(-2)!.choices, [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]);
  t.same(chunks.at(-1)!.choices, []);
  t.match(chunks.at(-1)!.usage, {
    completion_tokens: middle.length,
    prompt_tokens: Number,
    total_tokens: Number,
  });
  t.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
  t.equal(new Set(chunks.map(({ id }) => id)).size, 1);
  t.notOk(chunks.some((chunk) => 'obfuscation' in chunk));
  const plain = await rawStream(emulator, {});
  t.notOk(
    plain.chunks.some((chunk) => 'usage' in chunk),
    'usage comes only when asked for',
  );
  t.ok(
    plain.chunks.every((chunk) => 'obfuscation' in chunk),
    'padding comes unless switched off',
  );
});

void t.test('tool calls are streamed in fragments by index, and answered from their result', async (t) => {
  const { client, emulator } = await open(t);
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'a room please' }];
  const { chunks } = await rawStream(emulator, { messages, tools: TOOLS });
  const deltas = chunks.flatMap(
    ({ choices }) => (choices[0]!.delta.tool_calls ?? []) as Record<string, unknown>[],
  );
  t.match(deltas[0], {
    index: 0,
    id: /^call_/,
    type: 'function',
    function: { name: 'find_room', arguments: '' },
  });
  t.same(Object.keys(deltas[1]!), ['index', 'function']);
  t.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'tool_calls');
  const final = await client.chat.completions
    .stream({ model: 'small', messages, tools: [...TOOLS] })
    .finalChatCompletion();
  const { message } = final.choices[0]!;
  t.equal(message.content, 'One moment.');
  t.same(
    message.tool_calls!.map(
      (call) =>
        JSON.parse((call as OpenAI.ChatCompletionMessageFunctionToolCall).function.arguments) as unknown,
    ),
    [{ guests: 4, floor: 'ground' }, { guests: 2 }],
  );
  const results = message.tool_calls!.map(({ id }) => ({
    role: 'tool' as const,
    tool_call_id: id,
    content: '{"number":7}',
  }));
  const next = await client.chat.completions.create({
    model: 'small',
    messages: [...messages, message, ...results],
    tools: [...TOOLS],
  });
  t.equal(next.choices[0]?.message.content, 'Room 7 is free.');
  const single = await client.chat.completions.create({
    model: 'small',
    messages,
    tools: [...TOOLS],
    parallel_tool_calls: false,
  });
  t.equal(single.choices[0]?.message.tool_calls?.length, 1);
});

void t.test('structured output fits the schema', async (t) => {
  const { client } = await open(t);
  const schema = {
    type: 'object',
    properties: {
      customer_name: { type: ['string', 'null'] },
      lead_score: { type: 'integer' },
      other: { enum: ['a', 'unknown'] },
    },
    required: ['customer_name', 'lead_score', 'other'],
    additionalProperties: false,
  };
  const completion = await client.chat.completions.create({
    model: 'small',
    messages: [{ role: 'user', content: 'Caller: My name is Ada.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'lead', schema, strict: true } },
  });
  t.same(JSON.parse(completion.choices[0]!.message.content!), {
    customer_name: 'Ada',
    lead_score: 30,
    other: 'unknown',
  });
});

void t.test('the length limit and stop marks cut the answer', async (t) => {
  const { client } = await open(t);
  const short = await client.chat.completions.create({
    model: 'small',
    messages: [...HELLO],
    max_completion_tokens: 2,
  });
  t.equal(short.choices[0]?.finish_reason, 'length');
  t.equal(short.usage?.completion_tokens, 2);
  const stopped = await client.chat.completions.create({ model: 'small', messages: [...HELLO], stop: [','] });
  t.equal(stopped.choices[0]?.message.content, 'Hello there');
});

void t.test(
  'models are listed; embeddings, keys, bodies and paths are refused with proper errors',
  async (t) => {
    const { client, emulator } = await open(t, { keys: ['k'] });
    t.same(
      (await client.models.list()).data.map(({ id }) => id),
      ['small', 'large'],
    );
    t.equal((await client.models.retrieve('large')).owned_by, 'parley-emulator');
    await t.rejects(client.models.retrieve('none'), { status: 404, code: 'model_not_found' });
    await t.rejects(client.embeddings.create({ model: 'e', input: 'x' }), {
      status: 404,
      code: 'model_not_found',
    });
    const stranger = new OpenAI({ apiKey: 'bad', baseURL: `${emulator.url}/v1`, maxRetries: 0 });
    await t.rejects(stranger.models.list(), { status: 401, code: 'invalid_api_key' });
    await t.rejects(client.chat.completions.create({ model: 'small', messages: [] }), {
      status: 400,
      message: /messages/,
    });
    const post = (path: string, body: string) =>
      fetch(`${emulator.url}${path}`, { method: 'POST', headers: { authorization: 'Bearer k' }, body });
    t.equal((await post('/v1/chat/completions', '{')).status, 400);
    t.match(await (await post('/v1/responses', '{}')).json(), {
      error: { message: 'Invalid URL (POST /v1/responses)', type: 'invalid_request_error' },
    });
    t.equal(emulator.stats.refused, 6);
  },
);

void t.test(
  'the first token waits for its delay, the others for their pace; the head comes at once',
  async (t) => {
    const clock = new ManualClock();
    const { client, emulator } = await open(t, { clock, delays: { firstToken: 350, tokensPerSecond: 80 } });
    const stream = await client.chat.completions.create({
      model: 'small',
      messages: [...HELLO],
      stream: true,
    });
    const heard: string[] = [];
    let notify = () => undefined as void;
    const reading = (async () => {
      for await (const chunk of stream) {
        const content = chunk.choices[0]?.delta.content;
        if (content) heard.push(content);
        notify();
      }
    })();
    const waiting = async () => {
      while (clock.pendingTimers === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    };
    await waiting();
    clock.advance(349);
    t.equal(clock.pendingTimers, 1);
    t.same(heard, []);
    const first = new Promise<void>((resolve) => (notify = () => heard.length > 0 && resolve()));
    clock.advance(1);
    await first;
    t.same(heard, ['Hello']);
    await waiting();
    clock.advance(12);
    t.equal(clock.pendingTimers, 1);
    for (;;) {
      clock.advance(1);
      if (emulator.stats.running === 0) break;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    await reading;
    t.equal(heard.join(''), 'Hello there, how can I help you today?');
  },
);

void t.test('a client that leaves stops the generation, and is counted', async (t) => {
  const { client, emulator } = await open(t, { delays: { firstToken: 0, tokensPerSecond: 20 } });
  const stream = await client.chat.completions.create({ model: 'small', messages: [...HELLO], stream: true });
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
  while (emulator.stats.aborted === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  t.match(emulator.stats, { aborted: 1, running: 0 });
  t.ok(emulator.stats.tokensSpared > 0);
  t.ok(emulator.stats.tokensSent > 0);
  t.ok(emulator.stats.lastAbortAtMs > 0);
});

void t.test('the end mark and the end of the response are one write', async (t) => {
  const { emulator } = await open(t);
  const socket = connect(emulator.port, '127.0.0.1');
  const pieces: string[] = [];
  socket.on('data', (data) => pieces.push(data.toString()));
  const body = JSON.stringify({ model: 'small', stream: true, messages: HELLO });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  while (!pieces.join('').endsWith('\r\n0\r\n\r\n')) await once(socket, 'data');
  t.match(pieces.at(-1), /data: \[DONE\]\n\n\r\n0\r\n\r\n$/);
  socket.destroy();
});

void t.test('refusals are errors of the SDK, with and without the time to wait', async (t) => {
  const { client, emulator } = await open(t);
  const call = () => client.chat.completions.create({ model: 'small', messages: [...HELLO] });
  for (const [status, error] of [
    [401, OpenAI.AuthenticationError],
    [429, OpenAI.RateLimitError],
    [500, OpenAI.InternalServerError],
    [503, OpenAI.InternalServerError],
  ] as const) {
    emulator.setFaults([{ kind: 'refuse', status, count: 1, retryAfterMs: 1500 }]);
    const refused = await call().then(
      () => undefined,
      (reason: unknown) => reason as InstanceType<typeof OpenAI.APIError>,
    );
    t.ok(refused instanceof error, String(status));
    const headers = refused!.headers as Headers;
    t.equal(headers.get('retry-after-ms'), '1500');
    t.equal(headers.get('retry-after'), '2');
  }
  emulator.setFaults([{ kind: 'rate_limit', count: 1 }]);
  const bare = await call().catch((reason: unknown) => reason as InstanceType<typeof OpenAI.APIError>);
  t.equal((bare as { code?: string }).code, 'rate_limit_exceeded');
  t.equal((bare as { headers: Headers }).headers.get('retry-after'), null);
  emulator.setFaults([{ kind: 'refuse', status: 503, count: 2, retryAfterMs: 1 }]);
  const patient = new OpenAI({ apiKey: 'k', baseURL: `${emulator.url}/v1`, maxRetries: 2 });
  t.ok(
    await patient.chat.completions.create({ model: 'small', messages: [...HELLO] }),
    'the third try succeeds',
  );
});

void t.test('faults strike inside the stream', async (t) => {
  const { client, emulator } = await open(t);
  const read = async () => {
    const heard: string[] = [];
    let finished = false;
    try {
      for await (const chunk of await client.chat.completions.create({
        model: 'small',
        messages: [...HELLO],
        stream: true,
      })) {
        if (chunk.choices[0]?.delta.content) heard.push(chunk.choices[0].delta.content);
        finished ||= Boolean(chunk.choices[0]?.finish_reason);
      }
      return { heard: heard.length, finished, error: undefined };
    } catch (error) {
      return { heard: heard.length, finished, error };
    }
  };
  emulator.setFaults([{ kind: 'cut', count: 1, after: 2 }]);
  t.match(await read(), { heard: 2, finished: false, error: undefined });
  emulator.setFaults([{ kind: 'stream_error', count: 1, after: 3 }]);
  const failed = await read();
  t.match(failed, { heard: 3, finished: false });
  t.ok(failed.error instanceof OpenAI.APIError);
  emulator.setFaults([{ kind: 'rate_limit', count: 1, after: 1 }]);
  t.match((await read()).error, { code: 'rate_limit_exceeded' });
  emulator.setFaults([{ kind: 'reset', count: 1, after: 1 }]);
  t.match((await read()).error, { message: 'terminated' });
  emulator.setFaults([{ kind: 'garbage', count: 1, after: 1 }]);
  t.ok((await read()).error, 'garbage is no JSON');
  emulator.setFaults([{ kind: 'cut', count: 1, after: 1000 }]);
  t.match(await read(), { finished: false }, 'a fault past the end strikes at the last token');
  emulator.setFaults([{ kind: 'late_end', count: 1, delayMs: 5 }]);
  t.match(await read(), { finished: true, error: undefined });
  t.match(await read(), { finished: true, error: undefined });
});

void t.test('a stall sends nothing more until it is over', async (t) => {
  const clock = new ManualClock();
  const { client, emulator } = await open(t, { clock });
  emulator.setFaults([{ kind: 'stall', count: 1, after: 1, delayMs: 10_000 }]);
  const stream = await client.chat.completions.create({ model: 'small', messages: [...HELLO], stream: true });
  const all = (async () => {
    let text = '';
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    return text;
  })();
  while (clock.pendingTimers === 0) await new Promise<void>((resolve) => setImmediate(resolve));
  clock.advance(9999);
  t.equal(emulator.stats.running, 1);
  clock.advance(1);
  t.equal(await all, 'Hello there, how can I help you today?');
});

void t.test('answers that are not streamed fail too', async (t) => {
  const { client, emulator } = await open(t);
  for (const kind of ['reset', 'cut'] as const) {
    emulator.setFaults([{ kind, count: 1 }]);
    await t.rejects(client.chat.completions.create({ model: 'small', messages: [...HELLO] }), {
      message: 'Connection error.',
    });
  }
  emulator.setFaults([{ kind: 'garbage', count: 1 }]);
  const garbage: unknown = await client.chat.completions.create({ model: 'small', messages: [...HELLO] });
  t.match(garbage, /html/);
});

void t.test('it can stream as compatible servers do', async (t) => {
  const { emulator } = await open(t);
  const body = { messages: [{ role: 'user', content: 'room' }], tools: TOOLS, tool_choice: 'required' };
  emulator.setFaults([
    { kind: 'no_role' },
    { kind: 'whole_tool_call' },
    { kind: 'index_zero' },
    { kind: 'new_ids' },
    { kind: 'forced_tool_stop' },
  ]);
  const { chunks } = await rawStream(emulator, body);
  t.notOk('role' in chunks[0]!.choices[0]!.delta);
  t.equal(new Set(chunks.map(({ id }) => id)).size, chunks.length);
  const calls = chunks.flatMap(
    ({ choices }) =>
      (choices[0]!.delta.tool_calls ?? []) as { index: number; function: { arguments: string } }[],
  );
  t.same(
    calls.map((call) => [call.index, JSON.parse(call.function.arguments) as unknown]),
    [
      [0, { guests: 4, floor: 'ground' }],
      [0, { guests: 2 }],
    ],
  );
  t.equal(chunks.at(-1)!.choices[0]!.finish_reason, 'stop');
  emulator.setFaults([{ kind: 'bad_arguments' }]);
  const bad = await rawStream(emulator, body);
  const pieces = bad.chunks.flatMap(
    ({ choices }) =>
      (choices[0]!.delta.tool_calls ?? []) as { index: number; function: { arguments: string } }[],
  );
  const joined = pieces
    .filter(({ index }) => index === 0)
    .map((piece) => piece.function.arguments)
    .join('');
  t.throws(() => JSON.parse(joined) as unknown);
});

void t.test('all the text can come in one chunk', async (t) => {
  const { emulator } = await open(t, { chunks: 'whole' });
  const { chunks } = await rawStream(emulator, {});
  t.equal(chunks.filter(({ choices }) => choices[0]?.delta.content).length, 1);
  emulator.setFaults([{ kind: 'cut', after: 3 }]);
  t.equal((await rawStream(emulator, {})).events.length, 1, 'a fault within the chunk strikes before it');
});

void t.test('the same seed gives the same ids', async (t) => {
  const ids = async (seed: number) => {
    const { client } = await open(t, { seed });
    return (await client.chat.completions.create({ model: 'small', messages: [...HELLO] })).id;
  };
  t.equal(await ids(3), await ids(3));
  t.not(await ids(3), await ids(4));
});

void t.test('closing the emulator ends what runs, and may be repeated', async (t) => {
  const { client, emulator } = await open(t, { delays: { firstToken: 60_000 } });
  const stream = await client.chat.completions.create({ model: 'small', messages: [...HELLO], stream: true });
  await emulator[Symbol.asyncDispose]();
  await emulator[Symbol.asyncDispose]();
  await t.rejects(async () => {
    for await (const chunk of stream) t.ok(chunk);
  });
  t.equal(emulator.stats.running, 0);
});
