import { Decimal128, Timestamp } from 'bson';
import { compareValues, equalValues } from './compare.ts';
import { CommandError } from './errors.ts';
import { isOperatorDocument, matches, parseFilter, type Filter } from './matcher.ts';
import { calculate, wholeNumber, type Numeric } from './numbers.ts';
import { parseSort, sortArray } from './sort.ts';
import { shellText } from './shell-text.ts';
import { cloneDocument, getField, isDocument, isNumeric, setField, toNumber, typeName } from './values.ts';
import type { Bson, BsonDocument } from './values.ts';

/** What an update does to one document; see `parseUpdate`. */
export interface Update {
  kind: 'replacement' | 'operators';
  /**
   * @param document stays as it is
   * @param position the element that `$` stands for
   * @param inserting true for the document an upsert makes
   */
  apply(document: BsonDocument, position: number | undefined, inserting: boolean): BsonDocument;
}

interface Action {
  operator: string;
  path: string[];
  operand: Bson;
  /** $rename's other path. */
  to?: string[];
}

const MAX_ARRAY_PADDING = 1_500_000;

/**
 * Parses an update's operators or replacement.
 * @throws CommandError for unknown operators and for paths that get in each other's way
 * @see https://www.mongodb.com/docs/manual/reference/operator/update/
 */
export function parseUpdate(update: BsonDocument, arrayFilters: readonly BsonDocument[]): Update {
  const first = Object.keys(update)[0];
  if (first === undefined || !first.startsWith('$')) {
    if (arrayFilters.length > 0)
      throw new CommandError('FailedToParse', 'Cannot specify arrayFilters for a replacement');
    const dollar = Object.keys(update).find((field) => field.startsWith('$'));
    if (dollar !== undefined) {
      throw new CommandError(
        52,
        `The dollar ($) prefixed field '${dollar}' in '${dollar}' is not allowed in the context of an update's replacement document.`,
      );
    }
    return { kind: 'replacement', apply: (document) => replace(document, update) };
  }
  const filters = parseArrayFilters(arrayFilters);
  const actions = parseActions(update);
  for (const name of filters.keys()) {
    if (!actions.some(({ path }) => path.includes(`$[${name}]`))) {
      throw new CommandError(
        'FailedToParse',
        `The array filter for identifier '${name}' was not used in the update ${shellText(update)}`,
      );
    }
  }
  for (const { path } of actions) {
    for (const part of path) {
      const name = /^\$\[(.+)\]$/.exec(part)?.[1];
      if (name !== undefined && !filters.has(name)) {
        throw new CommandError(
          'BadValue',
          `No array filter found for identifier '${name}' in path '${path.join('.')}'`,
        );
      }
    }
  }
  return {
    kind: 'operators',
    apply(document, position, inserting) {
      const result = cloneDocument(document);
      const touched = new Set<string>();
      for (const action of actions) {
        if (action.operator === '$setOnInsert' && !inserting) continue;
        for (const path of concretePaths(result, action, filters, position)) {
          const name = path.join('.');
          if (touched.has(name)) throw conflict(name, name);
          touched.add(name);
          if (action.to) rename(result, path, action.to);
          else applyAt(result, path, action);
        }
      }
      keepId(document, result);
      return result;
    },
  };
}

function replace(document: BsonDocument, replacement: BsonDocument): BsonDocument {
  const id = getField(document, '_id');
  const result: BsonDocument = {};
  if (id !== undefined) result._id = id;
  for (const field in replacement) setField(result, field, replacement[field]!);
  keepId(document, result);
  return result;
}

/** @throws CommandError ImmutableField when a document that has an _id would get another */
function keepId(before: BsonDocument, after: BsonDocument): void {
  const id = getField(before, '_id');
  if (id === undefined) return;
  const now = getField(after, '_id');
  if (now === undefined || !equalValues(id, now) || typeName(id) !== typeName(now)) {
    throw new CommandError(
      'ImmutableField',
      `Performing an update on the path '_id' would modify the immutable field '_id'`,
    );
  }
}

const operators = new Set([
  '$set',
  '$unset',
  '$inc',
  '$mul',
  '$min',
  '$max',
  '$rename',
  '$currentDate',
  '$setOnInsert',
  '$push',
  '$addToSet',
  '$pull',
  '$pullAll',
  '$pop',
  '$bit',
]);

