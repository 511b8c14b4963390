import t from 'tap';
import { z } from 'zod';
import { idPattern, newId, sortableId, uuidV7 } from './new-id.ts';

void t.test('ids sort by the time they were made', async (t) => {
  const times = [0, 1, 31, 32, 1_767_225_600_000, 1_767_225_600_001, 2 ** 48 - 1];
  const ids = times.map((time) => sortableId(time));
  t.same([...ids].sort(), ids);
  const uuids = times.map((time) => uuidV7(time));
  t.same([...uuids].sort(), uuids);
  // 2016-07-30T23:54:10.259Z, the example of the ULID specification.
  t.match(sortableId(1_469_922_850_259).slice(0, 10), '01arz3ndek');
});

void t.test('ids have their form and never repeat', async (t) => {
  t.match(newId('agt'), /^agt_[0-9a-hjkmnp-tv-z]{26}$/);
  t.match(newId('agt'), idPattern('agt'));
  for (const prefix of ['', 'agent', 'Agt', 'a_t']) t.throws(() => newId(prefix), /three letters/);
  t.equal(new Set(Array.from({ length: 1000 }, () => sortableId(5))).size, 1000);
  t.equal(new Set(Array.from({ length: 1000 }, () => uuidV7(5))).size, 1000);
});

void t.test('session ids are UUIDs of version 7', async (t) => {
  const id = uuidV7(0x017f22e279b0);
  t.match(id, /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.ok(z.uuidv7().safeParse(id).success);
});

void t.test('the pattern of a kind takes no other', async (t) => {
  const pattern = idPattern('agt');
  t.match('agt_1', pattern);
  for (const id of ['org_1', 'agt_', 'agt-1', 'xagt_1', 'agt_1 ', `agt_${'x'.repeat(65)}`, 'agt_1\n']) {
    t.notMatch(id, pattern, JSON.stringify(id));
  }
});
