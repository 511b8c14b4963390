import { equalValues } from '../bson/compare.ts';
import type { Conjunct } from './conjuncts.ts';
import type { Filter } from '../matching/filter.ts';
import { ranksByType } from './index-bounds.ts';
import type { KeyField } from '../storage/index-keys.ts';
import { matches } from '../matching/matcher.ts';
import { rankOf, type Bson } from '../bson/values.ts';

export function excludesMissing({ field, predicate }: Conjunct, indexed: KeyField): boolean {
  if (field !== indexed.path.join('.')) return false;
  switch (predicate.kind) {
    case 'missing':
      return false;
    case 'eq':
    case 'gte':
    case 'lte':
      return predicate.value !== null;
    case 'in':
      return predicate.values[0] !== null && !predicate.values.includes(null);
    case 'type':
    case 'exists':
    default:
      return true;
  }
}

/** Whether meeting all conditions means meeting `wanted`. False when that is not plain to see. */
export function implies(conjuncts: readonly Conjunct[], wanted: Filter): boolean {
  switch (wanted.kind) {
    case 'and':
      return wanted.filters.every((part) => implies(conjuncts, part));
    case 'or':
      return wanted.filters.some((part) => implies(conjuncts, part));
    case 'field':
      return conjuncts.some(
        ({ field, predicate, top }) => top && field === wanted.field && predicateImplies(predicate, wanted),
      );
    case 'not':
      return (
        wanted.filter.kind === 'field' &&
        wanted.filter.predicate.kind === 'exists' &&
        conjuncts.some(
          ({ field, predicate }) =>
            predicate.kind === 'missing' && field === (wanted.filter as { field: string }).field,
        )
      );
    default:
      return false;
  }
}

function predicateImplies(given: Conjunct['predicate'], wanted: Filter & { kind: 'field' }): boolean {
  const asked = wanted.predicate;
  const single = wanted.path.length === 1;
  switch (given.kind) {
    case 'eq':
      // A value that itself passes makes every document equal to it pass, unless arrays come in between.
      if (given.value === null) return asked.kind === 'eq' && asked.value === null;
      return passesAsValue(given.value, wanted);
    case 'in':
      return (
        given.regexes.length === 0 &&
        given.values.length > 0 &&
        given.values.every((value) =>
          value === null ? asked.kind === 'eq' && asked.value === null : passesAsValue(value, wanted),
        )
      );
    case 'exists':
      return asked.kind === 'exists';
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte': {
      if (asked.kind === 'exists') return given.value !== null;
      if (asked.kind === 'type')
        return ['string', 'date', 'objectId', 'bool'].some(
          (type) => asked.types.has(type) && ranksByType[type] === rankOf(given.value),
        );
      const upwards = given.kind === 'gt' || given.kind === 'gte';
      if (asked.kind === 'gt' && given.kind === 'gt')
        return wanted.test(given.value) || equalValues(asked.value, given.value);
      if (asked.kind === 'lt' && given.kind === 'lt')
        return wanted.test(given.value) || equalValues(asked.value, given.value);
      return (
        (upwards
          ? asked.kind === 'gt' || asked.kind === 'gte'
          : asked.kind === 'lt' || asked.kind === 'lte') && wanted.test(given.value)
      );
    }
    case 'type':
      if (asked.kind === 'exists') return true;
      return asked.kind === 'type' && [...given.types].every((type) => asked.types.has(type));
    case 'regex':
      return (
        asked.kind === 'exists' ||
        (single && asked.kind === 'type' && asked.types.has('string') && asked.types.has('regex'))
      );
    default:
      return false;
  }
}

function passesAsValue(value: Bson, wanted: Filter & { kind: 'field' }): boolean {
  if (Array.isArray(value)) return false;
  const { kind } = wanted.predicate;
  if (kind === 'size' || kind === 'elemMatchObject' || kind === 'elemMatchValue') return false;
  return matches({ ...wanted, path: ['value'] }, { value });
}