function parseActions(update: BsonDocument): Action[] {
  const actions: Action[] = [];
  for (const [operator, fields] of Object.entries(update)) {
    if (!operators.has(operator)) {
      const hint = operator.startsWith('$')
        ? `Unknown modifier: ${operator}. Expected a valid update modifier or pipeline-style update specified as an array`
        : `The field '${operator}' is not an update operator`;
      throw new CommandError('FailedToParse', hint);
    }
    if (!isDocument(fields)) {
      throw new CommandError(
        'FailedToParse',
        `Modifiers operate on fields but we found type ${typeName(fields)} instead. For example: {$mod: {<field>: ...}} not {${operator}: ${shellText(fields)}}`,
      );
    }
    for (const [name, operand] of Object.entries(fields)) {
      const path = parsePath(name);
      if (operator === '$rename') {
        if (typeof operand !== 'string')
          throw new CommandError(
            'BadValue',
            `The 'to' field for $rename must be a string: ${name}: ${shellText(operand)}`,
          );
        const to = parsePath(operand);
        if (name === operand)
          throw new CommandError(
            'BadValue',
            `The source and target field for $rename must differ: ${name}: "${operand}"`,
          );
        if ([...path, ...to].some((part) => part.startsWith('$')))
          throw new CommandError('BadValue', 'The paths of $rename may not be dynamic');
        actions.push({ operator, path, operand, to });
      } else {
        checkOperand(operator, name, operand);
        actions.push({ operator, path, operand });
      }
    }
  }
  const paths = actions.flatMap(({ path, to }) => (to ? [path, to] : [path]));
  checkConflicts(paths);
  return actions.sort((a, b) => comparePaths(a.path, b.path));
}

function parsePath(name: string): string[] {
  if (name === '') throw new CommandError('EmptyFieldName', 'An empty update path is not valid.');
  const path = name.split('.');
  if (path.includes(''))
    throw new CommandError(
      'EmptyFieldName',
      `The update path '${name}' contains an empty field name, which is not allowed.`,
    );
  if (path[0]!.startsWith('$'))
    throw new CommandError(
      path[0] === '$' || path[0]!.startsWith('$[') ? 'BadValue' : 52,
      `Cannot have a positional or dollar ($) prefixed element in the first position of path '${name}'`,
    );
  if (path.indexOf('$') !== path.lastIndexOf('$'))
    throw new CommandError('BadValue', `Too many positional (i.e. '$') elements found in path '${name}'`);
  return path;
}

function checkConflicts(paths: readonly string[][]): void {
  for (let i = 0; i < paths.length; i++) {
    for (let j = 0; j < i; j++) {
      const [a, b] = [paths[i]!, paths[j]!];
      const shorter = Math.min(a.length, b.length);
      if (a.slice(0, shorter).every((part, at) => part === b[at])) {
        throw conflict(a.join('.'), a.slice(0, shorter).join('.'));
      }
    }
  }
}

function conflict(path: string, at: string): CommandError {
  return new CommandError(
    'ConflictingUpdateOperators',
    `Updating the path '${path}' would create a conflict at '${at}'`,
  );
}

/** The order in which new fields appear: by name, array positions by number. */
function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const [x, y] = [a[i]!, b[i]!];
    if (x === y) continue;
    const numbers = /^\d+$/.test(x) && /^\d+$/.test(y);
    return numbers ? Number(x) - Number(y) : x < y ? -1 : 1;
  }
  return a.length - b.length;
}

