import { CommandError } from '../errors.ts';
import type { Filter } from '../matching/filter.ts';
import { matches } from '../matching/matcher.ts';
import { shellText } from '../bson/shell-text.ts';
import type { Action } from './update-parser.ts';
import { getField, isDocument, setField, type Bson, type BsonDocument } from '../bson/values.ts';

const MAX_ARRAY_PADDING = 1_500_000;

/** The paths an action has in this very document, with `$`, `$[]` and `$[name]` put in. */
export function concretePaths(
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
export function slotAt(document: BsonDocument, path: readonly string[], create: boolean): Slot | undefined {
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

export function put({ parent, part }: Slot, value: Bson): void {
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

export function rename(document: BsonDocument, from: readonly string[], to: readonly string[]): void {
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
