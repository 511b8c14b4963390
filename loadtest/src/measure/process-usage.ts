import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** What processes and all their descendants take of the machine. Linux only: read from /proc. */
export interface Usage {
  /** User and system, of every thread, ended children included. */
  cpuSeconds: number;
  handles: number;
  /** Resident; pages that processes share count for each. */
  rssBytes: number;
  threads: number;
  processes: number;
}

/** Of the kernel's clock as /proc shows it (USER_HZ). */
const TICKS_PER_SECOND = 100;
/** Of x86-64, and of most of the others. */
const PAGE_BYTES = 4096;

/** @returns undefined when none of the processes lives, or there is no /proc */
export function readUsage(roots: readonly number[]): Usage | undefined {
  const usage: Usage = { cpuSeconds: 0, handles: 0, rssBytes: 0, threads: 0, processes: 0 };
  for (const pid of processTree(roots)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The name, in parentheses, may hold anything: count from its end.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
      usage.cpuSeconds += ticks / TICKS_PER_SECOND;
      usage.rssBytes += Number(fields[21]) * PAGE_BYTES;
      usage.threads += Number(fields[17]);
      usage.handles += readdirSync(`/proc/${pid}/fd`).length;
      usage.processes++;
    } catch {
      // It ended while it was looked at.
    }
  }
  return usage.processes === 0 ? undefined : usage;
}

export interface Memory {
  /** Proportional set size: shared pages count by share. */
  pssBytes: number;
  rssBytes: number;
}

/**
 * Counting pages takes the kernel some ten milliseconds for a process of a hundred megabytes: it is done off the loop,
 * and should be asked for seldom.
 */
export async function readMemory(roots: readonly number[]): Promise<Memory | undefined> {
  const memory: Memory = { pssBytes: 0, rssBytes: 0 };
  for (const pid of processTree(roots)) {
    try {
      const rollup = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
      memory.pssBytes += kilobytes(rollup, 'Pss');
      memory.rssBytes += kilobytes(rollup, 'Rss');
    } catch {
      // It ended while it was looked at.
    }
  }
  return memory.pssBytes === 0 ? undefined : memory;
}

function kilobytes(rollup: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1024;
}

function processTree(roots: readonly number[]): number[] {
  const tree: number[] = [];
  const waiting = [...roots];
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    tree.push(pid);
    try {
      for (const task of readdirSync(`/proc/${pid}/task`)) {
        const children = readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1');
        waiting.push(...children.split(' ').filter(Boolean).map(Number));
      }
    } catch {
      // It has ended, or this kernel does not tell.
    }
  }
  return tree;
}

/** CPU seconds used by everything on the machine so far, by core. */
export function machineCpuSeconds(): number[] {
  try {
    return readFileSync('/proc/stat', 'latin1')
      .split('\n')
      .filter((line) => /^cpu\d/.test(line))
      .map((line) => {
        const [user, nice, system, , , irq, softirq, steal] = line.split(/\s+/).slice(1).map(Number);
        return (user! + nice! + system! + irq! + softirq! + steal!) / TICKS_PER_SECOND;
      });
  } catch {
    return [];
  }
}
