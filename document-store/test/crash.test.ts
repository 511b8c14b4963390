import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { openDocumentStore } from '../src/document-store.ts';
import { Store } from '../src/storage/store.ts';

const WRITERS = 8;
const ROUNDS = 3;
const processFile = fileURLToPath(new URL('fixtures/store-process.ts', import.meta.url));

interface Entry {
  _id: string;
  writer: number;
  n: number;
  tags: string[];
  note: string;
}
interface Counter {
  _id: string;
  n: number;
}

interface Running {
  child: ChildProcess;
  uri: string;
}

async function startProcess(path: string): Promise<Running> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', processFile, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, uri: line.toString().trim() };
}

/** What writers were told is done. */
class Acknowledged {
  readonly inserted = new Map<string, number>();
  readonly removed = new Set<string>();
  readonly counters = new Array<number>(WRITERS).fill(0);
}

/** Inserts, updates, counts and deletes until the process is killed. */
async function write(
  { child, uri }: Running,
  writer: number,
  round: number,
  done: Acknowledged,
  onWrite: () => void,
): Promise<void> {
  const client = new MongoClient(uri, { maxPoolSize: 1 });
  // Nobody need look for a server that is gone.
  child.once('exit', () => void client.close());
  const entries = client.db('crash').collection<Entry>('entries');
  const counters = client.db('crash').collection<Counter>('counters');
  try {
    for (let n = 0; ; n++) {
      const _id = `${round}-${writer}-${n}`;
      await entries.insertOne({ _id, writer, n, tags: [`t${n % 7}`, `w${writer}`], note: 'x'.repeat(500) });
      done.inserted.set(_id, n);
      await entries.updateOne({ _id }, { $set: { n: n + 1_000_000 }, $push: { tags: 'seen' } });
      done.inserted.set(_id, n + 1_000_000);
      await counters.updateOne({ _id: String(writer) }, { $inc: { n: 1 } }, { upsert: true });
      done.counters[writer]! += 1;
      if (n % 5 === 4) {
        const other = `${round}-${writer}-${n - 2}`;
        // From here on it may be gone or not, until the answer says so.
        done.inserted.delete(other);
        await entries.deleteOne({ _id: other });
        done.removed.add(other);
      }
      onWrite();
    }
  } catch (error) {
    // That is how every writer ends.
    if (!child.killed) throw error;
  } finally {
    await client.close();
  }
}

void t.test('what was acknowledged is found again after kill -9', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'document-store-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'store.db');
  const done = new Acknowledged();

  for (let round = 0; round < ROUNDS; round++) {
    const running = await startProcess(path);
    const { child, uri } = running;
    if (round === 0) {
      const client = new MongoClient(uri);
      const entries = client.db('crash').collection<Entry>('entries');
      await entries.createIndexes([
        { key: { writer: 1, n: -1 } },
        { key: { tags: 1 } },
        { key: { note: 1, _id: 1 }, unique: true },
      ]);
      await client.close();
    }
    let writes = 0;
    const exited = once(child, 'exit');
    const killed = () => {
      if (++writes === 120 + 37 * round) child.kill('SIGKILL');
    };
    await Promise.all(
      Array.from({ length: WRITERS }, (_, writer) => write(running, writer, round, done, killed)),
    );
    t.same((await exited)[1], 'SIGKILL', `round ${round}: the process was killed in the middle of writes`);

    const store = new Store(path, 'normal');
    store.begin();
    const faults = store.verify();
    store.rollback();
    store.close();
    t.same(faults, [], 'documents and indexes agree');

    const reopened = await openDocumentStore({ path });
    const client = new MongoClient(reopened.uri);
    const entries = client.db('crash').collection<Entry>('entries');
    const found = new Map((await entries.find().toArray()).map((entry) => [entry._id, entry.n]));
    // An update in flight may have been done without being acknowledged.
    const lost = [...done.inserted].filter(
      ([id, n]) => found.get(id) !== n && found.get(id) !== n + 1_000_000,
    );
    t.same(lost, [], `${done.inserted.size} acknowledged documents are there as they were written`);
    t.same(
      [...done.removed].filter((id) => found.has(id)),
      [],
      'what was deleted stays deleted',
    );
    const counters = client.db('crash').collection<Counter>('counters');
    const stored = new Map((await counters.find().toArray()).map(({ _id, n }) => [Number(_id), n]));
    for (const [writer, counted] of done.counters.entries()) {
      const n = stored.get(writer) ?? 0;
      t.ok(n === counted || n === counted + 1, `writer ${writer} counted ${counted} and the store has ${n}`);
      done.counters[writer] = n;
    }
    t.same(
      await entries.countDocuments({ writer: 3 }),
      [...found.keys()].filter((id) => id.split('-')[1] === '3').length,
      'an index counts what a scan finds',
    );
    await client.close();
    await reopened[Symbol.asyncDispose]();
  }
});
