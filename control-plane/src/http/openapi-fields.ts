import { FIELD_TEXTS } from './field-texts.ts';
import { PARAMETER_TEXTS } from './parameter-texts.ts';

type Json = Record<string, unknown>;

/** Describes the fields and parameters of a document that have no description of their own. */
export function addFieldTexts(document: Json): void {
  const schemas = ((document['components'] as Json | undefined)?.['schemas'] ?? {}) as Record<string, Json>;
  for (const [name, schema] of Object.entries(schemas)) describeFields(schema, [name, recordOf(name)]);
  for (const item of Object.values(document['paths'] as Record<string, Json>)) {
    for (const { parameters = [] } of Object.values(item) as { parameters?: Json[] }[]) {
      for (const parameter of parameters) {
        const schema = parameter['schema'] as Json | undefined;
        if (schema?.['description'] !== undefined) continue;
        const name = String(parameter['name']);
        const text = PARAMETER_TEXTS[`${String(parameter['in'])}.${name}`] ?? FIELD_TEXTS[name];
        if (text !== undefined) parameter['description'] ??= text;
      }
    }
  }
}

/** @param within what the fields stand in, nearest first: names that texts may begin with */
function describeFields(schema: Json, within: readonly string[]): void {
  for (const [name, field] of Object.entries((schema['properties'] ?? {}) as Record<string, Json>)) {
    if (field['description'] === undefined) {
      const text = textFor(name, within);
      if (text !== undefined) field['description'] = text;
    }
    describeFields(field, [name, ...within]);
  }
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((key) => (schema[key] ?? []) as Json[]);
  for (const part of [...parts, schema['items'], schema['additionalProperties']]) {
    if (typeof part === 'object' && part !== null) describeFields(part as Json, within);
  }
}

function textFor(name: string, within: readonly string[]): string | undefined {
  const known = within.map((place) => `${place}.${name}`).find((key) => Object.hasOwn(FIELD_TEXTS, key));
  return FIELD_TEXTS[known ?? name];
}

/** `Tool` of `CreateToolRequest`. */
function recordOf(name: string): string {
  return name.replace(/^(?:Create|Patch)(?=[A-Z])/, '').replace(/(?:Request|Output)$/, '');
}
