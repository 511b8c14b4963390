import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, open, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { DiskThread } from './disk-thread.ts';
import type { WritableFile } from './disk.ts';

/** More than a process with few calls writes within a second: here all is written in one moment. */
const MANY = 40;
const clock: Clock = { ...systemClock, monotonic: () => 0 };

async function openFile(name: string, flags: string) {
  const path = join(await mkdtemp(join(tmpdir(), 'parley-disk-')), name);
  const file = await open(path, flags);
  t.teardown(() => file.close().catch(() => undefined));
  return { file, path };
}

/** A file that counts what is written to it without the thread. */
function counted(file: WritableFile) {
  const direct: number[] = [];
  const spy = {
    fd: file.fd,
    write: (...args: Parameters<WritableFile['write']>) => {
      direct.push(1);
      return file.write(...args);
    },
  } as unknown as WritableFile;
  return { spy, direct };
}

void t.test(
  'what a busy process writes goes through the thread, and is in the file when that is said',
  async (t) => {
    const disk = new DiskThread(clock);
    t.teardown(() => disk[Symbol.asyncDispose]());
    const log = await openFile('log', 'a');
    const audio = await openFile('audio', 'w+');
    const { spy, direct } = counted(log.file);
    const lines = Array.from({ length: MANY }, (_, n) => `line ${n} – ünï\n`);
    for (const line of lines.slice(0, MANY / 2)) await disk.write(spy, line, null);
    const before = direct.length;
    t.ok(before > 0 && before < MANY / 2, `${before} by themselves`);

    const shared = new Uint8Array(new SharedArrayBuffer(64)).fill(7);
    await Promise.all([
      ...lines.slice(MANY / 2).map((line) => disk.write(spy, line, null)),
      disk.write(audio.file, shared, 100),
      disk.write(audio.file, Uint8Array.of(1, 2, 3), 0),
    ]);
    t.equal(direct.length, before, 'nothing but the thread');
    t.equal(await readFile(log.path, 'utf8'), lines.join(''));
    const written = await readFile(audio.path);
    t.equal(written.length, 164);
    t.same([...written.subarray(0, 4)], [1, 2, 3, 0]);
    t.ok(written.subarray(100).every((byte) => byte === 7));
  },
);

void t.test('what the disk says of one write is said to whoever asked for that one', async (t) => {
  const disk = new DiskThread(clock);
  t.teardown(() => disk[Symbol.asyncDispose]());
  const good = await openFile('good', 'a');
  const { file: readOnly } = await openFile('read-only', 'a+').then(async ({ file, path }) => {
    await file.close();
    return { file: await open(path, 'r') };
  });
  t.teardown(() => readOnly.close());
  for (let n = 0; n < MANY; n++) await disk.write(good.file, '.', null);
  const results = await Promise.allSettled([
    disk.write(good.file, 'a', null),
    disk.write(readOnly, 'b', null),
    disk.write(good.file, 'c', null),
  ]);
  t.match(results, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'EBADF' } },
    { status: 'fulfilled' },
  ]);
  t.equal(await readFile(good.path, 'utf8'), `${'.'.repeat(MANY)}ac`);
});

/** Few requests, which are done directly, and as many as make a thread worth its cost. */
for (const [name, before] of [
  ['directly', 0],
  ['by the thread', MANY],
] as const) {
  void t.test(`a file takes the place of another, ${name}`, async (t) => {
    const disk = new DiskThread(clock);
    t.teardown(() => disk[Symbol.asyncDispose]());
    const dir = t.testdir({});
    const file = join(dir, 'job.json');
    for (let n = 0; n < before; n++) await disk.replace(join(dir, 'other'), '');
    await disk.replace(file, 'first, and longer');
    await disk.replace(file, 'zweite – ünï');
    t.equal(await readFile(file, 'utf8'), 'zweite – ünï');
    t.equal((await stat(file)).mode & 0o777, 0o600, 'of nobody else');
    t.same(
      (await readdir(dir)).filter((name) => name.endsWith('.tmp')),
      [],
    );
    await t.rejects(disk.replace(join(dir, 'missing', 'job.json'), ''), { code: 'ENOENT' });
  });

  void t.test(`a file is hashed whole, ${name}`, async (t) => {
    const disk = new DiskThread(clock);
    t.teardown(() => disk[Symbol.asyncDispose]());
    const file = join(t.testdir({}), 'recording');
    for (let n = 0; n < before; n++) await disk.replace(file, '');
    // Less than is read at once, more, and more than the thread takes.
    for (const size of [0, 1000, 600 * 1024, 5 * 1024 * 1024]) {
      const bytes = Buffer.alloc(size, 'of no use');
      await writeFile(file, bytes);
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      t.same(await disk.digest(file), { sizeBytes: size, sha256 });
    }
    await t.rejects(disk.digest(`${file}.gone`), { code: 'ENOENT' });
  });
}

const SKIP_FULL = !existsSync('/dev/full') && 'this system has no /dev/full';
void t.test('a full disk is said with its code', { skip: SKIP_FULL }, async (t) => {
  const disk = new DiskThread(clock);
  t.teardown(() => disk[Symbol.asyncDispose]());
  const full = await open('/dev/full', 'w');
  t.teardown(() => full.close());
  const { file } = await openFile('other', 'a');
  for (let n = 0; n < MANY; n++) await disk.write(file, '.', null);
  await t.rejects(disk.write(full, 'x', null), { code: 'ENOSPC' });
});

void t.test('at the end nothing is left behind, and later writes are direct', async (t) => {
  const disk = new DiskThread(clock);
  const { file, path } = await openFile('log', 'a');
  for (let n = 0; n < MANY; n++) await disk.write(file, '.', null);
  const last = disk.write(file, 'waits', null);
  const replaced = disk.replace(`${path}.job`, 'waits');
  await disk[Symbol.asyncDispose]();
  await Promise.all([last, replaced]);
  t.equal(await readFile(`${path}.job`, 'utf8'), 'waits');
  const { spy, direct } = counted(file);
  await disk.write(spy, ' later', null);
  t.equal(direct.length, 1);
  t.equal(await readFile(path, 'utf8'), `${'.'.repeat(MANY)}waits later`);
});
