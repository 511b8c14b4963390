import t from 'tap';
import { joinPages, nextOffset } from './list-pages.ts';

const page = (...ids: string[]) => ({ items: ids.map((id) => ({ id })) });

void t.test('pages follow each other until one is not full', async (t) => {
  t.equal(nextOffset([], 2), undefined);
  t.equal(nextOffset([page('a', 'b')], 2), 2);
  t.equal(nextOffset([page('a', 'b'), page('c', 'd')], 2), 4);
  t.equal(nextOffset([page('a', 'b'), page('c')], 2), undefined);
  const far = Array.from({ length: 50_001 }, () => page('a', 'b'));
  t.equal(nextOffset(far, 2), undefined, 'the server skips no further');
});

void t.test('a record that moved into the next page is listed once', async (t) => {
  t.same(joinPages([page('a', 'b'), page('b', 'c')]), [{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
});
