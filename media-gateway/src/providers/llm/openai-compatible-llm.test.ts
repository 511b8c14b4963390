import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { Agent } from 'undici';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { Secret } from '@parley/shared/config/secret';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import { HTTP1_ONLY } from '@parley/shared/http/http1';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { CALLS, llmProviderConformance, REPLY, request } from './llm-provider.conformance.ts';
import { OpenAiCompatibleLlm } from './openai-compatible-llm.ts';
import type { LlmEvent } from './llm-provider.ts';

function plan(baseUrl: string, changes: Partial<PlanProvider> = {}): PlanProvider {
  return {
    id: 'llm_test',
    provider: 'openai_compatible',
    emulated: true,
    tenant_address: false,
    base_url: baseUrl,
    credential: new Secret('key-for-tests'),
    model: 'parley-emulated-model',
    language: 'en-US',
    options: {},
    ...changes,
  };
}

function llm(t: Test, baseUrl: string, changes: Partial<PlanProvider> = {}, clock: Clock = systemClock) {
  const agent = new Agent({ ...HTTP1_ONLY, keepAliveTimeout: 60_000, keepAliveMaxTimeout: 300_000 });
  t.teardown(() => agent.destroy());
  return new OpenAiCompatibleLlm(plan(baseUrl, changes), { agent, clock });
}

