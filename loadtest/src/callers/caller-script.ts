import { performance } from 'node:perf_hooks';
import { sleep } from '@parley/shared/async/timeout';
import type { CarrierLine } from './carrier-line.ts';

/** What a scripted caller does next. */
export type CallerStep =
  /** Waits until the agent has finished, then speaks. */
  | { say: Uint8Array; label: string }
  /** Waits until the agent has been speaking for `afterMs`, then speaks over it. */
  | { interrupt: Uint8Array; afterMs: number; label: string }
  | { press: string }
  | { pauseMs: number }
  | { hangUp: true };

export interface CallerOptions {
  /** The agent has finished when nothing was heard of it for this long. */
  agentPauseMs?: number;
  /** It is waited for at most so long. */
  agentTimeoutMs?: number;
  signal?: AbortSignal;
  onStep?: (step: CallerStep) => void;
}

const POLL_MS = 20;

/**
 * Plays a caller who listens before speaking. Ends when the steps are done and the agent has had the last word, or
 * when the line is closed.
 * @returns whether all steps were done before the line closed
 */
export async function runCaller(
  line: CarrierLine,
  steps: readonly CallerStep[],
  options: CallerOptions = {},
): Promise<boolean> {
  const pauseMs = options.agentPauseMs ?? 900;
  const timeoutMs = options.agentTimeoutMs ?? 15_000;
  let open = true;
  void line.closed.then(() => (open = false));

  const waitFor = async (condition: () => boolean, limitMs: number): Promise<void> => {
    const until = performance.now() + limitMs;
    while (open && performance.now() < until && !condition()) await sleep(POLL_MS, options.signal);
  };
  const heardSince = (since: number) => line.lastPlayedVoiceAt > since;
  /** The agent speaks (after `since`) and stops. */
  const agentFinishes = async (since: number): Promise<void> => {
    await waitFor(() => heardSince(since), timeoutMs);
    await waitFor(() => line.bufferedMs === 0 && !line.agentHeardWithin(pauseMs), timeoutMs * 4);
  };

  let since = 0;
  for (const step of steps) {
    if (!open) return false;
    if ('say' in step) {
      await agentFinishes(since);
      if (!open) return false;
      options.onStep?.(step);
      await line.say(step.say);
      since = performance.now();
    } else if ('interrupt' in step) {
      await waitFor(() => heardSince(since), timeoutMs);
      await sleep(step.afterMs, options.signal);
      if (!open) return false;
      options.onStep?.(step);
      await line.say(step.interrupt);
      // What the agent still says of the old reply is not the answer.
      since = performance.now() + 300;
    } else if ('press' in step) {
      await agentFinishes(since);
      if (!open) return false;
      options.onStep?.(step);
      line.press(step.press);
      since = performance.now();
    } else if ('pauseMs' in step) await sleep(step.pauseMs, options.signal);
    else {
      await agentFinishes(since);
      options.onStep?.(step);
      line.hangUp();
      return true;
    }
  }
  return open;
}
