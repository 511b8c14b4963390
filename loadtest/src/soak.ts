/** What is left of a system after one cycle of calls, when all of them have ended. */
export interface SoakSample {
  /** Since the beginning. */
  calls: number;
  /** In use after a full collection, where the system can tell; its proportional set size otherwise. Bytes. */
  memoryBytes: number;
  handles: number;
}

export interface SoakVerdict {
  leaks: ('memory' | 'handles')[];
  /** Slope of the cycles that count. */
  bytesPerCall: number;
  handlesPerCall: number;
  /** Cycles that count: the first third fills caches. */
  counted: number;
}

/** Fewer can not tell a leak from a wave. */
export const MIN_SOAK_CYCLES = 6;
/** Less than this a call would take a million calls to be a gigabyte. */
const MAX_BYTES_PER_CALL = 1024;

/**
 * A leak is what grows and does not come back: the least of the last half is above the most of the first half of
 * the cycles that count, and, for memory, the slope is more than a kilobyte a call.
 * @throws RangeError with fewer than `MIN_SOAK_CYCLES` samples
 */
export function judgeSoak(samples: readonly SoakSample[]): SoakVerdict {
  if (samples.length < MIN_SOAK_CYCLES)
    throw new RangeError(`--soak requires at least ${MIN_SOAK_CYCLES} cycles.`);
  const counted = samples.slice(Math.floor(samples.length / 3));
  const middle = Math.floor(counted.length / 2);
  const grows = (read: (sample: SoakSample) => number) =>
    Math.min(...counted.slice(middle).map(read)) > Math.max(...counted.slice(0, middle).map(read));
  const bytesPerCall = slope(counted, (sample) => sample.memoryBytes);
  const leaks: SoakVerdict['leaks'] = [];
  if (grows((sample) => sample.memoryBytes) && bytesPerCall > MAX_BYTES_PER_CALL) leaks.push('memory');
  if (grows((sample) => sample.handles)) leaks.push('handles');
  return {
    leaks,
    bytesPerCall,
    handlesPerCall: slope(counted, (sample) => sample.handles),
    counted: counted.length,
  };
}

/** Least squares over the number of calls. */
function slope(samples: readonly SoakSample[], read: (sample: SoakSample) => number): number {
  const meanCalls = samples.reduce((sum, { calls }) => sum + calls, 0) / samples.length;
  const mean = samples.reduce((sum, sample) => sum + read(sample), 0) / samples.length;
  let above = 0;
  let below = 0;
  for (const sample of samples) {
    above += (sample.calls - meanCalls) * (read(sample) - mean);
    below += (sample.calls - meanCalls) ** 2;
  }
  return below === 0 ? 0 : above / below;
}
