import { performance } from 'node:perf_hooks';
import { sleep } from '@parley/shared/async/timeout';
import type { SystemUnderTest } from '../sut/system.ts';
import { readUsage, type Usage } from './process-usage.ts';

const SETTLE_MS = 15_000;

/** @returns undefined where the processes of the system are not known */
export function measure(sut: SystemUnderTest): Usage | undefined {
  return sut.pids.length === 0 ? undefined : readUsage(sut.pids);
}

/** What the system takes of a core while nobody calls. */
export async function idleCores(sut: SystemUnderTest, ms: number): Promise<number> {
  const from = measure(sut);
  if (!from || ms === 0) return 0;
  await sleep(ms);
  const to = measure(sut);
  return to ? Math.max(0, (to.cpuSeconds - from.cpuSeconds) / (ms / 1000)) : 0;
}

/** Waits for memory and handles to come back to where they were, and says where they stopped. */
export async function settle(sut: SystemUnderTest, before: Usage | undefined): Promise<Usage | undefined> {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const now = measure(sut);
    if (!now || !before || now.handles <= before.handles || performance.now() > until) return now;
    await sleep(1000);
  }
}
