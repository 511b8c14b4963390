import { BSONRegExp } from 'bson';
import type { Bson, BsonDocument } from '../bson/values.ts';

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

export type ValueTest = (value: Bson | undefined) => boolean;

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
