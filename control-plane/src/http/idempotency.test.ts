import t from 'tap';
import { blankSecrets, idempotencyId, parseIdempotencyKey } from './idempotency.ts';

const wrong = (detail: object) =>
  ({ details: [{ loc: ['header', 'Idempotency-Key'], ...detail }] }) as unknown as Error;

void t.test('a key is 1 to 255 visible characters, where one is sent', (t) => {
  t.equal(parseIdempotencyKey(undefined, false), null);
  t.throws(() => parseIdempotencyKey(undefined, true), wrong({ msg: 'Field required', type: 'missing' }));
  for (const key of ['a', '!~', 'x'.repeat(255)]) t.equal(parseIdempotencyKey(key, true), key);
  for (const key of ['', ' ', 'a b', 'é', 'a\n', '\u007f', 'x'.repeat(256)])
    t.throws(() => parseIdempotencyKey(key, false), wrong({ type: 'string_pattern_mismatch' }));
  t.end();
});

void t.test('the same key is another one in another scope, method or path', (t) => {
  const ids = [
    idempotencyId('prj_1', 'POST', '/a', 'k'),
    idempotencyId('prj_2', 'POST', '/a', 'k'),
    idempotencyId('prj_1', 'PUT', '/a', 'k'),
    idempotencyId('prj_1', 'POST', '/b', 'k'),
    idempotencyId('prj_1', 'POST', '/a', 'l'),
    idempotencyId('prj_1', 'POST', '/', 'ak'),
  ];
  t.equal(new Set(ids).size, ids.length);
  t.equal(idempotencyId('prj_1', 'POST', '/a', 'k'), ids[0]);
  for (const id of ids) t.match(id, /^[0-9a-f]{64}$/);
  t.end();
});

void t.test('secrets are blank in a repeated answer, wherever they stand', (t) => {
  const answer = {
    id: 1,
    key: 's',
    list: [{ key: 's', on: true }, 'key'],
    in: { key: { a: 1 }, none: null },
  };
  t.same(blankSecrets(answer, ['key']), {
    id: 1,
    key: null,
    list: [{ key: null, on: true }, 'key'],
    in: { key: null, none: null },
  });
  t.equal(blankSecrets(answer, []), answer);
  t.equal(blankSecrets('key', ['key']), 'key');
  t.equal(blankSecrets(null, ['key']), null);
  t.end();
});
