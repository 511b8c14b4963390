import { randomUUID } from 'node:crypto';
import { setPriority } from 'node:os';
import { performance } from 'node:perf_hooks';
import { sleep } from '@parley/shared/async/timeout';
import type { Backend, BackendStats, ProviderDelays, ReportedCall } from './backend/backend.ts';
import { CarrierLine } from './callers/carrier-line.ts';
import { frameClock } from './callers/frame-clock.ts';
import { CallEar, runCall } from './callers/load-caller.ts';
import { seededRandom } from './emulators/delays.ts';
import { round, type Summary } from './measure/distribution.ts';
import {
  machineCpuSeconds,
  readMemory,
  readUsage,
  type Memory,
  type Usage,
} from './measure/process-usage.ts';
import { RunMetrics } from './measure/run-metrics.ts';
import { compareTranscript, heardWords } from './measure/truth.ts';
import {
  conversation as makeConversation,
  vocabulary,
  type ConversationName,
  type HangUp,
} from './scenario/conversation.ts';
import type { CallerSpeech } from './speech/caller-speech.ts';
import type { SystemUnderTest } from './sut/system.ts';

export interface LoadOptions {
  carrier: 'plivo' | 'twilio' | 'telnyx';
  /** Calls at a time. */
  calls: number;
  /** Questions in one call. */
  turns: number;
  /** New calls a second while the load builds up. */
  rampPerSecond: number;
  /** How long figures count; callers that are through call again. 0: every caller calls once, and everything counts. */
  steadySeconds: number;
  mix: readonly ConversationName[];
  /** How many callers at most keep what they heard, to be compared with the transcript afterwards. */
  listeners: number;
  delays: ProviderDelays;
  speech: CallerSpeech;
  /** Whose CPU time is shown as that of emulators and the like. */
  helperPids?: readonly number[];
  /** Called every second. */
  onProgress?: (progress: Progress) => void;
  signal: AbortSignal;
}

export interface Progress {
  phase: 'ramp' | 'steady' | 'ending';
  seconds: number;
  calls: number;
  replies: number;
  overheadP50: number;
  overheadP95: number;
  latenessP99: number;
}

/** One second of a run. */
export interface Sample {
  atSeconds: number;
  calls: number;
  /** Cores in use by the system under test. */
  cpu: number | null;
  pssMb: number | null;
  handles: number | null;
}

/** Simulators later than this measure themselves. */
export const MAX_LATENESS_P99_MS = 5;

export interface LoadResult {
  system: string;
  carrier: string;
  calls: number;
  turns: number;
  steadySeconds: number;
  mix: string;
  /** Its figures count: the simulator kept its own time. */
  valid: boolean;
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
  truth: {
    calls: number;
    invented: number;
    forgotten: number;
    /** Turns that the transcript calls interrupted. */
    interruptedTurns: number;
    /** Replies heard, and how many there should have been. */
    replies: number;
    expectedReplies: number;
    examples: string[];
  };
  reports: { expected: number; missing: number; repeated: number } | null;
  backend: BackendStats | null;
  samples: Sample[];
  turnsOverTime: { atSeconds: number; overheadMs: number }[];
  /** Sorted, at most a thousand: what curves are drawn from. */
  overheadCurve: number[];
}

/** Work of others beyond this is measured too. */
const MAX_FOREIGN_CORES = 0.2;
/** Half-open lines are let go after this, or their sockets would pile up here. */
const HALF_OPEN_MS = 15_000;
const SETTLE_MS = 15_000;
/** A gateway sends a report again after half a minute, where it was not confirmed. */
const WAIT_FOR_REPORTS_MS = 45_000;
const SAMPLE_MS = 1000;
/** Samples. */
const MEMORY_EVERY = 5;
const IDLE_SAMPLE_MS = 2000;

interface FinishedCall {
  sessionId: string;
  conversation: ConversationName;
  expected: string[];
  completed: boolean;
  hungUp: HangUp | undefined;
  endedAt: number;
  heard: Uint8Array | undefined;
}

