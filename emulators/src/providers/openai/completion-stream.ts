import { once } from 'node:events';
import type { Clock } from '@parley/shared/time/clock';
import { sampleMs, wait } from '../../server/delays.ts';
import type { Delay } from '../../server/delays.ts';
import { resetConnection } from '../../server/emulator-server.ts';
import type { EmulatorResponse } from '../../server/emulator-server.ts';
import { COMMON_FAULTS } from '../../server/faults.ts';
import type { Fault, FaultPlan } from '../../server/faults.ts';

/**
 * Besides the common ones, whose stream items are tokens (`stall` with `delayMs` goes on after it):
 * - `stream_error`: an error object inside the stream, after which it ends
 * - `late_end`: the response ends `delayMs` (20 unless given) after `[DONE]`, not with it
 * - `bad_arguments`: the arguments of the tool calls are cut short and no JSON
 * - `forced_tool_stop`: a tool call forced by `tool_choice` finishes with `stop`
 * - `no_role`, `whole_tool_call`, `index_zero`, `new_ids`: as compatible servers stream: without a role, each tool call
 *   in one chunk, all calls at index 0, another id in every chunk
 */
export const OPENAI_FAULTS = [
  ...COMMON_FAULTS,
  'stream_error',
  'late_end',
  'bad_arguments',
  'forced_tool_stop',
  'no_role',
  'whole_tool_call',
  'index_zero',
  'new_ids',
] as const;
export type OpenAiFault = (typeof OPENAI_FAULTS)[number];

/** A whole answer, before it is cut into tokens. */
export interface Completion {
  id: string;
  created: number;
  model: string;
  text: string;
  toolCalls: { id: string; name: string; argumentsJson: string }[];
  finishReason: 'stop' | 'length' | 'tool_calls';
  promptTokens: number;
  completionTokens: number;
}

export interface StreamOptions {
  includeUsage: boolean;
  obfuscate: boolean;
  firstToken: Delay;
  tokensPerSecond: number;
  /** `whole`: all the text in one chunk, which shows what waiting for sentences costs a client. */
  chunks: 'tokens' | 'whole';
  faults: FaultPlan<OpenAiFault>;
  random: () => number;
  clock: Clock;
  signal: AbortSignal;
}

const FINGERPRINT = 'parley-emulator';

/** Roughly what a tokenizer makes of English: short words whole, with the space before them. */
export function tokensOf(text: string): string[] {
  return text.match(/\s*\S{1,6}|\s+$/g) ?? [];
}

export function usageOf({ promptTokens, completionTokens }: Completion): object {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** The answer to a request that is not streamed. */
export function wholeCompletion(completion: Completion): object {
  const { id, created, model, text, toolCalls, finishReason } = completion;
  const calls = toolCalls.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: call.name, arguments: call.argumentsJson },
  }));
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text === '' && calls.length > 0 ? null : text,
          refusal: null,
          annotations: [],
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
        logprobs: null,
        finish_reason: finishReason,
      },
    ],
    usage: usageOf(completion),
    service_tier: 'default',
    system_fingerprint: FINGERPRINT,
  };
}

/** One delta; `tokens` says how much of the answer it carries. */
interface Delta {
  delta: object;
  tokens: number;
}

/**
 * Streams an answer: a role, the tokens at their pace, the reason, the usage if asked for, and the end mark in one write
 * with the end of the response.
 * @param sent is told of tokens as they go out; after a fault or an abort they are not all
 */
