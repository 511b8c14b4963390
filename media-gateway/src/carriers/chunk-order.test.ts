import t from 'tap';
import { ChunkOrder } from './chunk-order.ts';

/** Pushes chunks whose audio is their own number, and tells what came out. */
function run(chunks: readonly (number | undefined)[]): { out: number[]; late: number } {
  const out: number[] = [];
  const order = new ChunkOrder((bytes) => out.push(bytes[0]!));
  for (const chunk of chunks) {
    const bytes = Uint8Array.of((chunk ?? 0) & 0xff);
    order.push(bytes, chunk, undefined);
    bytes.fill(255); // the owner uses its memory again
  }
  return { out, late: order.late };
}

void t.test('media comes out in order', async (t) => {
  const cases: [string, (number | undefined)[], number[], number][] = [
    ['in order', [1, 2, 3], [1, 2, 3], 0],
    ['two swapped', [1, 3, 2, 4], [1, 2, 3, 4], 0],
    ['reversed', [1, 5, 4, 3, 2, 6], [1, 2, 3, 4, 5, 6], 0],
    ['a gap is given up after four', [1, 3, 4, 5, 6, 7, 8], [1, 3, 4, 5, 6, 7, 8], 0],
    ['what fills a gap too late is dropped', [1, 3, 4, 5, 6, 7, 2, 8], [1, 3, 4, 5, 6, 7, 8], 1],
    ['a chunk sent twice', [1, 2, 2, 3], [1, 2, 3], 1],
    ['a new count', [100, 101, 1, 2], [100, 101, 1, 2], 0],
    ['a new count releases what was held', [100, 102, 1, 2], [100, 102, 1, 2], 0],
    ['no numbers', [undefined, undefined], [0, 0], 0],
  ];
  for (const [name, chunks, out, late] of cases) t.same(run(chunks), { out, late }, name);
});
