import { CommandError } from '../errors.ts';
import { isOperatorDocument } from '../matching/filter-parser.ts';
import { put, slotAt } from './update-paths.ts';
import { isDocument, typeName, type Bson, type BsonDocument } from '../bson/values.ts';

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
