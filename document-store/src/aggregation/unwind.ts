import { CommandError } from '../errors.ts';
import type { Stage } from './pipeline.ts';
import { getField, isDocument, setField, type Bson, type BsonDocument } from '../bson/values.ts';

/**
 * `$unwind`: a document for each element of an array. The path goes through documents only: an array on its way counts
 * as nothing to unwind.
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation/unwind/
 */
export function unwind(operand: Bson): Stage {
  const { path, index, keep } = parseOptions(operand);
  const emit = (document: BsonDocument, position: number | null): BsonDocument =>
    index ? withValue(document, index, position === null ? null : BigInt(position)) : document;
  return function* (input) {
    for (const document of input) {
      const value = valueAt(document, path);
      if (!Array.isArray(value)) {
        if (keep || (value !== undefined && value !== null)) yield emit(document, null);
      } else if (value.length > 0) {
        for (const [i, element] of value.entries()) yield emit(withValue(document, path, element), i);
      } else if (keep) {
        yield emit(withValue(document, path, undefined), null);
      }
    }
  };
}

function parseOptions(operand: Bson): { path: string[]; index: string[] | undefined; keep: boolean } {
  const options: BsonDocument = isDocument(operand) ? operand : { path: operand };
  for (const option in options) {
    if (!['path', 'includeArrayIndex', 'preserveNullAndEmptyArrays'].includes(option))
      throw new CommandError(28811, `unrecognized option to $unwind stage: ${option}`);
  }
  const { path, includeArrayIndex, preserveNullAndEmptyArrays = false } = options;
  if (path === undefined) throw new CommandError(28812, 'no path specified to $unwind stage');
  if (typeof path !== 'string')
    throw new CommandError(28808, 'expected a string as the path for $unwind stage');
  if (!path.startsWith('$') || path.length < 2)
    throw new CommandError(28818, `path option to $unwind stage should be prefixed with a '$': ${path}`);
  if (typeof preserveNullAndEmptyArrays !== 'boolean')
    throw new CommandError(28809, 'expected a boolean for the preserveNullAndEmptyArrays option to $unwind');
  if (includeArrayIndex !== undefined && (typeof includeArrayIndex !== 'string' || includeArrayIndex === ''))
    throw new CommandError(28810, 'expected a non-empty string for the includeArrayIndex option to $unwind');
  return {
    path: path.slice(1).split('.'),
    index: includeArrayIndex?.split('.'),
    keep: preserveNullAndEmptyArrays,
  };
}

function valueAt(document: BsonDocument, path: readonly string[]): Bson | undefined {
  let value: Bson | undefined = document;
  for (const part of path) value = isDocument(value) ? getField(value, part) : undefined;
  return value;
}

/** A copy in which the path has a value; undefined takes the field away. */
function withValue(document: BsonDocument, path: readonly string[], value: Bson | undefined): BsonDocument {
  const [first, ...rest] = path as [string, ...string[]];
  const copy: BsonDocument = { ...document };
  const below = getField(copy, first);
  const inner = rest.length === 0 ? value : withValue(isDocument(below) ? below : {}, rest, value);
  if (inner === undefined) delete copy[first];
  else setField(copy, first, inner);
  return copy;
}
