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

void t.test('one alone goes at once, those that come meanwhile go together after it', async (t) => {
  const { batches, trips, sent } = byHand();
  const answers = [1, 2, -3].map((item) => batches.add(item).catch((error: Error) => error.message));
  t.same(sent(), [[1]]);
  trips[0]!.end.resolve();
  t.equal(await answers[0], 'yes 1');
  t.same(sent(), [[1], [2, -3]]);
  trips[1]!.end.resolve();
  t.same(await Promise.all(answers), ['yes 1', 'yes 2', 'no -3']);
  void batches.add(4);
  t.same(sent().at(-1), [4]);
});

void t.test('no more wait than go together', async (t) => {
  const { batches, trips, sent } = byHand();
  const answers = [1, 2, 3, 4, 5, 6].map((item) => batches.add(item));
  t.same(sent(), [[1], [2, 3, 4, 5]]);
  trips[0]!.end.resolve();
  await answers[0];
  t.equal(trips.length, 2, 'the last one waits until none is under way');
  trips[1]!.end.resolve();
  await answers[4];
  trips[2]!.end.resolve();
  t.equal(await answers[5], 'yes 6');
});

void t.test('a round trip that fails fails its own, and the next ones go on', async (t) => {
  const { batches, trips } = byHand();
  const answers = [1, 2].map((item) => batches.add(item));
  trips[0]!.end.reject(new Error('Gone.'));
  await t.rejects(answers[0]!, { message: 'Gone.' });
  trips[1]!.end.resolve();
  t.equal(await answers[1], 'yes 2');
});