/** Runs one load against one system, and says what it saw. */
export async function runLoad(
  sut: SystemUnderTest,
  backend: Backend | undefined,
  options: LoadOptions,
): Promise<LoadResult> {
  const { carrier, delays, speech, signal } = options;
  preferSelf();
  const once = options.steadySeconds === 0;
  const metrics = new RunMetrics();
  const finished: FinishedCall[] = [];
  const stop = new AbortController();
  const onAbort = () => stop.abort();
  signal.addEventListener('abort', onAbort, { once: true });
  frameClock.onLateness = (ms) => metrics.late(ms, performance.now());
  const before = measure(sut);
  const memoryBefore = await readMemory(sut.pids);
  const statsBefore = await backend?.stats();
  const idle = await idleCores(sut, once ? 0 : IDLE_SAMPLE_MS);
  const startedAt = performance.now();
  const samples: Sample[] = [];
  const sampler = startSampler(sut, metrics, startedAt, samples);
  let phase: Progress['phase'] = 'ramp';
  const progress = setInterval(() => {
    options.onProgress?.({
      phase,
      seconds: Math.round((performance.now() - startedAt) / 1000),
      calls: metrics.calls,
      replies: metrics.counts.replies,
      overheadP50: metrics.overheadLater.quantile(0.5),
      overheadP95: metrics.overheadLater.quantile(0.95),
      latenessP99: metrics.lateness.p99,
    });
  }, 1000);

  let cpuFrom: Usage | undefined;
  let cpuTo: Usage | undefined;
  const helpers = () => readUsage(options.helperPids ?? [])?.cpuSeconds;
  let helpersFrom: number | undefined;
  let helpersTo: number | undefined;
  let machineFrom: number | undefined;
  let machineTo: number | undefined;
  let ownFrom = process.cpuUsage();
  let ownTo = ownFrom;
  const letGo = new Set<NodeJS.Timeout>();
  const frozen = new Set<CarrierLine>();

  /** CPU time of the machine in the window that none of our processes used. */
  function foreignSeconds(): number | null {
    if (machineFrom === undefined || machineTo === undefined || !cpuFrom || !cpuTo) return null;
    const ours =
      cpuTo.cpuSeconds -
      cpuFrom.cpuSeconds +
      (ownTo.user + ownTo.system) / 1e6 +
      (helpersTo ?? 0) -
      (helpersFrom ?? 0);
    return Math.max(0, machineTo - machineFrom - ours);
  }

  /** One caller: dials, talks, hangs up, and again while the run lasts. */
  async function caller(number: number): Promise<void> {
    const random = seededRandom(number + 1);
    for (let call = 0; !stop.signal.aborted; call++) {
      const name = options.mix[(number + call) % options.mix.length]!;
      const talk = makeConversation(name, options.turns, number + call);
      const ear = new CallEar(metrics);
      metrics.counts.dialled++;
      const askedAt = performance.now();
      const destination = await sut.dial({ conversation: name, carrier, variant: number + call });
      if (stop.signal.aborted) return;
      const dialledAt = performance.now();
      if (metrics.inWindow(dialledAt)) metrics.dial.add(dialledAt - askedAt);
      let line: CarrierLine;
      try {
        line = await CarrierLine.open({
          url: destination.url,
          carrier,
          ids: {
            callId: randomUUID(),
            streamId: randomUUID(),
            accountId: 'MALOADTEST',
            from: '+14155550100',
            to: '+14155550199',
            sequence: 0,
          },
          headers: destination.headers ?? {},
          ca: destination.ca,
          events: ear,
          keepHeard: number < options.listeners,
        });
      } catch (error) {
        metrics.counts.refused++;
        metrics.failed(error instanceof Error ? error.message : String(error));
        if (once) return;
        await sleep(1000, stop.signal).catch(() => undefined);
        continue;
      }
      metrics.counts.answered++;
      metrics.callBegan(performance.now());
      const result = await runCall({
        line,
        ear,
        conversation: talk,
        speech,
        delays,
        metrics,
        random,
        signal: stop.signal,
      });
      metrics.callEnded(performance.now());
      if (result.completed) metrics.counts.completed++;
      if (!result.hungUp) {
        metrics.counts.lost++;
        const { code, reason } = await line.closed;
        metrics.failed(`closed by the far end: ${code} ${reason}`.trim());
      }
      if (line.firstAgentVoiceAt > 0 && metrics.inWindow(line.firstAgentVoiceAt))
        metrics.greeting.add(line.firstAgentVoiceAt - dialledAt - delays.ttsMs);
      if (result.hungUp === 'half_open') {
        frozen.add(line);
        const timer = setTimeout(() => {
          letGo.delete(timer);
          frozen.delete(line);
          line.vanish();
        }, HALF_OPEN_MS);
        letGo.add(timer);
      }
      finished.push({
        sessionId: destination.sessionId,
        conversation: name,
        expected: result.expected,
        completed: result.completed,
        hungUp: result.hungUp,
        endedAt: result.endedAt,
        heard: number < options.listeners ? line.heardAudio() : undefined,
      });
      if (once) return;
    }
  }

  const openWindow = () => {
    metrics.openWindow(performance.now());
    cpuFrom = measure(sut);
    ownFrom = process.cpuUsage();
    helpersFrom = helpers();
    machineFrom = machineBusy();
  };
  const closeWindow = () => {
    metrics.closeWindow(performance.now());
    cpuTo = measure(sut);
    ownTo = process.cpuUsage(ownFrom);
    helpersTo = helpers();
    machineTo = machineBusy();
  };

  const callers: Promise<void>[] = [];
  const notes: string[] = [];
  try {
    if (once) openWindow();
    for (let number = 0; number < options.calls && !stop.signal.aborted; number++) {
      const due = startedAt + (number * 1000) / options.rampPerSecond;
      if (due > performance.now()) await sleep(due - performance.now());
      callers.push(caller(number));
    }
    if (once) {
      phase = 'steady';
      await Promise.all(callers);
      closeWindow();
    } else {
      // Greetings of the last ones are over then.
      await sleep(Math.min(3000, options.steadySeconds * 500), stop.signal).catch(() => undefined);
      phase = 'steady';
      openWindow();
      await sleep(options.steadySeconds * 1000, stop.signal).catch(() => undefined);
      closeWindow();
      phase = 'ending';
      stop.abort();
      await Promise.all(callers);
    }
  } finally {
    stop.abort();
    await Promise.allSettled(callers);
    clearInterval(progress);
    frameClock.onLateness = undefined;
    signal.removeEventListener('abort', onAbort);
  }

  const reports =
    backend && sut.reports && !signal.aborted ? await collectReports(backend, finished, metrics) : undefined;
  for (const timer of letGo) clearTimeout(timer);
  for (const line of frozen) line.vanish();
  const after = once || signal.aborted ? measure(sut) : await settle(sut, before);
  sampler.stop();
  const memoryAfter = await readMemory(sut.pids);
  const statsAfter = await backend?.stats();

  const unreported = reports ? finished.filter((call) => !reports.has(call.sessionId)) : [];
  if (unreported.length > 0)
    notes.push(
      `No report came of ${unreported
        .slice(0, 3)
        .map((call) => `${call.sessionId} (${call.hungUp ?? 'lost'})`)
        .join(', ')}${unreported.length > 3 ? ' and others' : ''}.`,
    );
  const lateness = metrics.lateness;
  if (lateness.p99 > MAX_LATENESS_P99_MS)
    notes.push(
      `The simulator was late itself (p99 ${lateness.p99.toFixed(1)} ms): these figures do not count. Use fewer calls or a quieter machine.`,
    );
  if (statsAfter && statsAfter.lateP99Ms > MAX_LATENESS_P99_MS)
    notes.push(
      `The emulated providers were late (p99 ${statsAfter.lateP99Ms.toFixed(1)} ms): overhead is overstated by that.`,
    );
  const seconds = metrics.windowMs / 1000;
  const foreign = foreignSeconds();
  if (foreign !== null && foreign / seconds > MAX_FOREIGN_CORES)
    notes.push(
      `Other processes used ${(foreign / seconds).toFixed(1)} cores: these figures do not count. Use a quieter machine.`,
    );
  const cpu = cpuFrom && cpuTo ? Math.max(0, cpuTo.cpuSeconds - cpuFrom.cpuSeconds - idle * seconds) : null;
  const peak = sampler.peak;
  const later = metrics.overheadLater.values();
  return {
    system: sut.name,
    carrier,
    calls: options.calls,
    turns: options.turns,
    steadySeconds: round(seconds),
    mix: [...new Set(options.mix)].join(','),
    valid:
      lateness.p99 <= MAX_LATENESS_P99_MS && (foreign === null || foreign / seconds <= MAX_FOREIGN_CORES),
    notes,
    counts: metrics.counts,
    failures: Object.fromEntries(metrics.failures),
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
    underrunMsPerCallMinute: round(metrics.underrunMs / Math.max(0.01, metrics.allCallMinutes)),
    audioMessages: metrics.messages,
    lateness: { p50: round(lateness.p50), p99: round(lateness.p99), max: round(lateness.max) },
    callMinutes: round(metrics.callMinutes),
    cpuSecondsPerCallMinute:
      cpu === null || metrics.callMinutes < 0.1 ? null : round3(cpu / metrics.callMinutes),
    cpuCores: cpu === null ? null : round3(cpu / seconds),
    memory:
      memoryBefore === undefined || memoryAfter === undefined
        ? null
        : {
            beforeMb: megabytes(memoryBefore.pssBytes),
            peakMb: megabytes(peak.pssBytes),
            afterMb: megabytes(memoryAfter.pssBytes),
            perCallMb: round3((peak.pssBytes - memoryBefore.pssBytes) / 2 ** 20 / options.calls),
            rssPeakMb: megabytes(peak.rssBytes),
          },
    handles: before && after ? { before: before.handles, peak: peak.handles, after: after.handles } : null,
    simulatorCores: round3((ownTo.user + ownTo.system) / 1e6 / seconds),
    helperCores:
      helpersFrom === undefined || helpersTo === undefined
        ? null
        : round3((helpersTo - helpersFrom) / seconds),
    foreignCores: foreign === null ? null : round3(foreign / seconds),
    pauses: [...metrics.pausesByMs].map(([pauseMs, one]) => ({ pauseMs, ...one })),
    ending: Object.fromEntries([...metrics.ending].map(([how, one]) => [how, one.summary()])),
    truth: truthOf(finished, reports),
    reports: reports ? countReports(finished, reports) : null,
    backend: statsBefore && statsAfter ? difference(statsAfter, statsBefore) : null,
    samples,
    turnsOverTime: metrics.turnsOverTime.map(({ atMs, overheadMs }) => ({
      atSeconds: round((atMs - startedAt) / 1000),
      overheadMs: round(overheadMs),
    })),
    overheadCurve: Array.from({ length: Math.min(1000, later.length) }, (_, i) =>
      round(later[Math.floor((i * later.length) / Math.min(1000, later.length))]!),
    ),
  };
}

