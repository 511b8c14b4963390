import { ConflictError } from '@parley/shared/errors/app-error';
import type { StoredRecord } from '../storage/collection.ts';
import type { Filter, ScopedCollection } from './scope.ts';

/** Agents, tools, knowledge bases and the like in one project (resources 28). */
export const RECORDS_PER_PROJECT = 1000;
/** Projects, telephony accounts, members and open invites of one org. */
export const RECORDS_PER_ORG = 1000;

/**
 * Refuses a record too many. Racing requests may pass it by a few: it bounds a mistake, it is no quota.
 * @throws ConflictError `limit_reached`
 */
export async function checkRoom<T extends StoredRecord>(
  collection: ScopedCollection<T>,
  filter: Filter<T> = {},
  within: 'project' | 'org' = 'project',
): Promise<void> {
  const limit = within === 'project' ? RECORDS_PER_PROJECT : RECORDS_PER_ORG;
  const count = await collection.count(filter, { limit });
  if (count < limit) return;
  const place = within === 'project' ? 'a project' : 'an org';
  throw new ConflictError(
    'limit_reached',
    `The limit of ${limit} such records in ${place} is reached. Delete one first.`,
  );
}
