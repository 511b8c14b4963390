import OpenAI, { APIConnectionTimeoutError, APIError } from 'openai';
import type { ChatCompletionCreateParamsStreaming, ChatCompletionMessageParam } from 'openai/resources';
import { fetch as undiciFetch } from 'undici';
import type { Agent } from 'undici';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { faultOfStatus } from '../provider-fault.ts';
import type { LlmEvent, LlmMessage, LlmProvider, LlmRequest } from './llm-provider.ts';
import { requestFetch } from './request-fetch.ts';
import type { LeanResponse } from './request-fetch.ts';
import { SseLines } from './sse-lines.ts';
import { ToolCallCollector } from './tool-call-collector.ts';
import type { ToolCallDelta } from './tool-call-collector.ts';
import type { LlmDescriptor } from '../provider-factory.ts';

export interface OpenAiDeps {
  /** Shared by the process: its pools keep connections between turns and calls. */
  agent: Agent;
  clock: Clock;
  /** Between two pieces of an answer; 5 s unless given. */
  tokenTimeoutMs?: number;
}

const NAME = 'openai_compatible';
const TOKEN_TIMEOUT_MS = 5000;
/** How long the end of a response may come after its last event. Later, the connection is not worth keeping. */
const DRAIN_TIMEOUT_MS = 1000;
const WARM_TIMEOUT_MS = 5000;

/** Parameters an installation may set for a model. What a server does not know is the operator's to leave out. */
const KNOWN_OPTIONS = [
  'reasoning_effort',
  'service_tier',
  'verbosity',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'stop',
  'frequency_penalty',
  'presence_penalty',
  'parallel_tool_calls',
  'chat_template_kwargs',
  'prompt_cache_retention',
];

/** A chunk as servers send it: nothing is certain to be there. */
interface Chunk {
  choices?: {
    delta?: Delta | null;
    /** Some servers answer small requests in one piece. */
    message?: Delta | null;
    finish_reason?: string | null;
  }[];
  usage?: { prompt_tokens?: number; completion_tokens?: number } | null;
  error?: { code?: unknown; type?: unknown; message?: unknown } | string | null;
}

interface Delta {
  content?: string | null;
  refusal?: string | null;
  tool_calls?: ToolCallDelta[] | null;
  /** The form before `tool_calls`. */
  function_call?: ToolCallDelta['function'];
}

export const openAiCompatible: LlmDescriptor = (shared) => ({
  make: (plan) => new OpenAiCompatibleLlm(plan, shared),
});

/**
 * Chat completions of OpenAI and of every server that speaks its API. The SDK makes the request; the stream is read
 * here, to its very end, because the SDK leaves at `[DONE]` and the connection is then lost to the next turn.
 */
export class OpenAiCompatibleLlm implements LlmProvider {
  readonly name = NAME;
  readonly #plan: PlanProvider;
  readonly #deps: OpenAiDeps;
  readonly #client: OpenAI;
  readonly #origin: string;
  readonly #isOpenAi: boolean;
  #warming = false;

