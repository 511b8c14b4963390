import { performance } from 'node:perf_hooks';
import type { SystemUnderTest } from '../sut/system.ts';
import { megabytes, round, round3 } from './distribution.ts';
import { readMemory, type Memory } from './process-usage.ts';
import type { RunMetrics } from './run-metrics.ts';
import { measure } from './system-usage.ts';

const SAMPLE_MS = 1000;
/** Samples. */
const MEMORY_EVERY = 5;

/** One second of a run. */
export interface Sample {
  atSeconds: number;
  calls: number;
  /** Cores in use by the system under test. */
  cpu: number | null;
  pssMb: number | null;
  handles: number | null;
}

export interface Sampler {
  samples: Sample[];
  /** The most that was seen. */
  peak: { pssBytes: number; rssBytes: number; handles: number };
  stop(): void;
}

/**
 * Looks at the system once a second until it is stopped.
 * @param onRss is told each time how much of it is resident, in bytes
 */
export function startSampler(
  sut: SystemUnderTest,
  metrics: RunMetrics,
  startedAt: number,
  onRss: (bytes: number) => void,
): Sampler {
  const samples: Sample[] = [];
  const peak = { pssBytes: 0, rssBytes: 0, handles: 0 };
  let lastCpu = measure(sut)?.cpuSeconds;
  let lastAt = performance.now();
  let memory: Memory | undefined;
  const timer = setInterval(() => {
    const now = performance.now();
    const usage = measure(sut);
    if (samples.length % MEMORY_EVERY === MEMORY_EVERY - 1) {
      void readMemory(sut.pids).then((found) => {
        memory = found;
        peak.pssBytes = Math.max(peak.pssBytes, found?.pssBytes ?? 0);
        peak.rssBytes = Math.max(peak.rssBytes, found?.rssBytes ?? 0);
      });
    }
    if (usage) {
      peak.rssBytes = Math.max(peak.rssBytes, usage.rssBytes);
      onRss(usage.rssBytes);
    }
    peak.handles = Math.max(peak.handles, usage?.handles ?? 0);
    samples.push({
      atSeconds: round((now - startedAt) / 1000),
      calls: metrics.calls,
      cpu:
        usage && lastCpu !== undefined
          ? round3((usage.cpuSeconds - lastCpu) / ((now - lastAt) / 1000))
          : null,
      pssMb: memory === undefined ? null : megabytes(memory.pssBytes),
      handles: usage?.handles ?? null,
    });
    lastCpu = usage?.cpuSeconds;
    lastAt = now;
  }, SAMPLE_MS);
  return { samples, peak, stop: () => clearInterval(timer) };
}
