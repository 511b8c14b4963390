import type { Filter, Predicate, ValueTest } from './filter.ts';
import { getField, isDocument, type Bson, type BsonDocument } from '../bson/values.ts';

/** What a match found out beside the answer: where the first array on the path to a match had its element. */
export interface MatchDetails {
  position: number | undefined;
}

export function elemMatchIndex(predicate: Predicate, array: readonly Bson[]): number {
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
