import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Scope } from './scope.ts';

export type Loc = readonly (string | number)[];

/** An id inside a request, and where it stands. */
export interface Reference {
  collection: Collection<StoredRecord>;
  id: string;
  loc: Loc;
}

/** The one answer to ids that are absent or foreign. */
export function referenceNotFound(loc: Loc): ValidationDetail {
  return { loc: [...loc], msg: 'Record not found in this project', type: 'reference_not_found' };
}

/** Those that `scope` cannot use. */
export async function missingReferences(
  scope: Scope,
  references: readonly Reference[],
): Promise<ValidationDetail[]> {
  const byCollection = new Map<Collection<StoredRecord>, Reference[]>();
  for (const reference of references) {
    byCollection.set(reference.collection, [...(byCollection.get(reference.collection) ?? []), reference]);
  }
  const missing: ValidationDetail[] = [];
  for (const [collection, group] of byCollection) {
    const ids = [...new Set(group.map((reference) => reference.id))];
    const found = await scope.collection(collection).find({ _id: { $in: ids } }, { limit: ids.length });
    const known = new Set(found.map((record) => record._id));
    missing.push(...group.filter(({ id }) => !known.has(id)).map(({ loc }) => referenceNotFound(loc)));
  }
  return missing;
}

/**
 * Every id that a request names must be usable where the record will live.
 * @throws ValidationError `reference_not_found` for each that is not, absent and foreign alike
 */
export async function checkReferences(scope: Scope, references: readonly Reference[]): Promise<void> {
  const missing = await missingReferences(scope, references);
  if (missing.length > 0) throw new ValidationError(missing);
}