function checkOperand(operator: string, name: string, operand: Bson): void {
  switch (operator) {
    case '$inc':
    case '$mul':
      if (!isNumeric(operand)) {
        const verb = operator === '$inc' ? 'increment' : 'multiply';
        throw new CommandError(
          'TypeMismatch',
          `Cannot ${verb} with non-numeric argument: {${name}: ${shellText(operand)}}`,
        );
      }
      return;
    case '$pullAll':
      if (!Array.isArray(operand))
        throw new CommandError(
          'BadValue',
          `$pullAll requires an array argument but was given a ${typeName(operand)}`,
        );
      return;
    case '$pop': {
      const end = toNumber(operand);
      if (end !== 1 && end !== -1)
        throw new CommandError('FailedToParse', `$pop expects 1 or -1, found: ${shellText(operand)}`);
      return;
    }
    case '$currentDate':
      if (typeof operand === 'boolean') return;
      if (
        isDocument(operand) &&
        Object.keys(operand).length === 1 &&
        (operand.$type === 'date' || operand.$type === 'timestamp')
      )
        return;
      throw new CommandError(
        'BadValue',
        `The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}`,
      );
    case '$bit':
      if (!isDocument(operand) || Object.keys(operand).length === 0)
        throw new CommandError(
          'BadValue',
          `The $bit modifier is not compatible with a ${typeName(operand)}. You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}`,
        );
      for (const [key, mask] of Object.entries(operand)) {
        if (!['and', 'or', 'xor'].includes(key))
          throw new CommandError(
            'BadValue',
            `The $bit modifier only supports 'and', 'or', and 'xor', not '${key}' which is an unknown operator: {$bit: {${name}: ${shellText(operand)}}}`,
          );
        if (typeName(mask) !== 'int' && typeName(mask) !== 'long')
          throw new CommandError(
            'BadValue',
            `The $bit modifier field must be an Integer(32/64 bit); a '${typeName(mask)}' is not supported here`,
          );
      }
      return;
    case '$push':
      if (isDocument(operand) && '$each' in operand) checkPush(operand);
      return;
    case '$addToSet':
      if (isDocument(operand) && '$each' in operand) {
        if (!Array.isArray(operand.$each))
          throw new CommandError(
            'TypeMismatch',
            `The argument to $each in $addToSet must be an array but it was of type ${typeName(operand.$each)}`,
          );
        const other = Object.keys(operand).find((key) => key !== '$each');
        if (other !== undefined)
          throw new CommandError(
            'BadValue',
            `Found unexpected fields after $each in $addToSet: ${shellText(operand)}`,
          );
      }
      return;
    case '$pull':
      if (isOperatorDocument(operand)) parseFilter({ [name]: operand });
  }
}

function checkPush(operand: BsonDocument): void {
  if (!Array.isArray(operand.$each))
    throw new CommandError(
      'BadValue',
      `The argument to $each in $push must be an array but it was of type: ${typeName(operand.$each)}`,
    );
  for (const [key, value] of Object.entries(operand)) {
    switch (key) {
      case '$each':
        break;
      case '$slice':
      case '$position':
        if (wholeNumber(value) === undefined)
          throw new CommandError(
            'BadValue',
            `The value for ${key} must be an integer value but was given type: ${typeName(value)}`,
          );
        break;
      case '$sort':
        if (isDocument(value)) {
          if (Object.keys(value).length === 0)
            throw new CommandError(
              'BadValue',
              'The $sort pattern is empty when it should be a set of fields.',
            );
          parseSort(value);
        } else if (toNumber(value) !== 1 && toNumber(value) !== -1) {
          throw new CommandError('BadValue', 'The $sort element value must be either 1 or -1');
        }
        break;
      default:
        throw new CommandError('BadValue', `Unrecognized clause in $push: ${key}`);
    }
  }
}

function parseArrayFilters(arrayFilters: readonly BsonDocument[]): Map<string, Filter> {
  const filters = new Map<string, Filter>();
  for (const filter of arrayFilters) {
    const names = new Set(identifiers(filter));
    const [name] = names;
    if (name === undefined)
      throw new CommandError(
        'FailedToParse',
        'Cannot use an expression without a top-level field name in arrayFilters',
      );
    if (names.size > 1)
      throw new CommandError(
        'FailedToParse',
        `Error parsing array filter :: caused by :: Expected a single top-level field name, found '${[...names].join("' and '")}'`,
      );
    if (!/^[a-z][a-zA-Z0-9]*$/.test(name))
      throw new CommandError(
        'BadValue',
        `Error parsing array filter :: caused by :: The top-level field name must be an alphanumeric string beginning with a lowercase letter, found '${name}'`,
      );
    if (filters.has(name))
      throw new CommandError(
        'FailedToParse',
        `Found multiple array filters with the same top-level field name ${name}`,
      );
    filters.set(name, parseFilter(filter));
  }
  return filters;
}

