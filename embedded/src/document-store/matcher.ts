import { Binary, BSONRegExp } from 'bson';
import { regexOf } from './bson-codec.ts';
import { compareValues, equalValues } from './compare.ts';
import { CommandError } from './errors.ts';
import { isTruthy } from './expression-operators.ts';
import { compile, type Variables } from './expression.ts';
import {
  toNumber,
  getField,
  isDocument,
  isNumeric,
  rankOf,
  typeName,
  typeNumbers,
  typeRank,
} from './values.ts';
import type { Bson, BsonDocument } from './values.ts';
import { wholeNumber } from './numbers.ts';
import { compileRegex } from './regex.ts';

/** A test of one value. `sees` says how a predicate meets arrays: their elements and themselves, or themselves alone. */
export type Predicate =
  | { kind: 'eq' | 'gt' | 'gte' | 'lt' | 'lte'; value: Bson }
  | { kind: 'in'; values: readonly Bson[]; regexes: readonly { source: BSONRegExp; regex: RegExp }[] }
  | { kind: 'regex'; source: BSONRegExp; regex: RegExp }
  | { kind: 'exists' }
  | { kind: 'type'; types: ReadonlySet<string> }
  | { kind: 'mod'; divisor: bigint; remainder: bigint }
  | { kind: 'bits'; test: 'allSet' | 'anySet' | 'allClear' | 'anyClear'; mask: bigint }
  | { kind: 'size'; size: number }
  | { kind: 'elemMatchObject'; filter: Filter }
  | { kind: 'elemMatchValue'; filters: readonly Filter[] };

/** A parsed query. The planner reads it, `matches` runs it. */
export type Filter =
  | { kind: 'and' | 'or' | 'nor'; filters: readonly Filter[] }
  | { kind: 'not'; filter: Filter }
  | { kind: 'field'; field: string; path: readonly string[]; predicate: Predicate; test: ValueTest }
  | { kind: 'expr'; test: (document: BsonDocument) => boolean };

type ValueTest = (value: Bson | undefined) => boolean;

/** What a match found out beside the answer: where the first array on the path to a match had its element. */
export interface MatchDetails {
  position: number | undefined;
}

export const matchesAll: Filter = { kind: 'and', filters: [] };

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
    } else if (key === '$and' || key === '$or' || key === '$nor') {
      filters.push({ kind: key.slice(1) as 'and' | 'or' | 'nor', filters: clauses(key, value, variables) });
    } else if (key === '$expr') {
      const evaluate = compile(value, { variables });
      filters.push({ kind: 'expr', test: (document) => isTruthy(evaluate(document)) });
    } else if (key !== '$comment') {
      const known = ['$where', '$text', '$jsonSchema', '$sampleRate'].includes(key);
      const what = known ? `${key} is not supported by this store` : `unknown top level operator: ${key}`;
      throw new CommandError('BadValue', what);
    }
  }
  return filters.length === 1 ? filters[0]! : { kind: 'and', filters };
}

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
    filters.push(parseOperator(field, operator, operand, value, variables));
  }
  return filters;
}

