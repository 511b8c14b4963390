import t from 'tap';
import { joinPages, nextOffset, readAll } from './list-pages.ts';

const page = (...ids: string[]) => ({ items: ids.map((id) => ({ id })) });

void t.test('pages follow each other until one is not full', async (t) => {
  t.equal(nextOffset([], 2), undefined);
  t.equal(nextOffset([page('a', 'b')], 2), 2);
  t.equal(nextOffset([page('a', 'b'), page('c', 'd')], 2), 4);
  t.equal(nextOffset([page('a', 'b'), page('c')], 2), undefined);
  const far = Array.from({ length: 50_001 }, () => page('a', 'b'));
  t.equal(nextOffset(far, 2), undefined, 'the server skips no further');
});

void t.test('a whole list is read to its end', async (t) => {
  const records = Array.from({ length: 450 }, (_, n) => ({ id: `${n}` }));
  const asked: number[] = [];
  const read = async ({ offset, limit }: { offset: number; limit: number }) => {
    asked.push(offset);
    return { items: records.slice(offset, offset + limit) };
  };
  t.same(await readAll(read), records);
  t.same(asked, [0, 200, 400]);
  records.length = 400;
  t.equal((await readAll(read)).length, 400, 'of full pages alone');
  let moved = 0;
  const moving = ({ offset, limit }: { offset: number; limit: number }) =>
    read({ offset: Math.max(0, offset - moved++), limit });
  t.same(await readAll(moving), records, 'one that was made meanwhile doubles nobody');
});

void t.test('a record that moved into the next page is listed once', async (t) => {
  t.same(joinPages([page('a', 'b'), page('b', 'c')]), [{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
});
