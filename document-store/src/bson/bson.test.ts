import {
  Binary,
  BSONRegExp,
  Code,
  Decimal128,
  deserialize,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  serialize,
  Timestamp,
} from 'bson';
import t from 'tap';
import { cutFields, decodeDocument, decodeFields } from './bson-decoder.ts';
import { RawDocument, encodeDocument } from './bson-encoder.ts';
import { CommandError } from '../errors.ts';
import { Random } from '../random.fixture.ts';

const random = new Random(7);

/** A value as the official library has it. */
function anyValue(depth: number): unknown {
  const kinds: (() => unknown)[] = [
    () => null,
    () => random.below(2) === 1,
    () => new Int32(random.below(2 ** 32) - 2 ** 31),
    () =>
      new Double(
        random.pick([
          0,
          -0,
          1,
          -1,
          0.5,
          NaN,
          Infinity,
          -Infinity,
          1e300,
          5e-324,
          2 ** 31,
          random.fraction() * 1e6,
        ]),
      ),
    () => Long.fromBigInt(random.long()),
    () =>
      Decimal128.fromString(
        random.pick(['0', '-1.5', '1E+6000', 'NaN', '-Infinity', '12345678901234567890.12345']),
      ),
    () => random.text(),
    () => new ObjectId(random.bytes(12)),
    () => new Date(random.below(2 ** 42) - 2 ** 41),
    () => new Binary(random.bytes(random.below(20)), random.pick([0, 2, 4, 5, 128])),
    () => new Timestamp({ t: random.below(2 ** 32), i: random.below(2 ** 32) }),
    () => new BSONRegExp('a|b', 'im'),
    () => new Code('f()'),
    () => new Code('f()', { x: new Int32(1) }),
    () => new MinKey(),
    () => new MaxKey(),
  ];
  if (depth < 4) {
    kinds.push(
      () => Array.from({ length: random.below(4) }, () => anyValue(depth + 1)),
      () => anyDocument(depth + 1),
    );
  }
  return random.pick(kinds)();
}

function anyDocument(depth: number): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (let i = random.below(6); i > 0; i--) document[random.text().replaceAll('\0', '')] = anyValue(depth);
  return document;
}

void t.test('what the official library encodes is decoded and encoded to the same bytes', (t) => {
  for (let i = 0; i < 2000; i++) {
    const bytes = serialize(anyDocument(0), { ignoreUndefined: false });
    const again = encodeDocument(decodeDocument(bytes));
    if (!again.equals(bytes)) {
      t.same(deserialize(again), deserialize(bytes), `round ${i}`);
      break;
    }
  }
  t.pass('2000 documents');
  t.end();
});

void t.test('some fields are decoded as they are when all are', (t) => {
  let decoded = 0;
  for (let i = 0; i < 2000; i++) {
    const document = decodeDocument(serialize(anyDocument(0), { ignoreUndefined: false }));
    const names = new Set([...Object.keys(document), 'missing'].filter(() => random.below(3) === 0));
    const expected = Object.fromEntries(Object.entries(document).filter(([name]) => names.has(name)));
    const bytes = encodeDocument(document);
    decoded += Object.keys(expected).length;
    if (!encodeDocument(decodeFields(bytes, names)).equals(encodeDocument(expected))) {
      t.same(decodeFields(bytes, names), expected, `round ${i}`);
      break;
    }
  }
  t.ok(decoded > 500, `${decoded} fields`);
  t.end();
});

void t.test('a document cut down to some fields, or without them, has them as they were', (t) => {
  for (let i = 0; i < 500; i++) {
    const document = decodeDocument(serialize(anyDocument(0)));
    const names = new Set([...Object.keys(document).filter(() => random.below(2) === 1), 'absent']);
    for (const kept of [true, false]) {
      const expected = Object.entries(document).filter(([name]) => names.has(name) === kept);
      const cut = cutFields(encodeDocument(document), { names, kept });
      if (!encodeDocument(Object.fromEntries(expected)).equals(cut))
        t.same(decodeDocument(cut), Object.fromEntries(expected), `round ${i}`);
    }
  }
  t.pass('500 documents');
  t.end();
});

void t.test('damaged bytes are refused or read, and never read past', (t) => {
  let refused = 0;
  for (let i = 0; i < 3000; i++) {
    const bytes = Buffer.from(serialize({ a: anyDocument(0), b: anyDocument(0) }));
    for (let n = 1 + random.below(3); n > 0; n--) bytes[random.below(bytes.length)] = random.below(256);
    const cut = random.below(4) === 0 ? bytes.subarray(0, random.below(bytes.length)) : bytes;
    try {
      decodeFields(cut, new Set(['b', 'c']));
      cutFields(cut, { names: new Set(['b']), kept: random.below(2) === 0 });
      encodeDocument(decodeDocument(cut));
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      refused += 1;
    }
  }
  t.ok(refused > 100, `${refused} refused`);
  t.end();
});

void t.test('nesting is bounded', (t) => {
  const deep = (levels: number) => {
    let document: Record<string, unknown> = {};
    for (let i = 0; i < levels; i++) document = { a: document };
    return serialize(document);
  };
  t.ok(decodeDocument(deep(150)));
  t.throws(() => decodeDocument(deep(500)), { code: 15 });
  t.end();
});

void t.test(
  'a raw document is put in as it is, undefined is left out, and a prototype stays what it was',
  (t) => {
    const raw = new RawDocument(serialize({ x: new Double(1) }));
    const bytes = encodeDocument({ list: [raw, raw], nothing: undefined, raw });
    t.same(deserialize(bytes), { list: [{ x: 1 }, { x: 1 }], raw: { x: 1 } });
    const odd = decodeDocument(serialize(JSON.parse('{"__proto__": {"polluted": 1}, "a": 1}') as object));
    t.notOk('polluted' in odd);
    t.same(Object.keys(odd), ['__proto__', 'a']);
    t.end();
  },
);
