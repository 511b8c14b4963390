import { BSONRegExp, Binary } from 'bson';
import { regexOf } from '../bson/bson-decoder.ts';
import { compareValues, equalValues } from '../bson/compare.ts';
import { CommandError } from '../errors.ts';
import { isTruthy } from '../expressions/expression-operators.ts';
import { compile, type Variables } from '../expressions/expression.ts';
import type { Filter, Predicate } from './filter.ts';
import { wholeNumber } from '../bson/numbers.ts';
import { bitsOf, toWhole, valueTest } from './predicates.ts';
import { compileRegex } from './regex.ts';
import { isDocument, toNumber, typeNumbers, type Bson, type BsonDocument } from '../bson/values.ts';

const matchesAll: Filter = { kind: 'and', filters: [] };

/**
 * Parses a query document.
 * @throws CommandError BadValue for operators this store does not have, rather than a wrong answer
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/
 */
export function parseFilter(query: BsonDocument, variables: Variables = {}): Filter {
  const filters: Filter[] = [];
  for (const [key, value] of Object.entries(query)) {
    if (!key.startsWith('$')) {
      filters.push(...parseField(key, value, variables));
    } else if (Object.hasOwn(queryOperators, key)) {
      filters.push(...queryOperators[key]!(value, variables));
    } else {
      const known = ['$where', '$text', '$jsonSchema', '$sampleRate'].includes(key);
      const what = known ? `${key} is not supported by this store` : `unknown top level operator: ${key}`;
      throw new CommandError('BadValue', what);
    }
  }
  return filters.length === 1 ? filters[0]! : { kind: 'and', filters };
}

/** The operators of a whole query by name. */
export const queryOperators: Record<string, (operand: Bson, variables: Variables) => Filter[]> = {
  $and: (operand, variables) => [{ kind: 'and', filters: clauses('$and', operand, variables) }],
  $or: (operand, variables) => [{ kind: 'or', filters: clauses('$or', operand, variables) }],
  $nor: (operand, variables) => [{ kind: 'nor', filters: clauses('$nor', operand, variables) }],
  $expr(operand, variables) {
    const evaluate = compile(operand, { variables });
    return [{ kind: 'expr', test: (document) => isTruthy(evaluate(document)) }];
  },
  $comment: () => [],
};

function clauses(operator: string, value: Bson, variables: Variables): Filter[] {
  if (!Array.isArray(value)) throw new CommandError('BadValue', `${operator} must be an array`);
  if (value.length === 0) throw new CommandError('BadValue', `${operator} must be a nonempty array`);
  return value.map((clause) => {
    if (!isDocument(clause))
      throw new CommandError('BadValue', `${operator} entries need to be full objects`);
    return parseFilter(clause, variables);
  });
}

/** True for `{$gt: 1}`, false for a document to be compared, which may be a reference (`$ref`, `$id`). */
export function isOperatorDocument(value: Bson | undefined): value is BsonDocument {
  if (!isDocument(value)) return false;
  for (const key in value) return key.startsWith('$') && key !== '$ref' && key !== '$id' && key !== '$db';
  return false;
}

function parseField(field: string, value: Bson, variables: Variables): Filter[] {
  if (!isOperatorDocument(value)) {
    if (value instanceof BSONRegExp)
      return [leaf(field, { kind: 'regex', source: value, regex: compileRegex(value) })];
    return [leaf(field, { kind: 'eq', value })];
  }
  const filters: Filter[] = [];
  for (const [operator, operand] of Object.entries(value)) {
    if (operator === '$options' && '$regex' in value) continue;
    const parse = Object.hasOwn(fieldOperators, operator) ? fieldOperators[operator] : undefined;
    if (!parse) throw new CommandError('BadValue', `unknown operator: ${operator}`);
    filters.push(parse({ field, operator, operand, all: value, variables }));
  }
  return filters;
}

/** A condition of one field, as `{ field: { operator: operand } }`. */
interface Condition {
  field: string;
  operator: string;
  operand: Bson;
  /** What else is asked of the field. */
  all: BsonDocument;
  variables: Variables;
}