  constructor(plan: PlanProvider, deps: OpenAiDeps) {
    this.#plan = plan;
    this.#deps = deps;
    const url = new URL(plan.base_url);
    this.#origin = url.origin;
    this.#isOpenAi = url.hostname === 'api.openai.com' || url.hostname.endsWith('.api.openai.com');
    this.#client = new OpenAI({
      baseURL: plan.base_url,
      // Servers without keys ignore it, the SDK does not.
      apiKey: plan.credential?.reveal() || 'none',
      organization: null,
      project: null,
      maxRetries: 0,
      fetch: requestFetch(deps.agent),
    });
  }

  async *stream(request: LlmRequest, signal: AbortSignal): AsyncGenerator<LlmEvent, void, undefined> {
    if (signal.aborted) return;
    const answer = new AbortController();
    const onAbort = () => answer.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    const patience = new Patience(this.#deps.clock, request.timeoutMs, () => answer.abort());
    let ended = false;
    let failed = false;
    try {
      const response = await this.#request(request, answer.signal);
      const reader = response.body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, undefined>;
      const lines = new SseLines();
      const reading = new Answer();
      for (;;) {
        const { done, value } = await reader.next();
        for (const data of done ? lines.end() : lines.push(value)) reading.read(data);
        if (reading.began) patience.heard(this.#deps.tokenTimeoutMs ?? TOKEN_TIMEOUT_MS);
        const { events } = reading;
        if (events.length > 0) {
          reading.events = [];
          patience.pause();
          for (const event of events) {
            yield event;
            if (signal.aborted) return;
          }
          patience.resume();
        }
        if (reading.failure) throw reading.failure;
        if (done || reading.sawDone) break;
      }
      patience.stop();
      const last = reading.finish();
      ended = true;
      this.#drain(reader, answer);
      yield* last;
    } catch (error) {
      if (signal.aborted) return;
      failed = true;
      throw patience.spent ? patience.error() : toProviderError(error);
    } finally {
      patience.stop();
      signal.removeEventListener('abort', onAbort);
      if (!ended) {
        answer.abort();
        // Over HTTP/1.1 a cancelled answer takes its connection along.
        if (!failed) this.warm();
      }
    }
  }

  warm(): void {
    const free = this.#deps.agent.stats[this.#origin];
    if (this.#warming || (free && 'free' in free && free.free > 0)) return;
    this.#warming = true;
    void this.#openConnection().finally(() => (this.#warming = false));
  }

  /** Any answer will do: it leaves an open connection in the pool. */
  async #openConnection(): Promise<void> {
    try {
      const response = await undiciFetch(`${this.#plan.base_url.replace(/\/$/, '')}/models`, {
        dispatcher: this.#deps.agent,
        headers: { authorization: `Bearer ${this.#plan.credential?.reveal() ?? 'none'}` },
        signal: AbortSignal.timeout(WARM_TIMEOUT_MS),
      });
      await response.arrayBuffer();
    } catch {
      // The first request will say what is wrong.
    }
  }

  #request(request: LlmRequest, signal: AbortSignal): Promise<LeanResponse> {
    const body = this.#toBody(request);
    return this.#client.chat.completions
      .create(body, { signal })
      .asResponse() as unknown as Promise<LeanResponse>;
  }

  #toBody(request: LlmRequest): ChatCompletionCreateParamsStreaming {
    const { model, options } = this.#plan;
    const thinks = /^o\d/.test(model) || (/^gpt-5/.test(model) && options['reasoning_effort'] !== 'none');
    const body: Record<string, unknown> = {
      model,
      messages: request.messages.map(toWireMessage),
      stream: true,
      stream_options: this.#isOpenAi
        ? { include_usage: true, include_obfuscation: false }
        : { include_usage: true },
      // Reasoning models of OpenAI refuse every temperature but their own.
      ...(this.#isOpenAi && thinks ? {} : { temperature: request.temperature }),
      ...(this.#isOpenAi
        ? { max_completion_tokens: request.maxOutputTokens, prompt_cache_key: request.cacheKey }
        : { max_tokens: request.maxOutputTokens }),
    };
    if (request.tools.length > 0) {
      body['tools'] = request.tools.map((tool) => ({ type: 'function', function: tool }));
    }
    for (const name of KNOWN_OPTIONS) {
      if (options[name] !== undefined && options[name] !== null) body[name] = options[name];
    }
    return body as unknown as ChatCompletionCreateParamsStreaming;
  }

  /** Reads what follows the last event, so that the connection can serve the next turn. */
  #drain(reader: AsyncIterator<Uint8Array>, answer: AbortController): void {
    const timer = this.#deps.clock.setTimeout(() => answer.abort(), DRAIN_TIMEOUT_MS);
    const toEnd = async () => {
      try {
        while (!(await reader.next()).done);
      } catch {
        // The connection is gone, the answer is not.
      } finally {
        timer.cancel();
      }
    };
    void toEnd();
  }
}

/** What one stream has said so far. */
class Answer {
  events: LlmEvent[] = [];
  /** The first token was there, be it of text or of a tool call. */
  began = false;
  sawDone = false;
  /** Said after what came before it was told. */
  failure: ProviderError | undefined;
  readonly #calls = new ToolCallCollector();
  #reason: string | undefined;
  #usage: LlmEvent | undefined;

  read(data: string): void {
    if (this.failure) return;
    if (data === '[DONE]') {
      this.sawDone = true;
      return;
    }
    const chunk = parseChunk(data);
    if (!chunk)
      this.failure = new ProviderError(NAME, 'protocol', 'a chunk of the response is not valid JSON');
    else if (chunk.error) this.failure = inStreamError(chunk.error);
    else this.#take(chunk);
  }

