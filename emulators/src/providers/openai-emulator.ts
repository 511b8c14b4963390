import { randomUUID } from 'node:crypto';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { sampleMs, wait } from '../server/delays.ts';
import type { Delay } from '../server/delays.ts';
import { openEmulatorServer, readBody, resetConnection } from '../server/emulator-server.ts';
import type {
  EmulatorExchange,
  EmulatorLog,
  EmulatorResponse,
  EmulatorTls,
  HttpAnswer,
} from '../server/emulator-server.ts';
import { FaultPlan } from '../server/faults.ts';
import type { Fault } from '../server/faults.ts';
import { BadChatRequestError, parseChatRequest } from './openai/chat-request.ts';
import type { ChatRequest } from './openai/chat-request.ts';
import {
  callTokens,
  newCallId,
  newCompletionId,
  OPENAI_FAULTS,
  openAiError,
  streamCompletion,
  tokensOf,
  wholeCompletion,
} from './openai/completion-stream.ts';
import type { Completion, OpenAiFault } from './openai/completion-stream.ts';
import { answerByScript } from './openai/script.ts';
import type { Script, ScriptedReply } from './openai/script.ts';

export interface OpenAiDelays {
  /** From the request to the first token. 350 ms, 95 %: 1200. */
  firstToken?: Delay;
  /** 80 unless given, `Infinity` for all at once. */
  tokensPerSecond?: number;
}

export interface OpenAiEmulatorOptions {
  /** See openai/script.ts for its form, `readScript` and `parseScript`. */
  script: Script;
  delays?: OpenAiDelays;
  /** All the text in one chunk instead of token by token. */
  chunks?: 'tokens' | 'whole';
  faults?: readonly Fault<OpenAiFault>[];
  /** Keys that are accepted; any when absent. */
  keys?: readonly string[];
  seed?: number;
  /** 0, the default, takes a free one. */
  port?: number;
  /** 127.0.0.1 unless given. */
  host?: string;
  /** Without it, it speaks in the clear. */
  tls?: EmulatorTls | undefined;
  clock?: Clock;
  log?: EmulatorLog;
}

export interface OpenAiStats {
  requests: number;
  /** Of them, over HTTP/2. */
  http2Requests: number;
  /** Refused by the emulator itself: keys, bodies, paths. */
  refused: number;
  completions: number;
  fallbacks: number;
  toolCalls: number;
  running: number;
  promptTokens: number;
  tokensSent: number;
  /** Left by the client before the end: nothing more is generated then. */
  aborted: number;
  /** What those would still have got. */
  tokensSpared: number;
  /** When the last client left, on `clock.now()`; 0 before the first. */
  lastAbortAtMs: number;
}

