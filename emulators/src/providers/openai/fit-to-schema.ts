type Schema = Record<string, unknown>;

const MAX_DEPTH = 32;

/**
 * Makes a value that a JSON Schema accepts (the part of it that structured outputs know): what fits of `value` is kept,
 * the rest is the plainest thing allowed, null where that is allowed.
 * @param schema as in `response_format`, with its `$defs`
 */
export function fitToSchema(value: unknown, schema: unknown): unknown {
  return fit(value, schema, schema, 0);
}

function fit(value: unknown, schema: unknown, root: unknown, depth: number): unknown {
  if (!isObject(schema)) return value ?? null;
  if (depth > MAX_DEPTH) return null;
  if (typeof schema.$ref === 'string') return fit(value, resolve(schema.$ref, root), root, depth + 1);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return fitEnum(value, schema.enum);
  const branches = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(branches)) {
    const branch = branches.find((one) => accepts(value, one, root)) ?? branches.find(isNull) ?? branches[0];
    return fit(value, branch, root, depth + 1);
  }
  const types = typesOf(schema);
  const type = types.find((one) => isOfType(value, one)) ?? types.find((one) => canBecome(value, one));
  return fitType(value, type ?? (types.includes('null') ? 'null' : types[0]), schema, root, depth);
}

function fitType(
  value: unknown,
  type: string | undefined,
  schema: Schema,
  root: unknown,
  depth: number,
): unknown {
  switch (type) {
    case 'null':
      return null;
    case 'boolean':
      return value === true || value === 'true';
    case 'integer':
    case 'number':
      return fitNumber(value, schema, type === 'integer');
    case 'string':
      return fitString(value, schema);
    case 'array': {
      const items = Array.isArray(value) ? [...(value as unknown[])] : [];
      const least = Number(schema.minItems ?? 0);
      const most = Number(schema.maxItems ?? Infinity);
      while (items.length < Math.min(least, 100)) items.push(undefined);
      return items.slice(0, most).map((item) => fit(item, schema.items, root, depth + 1));
    }
    case 'object':
      return fitObject(value, schema, root, depth);
    default:
      return value ?? null;
  }
}

function fitObject(value: unknown, schema: Schema, root: unknown, depth: number): unknown {
  const given = isObject(value) ? value : {};
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? (schema.required as unknown[]) : [];
  const fitted: [string, unknown][] = [];
  for (const [name, property] of Object.entries(properties)) {
    if (!required.includes(name) && given[name] === undefined) continue;
    fitted.push([name, fit(given[name], property, root, depth + 1)]);
  }
  // What the schema does not name is left out unless it is asked for.
  const open = schema.additionalProperties ?? !isObject(schema.properties);
  if (open !== false) fitted.push(...Object.entries(given).filter(([name]) => !(name in properties)));
  return Object.fromEntries(fitted);
}

function fitEnum(value: unknown, allowed: readonly unknown[]): unknown {
  if (allowed.includes(value)) return value;
  if (allowed.includes(null)) return null;
  return allowed.includes('unknown') ? 'unknown' : allowed[0];
}

function fitNumber(value: unknown, schema: Schema, whole: boolean): number {
  const given = value === null || value === '' || Array.isArray(value) ? NaN : Number(value);
  const rounded = Number.isFinite(given) ? (whole ? Math.round(given) : given) : 0;
  return Math.min(Number(schema.maximum ?? Infinity), Math.max(Number(schema.minimum ?? -Infinity), rounded));
}

const PLAIN_STRINGS: Readonly<Record<string, string>> = {
  date: '1970-01-01',
  time: '00:00:00Z',
  'date-time': '1970-01-01T00:00:00Z',
  email: 'unknown@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-0000-0000-000000000000',
};

function fitString(value: unknown, schema: Schema): string {
  const plain = PLAIN_STRINGS[String(schema.format)] ?? '';
  const text =
    value === null || value === undefined ? plain : typeof value === 'string' ? value : JSON.stringify(value);
  return text.padEnd(Number(schema.minLength ?? 0), '-').slice(0, Number(schema.maxLength ?? Infinity));
}

function accepts(value: unknown, schema: unknown, root: unknown): boolean {
  if (!isObject(schema)) return false;
  if (typeof schema.$ref === 'string') return accepts(value, resolve(schema.$ref, root), root);
  if ('const' in schema) return schema.const === value;
  if (Array.isArray(schema.enum)) return schema.enum.includes(value);
  return typesOf(schema).some((type) => isOfType(value, type));
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && schema.type === 'null';
}

function typesOf(schema: Schema): string[] {
  if (typeof schema.type === 'string') return [schema.type];
  if (Array.isArray(schema.type)) return schema.type as string[];
  return isObject(schema.properties) ? ['object'] : [];
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    case 'integer':
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

/** A number written as text is still that number, and the other way round. */
function canBecome(value: unknown, type: string): boolean {
  if (value === undefined || value === null || typeof value === 'object') return false;
  if (type === 'string') return true;
  return (type === 'number' || type === 'integer') && value !== '' && Number.isFinite(Number(value));
}

function resolve(reference: string, root: unknown): unknown {
  if (!reference.startsWith('#')) return undefined;
  let at = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    at = isObject(at) ? at[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined;
  }
  return at;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
