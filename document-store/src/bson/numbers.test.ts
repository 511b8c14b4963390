import { Decimal128, Double } from 'bson';
import t from 'tap';
import {
  calculate,
  compareNumbers,
  divide,
  fromDecimal,
  toDecimal,
  type Arithmetic,
  type Numeric,
} from './numbers.ts';
import { typeName } from './values.ts';

const decimal = (text: string) => Decimal128.fromString(text);

void t.test('results have the type and the value MongoDB gives them', (t) => {
  const cases: [operation: Arithmetic, a: Numeric, b: Numeric, type: string, value: string][] = [
    ['add', 1, 2, 'int', '3'],
    ['add', 2147483647, 1, 'long', '2147483648'],
    ['subtract', -2147483648, 1, 'long', '-2147483649'],
    ['subtract', 5, 5, 'int', '0'],
    ['multiply', 65536, 65536, 'long', '4294967296'],
    ['multiply', -1, 0, 'int', '0'],
    ['add', 1, 2n, 'long', '3'],
    ['add', 1, new Double(2), 'double', '3'],
    ['add', 1n, 0.5, 'double', '1.5'],
    ['add', 9223372036854775807n, 1n, 'double', '9223372036854776000'],
    ['add', decimal('0.1'), decimal('0.2'), 'decimal', '0.3'],
    ['add', decimal('1E+30'), decimal('1E-30'), 'decimal', '1000000000000000000000000000000.000'],
    ['multiply', decimal('1.10'), 3, 'decimal', '3.30'],
    ['subtract', decimal('Infinity'), decimal('Infinity'), 'decimal', 'NaN'],
    ['multiply', decimal('9E+6144'), 10, 'decimal', 'Infinity'],
  ];
  for (const [operation, a, b, type, value] of cases) {
    const result = calculate(operation, a, b, 'double');
    t.equal(typeName(result), type, `type of ${operation} ${String(a)} ${String(b)}`);
    t.equal(result instanceof Double ? String(result.value) : result.toString(), value);
  }
  t.throws(() => calculate('add', 9223372036854775807n, 1, 'fail'), { code: 2 });
  t.equal(String(divide(decimal('1'), 3)), '0.3333333333333333333333333333333333');
  t.equal(String(divide(decimal('6'), 3)), '2');
  t.equal(divide(7, 2), 3.5);
  t.end();
});

void t.test('decimals survive being taken apart', (t) => {
  for (const text of [
    '0',
    '1.10',
    '-1E+3',
    '9.999999999999999999999999999999999E+6144',
    '1E-6176',
    'NaN',
    '-Infinity',
  ]) {
    t.equal(String(fromDecimal(toDecimal(decimal(text)))), text);
  }
  t.equal(String(fromDecimal({ coefficient: 25n, exponent: -6177 })), '2E-6176', 'half to even');
  t.end();
});

void t.test('comparison is exact between types', (t) => {
  t.ok(compareNumbers(9007199254740993n, 9007199254740992) > 0);
  t.ok(compareNumbers(decimal('0.1'), 0.1) < 0, 'the double 0.1 is a little more');
  t.equal(compareNumbers(decimal('0.5'), 0.5), 0);
  t.ok(compareNumbers(NaN, decimal('-Infinity')) < 0);
  t.equal(compareNumbers(NaN, decimal('NaN')), 0);
  t.end();
});
