import { MAKERS } from '../format.ts';

/** What a form shows, made from a JSON Schema (2020-12, as OpenAPI 3.1 has it). */

export interface JsonSchema {
  $ref?: string;
  type?: string | readonly string[];
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  description?: string;
  format?: string;
  pattern?: string;
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  additionalProperties?: boolean | JsonSchema;
  propertyNames?: JsonSchema;
  anyOf?: readonly JsonSchema[];
  oneOf?: readonly JsonSchema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  /** It is never read back. */
  writeOnly?: boolean;
}

export type Schemas = Readonly<Record<string, JsonSchema>>;

interface Common {
  key: string;
  label: string;
  /** What it does, for people; may hold `code`. */
  text: string;
  required: boolean;
  nullable: boolean;
  /** What it is when nothing is said; undefined: nothing. */
  fallback: unknown;
}

export type GroupField = Common & { kind: 'group'; fields: readonly Field[] };
export type Field =
  | GroupField
  | (Common & { kind: 'text'; long: boolean; maxLength: number | undefined; example: string; format: string })
  | (Common & { kind: 'secret' })
  | (Common & {
      kind: 'number';
      integer: boolean;
      min: number | undefined;
      max: number | undefined;
      unit: string;
    })
  | (Common & { kind: 'switch' })
  | (Common & { kind: 'choice'; options: readonly string[] })
  | (Common & { kind: 'choices'; options: readonly string[] })
  | (Common & { kind: 'texts'; maxItems: number | undefined })
  | (Common & { kind: 'rows'; row: Field; maxItems: number | undefined })
  /** Times of a week. */
  | (Common & { kind: 'week' })
  | (Common & { kind: 'map'; entry: Field })
  | (Common & { kind: 'variant'; tag: string; variants: readonly { value: string; group: GroupField }[] })
  | (Common & {
      kind: 'json';
      /** A value that the server takes, where the description has one. */
      example: unknown;
    });

/** Ends what the description says of a value that does nothing yet: nobody is offered it. */
export const IDLE = /Only .+ is taken in this version\.$/;
/** Texts longer than this get a box of several lines. */
const LONG_TEXT = 400;
/** Deeper than this a schema refers to itself. */
const MAX_DEPTH = 12;

/**
 * @param schemas what `$ref` may name: `components.schemas` of the description
 * @returns the form of a schema; parts that no control fits are edited as JSON
 */
export function fieldOf(
  schema: JsonSchema,
  schemas: Schemas,
  place: { key?: string; required?: boolean } = {},
): Field {
  return toField(schema, schemas, place.key ?? '', place.required ?? true, 0);
}

/** @throws Error when it is no object */
export function groupOf(schema: JsonSchema, schemas: Schemas): GroupField {
  const field = fieldOf(schema, schemas);
  if (field.kind !== 'group') throw new Error('The schema is not one of an object.');
  return field;
}

function toField(
  written: JsonSchema,
  schemas: Schemas,
  key: string,
  required: boolean,
  depth: number,
): Field {
  const { schema, nullable } = plainOf(written, schemas);
  const common: Common = {
    key,
    label: labelOf(key),
    text: written.description ?? schema.description ?? '',
    required,
    nullable,
    fallback: written.default !== undefined ? written.default : schema.default,
  };
  const json: Field = { ...common, kind: 'json', example: written.example ?? schema.example };
  if (depth > MAX_DEPTH) return json;
  const inner = (part: JsonSchema, name: string, isRequired: boolean) =>
    toField(part, schemas, name, isRequired, depth + 1);
  const groupFrom = (part: JsonSchema, at: Common): GroupField => ({
    ...at,
    kind: 'group',
    fields: Object.entries(part.properties ?? {})
      .filter(([, one]) => one.const === undefined && !IDLE.test(one.description ?? ''))
      .map(([name, one]) => inner(one, name, part.required?.includes(name) ?? false)),
  });

  const options = (schema.oneOf ?? schema.anyOf ?? []).map((option) => plainOf(option, schemas).schema);
  if (options.length > 0) {
    if (options.every(isMaskedSecret) || isSecret(options)) return { ...common, kind: 'secret' };
    const tag = tagOf(options);
    if (tag === undefined) return json;
    return {
      ...common,
      kind: 'variant',
      tag,
      variants: options
        .filter((option) => !IDLE.test(option.properties?.[tag]?.description ?? ''))
        .map((option) => ({
          value: String(option.properties![tag]!.const),
          group: groupFrom(option, { ...common, nullable: false, fallback: undefined }),
        })),
    };
  }
  if (isMaskedSecret(schema) || (schema.writeOnly === true && schema.type === 'string'))
    return { ...common, kind: 'secret' };
  if (schema.enum) return { ...common, kind: 'choice', options: schema.enum.map(String) };
  if (schema.const !== undefined) return { ...common, kind: 'choice', options: [String(schema.const)] };
  switch (schema.type) {
    case 'string':
      return {
        ...common,
        kind: 'text',
        long: (schema.maxLength ?? 0) > LONG_TEXT && schema.format === undefined,
        maxLength: schema.maxLength,
        example: typeof schema.example === 'string' ? schema.example : '',
        format: schema.format ?? '',
      };
    case 'integer':
    case 'number':
      return {
        ...common,
        kind: 'number',
        integer: schema.type === 'integer',
        min: schema.minimum,
        max: schema.maximum,
        unit: unitOf(key),
      };
    case 'boolean':
      return { ...common, kind: 'switch' };
    case 'array': {
      const row = inner(schema.items ?? {}, singularOf(key), true);
      if (row.kind === 'choice') return { ...common, kind: 'choices', options: row.options };
      if (row.kind === 'text' && !row.long) return { ...common, kind: 'texts', maxItems: schema.maxItems };
      if (row.kind === 'group' && row.fields.map((one) => one.key).join() === 'days,start,end')
        return { ...common, kind: 'week' };
      return { ...common, kind: 'rows', row, maxItems: schema.maxItems };
    }
    case 'object': {
      if (schema.properties) return groupFrom(schema, common);
      const entry = schema.additionalProperties;
      if (typeof entry !== 'object' || Object.keys(entry).length === 0) return json;
      return { ...common, kind: 'map', entry: inner(entry, '', true) };
    }
    default:
      return json;
  }
}

