import { performance } from 'node:perf_hooks';
import { sleep } from '@parley/shared/async/timeout';
import type { Backend } from './backend/backend.ts';
import { frameClock } from '@parley/emulators/callers/frame-clock';
import { LoadCallers } from './load-callers.ts';
import type { LoadOptions, Progress } from './load-options.ts';
import { toLoadResult, type LoadResult, type SystemState } from './load-result.ts';
import { collectReports } from './measure/call-reports.ts';
import { CpuWindow } from './measure/cpu-window.ts';
import { readMemory, type Usage } from './measure/process-usage.ts';
import { RunMetrics } from './measure/run-metrics.ts';
import { startSampler } from './measure/sampler.ts';
import { idleCores, measure, settle } from './measure/system-usage.ts';
import { preferSelf } from './prefer-self.ts';
import type { SystemUnderTest } from './sut/system.ts';

/** Growth far beyond what calls need: the run is broken off before the machine goes along. */
const MAX_GROWTH_BYTES = 2 * 2 ** 30;
const IDLE_SAMPLE_MS = 2000;
/** The greetings of the last callers are over by then. */
const LAST_GREETINGS_MS = 3000;

/** Runs one load against one system, and says what it saw. */
export async function runLoad(
  sut: SystemUnderTest,
  backend: Backend | undefined,
  options: LoadOptions,
): Promise<LoadResult> {
  const { signal } = options;
  preferSelf();
  const metrics = new RunMetrics();
  const stop = new AbortController();
  const blowUp = new AbortController();
  const onAbort = () => stop.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  frameClock.onLateness = (ms) => metrics.late(ms, performance.now());
  const before = await look(sut, backend, measure(sut));
  const once = options.steadySeconds === 0;
  const idle = await idleCores(sut, once ? 0 : IDLE_SAMPLE_MS);
  const startedAt = performance.now();
  const sampler = startSampler(sut, metrics, startedAt, (rssBytes) => {
    if (rssBytes - (before.usage?.rssBytes ?? 0) <= (options.maxGrowthBytes ?? MAX_GROWTH_BYTES)) return;
    blowUp.abort();
    stop.abort();
  });
  const cpu = new CpuWindow(sut, options.helperPids ?? []);
  const callers = new LoadCallers({ sut, options, metrics, signal: stop.signal });
  let phase: Progress['phase'] = 'ramp';
  const progress = setInterval(() => options.onProgress?.(progressOf(phase, metrics, startedAt)), 1000);
  const openWindow = () => {
    metrics.openWindow(performance.now());
    cpu.open();
  };
  const closeWindow = () => {
    metrics.closeWindow(performance.now());
    cpu.close();
  };

  try {
    if (once) openWindow();
    await callers.begin(startedAt);
    if (once) {
      phase = 'steady';
      await callers.done();
      closeWindow();
    } else {
      await sleep(Math.min(LAST_GREETINGS_MS, options.steadySeconds * 500), stop.signal).catch(
        () => undefined,
      );
      phase = 'steady';
      openWindow();
      await sleep(options.steadySeconds * 1000, stop.signal).catch(() => undefined);
      closeWindow();
      phase = 'ending';
      stop.abort();
      await callers.done();
    }
  } finally {
    stop.abort();
    await callers.settled();
    clearInterval(progress);
    frameClock.onLateness = undefined;
    signal.removeEventListener('abort', onAbort);
  }

  const reports =
    backend && sut.reports && !signal.aborted
      ? await collectReports(backend, callers.finished, metrics, blowUp.signal)
      : undefined;
  callers.close();
  const usage =
    once || signal.aborted || blowUp.signal.aborted ? measure(sut) : await settle(sut, before.usage);
  sampler.stop();
  return toLoadResult({
    system: sut.name,
    carrier: options.carrier,
    calls: options.calls,
    turns: options.turns,
    mix: options.mix,
    startedAt,
    metrics,
    cpu,
    idleCores: idle,
    sampler,
    finished: callers.finished,
    reports,
    blownUp: blowUp.signal.aborted,
    before,
    after: await look(sut, backend, usage),
  });
}

async function look(
  sut: SystemUnderTest,
  backend: Backend | undefined,
  usage: Usage | undefined,
): Promise<SystemState> {
  return { usage, memory: await readMemory(sut.pids), backend: await backend?.stats() };
}

function progressOf(phase: Progress['phase'], metrics: RunMetrics, startedAt: number): Progress {
  return {
    phase,
    seconds: Math.round((performance.now() - startedAt) / 1000),
    calls: metrics.calls,
    replies: metrics.counts.replies,
    overheadP50: metrics.overheadLater.quantile(0.5),
    overheadP95: metrics.overheadLater.quantile(0.95),
    latenessP99: metrics.lateness.p99,
  };
}
