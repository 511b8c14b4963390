import t from 'tap';
import { mergePatch } from './merge-patch.ts';

// The examples of RFC 7396, appendix A, that are about objects.
void t.test('patches as the standard says', async (t) => {
  const cases: [object, object, object][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, expected] of cases) {
    t.same(mergePatch(target as Record<string, unknown>, patch as Record<string, unknown>), expected);
  }
});

void t.test('a path that is one value is replaced', async (t) => {
  const target = { hours: { timezone: 'UTC', windows: [1] }, ring: { seconds: 3, tone: 'a' } };
  const patch = { hours: { windows: [2] }, ring: { seconds: 4 } };
  t.same(mergePatch(target, patch, ['hours']), { hours: { windows: [2] }, ring: { seconds: 4, tone: 'a' } });
});

void t.test('a patch never reaches a prototype', async (t) => {
  const patch = JSON.parse(
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  ) as Record<string, unknown>;
  t.equal(mergePatch({}, patch)['polluted'], undefined);
  t.equal(({} as Record<string, unknown>)['polluted'], undefined);
});