function identifiers(filter: BsonDocument): string[] {
  return Object.entries(filter).flatMap(([key, value]) => {
    if (!key.startsWith('$')) return [key.split('.')[0]!];
    return Array.isArray(value) ? value.filter(isDocument).flatMap(identifiers) : [];
  });
}

/** The paths an action has in this very document, with `$`, `$[]` and `$[name]` put in. */
function concretePaths(
  document: BsonDocument,
  { path }: Action,
  filters: Map<string, Filter>,
  position: number | undefined,
): string[][] {
  if (!path.some((part) => part.startsWith('$'))) return [path];
  let paths: { path: string[]; value: Bson | undefined }[] = [{ path: [], value: document }];
  for (const part of path) {
    paths = paths.flatMap(({ path: before, value }) => {
      if (part === '$') {
        if (position === undefined)
          throw new CommandError(
            'BadValue',
            'The positional operator did not find the match needed from the query.',
          );
        return [
          { path: [...before, String(position)], value: Array.isArray(value) ? value[position] : undefined },
        ];
      }
      const name = /^\$\[(.*)\]$/.exec(part)?.[1];
      if (name === undefined) return [{ path: [...before, part], value: childOf(value, part) }];
      if (value === undefined) {
        throw new CommandError(
          'BadValue',
          `The path '${before.join('.')}' must exist in the document in order to apply array updates.`,
        );
      }
      if (!Array.isArray(value)) {
        throw new CommandError(
          'BadValue',
          `Cannot apply array updates to non-array element ${before.at(-1)}: ${shellText(value)}`,
        );
      }
      const filter = filters.get(name);
      return value.flatMap((element, i) =>
        filter && !matches(filter, { [name]: element })
          ? []
          : [{ path: [...before, String(i)], value: element }],
      );
    });
  }
  return paths.map(({ path: concrete }) => concrete);
}

function childOf(value: Bson | undefined, part: string): Bson | undefined {
  if (isDocument(value)) return getField(value, part);
  return Array.isArray(value) && isPosition(part) ? value[Number(part)] : undefined;
}

function isPosition(part: string): boolean {
  return /^(0|[1-9]\d{0,9})$/.test(part);
}

/** Where a value is or would be. */
interface Slot {
  parent: BsonDocument | Bson[];
  part: string;
  value: Bson | undefined;
}

/**
 * Goes to the end of the path.
 * @returns undefined if something on the way is missing and `create` is false
 * @throws CommandError PathNotViable when a value that has no fields is in the way of a path to be made
 */
function slotAt(document: BsonDocument, path: readonly string[], create: boolean): Slot | undefined {
  let parent: BsonDocument | Bson[] = document;
  for (let i = 0; ; i++) {
    const part = path[i]!;
    if (Array.isArray(parent) && !isPosition(part)) {
      if (!create) return undefined;
      throw notViable(part, path[i - 1]!, parent);
    }
    const value: Bson | undefined = childOf(parent, part);
    if (i === path.length - 1) return { parent, part, value };
    if (isDocument(value) || Array.isArray(value)) {
      parent = value;
      continue;
    }
    if (!create) return undefined;
    if (value !== undefined) throw notViable(path[i + 1]!, part, value);
    const made: BsonDocument = {};
    put({ parent, part, value: undefined }, made);
    parent = made;
  }
}

function notViable(part: string, field: string, value: Bson): CommandError {
  return new CommandError(
    'PathNotViable',
    `Cannot create field '${part}' in element {${field}: ${shellText(value)}}`,
  );
}

function put({ parent, part }: Slot, value: Bson): void {
  if (!Array.isArray(parent)) {
    setField(parent, part, value);
    return;
  }
  const at = Number(part);
  if (at - parent.length > MAX_ARRAY_PADDING)
    throw new CommandError('BadValue', `can't backfill more than ${MAX_ARRAY_PADDING} elements`);
  while (parent.length < at) parent.push(null);
  parent[at] = value;
}

