import type { Filter, Predicate } from '../matching/filter.ts';

/** The conditions a match must meet all of: fields, and what is asked of the elements of arrays. */
export interface Conjunct {
  field: string;
  predicate: Predicate | { kind: 'missing' };
  /** True when it is a condition of the query itself, so that satisfying it leaves nothing to test. */
  top: boolean;
}

export function conjunctsOf(filter: Filter, prefix = '', top = true): Conjunct[] {
  switch (filter.kind) {
    case 'and':
      return filter.filters.flatMap((part) => conjunctsOf(part, prefix, top));
    case 'or':
      return filter.filters.length === 1 ? conjunctsOf(filter.filters[0]!, prefix, top) : [unplannable];
    case 'field': {
      const field = prefix + filter.field;
      const { predicate } = filter;
      const own: Conjunct[] = [{ field, predicate, top }];
      if (predicate.kind === 'elemMatchObject')
        own.push(...conjunctsOf(predicate.filter, `${field}.`, false));
      return own;
    }
    case 'not':
      if (filter.filter.kind === 'field' && filter.filter.predicate.kind === 'exists') {
        return [{ field: prefix + filter.filter.field, predicate: { kind: 'missing' }, top }];
      }
      return [unplannable];
    default:
      return [unplannable];
  }
}

/** Stands for a condition that no index helps with, and that keeps counts from being taken from keys. */
const unplannable: Conjunct = { field: '', predicate: { kind: 'size', size: 0 }, top: true };
