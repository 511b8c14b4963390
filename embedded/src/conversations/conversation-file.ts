import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ruleSchema } from '@parley/emulators/providers/openai/script';
import { callOrderSchema } from '../demonstration/call-order.ts';

// A conversation as a file, YAML or JSON: docs/conversations.md says what each key means.

const textual = z.string().min(1).max(500);
/** A text that is looked for without regard to case, or `/a regular expression/`. */
const wording = textual.refine((value) => !value.startsWith('/') || toPattern(value) !== null, {
  message: 'is not a valid regular expression',
});
const subset = z.record(z.string(), z.unknown());

const agentSchema = z.strictObject({
  greeting: z.string().default(''),
  system_prompt: z.string().default(''),
  tts_voice_id: z.string().optional(),
  config: subset.default({}),
  /** Names tools of the file as `$tool:name`. */
  flow_definition: subset.optional(),
});
export type ConversationAgent = z.infer<typeof agentSchema>;

const toolSchema = z.strictObject({
  name: z.string().regex(/^[a-z_]{1,40}$/),
  description: z.string().default('Helps the caller.'),
  parameters: subset.default({ type: 'object' }),
  execution: subset.default({}),
  /** What its address answers, and after how long. */
  answer: z.unknown().default({}),
  status: z.number().int().min(200).max(599).default(200),
  after_ms: z.number().int().min(0).max(30_000).default(0),
});
export type ConversationTool = z.infer<typeof toolSchema>;

const fact = z.union([
  z.strictObject({ said: wording }),
  z.strictObject({ not_said: wording }),
  z.strictObject({ heard: wording }),
  z.strictObject({ not_heard: wording }),
  z.strictObject({ interrupted: wording }),
  z.strictObject({ transcript: z.array(wording).min(1) }),
  z.strictObject({ event: z.string(), data: subset.optional(), times: z.number().int().min(1).optional() }),
  z.strictObject({ no_event: z.string(), data: subset.optional() }),
  z.strictObject({
    tool: z.string(),
    arguments: subset.optional(),
    times: z.number().int().min(0).optional(),
  }),
  z.strictObject({ end: subset }),
  z.strictObject({ session: subset }),
  z.strictObject({ llm_got: wording }),
  z.strictObject({ llm_not_got: wording }),
  z.strictObject({ recording: z.enum(['stored', 'none']) }),
  z.strictObject({ recording_silent: wording }),
  z.strictObject({ recording_audible: wording }),
  z.strictObject({ get: z.string().startsWith('/v1/'), has: z.unknown() }),
]);
export type Fact = z.infer<typeof fact>;

const order = callOrderSchema.shape;
const conversationSchema = z.strictObject({
  title: textual,
  carrier: order.carrier.exclude(['browser']).default('plivo'),
  noise: order.noise,
  /** The agent calls, with these variables, and the caller is whoever answers. */
  outbound: z
    .strictObject({
      /** Last three digits of the number that is called: what its telephone does. */
      to_ending: z
        .string()
        .regex(/^\d{3}$/)
        .optional(),
      no_hello: z.boolean().default(false),
      variables: z.record(z.string(), z.string()).default({}),
    })
    .optional(),
  agent: agentSchema,
  /** An agent that calls can be handed over to: `$second_agent` in the config of the first. */
  second_agent: agentSchema.optional(),
  tools: z.array(toolSchema).max(10).default([]),
  /** A document of the agent's knowledge base. */
  knowledge: z.string().min(1).optional(),
  /** Rules of the emulated language model, tried in order. Without one that holds: "Pardon?" */
  llm: z.array(ruleSchema).max(50).default([]),
  caller: order.steps,
  expect: z.array(fact).min(1).max(50),
});
export type Conversation = z.infer<typeof conversationSchema> & {
  /** The file's name without its ending: names the conversation in a run. */
  name: string;
};

/** @throws Error that names the file and says where it is wrong */
export async function readConversation(file: string): Promise<Conversation> {
  const name = path.basename(file).replace(/\.(ya?ml|json)$/, '');
  let value: unknown;
  try {
    value = parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return { ...parseConversation(value, file), name };
}

/** @throws Error that says where it is wrong */
export function parseConversation(value: unknown, file: string): z.infer<typeof conversationSchema> {
  const parsed = conversationSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new Error(`${file} is no conversation:\n${z.prettifyError(parsed.error)}`);
}

/** The regular expression of a wording between slashes; null when there is none. */
export function toPattern(value: string): RegExp | null {
  const inner = /^\/(.*)\/$/s.exec(value)?.[1];
  if (inner === undefined) return null;
  try {
    return new RegExp(inner, 'i');
  } catch {
    return null;
  }
}
