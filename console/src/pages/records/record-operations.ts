import type { Description, OperationDescription } from '../../api/description.ts';
import { fieldOf } from '../../components/schema-form/field.ts';
import type { Field, GroupField, JsonSchema, Schemas } from '../../components/schema-form/field.ts';
import type { Json } from '../../components/schema-form/form-value.ts';

/** What can be done with a kind of record, from the description. */

export interface RecordOperation {
  method: string;
  path: string;
  about: OperationDescription;
}

export interface RecordOperations {
  list: RecordOperation | undefined;
  create: RecordOperation | undefined;
  get: RecordOperation | undefined;
  update: RecordOperation | undefined;
  remove: RecordOperation | undefined;
}

export function operationsOf(
  description: Description,
  kind: { one: string; many: string },
): RecordOperations {
  const all = new Map(
    Object.entries(description.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, about]): [string, RecordOperation] => [
        about.operationId,
        { method: method.toUpperCase(), path, about },
      ]),
    ),
  );
  return {
    list: all.get(`list${kind.many}`),
    create: all.get(`create${kind.one}`) ?? all.get(`clone${kind.one}`),
    get: all.get(`get${kind.one}`),
    update: all.get(`update${kind.one}`),
    remove: all.get(`delete${kind.one}`) ?? all.get(`release${kind.one}`),
  };
}

/**
 * The address of an operation: known parameters go where the operation has them, and what it does not have is left out.
 * @param recordId fills whatever other part the path has
 */
export function addressOf(
  { path, about }: RecordOperation,
  known: Readonly<Record<string, string>>,
  recordId = '',
): string {
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(known[name] ?? recordId),
  );
  const query = new URLSearchParams();
  for (const { name, in: place } of about.parameters ?? [])
    if (place === 'query' && known[name] !== undefined) query.set(name, known[name]);
  const text = query.toString();
  return text === '' ? filled : `${filled}?${text}`;
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** What an operation is sent: JSON, or the fields of a form. */
export function bodyOf({ about }: RecordOperation, value: Json): Json | URLSearchParams {
  const content = about.requestBody?.content ?? {};
  if (JSON_TYPE in content || !(FORM_TYPE in content)) return value;
  return new URLSearchParams(Object.entries(value).map(([key, one]) => [key, String(one)]));
}

/** Filled in by the page, or by the server. */
const NOT_ASKED = ['org_id', 'project_id', 'project_ids'];

/** The form of the body of an operation; undefined where it takes no JSON. */
export function bodyForm(operation: RecordOperation | undefined, schemas: Schemas): Field | undefined {
  const schema = operation?.about.requestBody?.content[JSON_TYPE]?.schema;
  return schema && withoutPlace(fieldOf(schema, schemas));
}

function withoutPlace(field: Field): Field {
  if (field.kind === 'group')
    return { ...field, fields: field.fields.filter(({ key }) => !NOT_ASKED.includes(key)) };
  if (field.kind !== 'variant') return field;
  return {
    ...field,
    variants: field.variants.map((one) => ({ ...one, group: withoutPlace(one.group) as GroupField })),
  };
}

/**
 * The form to change a record: the controls of the form that makes one, as far as an update takes them.
 * @returns undefined where nothing can be changed
 */
export function editForm(
  create: Field | undefined,
  update: RecordOperation | undefined,
  schemas: Schemas,
  record: Json,
): GroupField | undefined {
  const content = update?.about.requestBody?.content;
  const body = (content?.[JSON_TYPE] ?? content?.[FORM_TYPE])?.schema;
  if (!body) return undefined;
  const keys = propertyNames(body, schemas);
  const made =
    create?.kind === 'variant'
      ? create.variants.find(({ value }) => value === record[create.tag])?.group
      : create?.kind === 'group'
        ? create
        : undefined;
  const known = made?.fields.filter(({ key }) => keys.has(key)) ?? [];
  const patch = fieldOf(body, schemas);
  const rest = patch.kind === 'group' ? patch.fields : [];
  const others = rest.filter(
    ({ key }) => !NOT_ASKED.includes(key) && key in record && !known.some((one) => one.key === key),
  );
  const fields = [...known, ...others];
  const base = made ?? (patch.kind === 'group' ? patch : undefined);
  return base && fields.length > 0 ? { ...base, fields } : undefined;
}

function propertyNames(schema: JsonSchema, schemas: Schemas): Set<string> {
  const name = schema.$ref?.split('/').at(-1);
  const found = name === undefined ? schema : (schemas[name] ?? {});
  return new Set([
    ...Object.keys(found.properties ?? {}),
    ...[...(found.anyOf ?? []), ...(found.oneOf ?? [])].flatMap((part) => [...propertyNames(part, schemas)]),
  ]);
}

/** Whether a body names the project that a record is made in. */
export function needsProject(operation: RecordOperation, schemas: Schemas): boolean {
  const schema = operation.about.requestBody?.content[JSON_TYPE]?.schema;
  return schema !== undefined && propertyNames(schema, schemas).has('project_id');
}
