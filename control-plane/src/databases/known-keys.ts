import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import type { Column } from './database-columns.ts';
import { SORT_SLOTS } from './database-model.ts';
import type { DatabaseRecord } from './database-model.ts';

/** Keys that a database may have had in its life. */
const MAX_KNOWN_KEYS = 200;
/** Requests that saw the columns as they were before may still be writing rows. */
const SETTLED_AFTER_MS = 60_000;

/**
 * What the keys of a database mean once it has these columns. A key keeps its type for good, also while no column has
 * it: so a row's values always are what their columns say.
 * @param known null for a database that is being made
 * @throws ValidationError for a column whose key had another type, and past the limit of keys
 */
export function withColumns(
  known: DatabaseRecord['known_keys'] | null,
  columns: readonly Column[],
  now: number,
): DatabaseRecord['known_keys'] {
  const all = { ...known };
  const faults: ValidationDetail[] = [];
  let slots = Object.values(all).filter(({ slot }) => slot !== null).length;
  for (const [index, { key, type }] of columns.entries()) {
    const before = all[key];
    if (!before) {
      all[key] = {
        type,
        slot: type !== 'json' && slots < SORT_SLOTS ? slots++ : null,
        since: new Date(known === null ? 0 : now + SETTLED_AFTER_MS),
      };
    } else if (before.type !== type) {
      faults.push({
        loc: ['body', 'columns', index, 'type'],
        msg: `must stay ${before.type}: values of this key are stored`,
        type: 'value_error',
      });
    }
  }
  if (Object.keys(all).length > MAX_KNOWN_KEYS) {
    const msg = `must use at most ${MAX_KNOWN_KEYS} different keys, those of removed columns included`;
    faults.push({ loc: ['body', 'columns'], msg, type: 'too_long' });
  }
  if (faults.length > 0) throw new ValidationError(faults);
  return all;
}