function rename(document: BsonDocument, from: readonly string[], to: readonly string[]): void {
  for (const path of [from, to]) {
    let value: Bson | undefined = document;
    for (const [i, part] of path.entries()) {
      value = childOf(value, part);
      if (Array.isArray(value) && i < path.length - 1) {
        const which = path === from ? 'source' : 'destination';
        throw new CommandError(
          'BadValue',
          `The ${which} field cannot be an array element, '${path.join('.')}' in doc has an array field called '${part}'`,
        );
      }
    }
  }
  const source = slotAt(document, from, false);
  if (source?.value === undefined) return;
  const target = slotAt(document, to, true)!;
  delete (source.parent as BsonDocument)[source.part];
  put(target, source.value);
}

function applyAt(document: BsonDocument, path: readonly string[], { operator, operand }: Action): void {
  const create =
    operator !== '$unset' && operator !== '$pull' && operator !== '$pullAll' && operator !== '$pop';
  const slot = slotAt(document, path, create);
  if (!slot) return;
  const { value } = slot;
  const name = path.join('.');
  switch (operator) {
    case '$set':
    case '$setOnInsert':
      put(slot, operand);
      return;
    case '$unset':
      if (value === undefined) return;
      // Removing an element would move the others.
      if (Array.isArray(slot.parent)) slot.parent[Number(slot.part)] = null;
      else delete slot.parent[slot.part];
      return;
    case '$inc':
    case '$mul':
      put(slot, arithmetic(document, operator, name, value, operand as Numeric));
      return;
    case '$min':
      if (value === undefined || compareValues(operand, value) < 0) put(slot, operand);
      return;
    case '$max':
      if (value === undefined || compareValues(operand, value) > 0) put(slot, operand);
      return;
    case '$currentDate':
      put(
        slot,
        isDocument(operand) && operand.$type === 'timestamp'
          ? new Timestamp({ t: Math.floor(Date.now() / 1000), i: 1 })
          : new Date(),
      );
      return;
    case '$push':
      put(slot, push(document, name, value, operand));
      return;
    case '$addToSet':
      put(slot, addToSet(document, name, value, operand));
      return;
    case '$pull':
    case '$pullAll':
      if (value === undefined) return;
      if (!Array.isArray(value))
        throw new CommandError('BadValue', `Cannot apply ${operator} to a non-array value`);
      put(slot, pull(value, operator, operand));
      return;
    case '$pop':
      if (value === undefined) return;
      if (!Array.isArray(value))
        throw new CommandError(
          'TypeMismatch',
          `Path '${name}' contains an element of non-array type '${typeName(value)}'`,
        );
      put(slot, toNumber(operand) === 1 ? value.slice(0, -1) : value.slice(1));
      return;
    case '$bit':
      put(slot, bitwise(document, name, value, operand as BsonDocument));
  }
}

function arithmetic(
  document: BsonDocument,
  operator: string,
  name: string,
  value: Bson | undefined,
  operand: Numeric,
): Bson {
  if (value === undefined)
    return operator === '$inc'
      ? operand
      : calculate(
          'multiply',
          typeName(operand) === 'decimal' ? Decimal128.fromString('0') : 0,
          operand,
          'fail',
        );
  if (!isNumeric(value)) {
    throw new CommandError(
      'TypeMismatch',
      `Cannot apply ${operator} to a value of non-numeric type. {_id: ${shellText(document._id ?? null)}} has the field '${name.split('.').at(-1)}' of non-numeric type ${typeName(value)}`,
    );
  }
  return calculate(operator === '$inc' ? 'add' : 'multiply', value, operand, 'fail');
}

function push(document: BsonDocument, name: string, value: Bson | undefined, operand: Bson): Bson[] {
  if (value !== undefined && !Array.isArray(value)) {
    throw new CommandError(
      'BadValue',
      `The field '${name}' must be an array but is of type ${typeName(value)} in document {_id: ${shellText(document._id ?? null)}}`,
    );
  }
  const array = [...(value ?? [])];
  if (!isDocument(operand) || !('$each' in operand)) return [...array, operand];
  const position = operand.$position === undefined ? array.length : wholeNumber(operand.$position)!;
  array.splice(position, 0, ...(operand.$each as Bson[]));
  if (operand.$sort !== undefined) sortArray(array, operand.$sort);
  const slice = operand.$slice === undefined ? undefined : wholeNumber(operand.$slice)!;
  if (slice === undefined) return array;
  return slice >= 0 ? array.slice(0, slice) : array.slice(slice);
}

