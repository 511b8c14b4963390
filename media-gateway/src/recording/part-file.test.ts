import * as nodeFs from 'node:fs/promises';
import path from 'node:path';
import t, { type Test } from 'tap';
import { parseWav } from '@parley/shared/audio/wav';
import { PartFile, WAV_HEADER_BYTES } from './part-file.ts';

function partIn(t: Test, options: { maxQueuedBytes?: number; fs?: typeof nodeFs; name?: string } = {}) {
  const failures: (string | undefined)[] = [];
  const file = new PartFile({
    path: path.join(t.testdir({ taken: '' }), options.name ?? 'a.part'),
    fs: options.fs ?? nodeFs,
    format: { sampleRate: 8000, channels: 1 },
    maxQueuedBytes: options.maxQueuedBytes ?? 1000,
    onFailure: ({ code }) => void failures.push(code),
  });
  return { file, failures };
}

void t.test(
  'audio stands where it belongs, with silence between, and has its length in the end',
  async (t) => {
    const { file } = partIn(t);
    let done = 0;
    t.ok(file.write(Buffer.from([1, 0, 2, 0]), 4, () => done++));
    t.ok(file.write(Buffer.from([3, 0]), 12, () => done++));
    await file.settled();
    t.equal(done, 2);
    const cutOff = await nodeFs.readFile(file.path);
    t.equal(cutOff.toString('latin1', 0, 4), 'RIFF', 'a file that was cut off says what it holds');
    t.equal(cutOff.length, WAV_HEADER_BYTES + 14);
    await file.finish(12);
    const wav = parseWav(await nodeFs.readFile(file.path));
    t.same([...wav.samples], [0, 0, 1, 2, 0, 0], 'what lies behind the end is cut off');
    t.equal((await nodeFs.stat(file.path)).mode & 0o777, 0o600, 'of nobody else');
    await file.close();
  },
);

void t.test('a disk that does not keep up is given no more than may wait', async (t) => {
  const { file } = partIn(t, { maxQueuedBytes: 10 });
  t.ok(file.write(new Uint8Array(6), 0, () => undefined));
  t.notOk(file.write(new Uint8Array(5), 6, () => t.fail('it was not taken')));
  t.ok(
    file.write(new Uint8Array(4), 6, () => undefined),
    'as much as may',
  );
  await file.settled();
  t.ok(
    file.write(new Uint8Array(10), 10, () => undefined),
    'what is written does not wait',
  );
  await file.finish(20);
  t.equal((await nodeFs.stat(file.path)).size, WAV_HEADER_BYTES + 20);
});

void t.test('a failure is told once, and nothing is taken after it', async (t) => {
  const { file, failures } = partIn(t, { name: 'taken' });
  let done = 0;
  file.write(new Uint8Array(6), 0, () => done++);
  await file.settled();
  t.same(failures, ['EEXIST'], 'no file is written over');
  t.equal(file.failure?.code, 'EEXIST');
  t.notOk(file.write(new Uint8Array(6), 0, () => undefined));
  await t.rejects(file.finish(6), { code: 'EEXIST' });
  t.equal(failures.length, 1);
});

void t.test('audio that could not be written is let go of', async (t) => {
  const open = (async (...args: Parameters<typeof nodeFs.open>) => {
    const handle = await nodeFs.open(...args);
    const write = handle.write.bind(handle) as (...args: unknown[]) => Promise<unknown>;
    let writes = 0;
    handle.write = ((...some: unknown[]) =>
      writes++ === 0
        ? write(...some)
        : Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }))) as typeof handle.write;
    return handle;
  }) as typeof nodeFs.open;
  const { file, failures } = partIn(t, { fs: { ...nodeFs, open } });
  let done = 0;
  file.write(new Uint8Array(6), 0, () => done++);
  await file.settled();
  t.equal(done, 1);
  t.same(failures, ['ENOSPC']);
  await file.close();
});
