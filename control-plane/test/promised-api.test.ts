import t from 'tap';
import { describeOperations } from '../src/http/openapi.ts';
import { EMPTY_LEAD } from '../src/post-call/lead-analysis.ts';
import { toCallEndedPayload } from '../src/post-call/call-ended-payload.ts';
import { features, operations } from './fixtures/described-features.ts';
import {
  PROMISED_CALL_ENDED,
  PROMISED_RECORDS,
  PROMISED_ROUTES,
  STILL_MISSING,
  type PromisedFields,
} from './fixtures/promised-api.ts';

// The description, as a client reads it, against what was promised: routes, fields, types, statuses.

interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

type Content = Record<string, { schema?: Schema }>;

interface Described {
  paths: Record<
    string,
    Record<
      string,
      {
        requestBody?: { required?: boolean; content: Content };
        responses: Record<string, { content?: Content }>;
      }
    >
  >;
  components: { schemas: Record<string, Schema> };
}

const description = JSON.parse(
  JSON.stringify(describeOperations(operations, { url: 'http://127.0.0.1' })),
) as Described;

function resolve(schema: Schema | undefined): Schema {
  const name = schema?.$ref?.split('/').at(-1);
  return name === undefined ? (schema ?? {}) : resolve(description.components.schemas[name]);
}

/** All that a value may be: JSON types (`string:uuid` where a format says more), and `=value` where only some are. */
function kindsOf(given: Schema | undefined): string[] {
  const schema = resolve(given);
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants) return [...new Set(variants.flatMap(kindsOf))];
  if (schema.allOf) return kindsOf(schema.allOf[0]);
  if ('const' in schema) return [`=${String(schema.const)}`];
  if (schema.enum) return schema.enum.map((value) => (value === null ? 'null' : `=${String(value)}`));
  const types = [schema.type ?? 'any'].flat();
  return types.flatMap((type) => {
    if (type === 'array') return kindsOf(schema.items).map((kind) => `${kind}[]`);
    const exact = schema.format === 'uuid' || schema.format === 'date-time';
    return [type === 'string' && exact ? `string:${schema.format}` : type];
  });
}

/** The same, of a promise. */
function promisedKinds(promise: string): string[] {
  const nullable = promise.endsWith('?');
  const name = nullable ? promise.slice(0, -1) : promise;
  const list = name.endsWith('[]') ? '[]' : '';
  const base = list ? name.slice(0, -2) : name;
  const kinds = base.includes('|')
    ? base.split('|').map((value) => `=${value}`)
    : base === 'uuid' || base === 'date-time'
      ? [`string:${base}`]
      : [base];
  return [...kinds.map((kind) => `${kind}${list}`), ...(nullable ? ['null'] : [])];
}

/** Whether every value of `kind` is one of `wider`. */
function fits(kind: string, wider: readonly string[]): boolean {
  if (wider.includes(kind)) return true;
  const list = kind.endsWith('[]') ? '[]' : '';
  const base = list ? kind.slice(0, -2) : kind;
  if (wider.includes(`any${list}`)) return true;
  if (/^(string:|=)/.test(base) && wider.includes(`string${list}`)) return true;
  return base === 'integer' && wider.includes(`number${list}`);
}

/** @returns what is wrong. `asked`: what clients may send must be taken; otherwise: what they get must be expected. */
function compare(promised: PromisedFields, given: Schema | undefined, asked: boolean): string[] {
  const { properties = {} } = resolve(given);
  return Object.entries(promised).flatMap(([name, promise]) => {
    if (!properties[name]) return [`${name} is missing`];
    const [here, there] = [kindsOf(properties[name]), promisedKinds(promise)];
    const misfits = asked
      ? there.filter((kind) => !fits(kind, here))
      : here
          .filter((kind) => kind !== 'null' || !there.includes('null'))
          .filter((kind) => !fits(kind, there));
    return misfits.length === 0 ? [] : [`${name} is ${here.join(', ')}, promised as ${promise}`];
  });
}

const missing = new Set<string>();

void t.test('every promised route is described as promised', (t) => {
  for (const { method, path, status, refusals = [], request, response } of PROMISED_ROUTES) {
    const name = `${method} ${path}`;
    const operation = description.paths[path]?.[method];
    if (!operation) {
      missing.add(name);
      continue;
    }
    const statuses = Object.keys(operation.responses).map(Number);
    const success = statuses.filter((one) => one < 300);
    if (status === undefined) t.ok(success.length > 0, `${name}: succeeds`);
    else t.same(success, [status], `${name}: its success`);
    t.same(
      [401, ...refusals].filter((one) => !statuses.includes(one)),
      [],
      `${name}: its refusals`,
    );
    if (request) {
      const { type = 'application/json', required, fields } = request;
      t.same(compare(fields, operation.requestBody?.content[type]?.schema, true), [], `${name}: its body`);
      if (required) t.equal(operation.requestBody?.required, true, `${name}: its body must be there`);
    }
    if (response) {
      const schema = operation.responses[success[0]!]?.content?.['application/json']?.schema;
      t.same(compare(response.fields, schema, false), [], `${name}: its answer`);
      const always = resolve(schema).required ?? [];
      t.same(
        (response.always ?? []).filter((field) => !always.includes(field)),
        [],
        `${name}: always there`,
      );
    }
  }
  t.end();
});

void t.test('every promised record is described as promised', (t) => {
  for (const [name, fields] of Object.entries(PROMISED_RECORDS)) {
    if (!description.components.schemas[name]) missing.add(name);
    else t.same(compare(fields, { $ref: `#/components/schemas/${name}` }, false), [], name);
  }
  t.end();
});

void t.test('the call-ended webhook has every promised field', (t) => {
  const session = { direction: 'web', channel: 'web' } as Parameters<typeof toCallEndedPayload>[0]['session'];
  const payload = toCallEndedPayload({
    session: { ...session, created_at: new Date(0) },
    lead: EMPTY_LEAD,
    rows: [],
    recordingUrl: null,
  });
  t.same(
    PROMISED_CALL_ENDED.filter((field) => !(field in payload)),
    [],
  );
  t.end();
});

void t.test('what is missing is known, and nothing else is', (t) => {
  t.same([...missing].sort(), Object.keys(STILL_MISSING).sort());
  t.equal(description.components.schemas['UccComplaint'] === undefined, missing.has('UccComplaint'));
  t.ok(features.routes.length > PROMISED_ROUTES.length, 'the description is the whole one');
  t.end();
});
