import { fileURLToPath } from 'node:url';
import t from 'tap';
import { z } from 'zod';
import { agentConfigSchema } from '@parley/shared/contracts/agent-config';
import { SETTING_TESTS, VALUE_TESTS } from './fixtures/setting-tests.ts';
import { faultOfTest } from '../../shared/test/fixtures/test-titles.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface JsonSchema {
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, JsonSchema>;
  items?: JsonSchema;
  additionalProperties?: JsonSchema | boolean;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
}

/** Paths of all fields that have no fields of their own; items of lists, values of maps and variants are looked into. */
function leavesOf(schema: JsonSchema, at = ''): string[] {
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
  const parts = [items, additionalProperties, ...anyOf, ...oneOf, ...allOf];
  const inside = [
    ...Object.entries(properties).flatMap(([name, one]) => leavesOf(one, at === '' ? name : `${at}.${name}`)),
    ...parts.flatMap((part) =>
      typeof part === 'object' ? leavesOf(part, at).filter((path) => path !== at) : [],
    ),
  ];
  return inside.length > 0 ? [...new Set(inside)] : [at];
}

/** The values of all fields that have a list of them, by path. */
function valuesOf(
  schema: JsonSchema,
  at = '',
  found: Record<string, string[]> = {},
): Record<string, string[]> {
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [], allOf = [] } = schema;
  const own = [...(schema.enum ?? []), ...('const' in schema ? [schema.const] : [])].map(String);
  if (own.length > 0) found[at] = [...(found[at] ?? []), ...own];
  for (const [name, one] of Object.entries(properties))
    valuesOf(one, at === '' ? name : `${at}.${name}`, found);
  for (const part of [items, additionalProperties, ...anyOf, ...oneOf, ...allOf])
    if (typeof part === 'object') valuesOf(part, at, found);
  return found;
}

/** What is wrong with the table of values. */
function faultsOfValues(values: Record<string, string[]>, table: typeof VALUE_TESTS): string[] {
  return [
    ...Object.entries(values).flatMap(([path, list]) =>
      list.flatMap((value) => (table[path]?.[value] ? [] : [`${path} ${JSON.stringify(value)} has no test`])),
    ),
    ...Object.entries(table).flatMap(([path, tests]) =>
      Object.entries(tests).flatMap(([value, test]) => [
        ...(values[path]?.includes(value) ? [] : [`there is no ${path} ${JSON.stringify(value)}`]),
        ...[faultOfTest(root, test) ?? []].flat(),
      ]),
    ),
  ];
}

/** What is wrong with the table. */
function faultsOf(leaves: readonly string[], table: Readonly<Record<string, readonly string[]>>): string[] {
  return [
    ...leaves.filter((path) => !table[path]?.length).map((path) => `${path} has no test`),
    ...Object.entries(table).flatMap(([path, tests]) => [
      ...(leaves.includes(path) ? [] : [`there is no setting ${path}`]),
      ...tests.flatMap((test) => faultOfTest(root, test) ?? []),
    ]),
  ];
}

const schema = z.toJSONSchema(agentConfigSchema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
const leaves = leavesOf(schema);

void t.test('every setting of an agent has a test that shows it acting', (t) => {
  t.same(faultsOf(leaves, SETTING_TESTS), []);
  t.comment(`${leaves.length} settings`);
  t.end();
});

void t.test('every value of a setting has a test that shows it acting', (t) => {
  const values = valuesOf(schema);
  t.same(faultsOfValues(values, VALUE_TESTS), []);
  t.comment(`${Object.values(values).flat().length} values of ${Object.keys(values).length} settings`);
  const more = { ...values, 'knowledge.mode': [...values['knowledge.mode']!, 'never'] };
  t.same(faultsOfValues(more, VALUE_TESTS), ['knowledge.mode "never" has no test']);
  const { 'recording.format': _gone, ...fewer } = values;
  t.match(faultsOfValues(fewer, VALUE_TESTS), ['there is no recording.format "wav"']);
  t.end();
});

void t.test(
  'a setting without a test, a test that is not there, and a setting that is gone are found',
  (t) => {
    const first = 'timezone';
    const { [first]: tests, ...others } = SETTING_TESTS;
    t.same(faultsOf(leaves, others), ['timezone has no test']);
    t.same(faultsOf([...leaves, 'transfer.destinations.colour'], SETTING_TESTS), [
      'transfer.destinations.colour has no test',
    ]);
    t.same(faultsOf(leaves, { ...SETTING_TESTS, colour: tests! }), ['there is no setting colour']);
    const wrong = (test: string) => faultsOf(leaves, { ...SETTING_TESTS, [first]: [test] });
    t.same(wrong('control-plane/none.test.ts a title'), ['there is no control-plane/none.test.ts']);
    t.same(wrong('control-plane/test/setting-tests.test.ts a title'), [
      'control-plane/test/setting-tests.test.ts has no test "a title"',
    ]);
    t.same(wrong('control-plane/test/fixtures/setting-tests.ts a title'), [
      'control-plane/test/fixtures/setting-tests.ts is no file of tests',
    ]);
    t.ok(
      ['transfer.destinations.target.agent_id', 'language.voices.stt_id', 'pre_call.headers'].every((path) =>
        leaves.includes(path),
      ),
      'variants, maps and lists are looked into',
    );
    t.end();
  },
);
