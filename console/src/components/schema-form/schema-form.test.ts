import t from 'tap';
import { fieldOf, groupOf, labelOf, optionLabel } from './field.ts';
import type { Field, JsonSchema, Schemas } from './field.ts';
import { errorsWithin, placeErrors } from './form-errors.ts';
import {
  changedPaths,
  emptyOf,
  getAt,
  patchBetween,
  patched,
  pathKey,
  setAt,
  variantOf,
} from './form-value.ts';

const SCHEMAS: Schemas = {
  MaskedSecret: {
    type: 'object',
    properties: { set: { type: 'boolean' }, last_four: { type: 'string' } },
  },
  Config: {
    type: 'object',
    properties: {
      timezone: {
        default: null,
        anyOf: [{ type: 'string', description: 'inner' }, { type: 'null' }],
        description: 'Zone.',
      },
      silence: {
        type: 'object',
        properties: {
          reminder_after_seconds: { type: 'integer', minimum: 2, maximum: 120, default: 8 },
          reminder_messages: { type: 'array', items: { type: 'string', maxLength: 200 }, default: [] },
          hours: {
            default: null,
            anyOf: [{ type: 'object', properties: { zone: { type: 'string' } } }, { type: 'null' }],
          },
        },
      },
      mode: { type: 'string', enum: ['a', 'b'], default: 'a' },
      days: { type: 'array', items: { type: 'string', enum: ['mon', 'tue'] } },
      headers: { type: 'object', additionalProperties: { $ref: '#/components/schemas/MaskedSecret' } },
      free: { type: 'object', additionalProperties: {} },
      stopped: { type: ['boolean', 'null'] },
      target: {
        oneOf: [
          {
            type: 'object',
            properties: { type: { type: 'string', const: 'phone' }, number: { type: 'string' } },
            required: ['type', 'number'],
          },
          {
            type: 'object',
            properties: { type: { type: 'string', const: 'agent' }, agent_id: { type: 'string' } },
            required: ['type', 'agent_id'],
          },
        ],
      },
      rows: {
        type: 'array',
        items: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
      },
    },
    required: ['target'],
  },
};
const root: JsonSchema = { $ref: '#/components/schemas/Config' };
const form = groupOf(root, SCHEMAS);
const at = (...keys: string[]): Field =>
  keys.reduce<Field>((field, key) => {
    if (field.kind !== 'group') throw new Error(`${field.key} is no group`);
    return field.fields.find((one) => one.key === key)!;
  }, form);

void t.test('a schema becomes controls', async (t) => {
  const kinds = form.fields.map(({ key, kind, nullable }) => [key, kind, nullable]);
  t.same(kinds, [
    ['timezone', 'text', true],
    ['silence', 'group', false],
    ['mode', 'choice', false],
    ['days', 'choices', false],
    ['headers', 'map', false],
    ['free', 'json', false],
    ['stopped', 'switch', true],
    ['target', 'variant', false],
    ['rows', 'rows', false],
  ]);
  t.equal(at('timezone').text, 'Zone.', 'its own words win over those of its parts');
  t.match(at('silence', 'reminder_after_seconds'), { kind: 'number', unit: 's', min: 2, fallback: 8 });
  t.match(at('silence', 'hours'), { kind: 'group', nullable: true });
  t.match(at('headers'), { entry: { kind: 'secret' } });
  t.match(at('target'), { tag: 'type', variants: [{ value: 'phone' }, { value: 'agent' }], required: true });
  t.equal(fieldOf({ anyOf: [{ type: 'string' }, { type: 'number' }] }, {}).kind, 'json');
  t.equal(fieldOf({ anyOf: [{ type: 'string' }, SCHEMAS['MaskedSecret']!] }, {}).kind, 'secret');
  const circular: Schemas = {
    Loop: { type: 'object', properties: { next: { $ref: '#/components/schemas/Loop' } } },
  };
  t.equal(fieldOf({ $ref: '#/components/schemas/Loop' }, circular).kind, 'group', 'what holds itself ends');
});

void t.test('one of many is called as one', async (t) => {
  const rowOf = (name: string) => {
    const items = { type: 'array', items: { type: 'object', properties: { x: { type: 'string' } } } };
    const [field] = groupOf({ type: 'object', properties: { [name]: items } }, {}).fields;
    return field?.kind === 'rows' ? field.row.label : '';
  };
  const names = ['columns', 'reminder_messages', 'analyses', 'entries', 'addresses', 'assign'];
  t.same(names.map(rowOf), ['Column', 'Reminder message', 'Analysis', 'Entry', 'Address', 'Assign']);
});

