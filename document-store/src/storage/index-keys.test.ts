import { Binary, BSONRegExp, Code, Decimal128, Double, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import t from 'tap';
import { compareValues } from '../bson/compare.ts';
import {
  afterPrefix,
  encodeKey,
  encodeKeyPart,
  invert,
  keysOf,
  sortKey,
  type KeyField,
} from './index-keys.ts';
import { Random } from '../random.fixture.ts';
import { asDouble, type Bson, type BsonDocument } from '../bson/values.ts';

const random = new Random(3);

function anyNumber(): Bson {
  return random.pick<() => Bson>([
    () => random.below(2000) - 1000,
    () =>
      asDouble(
        random.pick([
          0,
          -0,
          1,
          -1,
          0.1,
          0.5,
          NaN,
          Infinity,
          -Infinity,
          1e308,
          -1e308,
          5e-324,
          -5e-324,
          2 ** 53,
          2 ** 63,
        ]),
      ),
    () => asDouble((random.fraction() - 0.5) * 10 ** (random.below(40) - 20)),
    () => random.long(),
    () => 2n ** 53n + BigInt(random.below(5)),
    () => -(2n ** 53n) - BigInt(random.below(5)),
    () =>
      Decimal128.fromString(
        random.pick([
          '0.1',
          '0.10',
          '1',
          '1.00',
          '-1',
          '1E+6100',
          '-1E+6100',
          '1E-6100',
          '-1E-6100',
          'NaN',
          'Infinity',
          '-Infinity',
          '9007199254740993',
          '9007199254740993.5',
          '1E+308',
          '2E+308',
          '0',
        ]),
      ),
    () =>
      Decimal128.fromString(
        `${random.below(2) ? '-' : ''}${random.below(1e9)}.${random.below(1e9)}E${random.below(40) - 20}`,
      ),
  ])();
}

function anyValue(depth = 0): Bson {
  const kinds: (() => Bson)[] = [
    anyNumber,
    anyNumber,
    () => null,
    () => random.below(2) === 1,
    () => random.text(),
    () => new ObjectId(Buffer.concat([Buffer.alloc(11), random.bytes(1)])),
    () => new Date(random.below(2000) - 1000),
    () => new Binary(random.bytes(random.below(4)), random.below(3)),
    () => new Timestamp({ t: random.below(3), i: random.below(3) }),
    () => new BSONRegExp(random.text().replaceAll('\0', ''), random.pick(['', 'i'])),
    () => new Code(random.text()),
    () => new MinKey(),
    () => new MaxKey(),
  ];
  if (depth < 3) {
    kinds.push(
      () => Array.from({ length: random.below(3) }, () => anyValue(depth + 1)),
      () =>
        Object.fromEntries(
          Array.from({ length: random.below(3) }, () => [random.pick(['a', 'b', 'aa']), anyValue(depth + 1)]),
        ),
    );
  }
  return random.pick(kinds)();
}

void t.test('keys sort as bytes the way values compare', (t) => {
  for (let i = 0; i < 20_000; i++) {
    const number = random.below(2) === 0;
    const [a, b] = number ? [anyNumber(), anyNumber()] : [anyValue(), anyValue()];
    const [byValue, byKey] = [Math.sign(compareValues(a, b)), Buffer.compare(encodeKey(a), encodeKey(b))];
    if (byValue !== byKey) {
      t.equal(
        byKey,
        byValue,
        `${JSON.stringify({ a: String(a), b: String(b) })} ${encodeKey(a).toString('hex')} ${encodeKey(b).toString('hex')}`,
      );
      break;
    }
  }
  t.pass('20,000 pairs');
  t.end();
});

void t.test('comparison is an order: what is less than the less is less', (t) => {
  for (let i = 0; i < 5000; i++) {
    const [a, b, c] = [anyValue(), anyValue(), anyValue()].sort(compareValues) as [Bson, Bson, Bson];
    if (compareValues(a, c) > 0 || compareValues(a, b) > 0 || compareValues(b, a) < 0)
      t.fail(`${String(a)} ${String(b)} ${String(c)}`);
  }
  t.pass('5000 triples');
  t.end();
});

void t.test('keys of several fields sort field by field, up or down', (t) => {
  for (let i = 0; i < 5000; i++) {
    const descending = [random.below(2) === 1, random.below(2) === 1];
    const [x, y] = [0, 1].map(
      () => [random.below(3) ? random.below(2) : anyValue(), anyValue()] as const,
    ) as [readonly [Bson, Bson], readonly [Bson, Bson]];
    const key = (pair: readonly [Bson, Bson]) =>
      Buffer.concat(pair.map((value, at) => encodeKeyPart(value, descending[at]!)));
    const first = compareValues(x[0], y[0]) * (descending[0] ? -1 : 1);
    const second = compareValues(x[1], y[1]) * (descending[1] ? -1 : 1);
    if (Buffer.compare(key(x), key(y)) !== Math.sign(first || second)) t.fail(`${String(x)} ${String(y)}`);
    const fields = descending.map((down, at) => ({ path: [String(at)], descending: down }));
    if (!x.some(Array.isArray) && !keysOf({ 0: x[0], 1: x[1] }, fields).keys[0]!.equals(key(x)))
      t.fail(`not the key of its parts: ${String(x)}`);
  }
  t.pass('5000 pairs');
  t.end();
});

void t.test('equal numbers of different types have one key', (t) => {
  const ones = [
    1,
    new Double(1),
    1n,
    Decimal128.fromString('1'),
    Decimal128.fromString('1.000'),
    Decimal128.fromString('10E-1'),
  ];
  t.equal(new Set(ones.map((one) => encodeKey(one).toString('hex'))).size, 1);
  const large = [2n ** 62n, asDouble(2 ** 62), Decimal128.fromString(String(2n ** 62n))];
  t.equal(new Set(large.map((one) => encodeKey(one).toString('hex'))).size, 1);
  t.equal(
    new Set(
      [0, asDouble(-0), 0n, Decimal128.fromString('-0.00')].map((zero) => encodeKey(zero).toString('hex')),
    ).size,
    1,
  );
  t.end();
});

void t.test('a range ends after all keys that begin alike', (t) => {
  t.same(afterPrefix(Buffer.of(1, 2)), Buffer.of(1, 3));
  t.same(afterPrefix(Buffer.of(1, 0xff, 0xff)), Buffer.of(2));
  t.equal(afterPrefix(Buffer.of(0xff)), undefined);
  t.same(invert(Buffer.of(0, 0xff, 1)), Buffer.of(0xff, 0, 0xfe));
  t.end();
});

const field = (path: string, descending = false): KeyField => ({ path: path.split('.'), descending });

void t.test('arrays give a key for each element, and fields of one array stay together', (t) => {
  const cases: [
    title: string,
    document: BsonDocument,
    paths: string[],
    keys: Bson[][],
    multikey: boolean[],
  ][] = [
    ['a value', { a: 1 }, ['a'], [[1]], [false]],
    ['nothing', {}, ['a'], [[null]], [false]],
    ['elements', { a: [1, 2, 1] }, ['a'], [[1], [2]], [true]],
    ['documents in an array', { a: [{ b: 1 }, { b: 2 }, { c: 3 }] }, ['a.b'], [[1], [2], [null]], [true]],
    [
      'two fields of one array',
      { a: [{ b: 1, c: 2 }, { b: 3 }] },
      ['a.b', 'a.c'],
      [
        [1, 2],
        [3, null],
      ],
      [true, true],
    ],
    [
      'an array beside a value',
      { a: [1, 2], b: 'x' },
      ['a', 'b'],
      [
        [1, 'x'],
        [2, 'x'],
      ],
      [true, false],
    ],
    ['an array in an array is a value', { a: [[1, 2]] }, ['a'], [[[1, 2]]], [true]],
    ['a position', { a: [5, 6] }, ['a.1'], [[6]], [false]],
    ['arrays below arrays', { a: [{ b: [1, 2] }, { b: 3 }] }, ['a.b'], [[1], [2], [3]], [true]],
  ];
  for (const [title, document, paths, keys, multikey] of cases) {
    const found = keysOf(
      document,
      paths.map((path) => field(path)),
    );
    const text = (list: Buffer[]) => list.map((key) => key.toString('hex')).sort();
    t.same(
      text(found.keys),
      text(keys.map((key) => Buffer.concat(key.map((value) => encodeKey(value))))),
      title,
    );
    t.same(found.multikey, multikey, title);
  }
  t.throws(() => keysOf({ a: [1], b: [2] }, [field('a'), field('b')]), { code: 171 });
  t.ok(keysOf({ x: 1 }, [field('a'), field('b')]).allMissing);
  t.notOk(keysOf({ a: null }, [field('a')]).allMissing);
  t.notOk(keysOf({ a: [] }, [field('a')]).allMissing);
  t.same(sortKey({ a: [3, 1] }, [field('a')]), encodeKey(1));
  t.same(sortKey({ a: [3, 1] }, [field('a', true)]), invert(encodeKey(3)));
  t.end();
});
