import { z } from 'zod';
import { flowDefinitionSchema, nodeOverridesSchema } from '@parley/shared/contracts/flow-definition';
import { AGENT_CONFIG_TEXTS, describeConfig } from './agent-config-texts.ts';

interface JsonSchema {
  const?: unknown;
  default?: unknown;
  description?: string;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
}

/** The JSON Schema of a `flow_definition`, in which each field says what it does. */
export function flowJsonSchema(): object {
  const { $schema: _, ...schema } = jsonSchemaOf(flowDefinitionSchema);
  describeAt(schema, '');
  return schema;
}

function jsonSchemaOf(schema: z.ZodType): JsonSchema & { $schema?: unknown } {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
}

/** What a node changes of its agent's settings, as clients send it: the defaults are the agent's. */
function overridesJsonSchema(): JsonSchema {
  const { $schema: _, ...schema } = jsonSchemaOf(nodeOverridesSchema);
  describeConfig(schema);
  for (const [name, section] of Object.entries(schema.properties ?? {})) {
    delete section.default;
    for (const setting of Object.values(section.properties ?? {})) forgetDefaults(setting);
    const text = FLOW_TEXTS[`nodes.overrides.${name}`];
    if (text !== undefined) section.description = text;
  }
  return schema;
}

function forgetDefaults(setting: JsonSchema): void {
  delete setting.default;
  for (const inner of Object.values(setting.properties ?? {})) forgetDefaults(inner);
}

function describeAt(schema: JsonSchema, at: string): void {
  const type = schema.properties?.['type']?.const;
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const path = at === '' ? name : `${at}.${name}`;
    const text = FLOW_TEXTS[`${at}.${String(type)}.${name}`] ?? textOf(path);
    if (text !== undefined) field.description = text;
    if (path === 'nodes.overrides') Object.assign(field, overridesJsonSchema());
    else describeAt(field, path);
  }
  const parts = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  for (const part of parts) if (typeof part === 'object') describeAt(part, at);
}

function textOf(path: string): string | undefined {
  const destination = /^nodes\.destination\.(.+)$/.exec(path)?.[1];
  if (destination !== undefined) return AGENT_CONFIG_TEXTS[`transfer.destinations.${destination}`];
  return FLOW_TEXTS[path];
}

/**
 * What each field of a flow does, by its path; where it depends on the type of node or condition, the type stands before
 * the field. Bounds and defaults the schema says.
 */
export const FLOW_TEXTS: Readonly<Record<string, string>> = {
  schema_version: 'Version of this form.',
  start_node_id: 'Node that a call begins in.',
  global_prompt: 'Instructions that stand before those of every node which does not decline them.',
  routing_llm_id:
    'Language model that decides among edges with a condition in words; null: that of the agent.',

  nodes: 'What happens in a call; it is always in one of them.',
  'nodes.id': 'Name by which edges lead here.',
  'nodes.name': 'Name of the node, for people.',
  'nodes.position': 'Where an editor draws the node; calls do not mind it.',
  'nodes.position.x': 'Pixels from the left.',
  'nodes.position.y': 'Pixels from the top.',
  'nodes.overrides': 'What the node has otherwise than its agent; what is left out stays that of the agent.',
  'nodes.overrides.llm_id': 'Language model of the node.',
  'nodes.overrides.tts_voice_id': 'Voice of the node.',
  'nodes.global': 'Lets the node be reached from every other one; null: only edges lead to it.',
  'nodes.global.condition': 'In words, when the call goes here: a language model judges it.',
  'nodes.global.cooldown_turns': 'Turns of the caller for which the node is not entered again.',
  'nodes.global.return': 'Whether the call then goes back to where it was.',
  'nodes.type': 'What the node does.',

  'nodes.conversation.prompt': 'Instructions for the language model while the call is here.',
  'nodes.use_global_prompt': 'Whether `global_prompt` stands before the instructions.',
  'nodes.tool_ids': 'Tools that the model has here, beside those of the agent.',
  'nodes.knowledge_base_ids': 'Knowledge bases that are searched here, beside those of the agent.',
  'nodes.max_turns': 'Turns of the caller after which the node has failed.',

  'nodes.text': 'What is said. Variables are filled in.',
  'nodes.audio_asset_id': 'Audio asset that is played instead; null: the text is spoken.',
  'nodes.interruptible': 'Whether the caller can interrupt it.',

  'nodes.collect.prompt': 'Instructions for asking, beside the descriptions of the fields.',
  'nodes.fields': 'What the caller is asked for, in this order.',
  'nodes.fields.name': 'Variable that takes the value.',
  'nodes.fields.type': 'What counts as a value.',
  'nodes.fields.description': 'What is asked for, in words.',
  'nodes.fields.options': 'Values that are possible, for the type `enum`.',
  'nodes.fields.required': 'Whether the value is needed; one that is not is asked for once.',
  'nodes.fields.confirm': 'Whether the caller must say that the value is right.',
  'nodes.input': 'Whether the caller speaks, presses keys, or either.',
  'nodes.max_attempts': 'How often a field is asked for before the node has failed.',

  'nodes.assignments': 'Variables that are set, in this order.',
  'nodes.assignments.name': 'Variable that is set.',
  'nodes.assignments.value': 'Its value. Other variables are filled in.',

  'nodes.tool_id': 'Tool that is run.',
  'nodes.arguments': 'Arguments of the tool, by their names. Variables are filled in.',
  'nodes.result_variables': 'Values of the answer that become variables.',
  'nodes.result_variables.path': 'Where the value is in the answer, such as `table.name`.',
  'nodes.result_variables.name': 'Variable that takes the value.',

  'nodes.destination_id': "Destination in the agent's config; null: `destination` says where.",
  'nodes.destination': "Where to, in place of a destination of the agent's config.",

  'nodes.agent_id': 'Agent that goes on with the call.',
  'nodes.pass_variables': 'Whether it gets the variables of the call.',
  'nodes.pass_history': 'What it gets of the conversation so far: all of it, a summary, or nothing.',

  'nodes.event': 'Event from outside that is waited for; null: only the time.',
  'nodes.timeout_seconds': 'Seconds that are waited; with an `event` the node has failed then.',
  'nodes.hold_audio_asset_id': 'Audio asset that the caller hears meanwhile; null: nothing.',

  'nodes.message': 'What is said at the end; empty: what the agent says when it ends a call.',
  'nodes.outcome': 'What the call came to, as a variable of the session; empty: nothing.',

  edges: 'Ways from node to node.',
  'edges.id': 'Name of the edge.',
  'edges.from': 'Node that it leaves.',
  'edges.to': 'Node that it leads to.',
  'edges.label': 'Short note, for people.',
  'edges.priority':
    'Its place among the edges of its node: lower ones are looked at first, equal ones as they stand.',
  'edges.condition': 'When the call goes this way.',
  'edges.condition.type': 'Kind of condition.',
  'edges.condition.logic': 'Whether all of the rules must be true, or any.',
  'edges.condition.rules': 'Comparisons of variables.',
  'edges.condition.rules.variable': 'Variable that is looked at.',
  'edges.condition.rules.op': 'How it is compared.',
  'edges.condition.rules.value': 'What it is compared with; left out where the comparison needs nothing.',
  'edges.condition.digits': 'Keys that the caller presses as one entry.',
  'edges.condition.name': 'Name of the event from outside.',
  'edges.condition.count': 'Reminders in a row that the caller has not answered.',
  'edges.condition.prompt': 'In words, when it is true: a language model judges it.',
  'edges.say': 'What is said on the way; null: nothing.',
};