function parseOperator(
  field: string,
  operator: string,
  operand: Bson,
  all: BsonDocument,
  variables: Variables,
): Filter {
  switch (operator) {
    case '$eq':
      return leaf(field, { kind: 'eq', value: operand });
    case '$ne':
      if (operand instanceof BSONRegExp)
        throw new CommandError('BadValue', "Can't have regex as arg to $ne.");
      return { kind: 'not', filter: leaf(field, { kind: 'eq', value: operand }) };
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      if (operand instanceof BSONRegExp) {
        throw new CommandError('BadValue', `Can't have RegEx as arg to predicate over field '${field}'.`);
      }
      return leaf(field, { kind: operator.slice(1) as 'gt' | 'gte' | 'lt' | 'lte', value: operand });
    case '$in':
      return leaf(field, inPredicate(operator, operand));
    case '$nin':
      return { kind: 'not', filter: leaf(field, inPredicate(operator, operand)) };
    case '$exists': {
      const exists = leaf(field, { kind: 'exists' });
      return isTruthy(operand) ? exists : { kind: 'not', filter: exists };
    }
    case '$type':
      return leaf(field, { kind: 'type', types: parseTypes(operand) });
    case '$regex': {
      const source = parseRegex(operand, all.$options);
      return leaf(field, { kind: 'regex', source, regex: compileRegex(source) });
    }
    case '$options':
      throw new CommandError('BadValue', '$options needs a $regex');
    case '$size': {
      const size = wholeNumber(operand);
      if (size === undefined)
        throw new CommandError('FailedToParse', 'Failed to parse $size. Expected an integer');
      if (size < 0) throw new CommandError('BadValue', '$size may not be negative');
      return leaf(field, { kind: 'size', size });
    }
    case '$all':
      return parseAll(field, operand, variables);
    case '$elemMatch':
      return leaf(field, parseElemMatch(operand, variables));
    case '$mod':
      return leaf(field, parseMod(operand));
    case '$bitsAllSet':
    case '$bitsAnySet':
    case '$bitsAllClear':
    case '$bitsAnyClear': {
      const test = (operator[5]!.toLowerCase() + operator.slice(6)) as
        'allSet' | 'anySet' | 'allClear' | 'anyClear';
      return leaf(field, { kind: 'bits', test, mask: bitMask(operator, operand) });
    }
    case '$not': {
      if (operand instanceof BSONRegExp) {
        return {
          kind: 'not',
          filter: leaf(field, { kind: 'regex', source: operand, regex: compileRegex(operand) }),
        };
      }
      if (!isDocument(operand)) throw new CommandError('BadValue', '$not needs a regex or a document');
      if (Object.keys(operand).length === 0) throw new CommandError('BadValue', '$not cannot be empty');
      if (!isOperatorDocument(operand)) {
        throw new CommandError('BadValue', `unknown operator: ${Object.keys(operand)[0]}`);
      }
      return { kind: 'not', filter: { kind: 'and', filters: parseField(field, operand, variables) } };
    }
    default:
      throw new CommandError('BadValue', `unknown operator: ${operator}`);
  }
}

/** The fields of a document that decide whether it matches; undefined when any may. */
export function fieldsOf(filter: Filter): ReadonlySet<string> | undefined {
  const names = new Set<string>();
  const collect = (part: Filter): boolean => {
    switch (part.kind) {
      case 'and':
      case 'or':
      case 'nor':
        return part.filters.every(collect);
      case 'not':
        return collect(part.filter);
      case 'field':
        names.add(part.path[0]!);
        return true;
      case 'expr':
        return false;
    }
  };
  return collect(filter) ? names : undefined;
}