/**
 * The simulator shares its core with the emulators and must keep its own time. Only now, as everything it started by then
 * would have inherited it; and only where it is allowed.
 */
function preferSelf(): void {
  try {
    setPriority(-10);
  } catch {
    // Not without privileges: the lateness that is shown beside the figures tells whether it matters.
  }
}

/** Seconds that all cores together were busy so far. */
function machineBusy(): number | undefined {
  const cores = machineCpuSeconds();
  return cores.length === 0 ? undefined : cores.reduce((sum, core) => sum + core, 0);
}

function measure(sut: SystemUnderTest): Usage | undefined {
  return sut.pids.length === 0 ? undefined : readUsage(sut.pids);
}

/** What the system takes of a core while nobody calls. */
async function idleCores(sut: SystemUnderTest, ms: number): Promise<number> {
  const from = measure(sut);
  if (!from || ms === 0) return 0;
  await sleep(ms);
  const to = measure(sut);
  return to ? Math.max(0, (to.cpuSeconds - from.cpuSeconds) / (ms / 1000)) : 0;
}

function startSampler(sut: SystemUnderTest, metrics: RunMetrics, startedAt: number, samples: Sample[]) {
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
  return { peak, stop: () => clearInterval(timer) };
}

/** Waits for memory and handles to come back to where they were, and says where they stopped. */
async function settle(sut: SystemUnderTest, before: Usage | undefined): Promise<Usage | undefined> {
  const until = performance.now() + SETTLE_MS;
  for (;;) {
    const now = measure(sut);
    if (!now || !before || now.handles <= before.handles || performance.now() > until) return now;
    await sleep(1000);
  }
}

