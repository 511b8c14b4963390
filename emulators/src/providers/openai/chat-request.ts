import * as z from 'zod';

const textPart = z.looseObject({ type: z.string(), text: z.string().optional() });
const content = z.union([z.string(), z.array(textPart)]);
const toolCall = z.looseObject({
  id: z.string().min(1),
  type: z.literal('function'),
  function: z.looseObject({ name: z.string().min(1), arguments: z.string() }),
});
const message = z.discriminatedUnion('role', [
  z.looseObject({ role: z.literal('system'), content }),
  z.looseObject({ role: z.literal('developer'), content }),
  z.looseObject({ role: z.literal('user'), content }),
  z.looseObject({
    role: z.literal('assistant'),
    content: content.nullish(),
    tool_calls: z.array(toolCall).min(1).optional(),
  }),
  z.looseObject({ role: z.literal('tool'), tool_call_id: z.string().min(1), content }),
]);
const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({
    name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
});
const responseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({
    type: z.literal('json_schema'),
    json_schema: z.looseObject({
      name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
      schema: z.record(z.string(), z.unknown()).optional(),
      strict: z.boolean().nullish(),
    }),
  }),
]);

/** What the emulator looks at of `POST /v1/chat/completions`. Unknown keys are let through, as they come and go. */
export const chatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  stream_options: z
    .looseObject({ include_usage: z.boolean().optional(), include_obfuscation: z.boolean().optional() })
    .nullish(),
  tools: z.array(tool).min(1).max(128).optional(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
    ])
    .optional(),
  parallel_tool_calls: z.boolean().optional(),
  max_completion_tokens: z.int().min(1).nullish(),
  max_tokens: z.int().min(1).nullish(),
  n: z.literal(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  response_format: responseFormat.optional(),
});
export type ChatRequest = z.infer<typeof chatRequest>;
export type ChatMessage = ChatRequest['messages'][number];

/** A request that the vendor would answer with 400. */
export class BadChatRequestError extends Error {
  readonly param: string | null;

  constructor(message: string, param: string | null) {
    super(message);
    this.name = 'BadChatRequestError';
    this.param = param;
  }
}

/**
 * @param body parsed JSON
 * @throws BadChatRequestError
 */
export function parseChatRequest(body: unknown): ChatRequest {
  const parsed = chatRequest.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const param = issue.path.join('.') || null;
    throw new BadChatRequestError(`Invalid value${param ? ` for '${param}'` : ''}: ${issue.message}.`, param);
  }
  checkToolMessages(parsed.data.messages);
  const { tool_choice: choice, tools } = parsed.data;
  if (choice !== undefined && choice !== 'none' && !tools) {
    throw new BadChatRequestError("'tool_choice' is only allowed when 'tools' are specified.", 'tool_choice');
  }
  if (typeof choice === 'object' && !tools?.some((tool) => tool.function.name === choice.function.name)) {
    throw new BadChatRequestError(
      `Tool choice '${choice.function.name}' is not among 'tools'.`,
      'tool_choice',
    );
  }
  return parsed.data;
}

/** Calls and their results must match: half a pair, as an interrupted turn can leave it, is refused by the vendor. */
function checkToolMessages(messages: readonly ChatMessage[]): void {
  let open = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) {
        throw new BadChatRequestError(
          "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
          `messages.[${index}].role`,
        );
      }
      return;
    }
    if (open.size > 0) throw unansweredCalls(open, index);
    if (message.role === 'assistant') open = new Set(message.tool_calls?.map(({ id }) => id));
  });
  if (open.size > 0) throw unansweredCalls(open, messages.length);
}

function unansweredCalls(ids: ReadonlySet<string>, index: number): BadChatRequestError {
  return new BadChatRequestError(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${[...ids].join(', ')}`,
    `messages.[${index}].role`,
  );
}

/** The text of a message, without images and the like. */
export function textOf(message: ChatMessage): string {
  const { content } = message;
  if (typeof content === 'string') return content;
  return content?.map((part) => part.text ?? '').join('') ?? '';
}
