import { compareValues } from '../bson/compare.ts';
import { CommandError } from '../errors.ts';
import { sortKey, type KeyField } from '../storage/index-keys.ts';
import { isDocument, toNumber, type Bson } from '../bson/values.ts';

/** Parses a sort document. */
export function parseSort(sort: Bson | undefined): KeyField[] {
  if (sort === undefined) return [];
  if (!isDocument(sort)) throw new CommandError('TypeMismatch', 'a sort has to be an object');
  const fields: KeyField[] = [];
  for (const [name, direction] of Object.entries(sort)) {
    if (isDocument(direction))
      throw new CommandError('BadValue', 'sorting by $meta is not supported by this store');
    const order = toNumber(direction);
    if (order !== 1 && order !== -1) {
      throw new CommandError(15975, `$sort key ordering must be 1 (for ascending) or -1 (for descending)`);
    }
    if (name === '$natural') {
      if (Object.keys(sort).length > 1)
        throw new CommandError('BadValue', '$natural sort cannot be combined with other sorts');
      continue;
    }
    if (name === '' || name.split('.').includes(''))
      throw new CommandError(15998, 'FieldPath field names may not be empty strings.');
    if (name.startsWith('$')) throw new CommandError(16410, `FieldPath field names may not start with '$'.`);
    fields.push({ path: name.split('.'), descending: order === -1 });
  }
  return fields;
}

/** `{$natural: -1}` as a sort is read as that hint. */
export function naturalHint(sort: Bson | undefined): Bson | undefined {
  return isDocument(sort) && '$natural' in sort ? { $natural: sort.$natural! } : undefined;
}

/** Sorts in place, by the elements or by their fields. */
export function sortArray(array: Bson[], by: Bson): void {
  if (!isDocument(by)) {
    const direction = toNumber(by)!;
    array.sort((a, b) => compareValues(a, b) * direction);
    return;
  }
  const fields = parseSort(by);
  const keys = new Map(
    array.map((element) => [element, sortKey(isDocument(element) ? element : {}, fields)]),
  );
  array.sort((a, b) => Buffer.compare(keys.get(a)!, keys.get(b)!));
}
