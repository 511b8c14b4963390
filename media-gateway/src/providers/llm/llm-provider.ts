import type { UsedModel } from '@parley/shared/contracts/call-prices';

/** A language model with streaming answers and tools. One provider object may serve many calls. */
export interface LlmProvider {
  readonly name: string;
  /** As the plan of the call names it. */
  readonly model?: UsedModel | undefined;
  /**
   * Streams one answer. Aborting `signal` stops the request at the provider and ends the iteration without error.
   * @throws ProviderError for refusals, time-outs (first token, between tokens) and truncated answers
   */
  stream(request: LlmRequest, signal: AbortSignal): AsyncIterable<LlmEvent>;
  /** Opens a connection ahead of the first request, where that helps. Never throws. */
  warm(): void;
}

export interface LlmRequest {
  messages: readonly LlmMessage[];
  tools: readonly LlmTool[];
  temperature: number;
  maxOutputTokens: number;
  /** Until the first token. */
  timeoutMs: number;
  /** Same for all calls of one agent: keeps requests that share a prompt together in the provider's cache. */
  cacheKey: string;
}

export type LlmMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls?: readonly LlmToolCall[] }
  | { role: 'tool'; toolCallId: string; content: string };

export interface LlmToolCall {
  id: string;
  name: string;
  /** JSON as the model wrote it; may be invalid. */
  arguments: string;
}

export interface LlmTool {
  name: string;
  description: string;
  /** JSON Schema. */
  parameters: Record<string, unknown>;
}

export type LlmEvent =
  | { type: 'text'; text: string }
  | { type: 'tool_call'; call: LlmToolCall }
  | { type: 'usage'; inputTokens: number; outputTokens: number }
  | { type: 'finish'; reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' };
