/** Lengths of calls, drawn with a source of numbers in [0, 1). */
export type Lengths = (random: () => number) => number;

export const exponential =
  (mean: number): Lengths =>
  (random) =>
    -mean * Math.log(1 - random());

export const constant =
  (length: number): Lengths =>
  () =>
    length;

/** Many short calls and a few long ones: log-normal by its mean and its variation (deviation over mean). */
export function logNormal(mean: number, variation: number): Lengths {
  const variance = Math.log(1 + variation ** 2);
  const mu = Math.log(mean) - variance / 2;
  return (random) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.exp(mu + Math.sqrt(variance) * normal);
  };
}

export interface QueueResult {
  calls: number;
  /** Refused: no slot free, and no room to wait. */
  lost: number;
  /** Had to wait at all. */
  waited: number;
  meanWait: number;
  /** Waited longer than `patience`, of all that were let in. */
  waitedLonger: number;
}

/**
 * Calls that arrive at random (Poisson) at `slots`, first come, first served: a fleet of gateways behind one
 * admission. An event at a time, without a clock.
 * @param options.maxWaiting 0 refuses whoever finds no free slot; Infinity lets everybody wait
 */
export function simulateQueue(options: {
  arrivalsPerSecond: number;
  slots: number;
  lengths: Lengths;
  maxWaiting: number;
  calls: number;
  /** Not counted: until the slots have filled. */
  warmUpCalls: number;
  patience?: number;
  random: () => number;
}): QueueResult {
  const { arrivalsPerSecond, slots, lengths, maxWaiting, random, patience = Infinity } = options;
  const interval = exponential(1 / arrivalsPerSecond);
  /** When each slot is free again: a heap, the earliest first. */
  const free = new Float64Array(slots);
  /** Starts of those who wait, in order. */
  const starts: number[] = [];
  let firstWaiting = 0;
  const result: QueueResult = { calls: 0, lost: 0, waited: 0, meanWait: 0, waitedLonger: 0 };
  let waitSum = 0;
  let now = 0;
  for (let call = 0; call < options.warmUpCalls + options.calls; call++) {
    now += interval(random);
    while (firstWaiting < starts.length && starts[firstWaiting]! <= now) firstWaiting++;
    const counts = call >= options.warmUpCalls;
    if (counts) result.calls++;
    const wait = Math.max(0, free[0]! - now);
    if (wait > 0 && starts.length - firstWaiting >= maxWaiting) {
      if (counts) result.lost++;
      continue;
    }
    const start = now + wait;
    if (wait > 0) starts.push(start);
    replaceEarliest(free, start + lengths(random));
    if (!counts) continue;
    waitSum += wait;
    if (wait > 0) result.waited++;
    if (wait > patience) result.waitedLonger++;
  }
  const admitted = result.calls - result.lost;
  result.meanWait = admitted === 0 ? 0 : waitSum / admitted;
  return result;
}

function replaceEarliest(heap: Float64Array, value: number): void {
  let at = 0;
  for (;;) {
    let least = 2 * at + 1;
    if (least >= heap.length) break;
    if (least + 1 < heap.length && heap[least + 1]! < heap[least]!) least++;
    if (heap[least]! >= value) break;
    heap[at] = heap[least]!;
    at = least;
  }
  heap[at] = value;
}
