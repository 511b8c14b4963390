import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { textOf } from './chat-request.ts';
import type { ChatMessage, ChatRequest } from './chat-request.ts';
import { fitToSchema } from './fit-to-schema.ts';
import { improvise } from './improvise.ts';
import { leadFromTranscript } from './lead-from-transcript.ts';

/**
 * What the emulated model says: a JSON file of rules, tried from the top; the first whose `when` holds answers.
 *
 *     {
 *       "models": ["emulated-model"],
 *       "rules": [
 *         { "when": { "user": { "regex": "my name is (?<name>\\w+)" } },
 *           "reply": { "text": "Nice to meet you, {{name}}." } },
 *         { "when": { "user": ["weather", "forecast"], "tool": "get_weather" },
 *           "reply": { "text": "One moment.", "tool_calls": [
 *             { "name": "get_weather", "arguments": { "place": "Berlin" } } ] } },
 *         { "when": { "after_tool": "get_weather" },
 *           "reply": { "text": "It is {{tool.summary}}, {{tool.degrees}} degrees." } },
 *         { "when": { "schema": "lead" }, "reply": { "json": "lead" } },
 *         { "when": { "schema": "survey" }, "reply": { "json": {
 *             "rating": { "$match": "(\\d) (?:stars|out of five)" }, "answered": true } } }
 *       ],
 *       "fallback": { "text": "Could you say that again?" }
 *     }
 *
 * The fallback `"improvise"` follows the agent that is asked for, whoever that is: see improvise.ts.
 *
 * Conditions of `when`; all that are given must hold, and none at all always holds:
 * - `user`, `system`, `assistant`: the last user text, the system prompt, what the assistant said last. A string is
 *   looked for without regard to case, a list is any of them, `{"regex", "flags"?}` is JavaScript's (`i` unless given)
 * - `tool`: a tool of this name is offered
 * - `after_tool`: the last message is the result of this tool (`*`: of any). Rules without it are not tried then, so
 *   that a question is not answered by the same call again
 * - `schema`: the name of the `json_schema` asked for (`*`: any). Where structured output is asked for, only rules with
 *   a `json` reply are tried, and elsewhere none of them
 * - `model`: the model's name
 *
 * Replies: `text`, `tool_calls` or both, or `json`. Text and arguments may hold `{{user}}`, captures of the `user` regex
 * (`{{1}}`, `{{name}}`), and `{{tool}}` or `{{tool.path.to.field}}` of the last tool result; an argument that is nothing
 * but one of these keeps its type, and what is not there is empty. `json` is `"lead"` (plain patterns over the
 * transcript in the prompt, see lead-from-transcript.ts) or values, where `{"$match": regex, "else"?: value}` takes
 * the first group found in the prompt. Whatever comes of it is made to fit the schema asked for. Structured output that
 * no rule answers is made of the same patterns as `"lead"`.
 */
export type Script = z.infer<typeof scriptSchema>;

const regex = z.object({ regex: z.string(), flags: z.string().default('i') }).transform((value, context) => {
  try {
    return new RegExp(value.regex, value.flags.replace('g', ''));
  } catch {
    context.addIssue({ code: 'custom', message: 'is not a valid regular expression' });
    return z.NEVER;
  }
});
const condition = z.union([z.string().min(1), z.array(z.string().min(1)).min(1), regex]);
const textReply = z
  .strictObject({
    text: z.string().optional(),
    tool_calls: z
      .array(
        z.strictObject({ name: z.string().min(1), arguments: z.record(z.string(), z.unknown()).default({}) }),
      )
      .min(1)
      .optional(),
  })
  .refine((reply) => reply.text !== undefined || reply.tool_calls, 'requires text, tool_calls or json');
