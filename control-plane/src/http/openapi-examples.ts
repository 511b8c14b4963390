type Json = Record<string, unknown>;

const MAX_DEPTH = 8;

/**
 * Puts an example on every JSON body of the document that has none: made of the examples, defaults and words of its
 * fields, so that it says nothing that the schema does not.
 */
export function addExamples(document: Json): void {
  const schemas = ((document['components'] as Json | undefined)?.['schemas'] ?? {}) as Record<string, Json>;
  for (const item of Object.values(document['paths'] as Record<string, Json>)) {
    for (const operation of Object.values(item) as Json[]) {
      const request = operation['requestBody'] as Json | undefined;
      const responses = Object.values((operation['responses'] ?? {}) as Record<string, Json>);
      for (const body of [...(request ? [request] : []), ...responses]) {
        const content = (body['content'] ?? {}) as Record<string, Json>;
        for (const [type, media] of Object.entries(content)) {
          if (type === 'application/json' || type === 'application/x-www-form-urlencoded') {
            media['example'] ??= exampleOf(media['schema'] as Json, schemas);
          }
        }
      }
    }
  }
}

/** A value that fits a JSON Schema as our zod schemas give them. */
export function exampleOf(
  schema: Json,
  schemas: Readonly<Record<string, Json>>,
  name = '',
  depth = 0,
): unknown {
  const reference = schema['$ref'];
  if (typeof reference === 'string') {
    return exampleOf(schemas[reference.split('/').at(-1)!]!, schemas, name, depth + 1);
  }
  if ('example' in schema) return schema['example'];
  if (Array.isArray(schema['examples'])) return schema['examples'][0];
  if ('const' in schema) return schema['const'];
  if ('default' in schema) return schema['default'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const options = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined;
  if (options) {
    const chosen = options.find((option) => option['type'] !== 'null') ?? options[0]!;
    return exampleOf(chosen, schemas, name, depth + 1);
  }
  const parts = schema['allOf'] as Json[] | undefined;
  if (parts) {
    return Object.assign({}, ...parts.map((part) => exampleOf(part, schemas, name, depth + 1))) as Json;
  }
  const types = [schema['type']].flat() as (string | undefined)[];
  switch (types.find((type) => type !== 'null') ?? 'null') {
    case 'object':
      return objectExample(schema, schemas, depth);
    case 'array': {
      const least = (schema['minItems'] as number | undefined) ?? 0;
      if (depth > MAX_DEPTH && least === 0) return [];
      return [exampleOf((schema['items'] as Json | undefined) ?? {}, schemas, name, depth + 1)];
    }
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return (schema['minimum'] as number | undefined) ?? 1;
    case 'string':
      return stringExample(schema, name);
    default:
      return null;
  }
}

function objectExample(schema: Json, schemas: Readonly<Record<string, Json>>, depth: number): Json {
  const properties = (schema['properties'] ?? {}) as Record<string, Json>;
  const required = (schema['required'] ?? []) as string[];
  const shown = Object.entries(properties).filter(
    ([key]) => required.includes(key) || (depth < 3 && key !== 'total_capped'),
  );
  return Object.fromEntries(
    shown.map(([key, property]) => [key, exampleOf(property, schemas, key, depth + 1)]),
  );
}

const BY_NAME: Readonly<Record<string, string>> = {
  org_id: 'org_01k5z8r5m2q7v3x9b4n6c8d0ef',
  project_id: 'prj_01k5z8r5m2q7v3x9b4n6c8d0ef',
  agent_id: 'agt_01k5z8r5m2q7v3x9b4n6c8d0ef',
  user_id: 'usr_01k5z8r5m2q7v3x9b4n6c8d0ef',
  request_id: 'req_01k5z8r5m2q7v3x9b4n6c8d0ef',
  name: 'Order desk',
  system_prompt: 'You take orders. Be brief.',
  greeting: 'Hello, what can I do for you?',
  email: 'asha@example.com',
  timezone: 'Europe/Berlin',
  url: 'https://example.com/',
};

function stringExample(schema: Json, name: string): string {
  switch (schema['format']) {
    case 'date-time':
      return '2026-01-31T09:30:00.000Z';
    case 'date':
      return '2026-01-31';
    case 'uuid':
      return '01890000-0000-7000-8000-000000000000';
    case 'uri':
      return 'https://example.com/';
    case 'email':
      return 'asha@example.com';
    case undefined:
      break;
    default:
      return 'text';
  }
  const pattern = schema['pattern'] as string | undefined;
  const own = BY_NAME[name];
  if (own !== undefined && (pattern === undefined || new RegExp(pattern, 'u').test(own))) return own;
  if (pattern !== undefined) {
    const known = PATTERNED.find((text) => new RegExp(pattern, 'u').test(text));
    if (known !== undefined) return known;
  }
  const least = (schema['minLength'] as number | undefined) ?? 0;
  return 'text'.padEnd(least, '.');
}

/** For patterns without an example of their own. */
const PATTERNED = [
  '+14155550100',
  'en-US',
  '1.50',
  '09:00',
  '123',
  'a_name',
  'text',
  'US',
  'EUR',
  'https://example.com/',
];
