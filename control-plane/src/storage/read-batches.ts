import type { mongo } from 'mongoose';
import { Batches, done } from '@parley/shared/async/batches';

interface Identified {
  _id: string;
}

/** The part of the driver's collection that is used. */
export type ReadTarget = Pick<mongo.Collection<Identified>, 'find' | 'findOne'>;

const MAX_BATCH = 100;
const TIMEOUT_MS = 10_000;

/** Reads by id from one collection that share commands. Nobody else holds the record that one gets. */
export function readBatches(target: ReadTarget): Batches<string, Identified | null> {
  return new Batches({
    maxBatch: MAX_BATCH,
    async send(ids) {
      const wanted = [...new Set(ids)];
      const found =
        wanted.length === 1
          ? [await target.findOne({ _id: wanted[0]! }, { timeoutMS: TIMEOUT_MS })].filter(
              (one) => one !== null,
            )
          : await target
              .find(
                { _id: { $in: wanted } },
                { limit: wanted.length, singleBatch: true, timeoutMS: TIMEOUT_MS },
              )
              .toArray();
      const byId = new Map(found.map((record) => [record._id, record]));
      const given = new Set<string>();
      return ids.map((id) => {
        const record = byId.get(id) ?? null;
        const first = !given.has(id);
        given.add(id);
        return done(first ? record : structuredClone(record));
      });
    },
  });
}