function addToSet(document: BsonDocument, name: string, value: Bson | undefined, operand: Bson): Bson[] {
  if (value !== undefined && !Array.isArray(value)) {
    throw new CommandError(
      'BadValue',
      `Cannot apply $addToSet to non-array field. Field named '${name}' has non-array type ${typeName(value)} in document {_id: ${shellText(document._id ?? null)}}`,
    );
  }
  const array = [...(value ?? [])];
  const additions = isDocument(operand) && Array.isArray(operand.$each) ? operand.$each : [operand];
  for (const addition of additions)
    if (!array.some((element) => equalValues(element, addition))) array.push(addition);
  return array;
}

function pull(array: readonly Bson[], operator: string, operand: Bson): Bson[] {
  if (operator === '$pullAll') {
    return array.filter((element) => !(operand as Bson[]).some((unwanted) => equalValues(element, unwanted)));
  }
  if (isDocument(operand) && !isOperatorDocument(operand)) {
    // A document is a query that elements which are documents must match.
    const filter = parseFilter(operand);
    return array.filter((element) => !(isDocument(element) && matches(filter, element)));
  }
  if (isOperatorDocument(operand) || typeName(operand) === 'regex') {
    const filter = parseFilter({ element: operand });
    return array.filter((element) => !matches(filter, { element }));
  }
  return array.filter((element) => !equalValues(element, operand));
}

function bitwise(document: BsonDocument, name: string, value: Bson | undefined, operand: BsonDocument): Bson {
  let result: Bson = value ?? 0;
  if (typeName(result) !== 'int' && typeName(result) !== 'long') {
    throw new CommandError(
      'BadValue',
      `Cannot apply $bit to a value of non-integral type._id: ${shellText(document._id ?? null)} has the field ${name} of non-integer type ${typeName(result)}`,
    );
  }
  for (const [operation, mask] of Object.entries(operand)) {
    const long: boolean = typeof result === 'bigint' || typeof mask === 'bigint';
    const a = BigInt(result as number | bigint);
    const b = BigInt(mask as number | bigint);
    const bits: bigint = operation === 'and' ? a & b : operation === 'or' ? a | b : a ^ b;
    result = long ? bits : Number(bits);
  }
  return result;
}

/**
 * The document an upsert starts from: the values the query demands of fields.
 * @throws CommandError NotSingleValueField when the query demands two values of one field
 */
export function seedOfUpsert(query: BsonDocument): BsonDocument {
  const seed: BsonDocument = {};
  const paths: string[][] = [];
  collectEqualities(query, (name, value) => {
    const path = name.split('.');
    const clash = paths.find(
      (other) =>
        other.slice(0, path.length).every((part, i) => part === path[i]) ||
        path.slice(0, other.length).every((part, i) => part === other[i]),
    );
    if (clash)
      throw new CommandError(
        'NotSingleValueField',
        `cannot infer query fields to set, path '${name}' is matched twice`,
      );
    paths.push(path);
    put(slotAt(seed, path, true)!, value);
  });
  return seed;
}

function collectEqualities(query: BsonDocument, add: (name: string, value: Bson) => void): void {
  for (const [key, value] of Object.entries(query)) {
    if (key === '$and' || (key === '$or' && Array.isArray(value) && value.length === 1)) {
      for (const clause of value as Bson[]) if (isDocument(clause)) collectEqualities(clause, add);
    } else if (!key.startsWith('$')) {
      if (!isOperatorDocument(value)) {
        if (typeName(value) !== 'regex') add(key, value);
      } else if ('$eq' in value) {
        add(key, value.$eq!);
      } else if (Array.isArray(value.$all) && value.$all.length === 1 && !isOperatorDocument(value.$all[0])) {
        add(key, value.$all[0]!);
      } else if (Array.isArray(value.$in) && value.$in.length === 1 && typeName(value.$in[0]) !== 'regex') {
        add(key, value.$in[0]!);
      }
    }
  }
}