const jsonTemplate = z.record(z.string(), z.unknown()).refine((template) => {
  try {
    extract(template, '');
    return true;
  } catch {
    return false;
  }
}, 'has a $match that is not a valid regular expression');
const reply = z.union([z.strictObject({ json: z.union([z.literal('lead'), jsonTemplate]) }), textReply]);
/** One rule of a script: `when` it holds, what is replied. */
export const ruleSchema = z.strictObject({
  when: z
    .strictObject({
      user: condition.optional(),
      system: condition.optional(),
      assistant: condition.optional(),
      tool: z.string().optional(),
      after_tool: z.string().optional(),
      schema: z.string().optional(),
      model: z.string().optional(),
    })
    .default({}),
  reply,
});
const scriptSchema = z.strictObject({
  models: z.array(z.string().min(1)).min(1).default(['parley-emulated-model']),
  rules: z.array(ruleSchema).max(1000).default([]),
  fallback: z
    .union([z.literal('improvise'), textReply])
    .default({ text: 'I am an emulator, and my script has no answer to that.' }),
});

type Condition = z.infer<typeof condition>;
type Rule = z.infer<typeof ruleSchema>;

/** @throws ZodError that says where the script is wrong */
export function parseScript(json: unknown): Script {
  return scriptSchema.parse(json);
}

/** @throws Error when the file cannot be read, SyntaxError, ZodError */
export async function readScript(path: string | URL): Promise<Script> {
  return parseScript(JSON.parse(await readFile(path, 'utf8')));
}

export interface ScriptedReply {
  /** Which rule answered, from 0; undefined is the fallback. */
  rule: number | undefined;
  text: string;
  toolCalls: { name: string; arguments: Record<string, unknown> }[];
}

/** What the emulated model answers to `request`. */
export function answerByScript(script: Script, request: ChatRequest): ScriptedReply {
  const situation = situationOf(request);
  const structured = situation.format !== undefined;
  const rule = script.rules.findIndex(
    (one) => structured === 'json' in one.reply && holds(one, situation, request.model),
  );
  const chosen = script.rules[rule];
  const number = rule < 0 ? undefined : rule;
  const answer = chosen?.reply ?? (structured ? { json: 'lead' as const } : script.fallback);
  if (answer !== 'improvise' && 'json' in answer) {
    const found =
      answer.json === 'lead' ? leadFromTranscript(situation.prompt) : extract(answer.json, situation.prompt);
    const fitted = situation.format?.schema ? fitToSchema(found, situation.format.schema) : found;
    return { rule: number, text: JSON.stringify(fitted), toolCalls: [] };
  }
  if (answer === 'improvise') return { rule: undefined, ...improvise(request) };
  const values = valuesOf(chosen, situation);
  const calls = request.tool_choice === 'none' ? [] : (answer.tool_calls ?? []);
  return {
    rule: number,
    text: answer.text === undefined ? '' : fillText(answer.text, values),
    toolCalls: calls.map((call) => ({
      name: call.name,
      arguments: fill(call.arguments, values) as Record<string, unknown>,
    })),
  };
}

interface Situation {
  user: string;
  system: string;
  assistant: string;
  /** All that users wrote: where a transcript to analyse stands. */
  prompt: string;
  tools: ReadonlySet<string>;
  /** The last message, if it is a tool's result. */
  result: { tool: string; content: string } | undefined;
  format: { name: string; schema: unknown } | undefined;
}

function situationOf({ messages, tools, response_format: format }: ChatRequest): Situation {
  const last = messages.at(-1);
  const lastText = (role: ChatMessage['role']) => {
    const found = messages.findLast((message) => message.role === role && textOf(message) !== '');
    return found ? textOf(found) : '';
  };
  const textsOf = (...roles: ChatMessage['role'][]) =>
    messages
      .filter(({ role }) => roles.includes(role))
      .map(textOf)
      .join('\n');
  let wanted: Situation['format'];
  if (format?.type === 'json_object') wanted = { name: '', schema: undefined };
  if (format?.type === 'json_schema')
    wanted = { name: format.json_schema.name, schema: format.json_schema.schema };
  return {
    user: lastText('user'),
    system: textsOf('system', 'developer'),
    assistant: lastText('assistant'),
    prompt: textsOf('user'),
    tools: new Set(tools?.map((tool) => tool.function.name)),
    result:
      last?.role === 'tool'
        ? { tool: calledTool(messages, last.tool_call_id), content: textOf(last) }
        : undefined,
    format: wanted,
  };
}

