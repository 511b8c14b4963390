import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { hasRedis } from '../src/backend/start-redis.ts';

/** A process and all below it, with what they are. Those of a group of their own included. */
async function descendants(pid: number): Promise<{ pid: number; command: string }[]> {
  const found: { pid: number; command: string }[] = [];
  for (const task of await readdir(`/proc/${pid}/task`)) {
    const children = await readFile(`/proc/${pid}/task/${task}/children`, 'latin1');
    for (const child of children.split(' ').filter(Boolean).map(Number)) {
      const command = (await readFile(`/proc/${child}/cmdline`, 'latin1')).replaceAll('\0', ' ');
      found.push({ pid: child, command }, ...(await descendants(child)));
    }
  }
  return found;
}

async function lives(pid: number): Promise<boolean> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1');
    // Nobody may have asked yet how a dead one ended.
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

const skip = process.platform === 'linux' && availableParallelism() > 1 ? false : 'needs Linux and two cores';

void t.test(
  'an interrupt ends every process that was started, and takes the temporary folder',
  { skip },
  async (t) => {
    // Short: the path of a socket has a hundred characters.
    const temporary = await mkdtemp(join(tmpdir(), 'up-'));
    t.teardown(() => rm(temporary, { recursive: true, force: true }));
    const check = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        fileURLToPath(new URL('../src/check.ts', import.meta.url)),
        ...['--carrier', 'plivo', '--calls', '2', '--seconds', '60', '--rounds', '1'],
      ],
      { env: { ...process.env, TMPDIR: temporary }, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const exited = once(check, 'exit');
    t.teardown(() => check.kill('SIGKILL'));
    let said = '';
    const ready = new Promise<void>((resolve, reject) => {
      check.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('is ready')) resolve();
      });
      void exited.then(() => reject(new Error(`It ended: ${said}`)));
    });
    await ready;
    const started = await descendants(check.pid!);
    t.ok(started.some(({ command }) => command.includes('backend-main.ts')));
    t.ok(started.some(({ command }) => command.includes('parley-gateway.ts')));
    if (hasRedis) t.ok(started.some(({ command }) => command.includes('redis-server')));
    t.equal((await readdir(temporary)).length, 1);

    check.kill('SIGTERM');
    const [code] = (await exited) as [number];
    t.equal(code, 143, 'it ends as one that was asked to');
    for (const { pid, command } of started) t.notOk(await lives(pid), command);
    t.same(await readdir(temporary), []);
  },
);
