import { Decimal128, Timestamp } from 'bson';
import { compareValues, equalValues } from '../bson/compare.ts';
import { CommandError } from '../errors.ts';
import { isOperatorDocument, parseFilter } from '../matching/filter-parser.ts';
import { matches } from '../matching/matcher.ts';
import { calculate, wholeNumber, type Numeric } from '../bson/numbers.ts';
import { shellText } from '../bson/shell-text.ts';
import { sortArray } from '../query/sort.ts';
import type { Action } from './update-parser.ts';
import { put, slotAt } from './update-paths.ts';
import { isDocument, isNumeric, toNumber, typeName, type Bson, type BsonDocument } from '../bson/values.ts';

export function applyAt(
  document: BsonDocument,
  path: readonly string[],
  { operator, operand }: Action,
): void {
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

export function push(document: BsonDocument, name: string, value: Bson | undefined, operand: Bson): Bson[] {
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

export function addToSet(
  document: BsonDocument,
  name: string,
  value: Bson | undefined,
  operand: Bson,
): Bson[] {
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

export function pull(array: readonly Bson[], operator: string, operand: Bson): Bson[] {
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
