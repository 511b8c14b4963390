import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { MongoClient, MongoServerError } from 'mongodb';
import t from 'tap';
import { Store } from '../src/storage/store.ts';
import { limitedDisk } from '../../shared/test/fixtures/small-disk.ts';

const processFile = fileURLToPath(new URL('fixtures/store-process.ts', import.meta.url));
const disk = limitedDisk();
const skip = disk ? false : 'there is no prlimit (util-linux) here';

void t.test('writes without space are OutOfDiskSpace, reads go on, and all recovers', { skip }, async (t) => {
  const path = join(t.testdir(), 'store.db');
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', processFile, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const pid = child.pid!;
  const told = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => (await told.next()).value;
  const client = new MongoClient((await next())!);
  t.teardown(() => client.close());
  const items = client.db('test').collection<{ _id: number; text: string }>('items');
  const write = (_id: number) => items.insertOne({ _id, text: 'x'.repeat(5000) });
  await items.createIndex({ text: 1 });
  await write(1);

  disk!.fill(pid);
  const refusal = await write(2).catch((error: unknown) => error);
  t.type(refusal, MongoServerError);
  t.match(refusal, { code: 14031, codeName: 'OutOfDiskSpace' });
  // Commands that arrive together share a transaction: what only reads is answered all the same.
  const mixed = await Promise.allSettled([
    items.countDocuments(),
    write(3),
    items.findOne({ _id: 1 }),
    items.deleteOne({ _id: 1 }),
    items.updateMany({}, { $set: { text: 'y' } }),
    items.find().toArray(),
    client.db('test').createCollection('others'),
  ]);
  t.same(
    mixed.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected', 'rejected', 'fulfilled', 'rejected'],
  );

  disk!.free(pid);
  await write(4);
  t.same([await next(), await next()], ['full', 'free'], 'said once each, and no failure of its own');
  const found = await items.find().toArray();
  t.same(
    found.map(({ _id, text }) => [_id, text.length]),
    [
      [1, 5000],
      [4, 5000],
    ],
    'what was refused is not there',
  );
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
  const store = new Store(path, 'normal');
  t.teardown(() => store.close());
  t.same(store.verify(), [], 'its indexes agree with its documents');
});