function calledTool(messages: readonly ChatMessage[], callId: string): string {
  for (const message of messages.toReversed()) {
    if (message.role !== 'assistant') continue;
    const call = message.tool_calls?.find(({ id }) => id === callId);
    if (call) return call.function.name;
  }
  return '';
}

function holds({ when }: Rule, situation: Situation, model: string): boolean {
  const { result, format, tools } = situation;
  const isOneOf = (wanted: string, actual: string | undefined) =>
    actual !== undefined && (wanted === '*' || wanted === actual);
  if (when.after_tool === undefined ? result !== undefined : !isOneOf(when.after_tool, result?.tool))
    return false;
  if (when.schema !== undefined && !isOneOf(when.schema, format?.name)) return false;
  if (when.model !== undefined && when.model !== model) return false;
  if (when.tool !== undefined && !tools.has(when.tool)) return false;
  return (['user', 'system', 'assistant'] as const).every(
    (who) => when[who] === undefined || matches(when[who], situation[who]),
  );
}

function matches(wanted: Condition, text: string): boolean {
  if (wanted instanceof RegExp) return wanted.test(text);
  const lower = text.toLowerCase();
  return [wanted].flat().some((part) => lower.includes(part.toLowerCase()));
}

/** What `{{…}}` may stand for. */
interface Values {
  user: string;
  captures: Readonly<Record<string, string | undefined>>;
  tool: string;
  toolFields: unknown;
}

function valuesOf(rule: Rule | undefined, { user, result }: Situation): Values {
  const found = rule?.when.user instanceof RegExp ? rule.when.user.exec(user) : null;
  const numbered = Object.fromEntries([...(found ?? [])].map((text, index) => [String(index), text]));
  const tool = result?.content ?? '';
  return { user, captures: { ...numbered, ...found?.groups }, tool, toolFields: jsonOrText(tool) };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function lookUp(name: string, values: Values): unknown {
  if (name === 'user') return values.user;
  if (name === 'tool') return values.tool;
  if (!name.startsWith('tool.'))
    return Object.hasOwn(values.captures, name) ? values.captures[name] : undefined;
  let at = values.toolFields;
  for (const part of name.split('.').slice(1)) {
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, part)
        ? (at as Record<string, unknown>)[part]
        : undefined;
  }
  return at;
}

const PLACEHOLDER = /\{\{\s*([\w.-]+)\s*\}\}/g;

function fillText(template: string, values: Values): string {
  return template.replace(PLACEHOLDER, (_, name: string) => {
    const value = lookUp(name, values);
    if (value === undefined || value === null) return '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}

function fill(template: unknown, values: Values): unknown {
  if (typeof template === 'string') {
    const alone = /^\{\{\s*([\w.-]+)\s*\}\}$/.exec(template);
    return alone ? (lookUp(alone[1]!, values) ?? '') : fillText(template, values);
  }
  if (Array.isArray(template)) return template.map((item) => fill(item, values));
  if (typeof template !== 'object' || template === null) return template;
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value, values)]));
}

function extract(template: unknown, prompt: string): unknown {
  if (Array.isArray(template)) return template.map((item) => extract(item, prompt));
  if (typeof template !== 'object' || template === null) return template;
  if ('$match' in template) {
    const found = new RegExp(String(template.$match), 'iu').exec(prompt);
    return found ? (found[1] ?? found[0]) : 'else' in template ? template.else : null;
  }
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, extract(value, prompt)]));
}