/** The operators of a field's conditions by name. */
export const fieldOperators: Record<string, (condition: Condition) => Filter> = {
  $eq: ({ field, operand }) => leaf(field, { kind: 'eq', value: operand }),
  $ne({ field, operand }) {
    if (operand instanceof BSONRegExp) throw new CommandError('BadValue', "Can't have regex as arg to $ne.");
    return not(leaf(field, { kind: 'eq', value: operand }));
  },
  $gt: (condition) => ordering('gt', condition),
  $gte: (condition) => ordering('gte', condition),
  $lt: (condition) => ordering('lt', condition),
  $lte: (condition) => ordering('lte', condition),
  $in: ({ field, operator, operand }) => leaf(field, inPredicate(operator, operand)),
  $nin: ({ field, operator, operand }) => not(leaf(field, inPredicate(operator, operand))),
  $exists({ field, operand }) {
    const exists = leaf(field, { kind: 'exists' });
    return isTruthy(operand) ? exists : not(exists);
  },
  $type: ({ field, operand }) => leaf(field, { kind: 'type', types: parseTypes(operand) }),
  $regex({ field, operand, all }) {
    const source = parseRegex(operand, all.$options);
    return leaf(field, { kind: 'regex', source, regex: compileRegex(source) });
  },
  $options() {
    throw new CommandError('BadValue', '$options needs a $regex');
  },
  $size({ field, operand }) {
    const size = wholeNumber(operand);
    if (size === undefined)
      throw new CommandError('FailedToParse', 'Failed to parse $size. Expected an integer');
    if (size < 0) throw new CommandError('BadValue', '$size may not be negative');
    return leaf(field, { kind: 'size', size });
  },
  $all: ({ field, operand, variables }) => parseAll(field, operand, variables),
  $elemMatch: ({ field, operand, variables }) => leaf(field, parseElemMatch(operand, variables)),
  $mod: ({ field, operand }) => leaf(field, parseMod(operand)),
  $bitsAllSet: (condition) => bits('allSet', condition),
  $bitsAnySet: (condition) => bits('anySet', condition),
  $bitsAllClear: (condition) => bits('allClear', condition),
  $bitsAnyClear: (condition) => bits('anyClear', condition),
  $not({ field, operand, variables }) {
    if (operand instanceof BSONRegExp)
      return not(leaf(field, { kind: 'regex', source: operand, regex: compileRegex(operand) }));
    if (!isDocument(operand)) throw new CommandError('BadValue', '$not needs a regex or a document');
    if (Object.keys(operand).length === 0) throw new CommandError('BadValue', '$not cannot be empty');
    if (!isOperatorDocument(operand))
      throw new CommandError('BadValue', `unknown operator: ${Object.keys(operand)[0]}`);
    return not({ kind: 'and', filters: parseField(field, operand, variables) });
  },
};

function not(filter: Filter): Filter {
  return { kind: 'not', filter };
}

function ordering(kind: 'gt' | 'gte' | 'lt' | 'lte', { field, operand }: Condition): Filter {
  if (operand instanceof BSONRegExp)
    throw new CommandError('BadValue', `Can't have RegEx as arg to predicate over field '${field}'.`);
  return leaf(field, { kind, value: operand });
}

export function bits(
  test: 'allSet' | 'anySet' | 'allClear' | 'anyClear',
  { field, operator, operand }: Condition,
): Filter {
  return leaf(field, { kind: 'bits', test, mask: bitMask(operator, operand) });
}

function leaf(field: string, predicate: Predicate): Filter {
  return { kind: 'field', field, path: field.split('.'), predicate, test: valueTest(predicate) };
}

function inPredicate(operator: string, operand: Bson): Predicate {
  if (!Array.isArray(operand)) throw new CommandError('BadValue', `${operator} needs an array`);
  const values: Bson[] = [];
  const regexes: { source: BSONRegExp; regex: RegExp }[] = [];
  for (const value of operand) {
    if (isOperatorDocument(value)) throw new CommandError('BadValue', `cannot nest $ under ${operator}`);
    if (value instanceof BSONRegExp) regexes.push({ source: value, regex: compileRegex(value) });
    else values.push(value);
  }
  values.sort(compareValues);
  return {
    kind: 'in',
    values: values.filter((value, i) => i === 0 || !equalValues(value, values[i - 1])),
    regexes,
  };
}

const typeAliases = new Map(Object.entries(typeNumbers).map(([name, number]) => [number, name]));