  #take(chunk: Chunk): void {
    if (chunk.usage) {
      const { prompt_tokens: inputTokens = 0, completion_tokens: outputTokens = 0 } = chunk.usage;
      this.#usage = { type: 'usage', inputTokens, outputTokens };
    }
    const choice = chunk.choices?.[0];
    if (!choice) return;
    const delta = choice.delta ?? choice.message;
    const text = delta?.content || delta?.refusal;
    if (typeof text === 'string') this.events.push({ type: 'text', text });
    for (const call of delta?.tool_calls ?? []) this.#calls.add(call);
    if (delta?.function_call) this.#calls.add({ index: 0, function: delta.function_call });
    this.began ||= this.events.length > 0 || !this.#calls.isEmpty;
    if (choice.finish_reason) this.#reason = choice.finish_reason;
  }

  /** @throws ProviderError when the stream ended before the answer did */
  finish(): LlmEvent[] {
    if (this.#reason === undefined && !this.sawDone) {
      throw new ProviderError(NAME, 'unavailable', 'the response ended early');
    }
    const cut = this.#reason === 'length' || this.#reason === 'content_filter';
    // Forced and compatible tool calls end with `stop`: what was called decides, not the reason.
    const calls = this.#calls.finish({ onlyComplete: cut });
    const last: LlmEvent[] = calls.map((call) => ({ type: 'tool_call', call }));
    if (this.#usage) last.push(this.#usage);
    last.push({ type: 'finish', reason: calls.length > 0 ? 'tool_calls' : finishReason(this.#reason) });
    return last;
  }
}

/** Two limits in one timer: how long until the first token, and how long from one to the next. */
class Patience {
  readonly #clock: Clock;
  readonly #onSpent: () => void;
  #limitMs: number;
  #started = false;
  #paused = false;
  #heardAtMs: number;
  #timer: Timer;
  spent = false;

  constructor(clock: Clock, firstMs: number, onSpent: () => void) {
    this.#clock = clock;
    this.#onSpent = onSpent;
    this.#limitMs = firstMs;
    this.#heardAtMs = clock.monotonic();
    this.#timer = clock.setTimeout(() => this.#check(), firstMs);
  }

  /** A token, or more of the answer, came: from now on at most `limitMs` may pass. */
  heard(limitMs: number): void {
    this.#heardAtMs = this.#clock.monotonic();
    if (this.#started) return;
    this.#started = true;
    this.#limitMs = limitMs;
    this.#timer.cancel();
    this.#timer = this.#clock.setTimeout(() => this.#check(), limitMs);
  }

  /** The reader of the answer has the turn: its time does not count. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    this.#heardAtMs = this.#clock.monotonic();
  }

  stop(): void {
    this.#timer.cancel();
  }

  error(): ProviderError {
    const what = this.#started ? 'the response stalled: nothing came' : 'no response began';
    return new ProviderError(NAME, 'timeout', `${what} within ${this.#limitMs} ms`);
  }

  #check(): void {
    // The timer is only moved when it fires, so that a token costs next to nothing.
    const leftMs = this.#paused ? this.#limitMs : this.#heardAtMs + this.#limitMs - this.#clock.monotonic();
    if (leftMs > 0) {
      this.#timer = this.#clock.setTimeout(() => this.#check(), leftMs);
      return;
    }
    this.spent = true;
    this.#onSpent();
  }
}

function toWireMessage(message: LlmMessage): ChatCompletionMessageParam {
  if (message.role === 'tool') {
    return { role: 'tool', tool_call_id: message.toolCallId, content: message.content };
  }
  if (message.role !== 'assistant' || !message.toolCalls || message.toolCalls.length === 0) {
    return { role: message.role, content: message.content };
  }
  return {
    role: 'assistant',
    content: message.content || null,
    tool_calls: message.toolCalls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  };
}

function parseChunk(data: string): Chunk | undefined {
  try {
    const chunk: unknown = JSON.parse(data);
    return typeof chunk === 'object' && chunk !== null ? chunk : undefined;
  } catch {
    // Words may be missing: better to ask again than to speak on.
    return undefined;
  }
}

function finishReason(reason: string | undefined): 'stop' | 'length' | 'content_filter' {
  return reason === 'length' || reason === 'content_filter' ? reason : 'stop';
}

function inStreamError(error: NonNullable<Chunk['error']>): ProviderError {
  const { code, type } = typeof error === 'string' ? {} : error;
  const words = [code, type].filter((one) => typeof one === 'string' && /^\w{1,64}$/.test(one)) as string[];
  const limited = words.some((word) => word.includes('rate_limit') || word === 'insufficient_quota');
  return new ProviderError(
    NAME,
    limited ? 'rate_limit' : 'unavailable',
    `the response ended with an error (${words[0] ?? 'no code'})`,
  );
}

/** The provider's messages may quote what was said, so only its codes are kept. */
function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  if (error instanceof APIConnectionTimeoutError) {
    return new ProviderError(NAME, 'timeout', 'the request timed out');
  }
  if (error instanceof APIError && typeof error.status === 'number') {
    const words = [error.code, error.param].filter((one) => typeof one === 'string');
    const why = words.length > 0 ? ` (${words.join(', ').slice(0, 120)})` : '';
    return new ProviderError(NAME, faultOfStatus(error.status), `refused with ${error.status}${why}`);
  }
  return new ProviderError(NAME, 'unavailable', 'the connection failed', { cause: error });
}
