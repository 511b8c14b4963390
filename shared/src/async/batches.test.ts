import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { Batches, done } from './batches.ts';

/** Batches whose round trips end by hand. */
function byHand(maxBatch = 4) {
  const trips: { items: number[]; end: PromiseWithResolvers<void> }[] = [];
  const batches = new Batches<number, string>({
    maxBatch,
    async send(items) {
      const end = Promise.withResolvers<void>();
      trips.push({ items, end });
      await end.promise;
      return items.map((item) =>
        item < 0 ? { status: 'rejected', reason: new Error(`no ${item}`) } : done(`yes ${item}`),
      );
    },
  });
  return { batches, trips, sent: () => trips.map(({ items }) => items) };
}

void t.test('those of one turn go together, those that come meanwhile after them', async (t) => {
  const { batches, trips, sent } = byHand();
  const add = (item: number) => batches.add(item).catch((error: Error) => error.message);
  const first = [add(1), add(2)];
  await turn();
  t.same(sent(), [[1, 2]]);
  const next = [add(3), add(-4)];
  await turn();
  t.equal(trips.length, 1);
  trips[0]!.end.resolve();
  t.same(await Promise.all(first), ['yes 1', 'yes 2']);
  t.same(sent(), [
    [1, 2],
    [3, -4],
  ]);
  trips[1]!.end.resolve();
  t.same(await Promise.all(next), ['yes 3', 'no -4']);
  void add(5);
  await turn();
  t.same(sent().at(-1), [5]);
});

void t.test('no more wait than go together', async (t) => {
  const { batches, trips, sent } = byHand();
  const answers = [1, 2, 3, 4, 5].map((item) => batches.add(item));
  t.same(sent(), [[1, 2, 3, 4]]);
  await turn();
  t.equal(trips.length, 1, 'the last one waits until none is under way');
  trips[0]!.end.resolve();
  await answers[3];
  t.same(sent().at(-1), [5]);
  trips[1]!.end.resolve();
  t.equal(await answers[4], 'yes 5');
});

void t.test('a round trip that fails fails its own, and the next ones go on', async (t) => {
  const { batches, trips } = byHand();
  const answers = [1].map((item) => batches.add(item));
  await turn();
  answers.push(batches.add(2));
  trips[0]!.end.reject(new Error('Gone.'));
  await t.rejects(answers[0]!, { message: 'Gone.' });
  trips[1]!.end.resolve();
  t.equal(await answers[1], 'yes 2');
});
