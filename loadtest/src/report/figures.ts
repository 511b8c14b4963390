import type { LoadResult } from '../load-result.ts';
import { median } from '../measure/median.ts';
import { table } from './terminal.ts';

export interface Figure {
  name: string;
  read: (result: LoadResult) => number | null | undefined;
  /** One bad run is enough; otherwise the median of the runs counts. */
  worst?: true;
}

/** The figures by which runs are compared. */
export const FIGURES: readonly Figure[] = [
  { name: 'overhead, later turns, p50 ms', read: (result) => result.overheadLater.p50 },
  { name: 'overhead, later turns, p95 ms', read: (result) => result.overheadLater.p95 },
  { name: 'overhead, first turn, p50 ms', read: (result) => result.overheadFirst.p50 },
  { name: 'connect to greeting p50 ms', read: (result) => result.greeting.p50 },
  { name: 'barge-in to clear p50 ms', read: (result) => result.bargeInWire.p50 },
  { name: 'barge-in to clear p95 ms', read: (result) => result.bargeInWire.p95 },
  { name: '|gap - chunk| p99 ms', read: (result) => result.pacing.p99 },
  { name: 'underruns ms per call-minute', read: (result) => result.underrunMsPerCallMinute },
  { name: 'CPU-seconds per call-minute', read: (result) => result.cpuSecondsPerCallMinute },
  { name: 'memory per call MB', read: (result) => result.memory?.perCallMb },
  {
    name: 'memory, growth in the worst run MB',
    read: ({ memory }) => memory && memory.peakMb - memory.beforeMb,
    worst: true,
  },
  {
    name: 'missing replies, worst run',
    read: (result) => result.counts.missingReplies,
    worst: true,
  },
  {
    name: 'calls refused or lost, worst run',
    read: (result) => result.counts.refused + result.counts.lost,
    worst: true,
  },
  { name: 'reports missing, worst run', read: (result) => result.reports?.missing, worst: true },
  {
    name: 'transcript errors',
    read: (result) => result.truth.invented + result.truth.forgotten,
  },
  { name: 'requests of the model over HTTP/2', read: (result) => result.backend?.llmHttp2Requests },
  { name: 'simulator late p99 ms', read: (result) => result.lateness.p99 },
];

/**
 * Several runs of one load as a table: of each figure the median, the lowest and the highest. Runs in which the
 * simulator was late count only where it was in all of them.
 */
export function spreadTable(results: readonly LoadResult[]): string {
  const valid = results.filter((result) => result.valid);
  const counted = valid.length > 0 ? valid : results;
  const rows = FIGURES.flatMap(({ name, read }) => {
    const values = counted
      .map(read)
      .filter((value) => typeof value === 'number')
      .sort((a, b) => a - b);
    return values.length === 0 ? [] : [[name, ...[median(values)!, values[0]!, values.at(-1)!].map(show)]];
  });
  return table([[`${counted.length} of ${results.length} runs`, 'median', 'lowest', 'highest'], ...rows]);
}

function show(value: number): string {
  return value.toFixed(Math.abs(value) < 1 ? 3 : 1);
}
