import t from 'tap';
import { eventPartition, redisKeys } from './redis-keys.ts';

void t.test('partitions follow FNV-1a', async (t) => {
  // Vectors of the FNV reference page, 32 bits.
  const vectors: [string, number][] = [
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ];
  for (const [text, hash] of vectors) t.equal(eventPartition(text, 2 ** 32), hash, text);
});

void t.test('sessions spread evenly over all partitions', async (t) => {
  const counts = new Map<number, number>();
  for (let i = 0; i < 8000; i++) {
    const id = `0198c5f2-0000-7000-8000-${i.toString(16).padStart(12, '0')}`;
    const partition = eventPartition(id, 8);
    counts.set(partition, (counts.get(partition) ?? 0) + 1);
  }
  t.same(
    [...counts.keys()].sort((a, b) => a - b),
    [0, 1, 2, 3, 4, 5, 6, 7],
  );
  for (const count of counts.values()) t.ok(count > 800 && count < 1200, `${count}`);
});

void t.test('names in Redis are as agreed', async (t) => {
  t.equal(redisKeys.events(3), 'parley:events:3');
  t.equal(redisKeys.lease('events:3'), 'parley:lease:events:3');
  t.equal(redisKeys.commands('gw_1'), 'parley:commands:gw_1');
  t.equal(redisKeys.rate('key:1', 7), 'parley:rate:key:1:7');
});