/** Passes connections on and counts them. */
async function countingProxy(t: Test, port: number) {
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createTcpServer((inbound) => {
    connections += 1;
    const outbound = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      sockets.add(one);
      // A reset while an end is under way fails in libuv, and then Node never gets rid of the handle.
      one.on('error', () => (other.writableEnded ? other.destroy() : other.resetAndDestroy()));
      one.on('close', () => other.destroy());
      one.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, connections: () => connections };
}

llmProviderConformance(t, 'openai_compatible', async (t, clock) => {
  const script = parseScript({
    rules: [
      { when: { user: 'slowly' }, reply: { text: 'word '.repeat(2000) } },
      { when: { user: 'weather', tool: 'get_weather' }, reply: { tool_calls: CALLS } },
    ],
    fallback: { text: REPLY },
  });
  const emulator = await openOpenAiEmulator({
    script,
    delays: { firstToken: 0, tokensPerSecond: 1000 },
    keys: ['key-for-tests'],
  });
  t.teardown(() => emulator[Symbol.asyncDispose]());
  const proxy = await countingProxy(t, emulator.port);
  return {
    provider: llm(t, `http://127.0.0.1:${proxy.port}/v1`, {}, clock),
    setFaults: (faults) => emulator.setFaults(faults),
    counts: () => ({
      tokensSent: emulator.stats.tokensSent,
      running: emulator.stats.running,
      aborted: emulator.stats.aborted,
      connections: proxy.connections(),
    }),
  };
});

/** A server that answers by hand. */
async function peer(t: Test, answer: (response: ServerResponse) => void) {
  const requests: { url: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[] = [];
  const server = createServer((incoming, response) => {
    let text = '';
    incoming.on('data', (part: Buffer) => (text += part.toString()));
    incoming.on('end', () => {
      const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      requests.push({ url: incoming.url!, headers: incoming.headers, body });
      answer(response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

function lines(...chunks: (object | string)[]) {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) {
      response.write(typeof chunk === 'string' ? chunk : `data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end();
  };
}

async function all(provider: OpenAiCompatibleLlm, changes = {}): Promise<LlmEvent[]> {
  const events: LlmEvent[] = [];
  for await (const event of provider.stream(request('Hello.', changes), new AbortController().signal)) {
    events.push(event);
  }
  return events;
}

const text = (content: string, reason: string | null = null) => ({
  choices: [{ delta: { content }, finish_reason: reason }],
});

void t.test('a compatible server is asked for nothing it may not know', async (t) => {
  const { url, requests } = await peer(t, lines(text('Hi.', 'stop')));
  const provider = llm(t, url, { model: 'llama3', options: { top_p: 0.9, unknown: true } });
  await all(provider, {
    tools: [{ name: 'f', description: 'does f', parameters: { type: 'object' } }],
    messages: [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'U' },
      { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'f', arguments: '{}' }] },
      { role: 'tool', toolCallId: 'c1', content: 'done' },
      { role: 'assistant', content: 'A' },
    ],
  });
  t.equal(requests[0]!.url, '/v1/chat/completions');
  t.equal(requests[0]!.headers.authorization, 'Bearer key-for-tests');
  t.same(requests[0]!.body, {
    model: 'llama3',
    messages: [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'U' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'done' },
      { role: 'assistant', content: 'A' },
    ],
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0.7,
    max_tokens: 200,
    tools: [
      { type: 'function', function: { name: 'f', description: 'does f', parameters: { type: 'object' } } },
    ],
    top_p: 0.9,
  });
});

void t.test('a server without a key', async (t) => {
  const { url, requests } = await peer(t, lines(text('Hi.', 'stop')));
  const events = await all(llm(t, url, { credential: null }));
  t.same(events, [
    { type: 'text', text: 'Hi.' },
    { type: 'finish', reason: 'stop' },
  ]);
  t.equal(requests[0]!.headers.authorization, 'Bearer none');
});

const answers: [title: string, chunks: (object | string)[], events: LlmEvent[]][] = [
  [
    'comments, CRLF, unknown events, usage in the last chunk and no [DONE]',
    [
      ': ping\r\n\r\n',
      {},
      { choices: [] },
      { choices: [{ delta: null }] },
      `data: ${JSON.stringify(text('Hi.'))}\r\n\r\n`,
      { choices: [{ delta: {}, finish_reason: 'stop' }], usage: { prompt_tokens: 3, completion_tokens: 1 } },
    ],
    [
      { type: 'text', text: 'Hi.' },
      { type: 'usage', inputTokens: 3, outputTokens: 1 },
      { type: 'finish', reason: 'stop' },
    ],
  ],
  [
    'no reason, but [DONE]',
    [text('Hi.'), 'data: [DONE]\n\n'],
    [
      { type: 'text', text: 'Hi.' },
      { type: 'finish', reason: 'stop' },
    ],
  ],
  [
    'reasoning is not spoken',
    [{ choices: [{ delta: { reasoning_content: 'Hm.', content: null } }] }, text('Hi.', 'stop')],
    [
      { type: 'text', text: 'Hi.' },
      { type: 'finish', reason: 'stop' },
    ],
  ],
  [
    'a refusal is',
    [{ choices: [{ delta: { refusal: 'I cannot.' } }] }, text('', 'stop')],
    [
      { type: 'text', text: 'I cannot.' },
      { type: 'finish', reason: 'stop' },
    ],
  ],
  [
    'the limit is reached',
    [text('Hi', 'length')],
    [
      { type: 'text', text: 'Hi' },
      { type: 'finish', reason: 'length' },
    ],
  ],
  [
    'the whole answer as one message',
    [{ choices: [{ message: { content: 'Hi.' }, finish_reason: 'stop' }] }],
    [
      { type: 'text', text: 'Hi.' },
      { type: 'finish', reason: 'stop' },
    ],
  ],
  [
    'a function call in the old form',
    [
      { choices: [{ delta: { function_call: { name: 'f', arguments: '{"x"' } } }] },
      { choices: [{ delta: { function_call: { arguments: ':1}' } }, finish_reason: 'function_call' }] },
    ],
    [{ type: 'finish', reason: 'tool_calls' }],
  ],
];
for (const [title, chunks, expected] of answers) {
  void t.test(title, async (t) => {
    const { url } = await peer(t, lines(...chunks));
    const events = await all(llm(t, url));
    const calls = events.filter(({ type }) => type === 'tool_call');
    t.same(
      events.filter(({ type }) => type !== 'tool_call'),
      expected,
    );
    if (title.includes('old form')) t.match(calls, [{ call: { name: 'f', arguments: '{"x":1}' } }]);
    else t.same(calls, []);
  });
}

void t.test('what the vendor says is not repeated in errors', async (t) => {
  const { url } = await peer(t, (response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        error: { message: 'You said: my secret', code: 'context_length_exceeded', param: 'messages' },
      }),
    );
  });
  await t.rejects(all(llm(t, url)), {
    fault: 'protocol',
    message: 'openai_compatible: refused with 400 (context_length_exceeded, messages)',
  });
});

void t.test('warming a server that is not there is no error', async (t) => {
  const gone = llm(t, 'http://127.0.0.1:1/v1');
  gone.warm();
  await t.rejects(all(gone), { name: 'ProviderError', fault: 'unavailable' });
});
