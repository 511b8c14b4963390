import type { Test } from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmEvent, LlmProvider, LlmRequest, LlmToolCall } from './llm-provider.ts';
import { until } from '../../../test/fixtures/until.ts';

/** What goes wrong at the emulator; the words are those of its fault plan. */
export interface LlmFault {
  kind:
    | 'refuse'
    | 'rate_limit'
    | 'slow_handshake'
    | 'stall'
    | 'cut'
    | 'reset'
    | 'garbage'
    | 'stream_error'
    | 'late_end'
    | 'bad_arguments'
    | 'forced_tool_stop'
    | 'no_role'
    | 'whole_tool_call'
    | 'index_zero'
    | 'new_ids';
  count?: number;
  status?: number;
  after?: number;
  delayMs?: number;
}

/**
 * A provider in front of an emulator that answers `REPLY`, slowly where the user says "slowly", with the calls of
 * `CALLS` where the user says "weather" and the tools are offered.
 */
export interface LlmBench {
  provider: LlmProvider;
  setFaults(faults: LlmFault[]): void;
  /** Tokens generated so far, answers under way, and connections the emulator has seen. */
  counts(): { tokensSent: number; running: number; aborted: number; connections: number };
}

export const REPLY = 'Of course. A table for two, tomorrow at seven. Is there anything else?';
export const CALLS = [
  { name: 'get_weather', arguments: { place: 'Berlin' } },
  { name: 'get_time', arguments: { zone: 'Europe/Berlin', exact: true } },
];
const TOOLS = CALLS.map(({ name }) => ({ name, description: name, parameters: { type: 'object' } }));

export function request(text: string, changes: Partial<LlmRequest> = {}): LlmRequest {
  return {
    messages: [
      { role: 'system', content: 'You take bookings.' },
      { role: 'user', content: text },
    ],
    tools: [],
    temperature: 0.7,
    maxOutputTokens: 200,
    timeoutMs: 5000,
    cacheKey: 'agent',
    ...changes,
  };
}

