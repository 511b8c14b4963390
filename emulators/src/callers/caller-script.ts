import { performance } from 'node:perf_hooks';
import type { CarrierLine } from './carrier-line.ts';

/** What a scripted caller does next. */
export type CallerStep =
  /** Waits until the agent has finished, then speaks; or speaks at once, as somebody does who takes a call. */
  | { say: Uint8Array; label: string; atOnce?: boolean }
  /** Waits until the agent has been speaking for `afterMs`, then speaks over it. */
  | { interrupt: Uint8Array; afterMs: number; label: string }
  | { press: string; atOnce?: boolean }
  | { pauseMs: number }
  /** Waits until the agent has answered and finished. */
  | { listen: true }
  | { hangUp: true };

export interface CallerOptions {
  /** The agent has finished when nothing was heard of it for this long; 2000 unless given. */
  agentPauseMs?: number;
  /** It is waited for at most so long. */
  agentTimeoutMs?: number;
  onStep?: (step: CallerStep) => void;
}

/** A voice on a busy machine leaves more than a second between two sentences. */
const AGENT_PAUSE_MS = 2000;
/** What the agent still says of the old reply, after it was interrupted, is not the answer. */
const LATE_AUDIO_MS = 300;

/**
 * Plays a caller who listens before speaking, until the steps are done or the line is closed.
 * @returns how many steps were done
 */
export async function runCaller(
  line: CarrierLine,
  steps: readonly CallerStep[],
  options: CallerOptions = {},
): Promise<number> {
  const pauseMs = options.agentPauseMs ?? AGENT_PAUSE_MS;
  const timeoutMs = options.agentTimeoutMs ?? 15_000;
  /** Speech of the agent from before is not waited for again. */
  let since = 0;
  const agentSpeaks = () => line.waitFor(() => line.playback.lastVoiceAt > since, timeoutMs);
  const agentFinishes = async (): Promise<void> => {
    await agentSpeaks();
    await line.waitFor(() => line.bufferedMs === 0 && !line.agentHeardWithin(pauseMs), timeoutMs * 4);
  };

  let done = 0;
  for (const step of steps) {
    if ('pauseMs' in step) await line.pause(step.pauseMs);
    else if ('interrupt' in step) {
      await agentSpeaks();
      await line.pause(step.afterMs);
    } else if (!('atOnce' in step && step.atOnce)) await agentFinishes();
    if (!line.isStreaming) break;
    options.onStep?.(step);
    if ('say' in step) {
      await line.say(step.say);
      since = performance.now();
    } else if ('interrupt' in step) {
      await line.say(step.interrupt);
      since = performance.now() + LATE_AUDIO_MS;
    } else if ('press' in step) {
      line.press(step.press);
      since = performance.now();
    } else if ('hangUp' in step) line.hangUp();
    done++;
  }
  return done;
}
