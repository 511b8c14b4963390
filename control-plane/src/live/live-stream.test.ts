import t from 'tap';
import type { LiveEvent } from '@parley/shared/contracts/live-events';
import { NotFoundError } from '@parley/shared/errors/app-error';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { CHECK_MS, COMMENT_MS, LiveStream, MAX_WAITING, type LiveItem } from './live-stream.ts';

const event = (n: number, index: number | null = n): LiveEvent => ({
  id: `evt_${n}`,
  index,
  at: '2026-01-01T00:00:00.000Z',
  offset_ms: 0,
  type: 'state',
  data: {},
});
const item = ({ id, index }: LiveEvent): LiveItem => ({ id: index === null ? null : id, data: { id } });

function open(stored: LiveEvent[][] = []) {
  const clock = new ManualClock();
  const client = new AbortController();
  const read = { pages: 0, mayRead: () => Promise.resolve() };
  let closed = 0;
  const stream = new LiveStream({
    source: {
      topic: { sessionId: 's1' },
      async *stored() {
        for (const page of stored) {
          read.pages++;
          yield page.map(item);
        }
      },
      item: (event) => Promise.resolve(item(event)),
    },
    clock,
    mayRead: () => read.mayRead(),
    signal: client.signal,
    onClosed: () => closed++,
  });
  return { clock, client, read, stream, closed: () => closed };
}

/** Ids in the order in which they come; `-` is a comment. */
async function take(body: AsyncIterable<Buffer>, most: number): Promise<string[]> {
  const taken: string[] = [];
  const chunks = body[Symbol.asyncIterator]();
  while (taken.length < most) {
    const { value, done } = (await chunks.next()) as IteratorResult<Buffer, undefined>;
    if (done) break;
    for (const block of value.toString().split('\n\n')) {
      if (block === ':') taken.push('-');
      const id = /"id":"([^"]+)"/.exec(block)?.[1];
      if (id !== undefined) taken.push(`${/^id: /.test(block) ? 'id ' : ''}${id}`);
    }
  }
  return taken;
}

void t.test('what is stored comes first, then what happens, each once', async (t) => {
  const { stream, closed } = open([[event(1), event(2)], [event(3)]]);
  // It happened while the stored ones were read.
  stream.entry(event(3), 's1');
  stream.entry(event(4), 's1');
  stream.entry(event(5, null), 's1');
  const taken = await take(stream.body, 5);
  t.same(
    taken,
    ['id evt_1', 'id evt_2', 'id evt_3', 'id evt_4', 'evt_5'],
    'words have no place to go on from',
  );
  stream.missed();
  stream.entry(event(6), 's1');
  t.same(await take(stream.body, 1), ['id evt_6'], 'the stored ones are read again, and known');
  stream.body.destroy();
  t.equal(closed(), 0);
});

void t.test('a reader that is too slow is closed, and loses words first', async (t) => {
  const { stream, closed } = open();
  for (let n = 0; n < 60; n++) stream.entry(event(n, null), 's1');
  for (let n = 0; n < MAX_WAITING - 50; n++) stream.entry(event(1000 + n), 's1');
  t.notOk(stream.body.destroyed, '50 words and the rest fit');
  stream.entry(event(5000), 's1');
  t.ok(stream.body.destroyed);
  await new Promise((resolve) => stream.body.once('close', resolve));
  t.equal(closed(), 1);
});

void t.test('comments while nothing happens, until the reader may read no more', async (t) => {
  const { clock, stream, read } = open();
  const taken = take(stream.body, 3);
  let checks = 0;
  read.mayRead = () => {
    checks++;
    return Promise.reject(checks < 5 ? new Error('The database is away.') : new NotFoundError());
  };
  while (checks < 5) {
    await new Promise((resolve) => setImmediate(resolve));
    if (clock.pendingTimers === 2) clock.advance(CHECK_MS);
  }
  t.same(await taken, ['-'], 'one comment, then the end');
  t.equal(COMMENT_MS, 3 * CHECK_MS);
});

void t.test('a client that goes ends what waits for it', async (t) => {
  const { client, clock, stream, closed } = open();
  const taken = take(stream.body, 1);
  taken.catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  client.abort();
  await new Promise<void>((resolve) => void stream.body.once('close', () => resolve()));
  t.equal(closed(), 1);
  t.equal(clock.pendingTimers, 0);
});
