import type { BackendStats, ReportedCall } from './backend/backend.ts';
import {
  countReports,
  truthOf,
  type FinishedCall,
  type ReportCounts,
  type Truth,
} from './measure/call-reports.ts';
import { coresOf, type CpuWindow } from './measure/cpu-window.ts';
import { megabytes, round, round3, type Summary } from './measure/distribution.ts';
import type { Memory, Usage } from './measure/process-usage.ts';
import type { RunMetrics } from './measure/run-metrics.ts';
import type { Sample, Sampler } from './measure/sampler.ts';

/** Simulators later than this measure themselves. */
export const MAX_LATENESS_P99_MS = 5;

/** Work of others beyond this is measured too. */
const MAX_FOREIGN_CORES = 0.2;

export interface LoadResult {
  system: string;
  carrier: string;
  calls: number;
  turns: number;
  steadySeconds: number;
  mix: string;
  /** Its figures count: the simulator kept its own time. */
  valid: boolean;
  /** It grew so much that the run was broken off. */
  blownUp: boolean;
  notes: string[];
  counts: RunMetrics['counts'];
  failures: Record<string, number>;
  overheadFirst: Summary;
  overheadLater: Summary;
  overheadAfterInterruption: Summary;
  overheadAfterPause: Summary;
  greeting: Summary;
  dial: Summary;
  bargeInWire: Summary;
  bargeInEar: Summary;
  leadAtClear: Summary;
  gap: Summary;
  pacing: Summary;
  chunkMs: Summary;
  underrunMsPerCallMinute: number;
  audioMessages: number;
  lateness: { p50: number; p99: number; max: number };
  callMinutes: number;
  /** While figures counted. */
  callsBegunPerSecond: number;
  /** Of user and system time, less what the idle process takes. */
  cpuSecondsPerCallMinute: number | null;
  cpuCores: number | null;
  memory: {
    beforeMb: number;
    peakMb: number;
    afterMb: number;
    perCallMb: number;
    rssPeakMb: number;
  } | null;
  handles: { before: number; peak: number; after: number } | null;
  simulatorCores: number;
  /** Emulators and Redis. */
  helperCores: number | null;
  /** What else the machine did meanwhile. */
  foreignCores: number | null;
  pauses: { pauseMs: number; pauses: number; cutOffs: number }[];
  ending: Record<string, Summary>;
  truth: Truth;
  reports: ReportCounts | null;
  backend: BackendStats | null;
  samples: Sample[];
  turnsOverTime: { atSeconds: number; overheadMs: number }[];
  /** Sorted, at most a thousand: what curves are drawn from. */
  overheadCurve: number[];
}

/** Everything that was seen of one run. */
export interface Observed {
  system: string;
  carrier: string;
  calls: number;
  turns: number;
  mix: readonly string[];
  startedAt: number;
  metrics: RunMetrics;
  cpu: CpuWindow;
  /** Cores that the idle system takes. */
  idleCores: number;
  sampler: Sampler;
  finished: readonly FinishedCall[];
  /** By session; undefined where the system sends none. */
  reports: ReadonlyMap<string, ReportedCall> | undefined;
  /** It grew so much that the run was broken off. */
  blownUp: boolean;
  before: SystemState;
  after: SystemState;
}

/** The system, and the backend beside it, at one time. */
export interface SystemState {
  usage: Usage | undefined;
  memory: Memory | undefined;
  backend: BackendStats | undefined;
}

/** Makes figures of what was seen, and says whether they count. */
export function toLoadResult(observed: Observed): LoadResult {
  const { metrics, cpu, before, after, finished, reports } = observed;
  const { lateness } = metrics;
  const seconds = metrics.windowMs / 1000;
  const foreignCores = coresOf(cpu.foreignSeconds, seconds);
  const cpuSeconds =
    cpu.systemSeconds === null ? null : Math.max(0, cpu.systemSeconds - observed.idleCores * seconds);
  return {
    system: observed.system,
    carrier: observed.carrier,
    calls: observed.calls,
    turns: observed.turns,
    steadySeconds: round(seconds),
    mix: [...new Set(observed.mix)].join(','),
    valid: lateness.p99 <= MAX_LATENESS_P99_MS && (foreignCores ?? 0) <= MAX_FOREIGN_CORES,
    blownUp: observed.blownUp,
    notes: notesOn(observed, foreignCores),
    counts: metrics.counts,
    failures: Object.fromEntries(metrics.failures),
    ...delaysOf(metrics),
    underrunMsPerCallMinute: round(metrics.underrunMs / Math.max(0.01, metrics.allCallMinutes)),
    audioMessages: metrics.messages,
    lateness: { p50: round(lateness.p50), p99: round(lateness.p99), max: round(lateness.max) },
    callMinutes: round(metrics.callMinutes),
    callsBegunPerSecond: round(metrics.begun / seconds),
    cpuSecondsPerCallMinute:
      cpuSeconds === null || metrics.callMinutes < 0.1 ? null : round3(cpuSeconds / metrics.callMinutes),
    cpuCores: coresOf(cpuSeconds, seconds),
    memory: memoryOf(observed),
    handles:
      before.usage && after.usage
        ? { before: before.usage.handles, peak: observed.sampler.peak.handles, after: after.usage.handles }
        : null,
    simulatorCores: round3(cpu.ownSeconds / seconds),
    helperCores: coresOf(cpu.helperSeconds, seconds),
    foreignCores,
    pauses: [...metrics.pausesByMs].map(([pauseMs, one]) => ({ pauseMs, ...one })),
    ending: Object.fromEntries([...metrics.ending].map(([how, one]) => [how, one.summary()])),
    truth: truthOf(finished, reports),
    reports: reports ? countReports(finished, reports) : null,
    backend: before.backend && after.backend ? difference(after.backend, before.backend) : null,
    samples: observed.sampler.samples,
    turnsOverTime: metrics.turnsOverTime.map(({ atMs, overheadMs }) => ({
      atSeconds: round((atMs - observed.startedAt) / 1000),
      overheadMs: round(overheadMs),
    })),
    overheadCurve: curveOf(metrics.overheadLater.values()),
  };
}

