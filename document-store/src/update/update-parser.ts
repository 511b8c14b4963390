import { CommandError } from '../errors.ts';
import { isOperatorDocument, parseFilter } from '../matching/filter-parser.ts';
import type { Filter } from '../matching/filter.ts';
import { wholeNumber } from '../bson/numbers.ts';
import { shellText } from '../bson/shell-text.ts';
import { parseSort } from '../query/sort.ts';
import { isDocument, isNumeric, toNumber, typeName, type Bson, type BsonDocument } from '../bson/values.ts';

export interface Action {
  operator: string;
  path: string[];
  operand: Bson;
  /** $rename's other path. */
  to?: string[];
}

/** The operators of updates. */
export const updateOperators: ReadonlySet<string> = new Set([
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

export function parseActions(update: BsonDocument): Action[] {
  const actions: Action[] = [];
  for (const [operator, fields] of Object.entries(update)) {
    if (!updateOperators.has(operator)) {
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

export function conflict(path: string, at: string): CommandError {
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

export function parseArrayFilters(arrayFilters: readonly BsonDocument[]): Map<string, Filter> {
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