async function collectReports(
  backend: Backend,
  finished: readonly FinishedCall[],
  metrics: RunMetrics,
): Promise<Map<string, ReportedCall>> {
  await backend.reported(
    finished.map((call) => call.sessionId),
    WAIT_FOR_REPORTS_MS,
  );
  const reports = new Map((await backend.takeReports()).map((report) => [report.sessionId, report]));
  for (const call of finished) {
    const report = reports.get(call.sessionId);
    if (report && call.hungUp) metrics.ended(call.hungUp, Math.max(0, report.endedAt - call.endedAt));
  }
  return reports;
}

function countReports(
  finished: readonly FinishedCall[],
  reports: ReadonlyMap<string, ReportedCall>,
): NonNullable<LoadResult['reports']> {
  const found = finished.map((call) => reports.get(call.sessionId));
  return {
    expected: finished.length,
    missing: found.filter((report) => !report).length,
    repeated: found.filter((report) => report && report.terminalEvents > 1).length,
  };
}

const MAX_EXAMPLES = 5;
/** Each reply begins with one of these, and has it nowhere else. */
const FIRST_WORDS = new Set(['the', 'our', 'sorry']);

function truthOf(
  finished: readonly FinishedCall[],
  reports: ReadonlyMap<string, ReportedCall> | undefined,
): LoadResult['truth'] {
  const words = vocabulary();
  const truth: LoadResult['truth'] = {
    calls: 0,
    invented: 0,
    forgotten: 0,
    interruptedTurns: 0,
    replies: 0,
    expectedReplies: 0,
    examples: [],
  };
  for (const call of finished) {
    if (!call.heard || call.heard.length === 0) continue;
    const heard = heardWords(call.heard, words);
    if (call.completed) {
      truth.replies += heard.filter(({ word }) => FIRST_WORDS.has(word)).length;
      truth.expectedReplies += call.expected.length;
    }
    const report = reports?.get(call.sessionId)?.report;
    // Where the line was cut, the far end may well have played on: nobody can say what was heard.
    if (!report || call.hungUp === 'half_open') continue;
    truth.calls++;
    const said = report.turns.filter((turn) => turn.role === 'agent');
    truth.interruptedTurns += said.filter((turn) => turn.interrupted).length;
    const errors = compareTranscript(
      heard,
      said.map((turn) => turn.text),
    );
    truth.invented += errors.invented.length;
    truth.forgotten += errors.forgotten.length;
    if (errors.invented.length + errors.forgotten.length > 0 && truth.examples.length < MAX_EXAMPLES)
      truth.examples.push(
        `${call.conversation}: heard "${heard.map((one) => one.word + (one.partial ? '~' : '')).join(' ')}", transcript "${said.map((turn) => turn.text).join(' | ')}"`,
      );
  }
  return truth;
}

function difference(after: BackendStats, before: BackendStats): BackendStats {
  const totals: (keyof BackendStats)[] = [
    'llmRequests',
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

const megabytes = (bytes: number) => round(bytes / 2 ** 20);
const round3 = (value: number) => Math.round(value * 1000) / 1000;
