import { MEMORY_KINDS } from './session-values.ts';

/** A tool that agents have without an entry in the catalogue. */
export interface BuiltInTool {
  /** Told to the model. */
  description: string;
  /** JSON Schema of the arguments, as the model is told it; what depends on the agent is added by the gateway. */
  parameters: {
    type: 'object';
    properties: Record<string, Record<string, unknown>>;
    required?: string[];
    additionalProperties: false;
  };
  /** When an agent has it. */
  offered: string;
}

/** The built-in tools, by name. What they do is in the gateway. */
export const BUILT_IN_TOOLS = {
  end_call: {
    description:
      'Ends the call. Use it when the conversation is over and goodbyes have been said, or say goodbye in the same answer.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
    offered: '`end_call.agent_may_end` is set.',
  },
  transfer_call: {
    description: 'Transfers the caller to a person, or to another agent.',
    parameters: {
      type: 'object',
      properties: { destination_id: { type: 'string' } },
      required: ['destination_id'],
      additionalProperties: false,
    },
    offered:
      '`transfer.destinations` has an agent, or, on a line that can be transferred, any other destination.',
  },
  send_dtmf: {
    description: 'Presses keys on the telephone line, for menus: digits, *, #.',
    parameters: {
      type: 'object',
      properties: { digits: { type: 'string', pattern: '^[0-9A-D*#]{1,32}$' } },
      required: ['digits'],
      additionalProperties: false,
    },
    offered: '`dtmf.send` is set, on a line that takes keys.',
  },
  search_knowledge: {
    description:
      'Looks up passages in the documents that you were given. Use it before you answer a question about facts.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string', maxLength: 1000 } },
      required: ['query'],
      additionalProperties: false,
    },
    offered: '`knowledge.mode` is `tool`, and a knowledge base is attached.',
  },
  remember: {
    description:
      'Notes one thing about the caller that is worth knowing when they call again. Never passwords, card or account numbers, or what they asked not to keep.',
    parameters: {
      type: 'object',
      properties: {
        kind: {
          type: 'string',
          enum: MEMORY_KINDS,
          description:
            'fact: lasting, about the person; preference: how they want things; open_item: promised or still to be done; summary: what this call was about',
        },
        content: { type: 'string', maxLength: 2000, description: 'One thing, in one or two sentences' },
      },
      required: ['kind', 'content'],
      additionalProperties: false,
    },
    offered:
      '`memory.write` is set, and the caller is known by a number or a `user_identifier`; never in a widget.',
  },
  do_not_call: {
    description:
      'Puts the number of the caller on the do-not-call list. Use it only when they ask not to be called again.',
    parameters: {
      type: 'object',
      properties: {
        reason: { type: 'string', maxLength: 500, description: 'What they said, in a few words' },
      },
      required: ['reason'],
      additionalProperties: false,
    },
    offered: 'In telephone calls whose far end has a number.',
  },
  set_language: {
    description:
      'Changes the language of the call: what the caller says is understood, and what you say is spoken, in that language from then on. Use it when the caller wants another language, and go on in it yourself.',
    parameters: {
      type: 'object',
      properties: { language: { type: 'string', description: 'BCP 47 tag' } },
      required: ['language'],
      additionalProperties: false,
    },
    offered: '`language.additional` has languages.',
  },
} as const satisfies Record<string, BuiltInTool>;

export type BuiltInToolName = keyof typeof BUILT_IN_TOOLS;

/** Names that no tool of the catalogue may have. */
export const RESERVED_TOOL_NAMES: ReadonlySet<string> = new Set(Object.keys(BUILT_IN_TOOLS));