export async function streamCompletion(
  response: EmulatorResponse,
  completion: Completion,
  options: StreamOptions,
  sent: (tokens: number) => void,
): Promise<void> {
  const { faults, clock, random, signal } = options;
  const quirk = (kind: OpenAiFault) => faults.take([kind]) !== undefined;
  const newIds = quirk('new_ids');
  const lateEnd = faults.take(['late_end']);
  const fault = faults.take(
    ['stall', 'cut', 'reset', 'garbage', 'rate_limit', 'stream_error'],
    (one) => one.kind !== 'rate_limit' || one.after !== undefined,
  );
  const event = (choices: object[], usage: object | null) => {
    const chunk = {
      id: newIds ? newCompletionId(random) : completion.id,
      object: 'chat.completion.chunk',
      created: completion.created,
      model: completion.model,
      service_tier: 'default',
      system_fingerprint: FINGERPRINT,
      choices,
      ...(options.includeUsage ? { usage } : {}),
      ...(options.obfuscate ? { obfuscation: padding(random) } : {}),
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  };
  const choice = (delta: object, finishReason: string | null) =>
    event([{ index: 0, delta, logprobs: null, finish_reason: finishReason }], null);
  const write = async (text: string) => {
    if (!response.write(text)) await once(response, 'drain', { signal });
  };

  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  response.flushHeaders?.();
  await wait(clock, sampleMs(options.firstToken, random), signal);
  const deltas = deltasOf(completion, options.chunks, {
    role: !quirk('no_role'),
    wholeCalls: quirk('whole_tool_call'),
    indexZero: quirk('index_zero'),
  });
  const startedAt = clock.monotonic();
  let tokens = 0;
  let due = 0;
  let pending = fault;
  const faultAt = Math.min(fault?.after ?? 0, completion.completionTokens - 1);
  for (const delta of deltas) {
    // The first token is there when the delay is over; each further one takes its time.
    await wait(clock, startedAt + due - clock.monotonic(), signal);
    signal.throwIfAborted();
    if (pending && delta.tokens > 0 && tokens + delta.tokens > faultAt) {
      const fault = pending;
      pending = undefined;
      if (fault.kind === 'stall') await wait(clock, fault.delayMs ?? Infinity, signal);
      else if (fault.kind === 'garbage') await write('data: {"id": "chatcmpl-\n\n');
      else return failStream(response, fault);
    }
    await write(choice(delta.delta, null));
    tokens += delta.tokens;
    sent(delta.tokens);
    if (delta.tokens > 0) due += (1000 * delta.tokens) / options.tokensPerSecond;
  }
  await write(choice({}, completion.finishReason));
  if (options.includeUsage) await write(event([], usageOf(completion)));
  const done = 'data: [DONE]\n\n';
  if (!lateEnd) {
    response.end(done);
    return;
  }
  await write(done);
  await wait(clock, lateEnd.delayMs ?? 20, signal);
  response.end();
}

function failStream(response: EmulatorResponse, { kind }: Fault<OpenAiFault>): void {
  if (kind === 'reset') {
    resetConnection(response);
    return;
  }
  if (kind === 'cut') {
    response.end();
    return;
  }
  const error =
    kind === 'rate_limit'
      ? openAiError('Rate limit reached (on demand).', 'requests', 'rate_limit_exceeded')
      : openAiError('The server had an error (on demand).', 'server_error', null);
  response.end(`data: ${JSON.stringify(error)}\n\n`);
}

/** An OpenAI error body. */
export function openAiError(
  message: string,
  type: string,
  code: string | null,
  param: string | null = null,
): object {
  return { error: { message, type, param, code } };
}

function deltasOf(
  { text, toolCalls }: Completion,
  chunks: StreamOptions['chunks'],
  quirks: { role: boolean; wholeCalls: boolean; indexZero: boolean },
): Delta[] {
  const role = quirks.role ? { role: 'assistant' } : {};
  const first = text === '' && toolCalls.length > 0 ? { content: null } : { content: '', refusal: null };
  const deltas: Delta[] = [{ delta: { ...role, ...first }, tokens: 0 }];
  const textTokens = tokensOf(text);
  if (chunks === 'tokens') deltas.push(...textTokens.map((content) => ({ delta: { content }, tokens: 1 })));
  else if (text !== '') deltas.push({ delta: { content: text }, tokens: textTokens.length });
  toolCalls.forEach((call, position) => {
    const index = quirks.indexZero ? 0 : position;
    const parts = call.argumentsJson.match(/[^]{1,6}/g) ?? [];
    const named = (args: string) => ({
      tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: args } }],
    });
    if (quirks.wholeCalls) {
      deltas.push({ delta: named(call.argumentsJson), tokens: parts.length + 1 });
      return;
    }
    deltas.push({ delta: named(''), tokens: 1 });
    for (const part of parts) {
      deltas.push({ delta: { tool_calls: [{ index, function: { arguments: part } }] }, tokens: 1 });
    }
  });
  return deltas;
}

/** Tokens of a tool call, as they are streamed. */
export function callTokens(argumentsJson: string): number {
  return 1 + Math.ceil(argumentsJson.length / 6);
}

export function newCompletionId(random: () => number): string {
  return `chatcmpl-${randomText(random, 24)}`;
}

export function newCallId(random: () => number): string {
  return `call_${randomText(random, 24)}`;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function randomText(random: () => number, length: number): string {
  return Array.from({ length }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join('');
}

/** Hides the length of a token from who only sees the size of packets. */
function padding(random: () => number): string {
  return randomText(random, 1 + Math.floor(random() * 12));
}
