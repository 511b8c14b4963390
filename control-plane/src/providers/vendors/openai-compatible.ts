import type { ChatAddress, ChatAnswer, ChatModel, ChatQuestion, EmbeddingModel } from '../chat.ts';
import { API_KEY } from '../provider-descriptor.ts';
import type { ProviderDescriptor } from '../provider-descriptor.ts';

const CHAT_TIMEOUT_MS = 45_000;

export const openAiCompatible = {
  name: 'OpenAI and compatible servers',
  kinds: ['llm'],
  credentialFields: API_KEY,
  api: {
    variable: 'OPENAI',
    operatorNamesModel: true,
    standardUrl: 'https://api.openai.com/v1',
    othersServe: true,
    checkPath: '/models',
    toHeaders: (apiKey: string) => ({ authorization: `Bearer ${apiKey}` }),
  },
  models: [
    {
      id: 'llm_openai_gpt41_mini',
      kind: 'llm',
      model: 'gpt-4.1-mini',
      name: 'OpenAI GPT-4.1 mini',
      languages: ['*'],
      capabilities: ['streaming', 'tools', 'json_schema'],
    },
  ],
  openChat,
  openEmbeddings,
} as const satisfies ProviderDescriptor;

/** Chat Completions, over the SDK: https://platform.openai.com/docs/api-reference/chat/create */
async function openChat(
  { base_url, credential, model }: ChatAddress,
  fetch: typeof globalThis.fetch,
): Promise<ChatModel> {
  const { default: OpenAI } = await import('openai');
  const client = new OpenAI({
    baseURL: base_url,
    fetch,
    // The SDK insists on a key; servers of the operator's own may know none.
    apiKey: credential ?? 'none',
    timeout: CHAT_TIMEOUT_MS,
    maxRetries: 1,
  });
  return {
    async answer(question: ChatQuestion, signal: AbortSignal): Promise<ChatAnswer> {
      const { temperature = 0, messages, format, functions } = question;
      const completion = await client.chat.completions.create(
        {
          model,
          temperature,
          messages,
          ...(format && { response_format: { type: 'json_schema', json_schema: format } }),
          ...(functions && {
            tools: functions.map((one) => ({ type: 'function' as const, function: one })),
          }),
        },
        { signal },
      );
      const message = completion.choices[0]?.message;
      const text = message?.content ?? '';
      const call = message?.tool_calls?.find((one) => one.type === 'function')?.function ?? null;
      const { usage } = completion;
      return {
        text,
        call: call && { name: call.name, arguments: call.arguments },
        tokens: {
          read: usage?.prompt_tokens ?? estimatedTokens(JSON.stringify({ messages, format, functions })),
          written: usage?.completion_tokens ?? estimatedTokens(text + (call?.arguments ?? '')),
        },
      };
    },
  };
}

/** Servers of one's own may not count: four characters are about a token. */
function estimatedTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

/** https://platform.openai.com/docs/api-reference/embeddings/create */
async function openEmbeddings(
  { base_url, credential, model }: ChatAddress,
  fetch: typeof globalThis.fetch,
): Promise<EmbeddingModel> {
  const { default: OpenAI } = await import('openai');
  const client = new OpenAI({ baseURL: base_url, fetch, apiKey: credential ?? 'none', maxRetries: 0 });
  return {
    async embed(texts, signal) {
      const { data } = await client.embeddings.create(
        { model, input: [...texts], encoding_format: 'float' },
        { ...(signal && { signal }) },
      );
      return data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => embedding);
    },
  };
}
