import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { providerDescriptor } from './providers.ts';

type LlmWire = SessionPlanWire['llm'][number];

/** A language model of the catalogue that is asked outside of calls. */
export interface ChatModel {
  /** @throws whatever the request met */
  answer(question: ChatQuestion, signal: AbortSignal): Promise<ChatAnswer>;
}

export interface ChatAnswer {
  /** "" for none. */
  text: string;
  /** The first function that the model called; null when it called none. */
  call: { name: string; arguments: string } | null;
  tokens: ChatTokens;
}

/** What an answer took: as the provider counted, or estimated where it does not tell. */
export interface ChatTokens {
  read: number;
  written: number;
}

/** A function that a model may call. */
export interface ChatFunction {
  name: string;
  description: string;
  /** A JSON Schema. */
  parameters: Record<string, unknown>;
}

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant';
  content: string;
}

export interface ChatQuestion {
  /** 0 when left out. */
  temperature?: number;
  messages: ChatMessage[];
  /** What the answer has to fit; left out for one in free words. */
  format?: AnswerFormat | undefined;
  /** It may call one of them instead of answering in words. */
  functions?: readonly ChatFunction[];
}

export interface AnswerFormat {
  /** Names the schema to the model. */
  name: string;
  /** A JSON Schema. */
  schema: Record<string, unknown>;
  /** The schema keeps to what structured outputs can hold a model to: every property required, no others. */
  strict: boolean;
}

/** A model that tells where texts point. */
export interface EmbeddingModel {
  /** @returns a vector for each text, in their order. @throws whatever the request met */
  embed(texts: readonly string[], signal: AbortSignal | undefined): Promise<number[][]>;
}

/** Where a model is, and as whom it is called. */
export type ChatAddress = Pick<LlmWire, 'base_url' | 'credential' | 'model'>;

/**
 * Opens a resolved model. Its provider's SDK is loaded when it is needed first.
 * @param fetch keeps to the outgoing rule: the address may be a tenant's
 * @throws Error for a provider without language models
 */
export async function openChatModel(
  resolved: ChatAddress & Pick<LlmWire, 'provider'>,
  fetch: typeof globalThis.fetch,
): Promise<ChatModel> {
  const { openChat } = providerDescriptor(resolved.provider);
  if (!openChat) throw new Error(`${resolved.provider} has no language models.`);
  return openChat(resolved, fetch);
}

/** The object in a model's words: local models like to put their JSON into a fence. @throws SyntaxError without one */
export function parseStructured(content: string): unknown {
  return JSON.parse(/\{[\s\S]*\}/.exec(content)?.[0] ?? '') as unknown;
}
