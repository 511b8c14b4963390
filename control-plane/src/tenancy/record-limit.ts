import { ConflictError } from '@parley/shared/errors/app-error';
import type { StoredRecord } from '../storage/collection.ts';
import type { Filter, ScopedCollection } from './scope.ts';

/** Agents, tools, knowledge bases and the like in one project (resources 28). */
export const RECORDS_PER_PROJECT = 1000;

/**
 * Refuses a record too many. Racing requests may pass it by a few: it bounds a mistake, it is no quota.
 * @throws ConflictError `limit_reached`
 */
export async function checkRoom<T extends StoredRecord>(
  collection: ScopedCollection<T>,
  filter: Filter<T> = {},
): Promise<void> {
  const count = await collection.count(filter, { limit: RECORDS_PER_PROJECT });
  if (count < RECORDS_PER_PROJECT) return;
  throw new ConflictError('limit_reached', `There can be ${RECORDS_PER_PROJECT} of these in a project.`);
}