/** The schema without `$ref` and without null. */
function plainOf(written: JsonSchema, schemas: Schemas): { schema: JsonSchema; nullable: boolean } {
  const name = written.$ref?.split('/').at(-1);
  const schema = name === undefined ? written : (schemas[name] ?? {});
  if (name !== undefined && schema.$ref !== undefined) return plainOf(schema, schemas);
  if (Array.isArray(schema.type)) {
    const types = (schema.type as readonly string[]).filter((type) => type !== 'null');
    const only = types.length === 1 ? types[0]! : undefined;
    const { type: _, ...rest } = schema;
    return {
      schema: only === undefined ? rest : { ...rest, type: only },
      nullable: types.length < schema.type.length,
    };
  }
  const options = schema.anyOf ?? schema.oneOf;
  if (!options?.some(isNull)) return { schema, nullable: false };
  const { anyOf: _any, oneOf: _one, ...rest } = schema;
  const left = options.filter((option) => !isNull(option));
  if (left.length !== 1) return { schema: { ...rest, anyOf: left }, nullable: true };
  const inner = plainOf(left[0]!, schemas).schema;
  return { schema: { ...inner, ...rest }, nullable: true };
}

function isNull(schema: JsonSchema): boolean {
  return schema.type === 'null';
}

/** `{set, last_four}`: how a secret is read back. */
function isMaskedSecret(schema: JsonSchema): boolean {
  return schema.properties?.['last_four'] !== undefined && schema.properties['set'] !== undefined;
}

function isSecret(options: readonly JsonSchema[]): boolean {
  return options.some(isMaskedSecret) && options.every((one) => isMaskedSecret(one) || one.type === 'string');
}

/** The property by which objects are told apart. */
function tagOf(options: readonly JsonSchema[]): string | undefined {
  const [first] = options;
  return Object.keys(first?.properties ?? {}).find((name) =>
    options.every((option) => option.properties?.[name]?.const !== undefined),
  );
}

/** Units that names end with, and how they are shown. */
const UNITS: readonly (readonly [string, string])[] = [
  ['_ms', 'ms'],
  ['_seconds', 's'],
  ['_minutes', 'min'],
  ['_days', 'days'],
  ['_percent', '%'],
];

function unitOf(key: string): string {
  return UNITS.find(([suffix]) => key.endsWith(suffix))?.[1] ?? '';
}

const ABBREVIATIONS: Readonly<Record<string, string>> = {
  api: 'API',
  dtmf: 'Keys',
  id: 'ID',
  ivr: 'Voice menu',
  kb: 'knowledge base',
  llm: 'Language model',
  max: 'Maximum',
  mcp: 'MCP',
  min: 'Minimum',
  sip: 'SIP',
  stt: 'Speech-to-text',
  tts: 'Text-to-speech',
  ttl: 'Keep for',
  ucc: 'UCC',
  url: 'URL',
  vad: 'Voice activity',
};

/** `fallback_llm_ids` as people read it: "Fallback language models". */
export function labelOf(key: string): string {
  let words = key.replace(/_(ids?)$/, (_, ending: string) => (ending === 'ids' ? 's' : ''));
  for (const [suffix] of UNITS)
    if (suffix !== '_percent') words = words.replace(new RegExp(`${suffix}$`), '');
  const text = words
    .split('_')
    .filter((word) => word !== '')
    .map((word) => ABBREVIATIONS[word] ?? (plural(word) || word))
    .map((word, index) => (index === 0 || /^[A-Z]{2}/.test(word) ? word : word.toLowerCase()))
    .join(' ');
  return text === '' ? key : text[0]!.toUpperCase() + text.slice(1);
}

/** `agent_first` as "Agent first"; names of languages, methods and the like stay. */
export function optionLabel(value: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(value)) return value;
  return Object.hasOwn(MAKERS, value) ? MAKERS[value]! : labelOf(value);
}

/** `columns` as `column`: what one entry of a list is called. */
function singularOf(key: string): string {
  if (/ies$/.test(key)) return key.replace(/ies$/, 'y');
  if (/yses$/.test(key)) return key.replace(/es$/, 'is');
  return key.replace(/(?<=ss|x|ch|sh)es$|(?<=[^s])s$/, '');
}

function plural(word: string): string {
  const one = word.endsWith('s') ? ABBREVIATIONS[word.slice(0, -1)] : undefined;
  return one === undefined ? '' : `${one}s`;
}
