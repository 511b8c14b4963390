import { existsSync, readFileSync, write } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { runScript } from '../../test/fixtures/run-script.ts';
import { LogFile } from './log-file.ts';

const LINE = `${'x'.repeat(1023)}\n`;

function openLog(file: string, options: { write?: typeof write } = {}) {
  const told: (string | number)[] = [];
  const log = new LogFile({
    path: file,
    onFailure: (error) => told.push((error as NodeJS.ErrnoException).code ?? error.message),
    onRecovery: (dropped) => told.push(dropped),
    ...options,
  });
  return { log, told };
}

void t.test('lines are written in order, for their owner alone', async (t) => {
  const file = path.join(t.testdir({ 'parley.log': 'of the run before' }), 'parley.log');
  const { log, told } = openLog(file);
  const lines = Array.from({ length: 500 }, (_, i) => `${i} ${'ä'.repeat(i)}\n`);
  for (const line of lines) log.write(line);
  await log[Symbol.asyncDispose]();
  log.write('too late\n');
  t.equal(readFileSync(file, 'utf8'), lines.join(''));
  t.same(told, []);
});

void t.test('what a full disk refuses waits, in order and without a torn line', async (t) => {
  const file = path.join(t.testdir(), 'parley.log');
  let full = false;
  let refused = 0;
  // The first byte still fits, as file systems write what they can.
  const writeToDisk = ((fd, bytes, offset, length, position, done) => {
    if (!full || Number(length) > 1) return write(fd, bytes, offset, full ? 1 : length, position, done);
    setImmediate(() => {
      done?.(Object.assign(new Error('full'), { code: 'ENOSPC' }), 0, bytes);
      refused += 1;
    });
  }) as typeof write;
  const { log, told } = openLog(file, { write: writeToDisk });
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve));
  };
  full = true;
  log.write('a\n');
  await until(() => refused === 1);
  for (let i = 0; i < 1030; i++) log.write(LINE);
  await until(() => refused === 2);
  t.same(told, ['ENOSPC'], 'said once');
  full = false;
  log.write('one more\n');
  await until(() => told.length === 2);
  // 1 MiB waited: 1023 lines beside the rest of the first one.
  t.same(told, ['ENOSPC', 7]);
  log.write('last\n');
  await log[Symbol.asyncDispose]();
  t.equal(readFileSync(file, 'utf8'), `a\n${LINE.repeat(1023)}one more\nlast\n`);
});

const skip = existsSync('/dev/full') ? false : 'this system has no /dev/full';

void t.test('a disk that stays full ends nothing and holds nothing up', { skip }, async (t) => {
  const { log, told } = openLog('/dev/full');
  for (let i = 0; i < 3; i++) {
    log.write(LINE);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await log[Symbol.asyncDispose]();
  t.same(told.slice(0, 1), ['ENOSPC'].slice(0, told.length));

  const child = runScript('log-exit.ts');
  const lines: string[] = [];
  for await (const line of child.lines) lines.push(line);
  t.same(await child.exited, [3, null], 'nor the way out');
  t.match(lines, [/ENOSPC/]);
});
