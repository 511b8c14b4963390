import t from 'tap';
import * as z from 'zod';
import { fitToSchema } from './fit-to-schema.ts';

const LEAD = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'status', 'score', 'tags', 'when', 'address', 'agreed', 'note'],
  properties: {
    name: { type: ['string', 'null'] },
    status: { type: 'string', enum: ['interested', 'unknown'] },
    score: { type: 'integer', minimum: 0, maximum: 100 },
    tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
    when: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] },
    address: { $ref: '#/$defs/address' },
    agreed: { type: 'boolean' },
    note: { type: 'string', maxLength: 5 },
    optional: { type: 'string' },
  },
  $defs: {
    address: {
      type: 'object',
      additionalProperties: false,
      required: ['city', 'kind', 'inner'],
      properties: {
        city: { type: 'string' },
        kind: { const: 'home' },
        inner: { anyOf: [{ $ref: '#/$defs/address' }, { type: 'null' }] },
      },
    },
  },
};

void t.test('whatever is given, the result is valid', async (t) => {
  const schema = z.fromJSONSchema(LEAD as Parameters<typeof z.fromJSONSchema>[0]);
  for (const value of [
    undefined,
    null,
    'text',
    [],
    {},
    {
      name: 7,
      status: 'strange',
      score: '250',
      tags: 'no',
      when: 5,
      address: [],
      agreed: 'true',
      note: 'too long',
    },
    {
      name: 'Ada',
      status: 'interested',
      score: 55.4,
      tags: ['a'],
      when: '2026-01-02',
      address: { city: 'Ulm', inner: { city: 'x' } },
    },
  ]) {
    const { error } = schema.safeParse(fitToSchema(value, LEAD));
    t.equal(error?.message, undefined, JSON.stringify(value));
  }
});

void t.test('what fits is kept, and the rest is the plainest thing allowed', async (t) => {
  t.same(fitToSchema({ name: 'Ada', score: '250', status: 'x', extra: 1, when: null, agreed: true }, LEAD), {
    name: 'Ada',
    status: 'unknown',
    score: 100,
    tags: [''],
    when: null,
    address: { city: '', kind: 'home', inner: null },
    agreed: true,
    note: '',
  });
  t.same(fitToSchema({ a: 1 }, { type: 'object' }), { a: 1 });
  t.same(fitToSchema('x', true), 'x');
});

void t.test('a schema that contains itself without end gives up instead of running on', async (t) => {
  const endless = {
    $ref: '#/$defs/a',
    $defs: { a: { type: 'object', required: ['a'], properties: { a: { $ref: '#/$defs/a' } } } },
  };
  t.doesNotThrow(() => fitToSchema({}, endless));
  t.doesNotThrow(() => fitToSchema({}, { $ref: '#' }));
});
