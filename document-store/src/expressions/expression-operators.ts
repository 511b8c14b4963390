import { compareValues } from '../bson/compare.ts';
import { CommandError } from '../errors.ts';
import { compile, type Evaluate, type Names } from './expression.ts';
import { calculate, divide, isZero, type Numeric } from '../bson/numbers.ts';
import { isDocument, isNumeric, toNumber, typeName, type Bson } from '../bson/values.ts';

type Value = Bson | undefined;

export interface ExpressionOperator {
  /** What it is needed for: a row of the README's table. */
  purpose: string;
  /** @throws CommandError for operands it cannot take */
  compile(operand: Bson, names: Names): Evaluate;
}

const COUNT_SOME = 'what of a group is summed, and the tests of `$expr`';
const DURATIONS = 'sums over several fields, such as durations and costs';
const COUNT_CONDITIONALLY = 'sums of some documents of a group only, such as answered calls';

/** Aggregation's expression operators by name. Any other is refused as MongoDB refuses what it does not know. */
export const operators: Record<string, ExpressionOperator> = {
  $literal: {
    purpose: "text that begins with `$`, also in a command's `let`",
    compile: (operand) => () => operand,
  },
  $add: simple(DURATIONS, '$add', 0, Infinity, add),
  $subtract: simple(DURATIONS, '$subtract', 2, 2, subtract),
  $multiply: simple(DURATIONS, '$multiply', 0, Infinity, multiply),
  $divide: simple(DURATIONS, '$divide', 2, 2, quotient),
  $eq: comparison('$eq', (order) => order === 0),
  $ne: comparison('$ne', (order) => order !== 0),
  $gt: comparison('$gt', (order) => order > 0),
  $gte: comparison('$gte', (order) => order >= 0),
  $lt: comparison('$lt', (order) => order < 0),
  $lte: comparison('$lte', (order) => order <= 0),
  $and: {
    purpose: COUNT_SOME,
    compile(operand, names) {
      const parts = listOf(operand).map((part) => compile(part, names));
      return (document) => parts.every((part) => isTruthy(part(document)));
    },
  },
  $or: {
    purpose: COUNT_SOME,
    compile(operand, names) {
      const parts = listOf(operand).map((part) => compile(part, names));
      return (document) => parts.some((part) => isTruthy(part(document)));
    },
  },
  $not: simple(COUNT_SOME, '$not', 1, 1, (value) => !isTruthy(value)),
  $cond: { purpose: COUNT_CONDITIONALLY, compile: condition },
  $ifNull: {
    purpose: 'a value in place of what a document does not have',
    compile(operand, names) {
      if (!Array.isArray(operand) || operand.length < 2)
        throw new CommandError(1257300, '$ifNull needs at least two arguments');
      const parts = operand.map((part) => compile(part, names));
      return (document) => {
        let value: Value;
        for (const part of parts) {
          value = part(document);
          if (!isNullish(value)) return value;
        }
        return value;
      };
    },
  },
  $type: simple('seeing the BSON type a value was stored as', '$type', 1, 1, (value) => typeName(value)),
};

/** An operator whose arguments are computed first: an array of them, or the one. */
function simple(
  purpose: string,
  name: string,
  min: number,
  max: number,
  compute: (...values: Value[]) => Value,
): ExpressionOperator {
  return {
    purpose,
    compile(operand, names) {
      const list = listOf(operand);
      if (list.length < min || list.length > max) {
        throw new CommandError(
          16020,
          `Expression ${name} takes exactly ${min} arguments. ${list.length} were passed in.`,
        );
      }
      const parts = list.map((part) => compile(part, names));
      return (document) => compute(...parts.map((part) => part(document)));
    },
  };
}

function comparison(name: string, test: (order: number) => boolean): ExpressionOperator {
  return simple(COUNT_SOME, name, 2, 2, (a, b) => test(compareValues(a, b)));
}

function listOf(operand: Bson): Bson[] {
  return Array.isArray(operand) ? operand : [operand];
}

export function isNullish(value: Value): value is null | undefined {
  return value === null || value === undefined;
}

/** What counts as true in expressions: all but false, zero, null and what is not there. */
export function isTruthy(value: Value): boolean {
  if (isNullish(value) || value === false) return false;
  return !(isNumeric(value) && isZero(value));
}

function add(...values: Value[]): Value {
  let sum: Numeric = 0;
  let date: Date | undefined;
  for (const value of values) {
    if (isNullish(value)) return null;
    if (value instanceof Date) {
      if (date) throw new CommandError(16612, 'only one date allowed in an $add expression');
      date = value;
    } else {
      sum = calculate('add', sum, numberFor('$add', value, 'numeric or date types'), 'double');
    }
  }
  return date ? new Date(date.getTime() + Math.round(toNumber(sum)!)) : sum;
}

function subtract(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) return null;
  if (a instanceof Date) {
    if (b instanceof Date) return BigInt(a.getTime() - b.getTime());
    if (isNumeric(b)) return new Date(a.getTime() - Math.round(toNumber(b)!));
  }
  if (!isNumeric(a) || !isNumeric(b))
    throw new CommandError('TypeMismatch', `can't $subtract ${typeName(b)} from ${typeName(a)}`);
  return calculate('subtract', a, b, 'double');
}

function multiply(...values: Value[]): Value {
  let product: Numeric = 1;
  for (const value of values) {
    if (isNullish(value)) return null;
    product = calculate('multiply', product, numberFor('$multiply', value, 'numeric types'), 'double');
  }
  return product;
}

function quotient(a: Value, b: Value): Value {
  if (isNullish(a) || isNullish(b)) return null;
  const [dividend, divisor] = [a, b].map((value) => numberFor('$divide', value, 'numeric types'));
  if (isZero(divisor!)) throw new CommandError('BadValue', "can't $divide by zero");
  return divide(dividend!, divisor!);
}

function numberFor(name: string, value: Bson, wanted: string): Numeric {
  if (isNumeric(value)) return value;
  throw new CommandError('TypeMismatch', `${name} only supports ${wanted}, not ${typeName(value)}`);
}

/** `$cond`, of which only the branch that is taken is computed. */
function condition(operand: Bson, names: Names): Evaluate {
  const [test, then, otherwise] = branches(operand).map((part) => compile(part, names)) as [
    Evaluate,
    Evaluate,
    Evaluate,
  ];
  return (document) => (isTruthy(test(document)) ? then(document) : otherwise(document));
}

function branches(operand: Bson): Bson[] {
  if (!isDocument(operand)) {
    const list = listOf(operand);
    if (list.length === 3) return list;
    throw new CommandError(
      16020,
      `Expression $cond takes exactly 3 arguments. ${list.length} were passed in.`,
    );
  }
  const unknown = Object.keys(operand).find((field) => !['if', 'then', 'else'].includes(field));
  if (unknown !== undefined) throw new CommandError(17083, `Unrecognized parameter to $cond: ${unknown}`);
  const { if: test, then, else: otherwise } = operand;
  if (test === undefined) throw new CommandError(17080, "Missing 'if' parameter to $cond");
  if (then === undefined) throw new CommandError(17081, "Missing 'then' parameter to $cond");
  if (otherwise === undefined) throw new CommandError(17082, "Missing 'else' parameter to $cond");
  return [test, then, otherwise];
}
