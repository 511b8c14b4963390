import t from 'tap';
import { z } from 'zod';
import { patchMap, patchOf } from './patch-schema.ts';

const patch = patchOf(
  {
    name: z.string(),
    enabled: z.boolean().default(true),
    note: z.string().nullable().default('none'),
    execution: z.strictObject({ retries: z.number().default(1), url: z.string().optional() }).prefault({}),
    labels: z.record(z.string(), z.string()).default({}),
    schema: z.record(z.string(), z.unknown()),
  },
  ['schema'],
);

void t.test('null stands for the default where there is one, and only there', async (t) => {
  t.same(patch.parse({ enabled: null, note: null, execution: null, labels: null }), {
    enabled: true,
    note: null,
    execution: { retries: 1 },
    labels: null,
  });
  for (const refused of [{ name: null }, { schema: null }, { execution: { url: null } }, { colour: 1 }])
    t.notOk(patch.safeParse(refused).success, JSON.stringify(refused));
});

void t.test('objects and maps are taken in parts, which bring no defaults along', async (t) => {
  t.same(patch.parse({}), {});
  t.same(patch.parse({ execution: { url: 'x' }, labels: { a: null, b: 'c' }, schema: { type: 'object' } }), {
    execution: { url: 'x' },
    labels: { a: null, b: 'c' },
    schema: { type: 'object' },
  });
  t.same(patch.parse({ execution: { retries: null } }), { execution: { retries: 1 } });
});

void t.test('a map keeps what is not named', async (t) => {
  t.same(patchMap({ a: '1', b: '2' }, { a: null, c: '3' }), { b: '2', c: '3' });
  t.same(patchMap({ a: '1' }, undefined), { a: '1' });
  t.same(patchMap({ a: '1' }, null), {});
});