void t.test('names are read as words', async (t) => {
  t.same(['openai_compatible', 'agent_first', 'GET'].map(optionLabel), [
    'OpenAI-compatible',
    'Agent first',
    'GET',
  ]);
  const labels = [
    'reminder_after_seconds',
    'fallback_llm_ids',
    'agent_id',
    'tool_ids',
    'sample_percent',
    'mode',
  ];
  t.same(labels.map(labelOf), [
    'Reminder after',
    'Fallback language models',
    'Agent',
    'Tools',
    'Sample percent',
    'Mode',
  ]);
});

void t.test('a change is a patch, and the patch makes the change again', async (t) => {
  const before = {
    timezone: null,
    silence: { reminder_after_seconds: 8, reminder_messages: ['Hello?'], hours: { zone: 'UTC', more: 1 } },
    headers: { a: '1', b: '2' },
    target: { type: 'phone', number: '+1' },
  };
  let after: unknown = setAt(before, ['silence', 'reminder_messages', 1], 'Still there?');
  after = setAt(after, ['silence', 'hours', 'zone'], 'Europe/Paris');
  after = setAt(after, ['headers', 'a'], undefined);
  after = setAt(after, ['target'], { type: 'agent', agent_id: 'agt_1' });
  const patch = patchBetween(before, after, form);
  t.same(patch, {
    silence: { reminder_messages: ['Hello?', 'Still there?'], hours: { zone: 'Europe/Paris', more: 1 } },
    headers: { a: null },
    target: { type: 'agent', agent_id: 'agt_1' },
  });
  t.same(patched(before, patch, form), after);
  t.same(changedPaths(before, after, form), [
    ['silence', 'reminder_messages'],
    ['silence', 'hours', 'zone'],
    ['headers'],
    ['target'],
  ]);
  t.equal(patchBetween(before, structuredClone(before), form), undefined);
  const newer = { ...before, timezone: 'UTC' };
  t.equal(getAt(patched(newer, patch, form), ['timezone']), 'UTC', 'what others changed stays');
  t.same(before.silence.reminder_messages, ['Hello?'], 'values are not changed in place');
  t.same(setAt([1, 2, 3], [1], undefined), [1, 3]);
});

void t.test('windows of days and times are a week, which begins with working hours', async (t) => {
  const properties = {
    days: { type: 'array', items: { type: 'string', enum: ['mon', 'tue'] } },
    start: { type: 'string' },
    end: { type: 'string' },
  };
  const rowsOf = (items: JsonSchema) => fieldOf({ type: 'array', items }, {});
  const week = rowsOf({ type: 'object', properties });
  t.equal(week.kind, 'week');
  t.match(emptyOf(week), [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'], start: '09:00', end: '18:00' }]);
  t.equal(rowsOf({ type: 'object', properties: { ...properties, note: { type: 'string' } } }).kind, 'rows');
});

void t.test('what is never read back is a secret', async (t) => {
  t.equal(fieldOf({ type: 'string', maxLength: 500, writeOnly: true }, {}).kind, 'secret');
  t.equal(fieldOf({ type: 'string', maxLength: 500 }, {}).kind, 'text');
});

void t.test('new values are as small as can be', async (t) => {
  t.same(emptyOf(form), { target: { type: 'phone', number: '' } });
  t.equal(emptyOf(at('silence', 'reminder_after_seconds')), 8);
  const example = { type: 'object', properties: {} };
  t.same(
    emptyOf(fieldOf({ type: 'object', additionalProperties: {}, example }, {})),
    example,
    'what is free begins as what the server takes',
  );
  const target = at('target');
  if (target.kind === 'variant') t.same(variantOf(target, 'agent'), { type: 'agent', agent_id: '' });
});

void t.test('errors stand at their control', async (t) => {
  const value = { target: { type: 'agent', agent_id: '' }, rows: [{ word: 'a' }] };
  const error = (...loc: (string | number)[]) => ({ loc: ['body', 'config', ...loc], msg: loc.join('.') });
  const { placed, elsewhere } = placeErrors(
    [
      error('target', 'agent_id'),
      error('rows', 0, 'word'),
      error('rows', 0, 'gone'),
      error('silence', 'reminder_messages', 3),
      error('unknown'),
      { loc: ['body', 'name'], msg: 'name' },
    ],
    form,
    value,
    ['body', 'config'],
  );
  t.same(
    [...placed.keys()].sort(),
    [
      pathKey(['rows', 0]),
      pathKey(['rows', 0, 'word']),
      pathKey(['silence', 'reminder_messages']),
      pathKey(['target', 'agent_id']),
    ].sort(),
  );
  t.same(
    elsewhere.map(({ msg }) => msg),
    ['unknown', 'name'],
  );
  t.equal(errorsWithin(placed, ['rows']), 2);
  t.equal(errorsWithin(placed, ['row']), 0);
});
