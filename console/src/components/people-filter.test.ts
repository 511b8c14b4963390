import t from 'tap';
import { peopleFilter } from './people-filter.ts';

void t.test('what is typed is a name, a whole number, or a part of one', async (t) => {
  t.same(peopleFilter(' Ada Lov'), { filter: { q: 'Ada Lov' }, isPart: false });
  t.same(peopleFilter('+1 (415) 555-0100'), { filter: { phone_number: ['+14155550100'] }, isPart: false });
  t.same(peopleFilter('415 555'), { filter: {}, isPart: true });
  t.same(peopleFilter('Guest 77'), { filter: { q: 'Guest 77' }, isPart: false });
  for (const nothing of ['', ' ', '+', '—'])
    t.same(peopleFilter(nothing), { filter: {}, isPart: false }, nothing);
  t.equal(peopleFilter('a'.repeat(200)).filter.q?.length, 100);
});