function parseTypes(operand: Bson): Set<string> {
  const types = new Set<string>();
  const wanted = Array.isArray(operand) ? operand : [operand];
  if (wanted.length === 0) throw new CommandError('FailedToParse', 'a must match at least one type');
  for (const type of wanted) {
    if (type === 'number') {
      for (const name of ['int', 'long', 'double', 'decimal']) types.add(name);
    } else if (typeof type === 'string') {
      if (!(type in typeNumbers)) throw new CommandError('BadValue', `Unknown type name alias: ${type}`);
      types.add(type);
    } else {
      const name = typeAliases.get(toNumber(type) ?? NaN);
      if (name === undefined) throw new CommandError('BadValue', 'Invalid numerical type code');
      types.add(name);
    }
  }
  return types;
}

function parseRegex(operand: Bson, options: Bson | undefined): BSONRegExp {
  if (options !== undefined && typeof options !== 'string') {
    throw new CommandError('BadValue', '$options has to be a string');
  }
  if (operand instanceof BSONRegExp) {
    if (options === undefined) return operand;
    if (operand.options !== '') throw new CommandError(51075, 'options set in both $regex and $options');
    return regexOf(operand.pattern, options);
  }
  if (typeof operand !== 'string') throw new CommandError('BadValue', '$regex has to be a string');
  return regexOf(operand, options ?? '');
}

function parseAll(field: string, operand: Bson, variables: Variables): Filter {
  if (!Array.isArray(operand)) throw new CommandError('BadValue', '$all needs an array');
  if (operand.length === 0) return { kind: 'nor', filters: [matchesAll] };
  const filters = operand.map((value): Filter => {
    if (isDocument(value) && '$elemMatch' in value)
      return leaf(field, parseElemMatch(value.$elemMatch!, variables));
    if (isOperatorDocument(value)) throw new CommandError('BadValue', 'no $ expressions in $all');
    if (value instanceof BSONRegExp)
      return leaf(field, { kind: 'regex', source: value, regex: compileRegex(value) });
    return leaf(field, { kind: 'eq', value });
  });
  return filters.length === 1 ? filters[0]! : { kind: 'and', filters };
}

function parseElemMatch(operand: Bson, variables: Variables): Predicate {
  if (!isDocument(operand)) throw new CommandError('BadValue', '$elemMatch needs an Object');
  const first = Object.keys(operand)[0];
  const logical = first === '$and' || first === '$or' || first === '$nor' || first === '$expr';
  if (first !== undefined && first.startsWith('$') && !logical && isOperatorDocument(operand)) {
    return { kind: 'elemMatchValue', filters: parseField('', operand, variables) };
  }
  return { kind: 'elemMatchObject', filter: parseFilter(operand, variables) };
}

function parseMod(operand: Bson): Predicate {
  if (!Array.isArray(operand)) throw new CommandError('BadValue', 'malformed mod, needs to be an array');
  if (operand.length < 2) throw new CommandError('BadValue', 'malformed mod, not enough elements');
  if (operand.length > 2) throw new CommandError('BadValue', 'malformed mod, too many elements');
  const [divisor, remainder] = operand.map((value) => toWhole(value));
  if (divisor === undefined) throw new CommandError('BadValue', 'malformed mod, divisor not a number');
  if (remainder === undefined) throw new CommandError('BadValue', 'malformed mod, remainder not a number');
  if (divisor === 0n) throw new CommandError('BadValue', 'divisor cannot be 0');
  return { kind: 'mod', divisor, remainder };
}

function bitMask(operator: string, operand: Bson): bigint {
  if (Array.isArray(operand)) {
    let mask = 0n;
    for (const position of operand) {
      const bit = wholeNumber(position);
      if (bit === undefined || bit < 0) {
        throw new CommandError('BadValue', 'bit positions must be integers of at least 0');
      }
      mask |= 1n << BigInt(Math.min(bit, 1024 * 1024));
    }
    return mask;
  }
  if (operand instanceof Binary) return bitsOf(operand);
  const mask = wholeNumber(operand);
  if (mask === undefined || mask < 0) {
    throw new CommandError('FailedToParse', `${operator} takes an Array, a number, or a BinData`);
  }
  return typeof operand === 'bigint' ? operand : BigInt(mask);
}