export interface OpenAiEmulator {
  /** `http://127.0.0.1:port`, or https; a client's base URL is this and `/v1`. */
  readonly url: string;
  readonly port: number;
  readonly stats: Readonly<OpenAiStats>;
  /** The last 50 chat requests, oldest first: for tests of what a client sends. */
  readonly requests: readonly ChatRequest[];
  /** Replaces all faults. @throws ZodError */
  setFaults(faults: readonly Fault<OpenAiFault>[]): void;
  /** Tries these rules before all others. @returns what takes them back */
  teach(rules: Script['rules']): () => void;
  /** Tells `watcher` of every chat request from now on. @returns what ends that */
  watch(watcher: (request: ChatRequest) => void): () => void;
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const KEPT_REQUESTS = 50;

/**
 * Emulates OpenAI's chat completions, whole and streamed, with tools and structured outputs; the model follows a script.
 * Written from the vendor's documents. It says that it is an emulator in its headers and in `system_fingerprint`. It
 * counts tokens by length, and has no embeddings.
 */
export async function openOpenAiEmulator(options: OpenAiEmulatorOptions): Promise<OpenAiEmulator> {
  const { clock = systemClock, keys, delays = {} } = options;
  let { script } = options;
  const watchers = new Set<(request: ChatRequest) => void>();
  const firstToken = delays.firstToken ?? { p50Ms: 350, p95Ms: 1200 };
  const tokensPerSecond = delays.tokensPerSecond ?? 80;
  const random = seededRandom(options.seed ?? 1);
  const faults = new FaultPlan(OPENAI_FAULTS, random);
  faults.set(options.faults ?? []);
  const requests: ChatRequest[] = [];
  const stats: OpenAiStats = {
    requests: 0,
    http2Requests: 0,
    refused: 0,
    completions: 0,
    fallbacks: 0,
    toolCalls: 0,
    running: 0,
    promptTokens: 0,
    tokensSent: 0,
    aborted: 0,
    tokensSpared: 0,
    lastAbortAtMs: 0,
  };

  async function answer(exchange: EmulatorExchange, response: EmulatorResponse): Promise<HttpAnswer | void> {
    const { request, url } = exchange;
    stats.requests++;
    if (request.httpVersionMajor === 2) stats.http2Requests++;
    response.setHeader('x-request-id', `req_${randomUUID().replaceAll('-', '')}`);
    const refuse = (status: number, body: object): HttpAnswer => {
      stats.refused++;
      return { status, body };
    };
    const key = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (key === undefined || (keys && !keys.includes(key))) {
      return refuse(
        401,
        openAiError('Incorrect API key provided.', 'invalid_request_error', 'invalid_api_key'),
      );
    }
    const route = `${request.method} ${url.pathname}`;
    if (route === 'GET /v1/models')
      return { status: 200, body: { object: 'list', data: script.models.map(modelOf) } };
    if (route === 'POST /v1/embeddings') {
      return refuse(
        404,
        openAiError(
          'This emulator does not support embeddings.',
          'invalid_request_error',
          'model_not_found',
          'model',
        ),
      );
    }
    const model = /^GET \/v1\/models\/(.+)$/.exec(route)?.[1];
    if (model !== undefined) {
      const name = decodeURIComponent(model);
      if (script.models.includes(name)) return { status: 200, body: modelOf(name) };
      const message = `The model '${name}' does not exist.`;
      return refuse(404, openAiError(message, 'invalid_request_error', 'model_not_found', 'model'));
    }
    if (route !== 'POST /v1/chat/completions') {
      return refuse(404, openAiError(`Invalid URL (${route})`, 'invalid_request_error', null));
    }
    let chat: ChatRequest;
    try {
      chat = parseChatRequest(JSON.parse((await readBody(request, MAX_BODY_BYTES)).toString()));
    } catch (error) {
      if (error instanceof BadChatRequestError) {
        return refuse(400, openAiError(error.message, 'invalid_request_error', null, error.param));
      }
      if (error instanceof SyntaxError) {
        return refuse(400, openAiError('We could not parse the JSON body.', 'invalid_request_error', null));
      }
      throw error;
    }
    return complete(chat, exchange.signal, response);
  }

  async function complete(
    chat: ChatRequest,
    signal: AbortSignal,
    response: EmulatorResponse,
  ): Promise<HttpAnswer | void> {
    requests.push(chat);
    for (const watch of watchers) watch(chat);
    if (requests.length > KEPT_REQUESTS) requests.shift();
    const reply = answerByScript(script, chat);
    const completion = toCompletion(chat, reply);
    stats.completions++;
    if (reply.rule === undefined) stats.fallbacks++;
    stats.toolCalls += completion.toolCalls.length;
    stats.promptTokens += completion.promptTokens;
    stats.running++;
    let sent = 0;
    try {
      if (!chat.stream) {
        const tokensMs = (1000 * completion.completionTokens) / tokensPerSecond;
        await wait(clock, sampleMs(firstToken, random) + tokensMs, signal);
        const fault = faults.take(['stall', 'cut', 'reset', 'garbage']);
        if (fault?.kind === 'stall') await wait(clock, fault.delayMs ?? Infinity, signal);
        else if (fault?.kind === 'garbage')
          return { status: 200, body: '<html>an intermediary speaks</html>' };
        else if (fault) return resetConnection(response);
        sent = completion.completionTokens;
        return { status: 200, body: wholeCompletion(completion) };
      }
      await streamCompletion(
        response,
        completion,
        {
          includeUsage: chat.stream_options?.include_usage ?? false,
          obfuscate: chat.stream_options?.include_obfuscation ?? true,
          firstToken,
          tokensPerSecond,
          chunks: options.chunks ?? 'tokens',
          faults,
          random,
          clock,
          signal,
        },
        (tokens) => (sent += tokens),
      );
    } catch (error) {
      if (signal.aborted) {
        stats.aborted++;
        stats.tokensSpared += completion.completionTokens - sent;
        stats.lastAbortAtMs = clock.now();
      }
      throw error;
    } finally {
      stats.running--;
      stats.tokensSent += sent;
    }
  }

  function toCompletion(chat: ChatRequest, reply: ScriptedReply): Completion {
    const limit = chat.max_completion_tokens ?? chat.max_tokens ?? Infinity;
    const { text, cut } = shorten(untilStop(reply.text, chat.stop), limit);
    const forced = typeof chat.tool_choice === 'object' || chat.tool_choice === 'required';
    const breakArguments = reply.toolCalls.length > 0 && faults.take(['bad_arguments']) !== undefined;
    const calls = chat.parallel_tool_calls === false ? reply.toolCalls.slice(0, 1) : reply.toolCalls;
    const toolCalls = cut
      ? []
      : calls.map((call) => {
          const json = JSON.stringify(call.arguments);
          return {
            id: newCallId(random),
            name: call.name,
            argumentsJson: breakArguments ? json.slice(0, -1) : json,
          };
        });
    let finishReason: Completion['finishReason'] = cut
      ? 'length'
      : toolCalls.length > 0
        ? 'tool_calls'
        : 'stop';
    if (forced && finishReason === 'tool_calls' && faults.take(['forced_tool_stop'])) finishReason = 'stop';
    const callTotal = toolCalls.reduce((sum, call) => sum + callTokens(call.argumentsJson), 0);
    return {
      id: newCompletionId(random),
      created: Math.floor(clock.now() / 1000),
      model: chat.model,
      text,
      toolCalls,
      finishReason,
      promptTokens: Math.ceil(JSON.stringify([chat.messages, chat.tools]).length / 4),
      completionTokens: tokensOf(text).length + callTotal,
    };
  }

  const server = await openEmulatorServer<OpenAiFault>({
    name: 'openai',
    port: options.port,
    host: options.host,
    tls: options.tls,
    faults,
    stats: () => ({ ...stats }),
    refusal,
    onRequest: answer,
    clock,
    log: options.log,
  });
  return {
    url: server.url,
    port: server.port,
    stats,
    requests,
    setFaults: (list) => faults.set(list),
    teach(rules) {
      script = { ...script, rules: [...rules, ...script.rules] };
      return () => (script = { ...script, rules: script.rules.filter((rule) => !rules.includes(rule)) });
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function modelOf(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'parley-emulator' };
}

function refusal(status: number, { retryAfterMs }: Fault<OpenAiFault>): HttpAnswer {
  const headers: Record<string, string> = {};
  if (retryAfterMs !== undefined) headers['retry-after-ms'] = String(retryAfterMs);
  if (status === 401) {
    return {
      status,
      headers,
      body: openAiError('Incorrect API key (on demand).', 'invalid_request_error', 'invalid_api_key'),
    };
  }
  if (status === 429) {
    return {
      status,
      headers,
      body: openAiError('Rate limit reached (on demand).', 'requests', 'rate_limit_exceeded'),
    };
  }
  return { status, headers, body: openAiError('The server had an error (on demand).', 'server_error', null) };
}

function untilStop(text: string, stop: ChatRequest['stop']): string {
  const ends = [stop ?? []]
    .flat()
    .map((mark) => text.indexOf(mark))
    .filter((at) => at >= 0);
  return ends.length > 0 ? text.slice(0, Math.min(...ends)) : text;
}

function shorten(text: string, limit: number): { text: string; cut: boolean } {
  const tokens = tokensOf(text);
  return tokens.length > limit ? { text: tokens.slice(0, limit).join(''), cut: true } : { text, cut: false };
}
