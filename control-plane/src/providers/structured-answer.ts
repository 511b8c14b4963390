import type OpenAI from 'openai';
import type { ChatCompletionMessageParam } from 'openai/resources';

/** What a model is asked, and the JSON Schema that its answer has to fit (strict, as structured outputs want it). */
export interface StructuredQuestion {
  model: string;
  temperature?: number;
  messages: ChatCompletionMessageParam[];
  /** Names the schema to the model. */
  name: string;
  schema: Record<string, unknown>;
}

/** @returns the model's words, "" for none. @throws whatever the request met */
export async function askStructured(
  client: OpenAI,
  { model, temperature = 0, messages, name, schema }: StructuredQuestion,
  signal: AbortSignal,
): Promise<string> {
  const completion = await client.chat.completions.create(
    {
      model,
      temperature,
      messages,
      response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } },
    },
    { signal },
  );
  return completion.choices[0]?.message.content ?? '';
}

/** The object in a model's words: local models like to put their JSON into a fence. @throws SyntaxError without one */
export function parseStructured(content: string): unknown {
  return JSON.parse(/\{[\s\S]*\}/.exec(content)?.[0] ?? '') as unknown;
}