/** A filter for documents in which the field is one of the values. */
export function equalsAny(field: string, values: readonly Bson[]): Filter {
  return leaf(field, { kind: 'in', values: [...values].sort(compareValues), regexes: [] });
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

/** The number without its fraction; undefined for values that are no finite number. */
function toWhole(value: Bson | undefined): bigint | undefined {
  if (typeof value === 'bigint') return value;
  const number = toNumber(value);
  return number === undefined || !Number.isFinite(number) ? undefined : BigInt(Math.trunc(number));
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

/** Binary data as a little-endian number. */
function bitsOf(value: Binary): bigint {
  const bytes = Buffer.from(value.buffer.subarray(0, value.position)).reverse();
  return bytes.length === 0 ? 0n : BigInt(`0x${bytes.toString('hex')}`);
}

function valueTest(predicate: Predicate): ValueTest {
  switch (predicate.kind) {
    case 'eq': {
      const { value } = predicate;
      if (value === null) return (candidate) => candidate === null || candidate === undefined;
      if (typeof value === 'string') return (candidate) => candidate === value;
      const rank = rankOf(value);
      return (candidate) =>
        candidate !== undefined && rankOf(candidate) === rank && compareValues(candidate, value) === 0;
    }
    case 'gt':
      return ordered(predicate.value, false, (order) => order > 0);
    case 'gte':
      return ordered(predicate.value, true, (order) => order >= 0);
    case 'lt':
      return ordered(predicate.value, false, (order) => order < 0);
    case 'lte':
      return ordered(predicate.value, true, (order) => order <= 0);
    case 'in': {
      const { values, regexes } = predicate;
      return (candidate) =>
        includes(values, candidate ?? null) ||
        regexes.some(({ source, regex }) => matchesRegex(candidate, source, regex));
    }
    case 'regex':
      return (candidate) => matchesRegex(candidate, predicate.source, predicate.regex);
    case 'exists':
      return (candidate) => candidate !== undefined;
    case 'type':
      return (candidate) => candidate !== undefined && predicate.types.has(typeName(candidate));
    case 'mod':
      return (candidate) => {
        const number = isNumeric(candidate) ? toWhole(candidate) : undefined;
        return number !== undefined && number % predicate.divisor === predicate.remainder;
      };
    case 'bits':
      return (candidate) => bitsMatch(candidate, predicate.test, predicate.mask);
    case 'size':
      return (candidate) => Array.isArray(candidate) && candidate.length === predicate.size;
    case 'elemMatchObject':
    case 'elemMatchValue':
      return (candidate) => Array.isArray(candidate) && elemMatchIndex(predicate, candidate) >= 0;
  }
}

/** Ordered comparison happens within one type only; the ends of the order compare with everything. */
function ordered(bound: Bson, withEqual: boolean, test: (order: number) => boolean): ValueTest {
  const rank = rankOf(bound);
  if (rank === typeRank.null)
    return (candidate) => withEqual && (candidate === null || candidate === undefined);
  if (rank === typeRank.minKey || rank === typeRank.maxKey) {
    return (candidate) => candidate !== undefined && test(compareValues(candidate, bound));
  }
  const boundIsNaN = rank === typeRank.number && Number.isNaN(toNumber(bound));
  return (candidate) => {
    if (candidate === undefined || rankOf(candidate) !== rank) return false;
    const order = compareValues(candidate, bound);
    if (rank === typeRank.number && order !== 0 && (boundIsNaN || Number.isNaN(toNumber(candidate))))
      return false;
    return test(order);
  };
}

function includes(sorted: readonly Bson[], candidate: Bson): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const order = compareValues(sorted[middle], candidate);
    if (order === 0) return true;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return false;
}

function matchesRegex(candidate: Bson | undefined, source: BSONRegExp, regex: RegExp): boolean {
  if (typeof candidate === 'string') return regex.test(candidate);
  return candidate instanceof BSONRegExp && equalValues(candidate, source);
}

function bitsMatch(candidate: Bson | undefined, test: string, mask: bigint): boolean {
  let bits: bigint;
  if (candidate instanceof Binary) {
    bits = bitsOf(candidate);
  } else {
    const number = isNumeric(candidate)
      ? typeof candidate === 'bigint'
        ? candidate
        : wholeNumber(candidate)
      : undefined;
    if (number === undefined || (typeof number === 'number' && Math.abs(number) > 2 ** 63)) return false;
    bits = BigInt(number);
  }
  switch (test) {
    case 'allSet':
      return (bits & mask) === mask;
    case 'anySet':
      return (bits & mask) !== 0n;
    case 'allClear':
      return (bits & mask) === 0n;
    default:
      return (bits & mask) !== mask;
  }
}

function elemMatchIndex(predicate: Predicate, array: readonly Bson[]): number {
  if (predicate.kind === 'elemMatchObject') {
    return array.findIndex((element) => {
      if (isDocument(element)) return matches(predicate.filter, element);
      // An array in the array is matched as the document of its positions.
      return Array.isArray(element) && matches(predicate.filter, { ...element } as unknown as BsonDocument);
    });
  }
  if (predicate.kind !== 'elemMatchValue') return -1;
  return array.findIndex((element) => predicate.filters.every((filter) => matchesElement(filter, element)));
}

/** Runs a filter parsed for the field '' on an element itself. */
function matchesElement(filter: Filter, element: Bson): boolean {
  switch (filter.kind) {
    case 'field':
      return filter.test(element);
    case 'not':
      return !matchesElement(filter.filter, element);
    case 'and':
      return filter.filters.every((part) => matchesElement(part, element));
    case 'or':
      return filter.filters.some((part) => matchesElement(part, element));
    case 'nor':
      return !filter.filters.some((part) => matchesElement(part, element));
    case 'expr':
      return false;
  }
}

/** Whether the document is one the query asks for. */
export function matches(filter: Filter, document: BsonDocument, details?: MatchDetails): boolean {
  switch (filter.kind) {
    case 'and':
      for (const part of filter.filters) if (!matches(part, document, details)) return false;
      return true;
    case 'or':
      for (const part of filter.filters) if (matches(part, document, details)) return true;
      return false;
    case 'nor':
      for (const part of filter.filters) if (matches(part, document)) return false;
      return true;
    case 'not':
      return !matches(filter.filter, document);
    case 'expr':
      return filter.test(document);
    case 'field':
      return matchesField(filter, document, details);
  }
}

function matchesField(
  filter: Filter & { kind: 'field' },
  document: BsonDocument,
  details: MatchDetails | undefined,
): boolean {
  const { path, predicate, test } = filter;
  // The common case first: one name, and no array.
  if (path.length === 1) {
    const value = getField(document, path[0]!);
    if (!Array.isArray(value)) return test(value);
  }
  const { kind } = predicate;
  const whole =
    kind === 'exists' || kind === 'size' || kind === 'elemMatchObject' || kind === 'elemMatchValue';
  const visit: Visit = { path, whole, test, predicate, position: -1 };
  if (!anyInDocument(document, 0, -1, visit)) return false;
  if (details && visit.position >= 0) details.position = visit.position;
  return true;
}

interface Visit {
  path: readonly string[];
  /** The value at the end of the path is tested as it is, not its elements. */
  whole: boolean;
  test: ValueTest;
  predicate: Predicate;
  position: number;
}

/** Whether a value that the path leads to passes, going through arrays as MongoDB does. */
function anyInDocument(document: BsonDocument, at: number, position: number, visit: Visit): boolean {
  const value = getField(document, visit.path[at]!);
  if (at === visit.path.length - 1) return anyAtEnd(value, position, visit);
  if (isDocument(value)) return anyInDocument(value, at + 1, position, visit);
  if (Array.isArray(value)) return anyInArray(value, at + 1, position, visit);
  return visit.test(undefined);
}

/** Path parts from `at` on are looked for in the elements; a number also names an element. */
function anyInArray(array: readonly Bson[], at: number, outer: number, visit: Visit): boolean {
  const part = visit.path[at]!;
  for (let i = 0; i < array.length; i++) {
    const element = array[i]!;
    const position = outer >= 0 ? outer : i;
    if (isDocument(element) && anyInDocument(element, at, position, visit)) return true;
    if (part !== String(i)) continue;
    if (at === visit.path.length - 1) {
      if (anyAtEnd(element, position, visit)) return true;
    } else if (isDocument(element)) {
      if (anyInDocument(element, at + 1, position, visit)) return true;
    } else if (Array.isArray(element) && anyInArray(element, at + 1, position, visit)) {
      return true;
    }
  }
  return false;
}

function anyAtEnd(value: Bson | undefined, outer: number, visit: Visit): boolean {
  if (!Array.isArray(value)) {
    if (!visit.test(value)) return false;
    visit.position = outer;
    return true;
  }
  if (visit.whole) {
    if (!visit.test(value)) return false;
    const element = elemMatchIndex(visit.predicate, value);
    visit.position = outer >= 0 ? outer : element;
    return true;
  }
  for (let i = 0; i < value.length; i++) {
    if (visit.test(value[i])) {
      visit.position = outer >= 0 ? outer : i;
      return true;
    }
  }
  if (!visit.test(value)) return false;
  visit.position = outer;
  return true;
}
