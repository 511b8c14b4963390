import { decodeDocument } from '../bson/bson-decoder.ts';
import { encodeKey, invert } from './index-keys.ts';
import { matches } from '../matching/matcher.ts';
import type { Store } from './store.ts';

/** So many at a time, that clients need not wait for long. */
const MAX_REMOVED = 1000;

/**
 * Removes documents whose date in a TTL index has passed. Dates are found by their place in the index, so other values
 * never expire, and of an array of dates the earliest decides.
 */
export function removeExpired(store: Store, now: number): number {
  let removed = 0;
  for (const collection of store.catalog.collections()) {
    for (const index of collection.indexes) {
      if (index.expireAfterSeconds === undefined) continue;
      const limit = new Date(now - index.expireAfterSeconds * 1000);
      const [first, last] = [encodeKey(new Date(-8.64e15)), Buffer.concat([encodeKey(limit), Buffer.of(0)])];
      const descending = index.fields[0]!.descending;
      const range = descending
        ? { low: invert(encodeKey(limit)), high: Buffer.concat([invert(first), Buffer.of(0)]) }
        : { low: first, high: last };
      const seen = new Set<number>();
      for (const { rowId, bytes } of store.rowsByIndex(collection, index, range, 1, undefined, MAX_REMOVED)) {
        if (seen.has(rowId)) continue;
        seen.add(rowId);
        const document = decodeDocument(bytes);
        if (index.partial && !matches(index.partial.filter, document)) continue;
        store.remove(collection, rowId, document);
        removed += 1;
      }
    }
  }
  return removed;
}
