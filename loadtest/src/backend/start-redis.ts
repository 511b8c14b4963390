import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atExit } from '../command.ts';

const START_TIMEOUT_MS = 10_000;

export const hasRedis = spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).status === 0;

/** A Redis of this run's own, set up as in production except that nobody else can reach it. */
export async function startRedis(
  directory: string,
): Promise<{ url: string; pid: number; [Symbol.asyncDispose](): Promise<void> }> {
  const dir = join(directory, 'redis');
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const socket = join(dir, 'redis.sock');
  const child = spawn(
    'redis-server',
    [
      ...['--port', '0', '--unixsocket', socket, '--dir', dir],
      ...['--appendonly', 'yes', '--save', '', '--maxmemory-policy', 'noeviction'],
    ],
    // Of a group of its own: an interrupt at the terminal must not end it before its clients.
    { stdio: 'ignore', detached: true },
  );
  const exited = once(child, 'exit');
  const noNeed = atExit(() => child.kill('SIGKILL'));
  void exited.finally(noNeed);
  async function stop(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    await exited;
  }
  const until = performance.now() + START_TIMEOUT_MS;
  while (!(await answers(socket))) {
    if (child.exitCode !== null || performance.now() > until) {
      await stop();
      throw new Error('redis-server could not be started.');
    }
    await sleep(20);
  }
  return { url: socket, pid: child.pid!, [Symbol.asyncDispose]: stop };
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = createConnection({ path });
    connection.setTimeout(1000, () => connection.destroy());
    connection.on('error', () => undefined);
    connection.on('close', () => resolve(false));
    connection.on('data', (data) => {
      resolve(data.toString().startsWith('+PONG'));
      connection.destroy();
    });
    connection.on('connect', () => connection.write('PING\r\n'));
  });
}