function delaysOf(metrics: RunMetrics) {
  return {
    overheadFirst: metrics.overheadFirst.summary(),
    overheadLater: metrics.overheadLater.summary(),
    overheadAfterInterruption: metrics.overheadAfterInterruption.summary(),
    overheadAfterPause: metrics.overheadAfterPause.summary(),
    greeting: metrics.greeting.summary(),
    dial: metrics.dial.summary(),
    bargeInWire: metrics.bargeInWire.summary(),
    bargeInEar: metrics.bargeInEar.summary(),
    leadAtClear: metrics.leadAtClear.summary(),
    gap: metrics.gap.summary(),
    pacing: metrics.pacing.summary(),
    chunkMs: metrics.chunk.summary(),
  };
}

/** What a reader must know before they believe the figures. */
function notesOn(observed: Observed, foreignCores: number | null): string[] {
  const { finished, reports, metrics, after } = observed;
  const notes: string[] = [];
  if (observed.blownUp)
    notes.push(
      `THE SYSTEM GREW TOO LARGE (${megabytes(observed.sampler.peak.rssBytes)} MB): the run was stopped.`,
    );
  const unreported = reports ? finished.filter((call) => !reports.has(call.sessionId)) : [];
  if (unreported.length > 0)
    notes.push(
      `No report came of ${unreported
        .slice(0, 3)
        .map((call) => `${call.sessionId} (${call.hungUp ?? 'lost'})`)
        .join(', ')}${unreported.length > 3 ? ' and others' : ''}.`,
    );
  if (metrics.lateness.p99 > MAX_LATENESS_P99_MS)
    notes.push(
      `The simulator itself was late (p99 ${metrics.lateness.p99.toFixed(1)} ms): do not use these figures. Use fewer calls or a quieter machine.`,
    );
  if (after.backend && after.backend.lateP99Ms > MAX_LATENESS_P99_MS)
    notes.push(
      `The emulated providers were late (p99 ${after.backend.lateP99Ms.toFixed(1)} ms): the overhead is overstated by as much.`,
    );
  if (foreignCores !== null && foreignCores > MAX_FOREIGN_CORES)
    notes.push(
      `Other processes used ${foreignCores.toFixed(1)} cores: do not use these figures. Use a quieter machine.`,
    );
  return notes;
}

function memoryOf({ before, after, sampler, calls }: Observed): LoadResult['memory'] {
  if (!before.memory || !after.memory) return null;
  const { peak } = sampler;
  return {
    beforeMb: megabytes(before.memory.pssBytes),
    peakMb: megabytes(peak.pssBytes),
    afterMb: megabytes(after.memory.pssBytes),
    perCallMb: round3((peak.pssBytes - before.memory.pssBytes) / 2 ** 20 / calls),
    rssPeakMb: megabytes(peak.rssBytes),
  };
}

const CURVE_POINTS = 1000;

function curveOf(sorted: ArrayLike<number>): number[] {
  const points = Math.min(CURVE_POINTS, sorted.length);
  return Array.from({ length: points }, (_, i) => round(sorted[Math.floor((i * sorted.length) / points)]!));
}
function difference(after: BackendStats, before: BackendStats): BackendStats {
  const totals: (keyof BackendStats)[] = [
    'llmRequests',
    'llmHttp2Requests',
    'llmAborted',
    'llmTokensSpared',
    'sttConnections',
    'ttsContexts',
    'redeemed',
    'events',
  ];
  const result = { ...after };
  for (const name of totals) result[name] = after[name] - before[name];
  return result;
}
