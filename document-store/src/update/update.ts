import { equalValues } from '../bson/compare.ts';
import { CommandError } from '../errors.ts';
import { shellText } from '../bson/shell-text.ts';
import { applyAt } from './update-operators.ts';
import { conflict, parseActions, parseArrayFilters } from './update-parser.ts';
import { concretePaths, rename } from './update-paths.ts';
import { cloneDocument, getField, setField, typeName, type BsonDocument } from '../bson/values.ts';

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
