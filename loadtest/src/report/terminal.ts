import type { Summary } from '../measure/distribution.ts';
import type { LoadResult } from '../load-result.ts';
import type { Progress } from '../load-options.ts';

/** One line, rewritten every second where the terminal allows it. */
export function printProgress(progress: Progress, label: string): void {
  const overhead = Number.isNaN(progress.overheadP50)
    ? ''
    : `  overhead p50 ${progress.overheadP50.toFixed(1)} p95 ${progress.overheadP95.toFixed(1)} ms`;
  const line = `${label}  ${progress.phase} ${progress.seconds} s  calls ${progress.calls}  replies ${progress.replies}${overhead}  simulator late p99 ${progress.latenessP99.toFixed(1)} ms`;
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[2K${line}`);
  else if (progress.seconds % 10 === 0) process.stderr.write(`${line}\n`);
}

export function endProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[2K');
}

/** Rows of a table: what, and one column for each result. */
export function resultTable(results: readonly LoadResult[]): string {
  const rows: [string, ...string[]][] = [
    ['', ...results.map((result) => `${result.system}, ${result.calls} ${plural(result.calls, 'call')}`)],
    row('carrier; counted for', (r) => `${r.carrier}; ${r.steadySeconds} s`),
    row('questions in a call; calls begun a second', (r) => `${r.turns}; ${figure(r.callsBegunPerSecond)}`),
    row('overhead, later turns, p50 / p95 / p99 ms', (r) => triple(r.overheadLater)),
    row('overhead, first turn, p50 / p95 / p99 ms', (r) => triple(r.overheadFirst)),
    row('overhead after an interruption', (r) => triple(r.overheadAfterInterruption)),
    row('overhead after a pause of the caller', (r) => triple(r.overheadAfterPause)),
    row('connect to greeting, less the voice', (r) => triple(r.greeting)),
    row('session made, ms', (r) => triple(r.dial)),
    row('barge-in to clear on the wire', (r) => triple(r.bargeInWire)),
    row('barge-in to silence in the ear', (r) => triple(r.bargeInEar)),
    row('agent audio left at clear, ms', (r) => triple(r.leadAtClear)),
    row('|gap - chunk| p50 / p95 / p99 ms', (r) => triple(r.pacing)),
    row('chunk, median ms', (r) => figure(r.chunkMs.p50)),
    row('underruns, ms per call-minute', (r) => figure(r.underrunMsPerCallMinute)),
    row('CPU-seconds per call-minute', (r) => figure(r.cpuSecondsPerCallMinute, 3)),
    row('CPU cores', (r) => figure(r.cpuCores)),
    row('memory per call (PSS), MB', (r) => figure(r.memory?.perCallMb)),
    row('memory before / peak / after, MB', (r) =>
      r.memory ? `${r.memory.beforeMb} / ${r.memory.peakMb} / ${r.memory.afterMb}` : '-',
    ),
    row('handles before / peak / after', (r) =>
      r.handles ? `${r.handles.before} / ${r.handles.peak} / ${r.handles.after}` : '-',
    ),
    row('questions / replies / missing', (r) =>
      [r.counts.questions, r.counts.replies, r.counts.missingReplies].join(' / '),
    ),
    row('replies heard / due (where listened)', (r) => `${r.truth.replies} / ${r.truth.expectedReplies}`),
    row('calls answered / refused / lost', (r) =>
      [r.counts.answered, r.counts.refused, r.counts.lost].join(' / '),
    ),
    row('interruptions / not stopped', (r) => `${r.counts.interruptions} / ${r.counts.notStopped}`),
    row('murmurs / stopped for good', (r) => `${r.counts.murmurs} / ${r.counts.falseInterruptions}`),
    row('pauses / cut off in them', (r) =>
      r.pauses.length === 0
        ? '-'
        : r.pauses
            .toSorted((a, b) => a.pauseMs - b.pauseMs)
            .map((one) => `${one.pauseMs} ms: ${one.cutOffs}/${one.pauses}`)
            .join(', '),
    ),
    row('transcript: invented / forgotten words', (r) =>
      r.truth.calls === 0
        ? '-'
        : `${r.truth.invented} / ${r.truth.forgotten} (${r.truth.interruptedTurns} interrupted turns)`,
    ),
    row('reports missing / repeated', (r) =>
      r.reports ? `${r.reports.missing} / ${r.reports.repeated} of ${r.reports.expected}` : '-',
    ),
    row('hang-up to report, p50 / p95 / p99 ms', (r) =>
      Object.entries(r.ending)
        .map(([how, one]) => `${how} ${triple(one)}`)
        .join('; '),
    ),
    row(
      'simulator late, p50 / p99 / max ms',
      (r) => `${r.lateness.p50} / ${r.lateness.p99} / ${r.lateness.max}${r.valid ? '' : '  DOES NOT COUNT'}`,
    ),
    row('emulators late, p99 ms', (r) => figure(r.backend?.lateP99Ms)),
    row('simulator / emulators / others, cores', (r) =>
      [r.simulatorCores, r.helperCores, r.foreignCores].map((cores) => figure(cores, 2)).join(' / '),
    ),
  ];
  function row(name: string, value: (result: LoadResult) => string): [string, ...string[]] {
    return [name, ...results.map(value)];
  }
  // What did not happen in any of the runs needs no line.
  return table(rows.filter(([name, ...values]) => name === '' || values.some((value) => !isEmpty(value))));
}

export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function triple(summary: Summary | undefined): string {
  if (!summary || summary.count === 0) return '-';
  return [summary.p50, summary.p95, summary.p99].map((value) => figure(value)).join(' / ');
}

function figure(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined ? '-' : value.toFixed(digits);
}

const isEmpty = (value: string) => value === '-' || value === '' || value === '0 / 0';
const plural = (count: number, word: string) => (count === 1 ? word : `${word}s`);