/** Runs what every language model provider has to pass. */
export function llmProviderConformance(
  t: Test,
  name: string,
  openBench: (t: Test, clock: Clock) => Promise<LlmBench>,
): void {
  async function bench(t: Test, faults: LlmFault[] = [], clock: Clock = systemClock) {
    const opened = await openBench(t, clock);
    opened.setFaults(faults);
    return opened;
  }

  void t.test(`${name}: an answer streams, with its usage and its end`, async (t) => {
    const { provider } = await bench(t);
    const { events, text } = await collect(provider, request('A table, please.'));
    t.equal(text, REPLY);
    t.ok(events.filter(({ type }) => type === 'text').length > 5, 'piece by piece');
    t.match(events.slice(-2), [
      { type: 'usage', inputTokens: Number, outputTokens: Number },
      { type: 'finish', reason: 'stop' },
    ]);
  });

  const quirks: LlmFault['kind'][][] = [
    [],
    ['no_role', 'new_ids'],
    ['whole_tool_call'],
    ['whole_tool_call', 'index_zero'],
    ['index_zero'],
    ['forced_tool_stop'],
  ];
  for (const kinds of quirks) {
    void t.test(`${name}: tool calls${kinds.map((kind) => `, ${kind}`).join('')}`, async (t) => {
      const { provider } = await bench(
        t,
        kinds.map((kind) => ({ kind })),
      );
      const { events, calls } = await collect(provider, request('The weather?', { tools: TOOLS }));
      t.same(
        calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) as unknown })),
        CALLS,
      );
      t.equal(new Set(calls.map(({ id }) => id)).size, 2, 'each with an id of its own');
      t.same(events.at(-1), { type: 'finish', reason: 'tool_calls' });
    });
  }

  void t.test(`${name}: arguments that are no JSON are passed on as they are`, async (t) => {
    const { provider } = await bench(t, [{ kind: 'bad_arguments' }]);
    const { calls } = await collect(provider, request('The weather?', { tools: TOOLS }));
    t.ok(calls.length > 0);
    t.throws(() => JSON.parse(calls[0]!.arguments) as unknown);
  });

  const refusals = [
    [401, 'auth'],
    [403, 'auth'],
    [404, 'protocol'],
    [429, 'rate_limit'],
    [500, 'unavailable'],
    [503, 'unavailable'],
  ] as const;
  for (const [status, fault] of refusals) {
    void t.test(`${name}: a refusal with ${status} is not asked again`, async (t) => {
      const { provider } = await bench(t, [{ kind: 'refuse', status, count: 1 }]);
      await t.rejects(collect(provider, request('Hello.')), { name: 'ProviderError', fault });
      t.equal((await collect(provider, request('Hello.'))).text, REPLY, 'the next request is a new one');
    });
  }

  const breaks = [
    ['cut', 'unavailable'],
    ['reset', 'unavailable'],
    ['stream_error', 'unavailable'],
    ['rate_limit', 'rate_limit'],
    ['garbage', 'protocol'],
  ] as const;
  for (const [kind, fault] of breaks) {
    void t.test(
      `${name}: an answer with ${kind} in the middle is an error, never a short answer`,
      async (t) => {
        const { provider } = await bench(t, [{ kind, after: 4, count: 1 }]);
        const heard: LlmEvent[] = [];
        await t.rejects(collect(provider, request('Hello.'), heard), { name: 'ProviderError', fault });
        // A reset may overtake what was sent before it.
        t.ok(heard.length > 0 || kind === 'reset', 'what came before was told');
        t.ok(heard.every(({ type }) => type === 'text'));
        t.equal((await collect(provider, request('Hello.'))).text, REPLY);
      },
    );
  }

  for (const after of [0, 3]) {
    void t.test(`${name}: an answer that stalls after ${after} tokens is given up`, async (t) => {
      const clock = new ManualClock();
      const { provider, counts } = await bench(t, [{ kind: 'stall', after, count: 1 }], clock);
      const heard: LlmEvent[] = [];
      const answer = collect(provider, request('Hello.'), heard);
      answer.catch(() => undefined);
      await until(() => heard.length === after && counts().running === 1);
      clock.advance(4999);
      t.equal(heard.length, after);
      clock.advance(1);
      await t.rejects(answer, { name: 'ProviderError', fault: 'timeout' });
      await until(() => counts().running === 0);
      await until(() => clock.pendingTimers === 0);
    });
  }

  void t.test(`${name}: a reader that takes its time is no stall`, async (t) => {
    const clock = new ManualClock();
    const { provider } = await bench(t, [], clock);
    let text = '';
    for await (const event of provider.stream(request('Hello.'), new AbortController().signal)) {
      clock.advance(20_000);
      if (event.type === 'text') text += event.text;
    }
    t.equal(text, REPLY);
  });

  void t.test(`${name}: nobody answers`, async (t) => {
    const clock = new ManualClock();
    const { provider } = await bench(t, [{ kind: 'slow_handshake', delayMs: 600_000 }], clock);
    const answer = collect(provider, request('Hello.', { timeoutMs: 1500 }));
    answer.catch(() => undefined);
    await until(() => clock.pendingTimers > 0);
    clock.advance(1500);
    await t.rejects(answer, { name: 'ProviderError', fault: 'timeout' });
  });

  void t.test(
    `rule 3: ${name}: an abort ends the answer at once, quietly, and at the provider`,
    async (t) => {
      const { provider, counts } = await bench(t);
      const aborting = new AbortController();
      const heard: LlmEvent[] = [];
      for await (const event of provider.stream(request('Slowly, please.'), aborting.signal)) {
        heard.push(event);
        if (heard.length === 3) aborting.abort();
        t.ok(heard.length <= 3, 'nothing is told after the abort');
      }
      await until(() => counts().running === 0);
      const { tokensSent, aborted } = counts();
      t.equal(aborted, 1);
      t.ok(tokensSent < 1000, `the provider stopped generating (${tokensSent} tokens)`);
    },
  );

  void t.test(`${name}: an abort before the first token, and before the request`, async (t) => {
    const { provider, counts } = await bench(t, [{ kind: 'stall', after: 0, count: 1 }]);
    const aborting = new AbortController();
    const answer = collect(provider, request('Hello.'), [], aborting.signal);
    await until(() => counts().running === 1);
    aborting.abort();
    t.same((await answer).events, []);
    t.same((await collect(provider, request('Hello.'), [], AbortSignal.abort())).events, []);
    await until(() => counts().running === 0);
  });

  void t.test(`${name}: leaving early frees the request as well`, async (t) => {
    const { provider, counts } = await bench(t);
    for await (const event of provider.stream(request('Slowly, please.'), new AbortController().signal)) {
      if (event.type === 'text') break;
    }
    await until(() => counts().running === 0 && counts().aborted === 1);
    t.ok(counts().tokensSent < 1000);
  });

  void t.test(`${name}: turns share a connection, also where the response ends late`, async (t) => {
    const { provider, counts } = await bench(t, [{ kind: 'late_end', delayMs: 5 }]);
    for (let turn = 0; turn < 5; turn += 1) {
      t.equal((await collect(provider, request('Hello.'))).text, REPLY);
      // A turn takes longer than the end of a response.
      await until(() => counts().running === 0);
      await settled();
    }
    t.ok(counts().connections <= 2, `not ${counts().connections}`);
  });

  void t.test(`${name}: warming opens one connection, which the first request takes`, async (t) => {
    const { provider, counts } = await bench(t);
    provider.warm();
    provider.warm();
    await until(() => counts().connections === 1);
    await settled();
    t.equal((await collect(provider, request('Hello.'))).text, REPLY);
    t.equal(counts().connections, 1);
  });
}

/** What has been written has been read on the other side, and what that led to as well. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setTimeout(resolve, 3));
}

async function collect(
  provider: LlmProvider,
  wanted: LlmRequest,
  events: LlmEvent[] = [],
  signal: AbortSignal = new AbortController().signal,
) {
  for await (const event of provider.stream(wanted, signal)) events.push(event);
  const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('');
  const calls = events.flatMap((event): LlmToolCall[] => (event.type === 'tool_call' ? [event.call] : []));
  return { events, text, calls };
}
