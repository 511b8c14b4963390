import { readFileSync, readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

const THREADS = '/proc/self/task';
/** A quarter of a core that the audio's thread wants, too: less starved the compiler, and a busy process stayed slow. */
const NICENESS = 5;
/** Node 22 gives V8's threads no name of their own, 24 does. */
const V8_THREAD = /^(node|V8Worker)$/;

/**
 * Lets the threads in which V8 marks garbage and compiles give way to the one that carries the audio: where they share a core,
 * each took half of it, and audio waited tens of milliseconds. To be called once, first of all: threads that the process
 * starts itself later are not concerned. Linux counts a priority for each thread (setpriority(2), "C library/kernel
 * differences"); elsewhere nothing is changed.
 * @returns how many threads give way
 */
export function lowerV8Threads(): number {
  try {
    const niceness = Math.min(19, getPriority() + NICENESS);
    const threads = readdirSync(THREADS)
      .map(Number)
      .filter(
        (id) => id !== process.pid && V8_THREAD.test(readFileSync(`${THREADS}/${id}/comm`, 'utf8').trim()),
      );
    for (const id of threads) setPriority(id, niceness);
    return threads.length;
  } catch {
    // No Linux, or a sandbox that forbids it: everything is as it was.
    return 0;
  }
}
