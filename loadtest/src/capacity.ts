import type { LoadResult } from './load-result.ts';

export const MAX_OVERHEAD_P95_MS = 50;
export const MAX_PACING_P99_MS = 10;

/** Why a load was not served well; empty when it was. */
export function shortcomings(result: LoadResult): string[] {
  const why: string[] = [];
  const overhead = result.overheadLater.p95;
  if (overhead === undefined) why.push('no turn was measured');
  else if (overhead > MAX_OVERHEAD_P95_MS) why.push(`overhead p95 ${overhead} ms`);
  const pacing = result.pacing.p99;
  if (pacing !== undefined && pacing > MAX_PACING_P99_MS) why.push(`pacing p99 ${pacing} ms`);
  if (result.counts.missingReplies > 0) why.push(`${result.counts.missingReplies} replies missing`);
  if (result.counts.lost > 0) why.push(`${result.counts.lost} calls lost`);
  if (result.counts.refused > 0) why.push(`${result.counts.refused} calls refused`);
  return why;
}

export interface Capacity {
  /** The largest number of calls that was served well; 0 when even the smallest was not. */
  calls: number;
  /** What kept more from being served. */
  because: string[];
  /** The simulator gave out before the system did: the system may do more. */
  limitedByInstrument: boolean;
  runs: LoadResult[];
}

/** Steps up until a load is not served well, then halves the gap until it is no wider than `resolution`. */
export async function findCapacity(
  run: (calls: number) => Promise<LoadResult>,
  options: {
    from: number;
    step: number;
    resolution: number;
    max: number;
    onRun?: (result: LoadResult) => void;
  },
): Promise<Capacity> {
  const runs: LoadResult[] = [];
  let good = 0;
  let bad: number | undefined;
  let because: string[] = [];
  let limitedByInstrument = false;
  let calls = options.from;
  while (calls <= options.max && calls > 0) {
    let result = await run(calls);
    // Somebody else's burst on the machine is no verdict.
    if (!result.valid) result = await run(calls);
    runs.push(result);
    options.onRun?.(result);
    const why = shortcomings(result);
    if (!result.valid) {
      limitedByInstrument = true;
      because = ['the simulator itself was late'];
    } else if (why.length === 0) good = calls;
    else {
      limitedByInstrument = false;
      because = why;
    }
    if (calls !== good) bad = calls;
    if (bad === undefined) calls += options.step;
    else if (bad - good <= options.resolution) break;
    else calls = Math.round((good + bad) / 2);
  }
  return { calls: good, because, limitedByInstrument, runs };
}
