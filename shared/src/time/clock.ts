/** Time as a parameter: tests hold a `ManualClock`. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never goes back; only differences mean something. */
  monotonic(): number;
  /** Runs `task` once after `ms`. The timer keeps no process alive by itself unless it is the last thing running. */
  setTimeout(task: () => void, ms: number): Timer;
}

/** A pending timer. Cancelling twice, or after it ran, is harmless. */
export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimeout(task, ms) {
    const handle = setTimeout(task, ms);
    return { cancel: () => clearTimeout(handle) };
  },
};
