import { performance } from 'node:perf_hooks';
import { encodeMulaw } from '@parley/shared/audio/g711';
import type { CarrierLine } from '../callers/carrier-line.ts';
import { wordlessSound } from './answer-sound.ts';
import type { MachinePart } from './machines.ts';

/** The telephone line of a machine. */
export type MachineLine = Pick<
  CarrierLine,
  'say' | 'pause' | 'waitFor' | 'agentHeardWithin' | 'bufferedMs' | 'isStreaming'
> & {
  readonly playback: Pick<CarrierLine['playback'], 'lastVoiceAt'>;
};

export interface MachineDeps {
  /** @returns 8 kHz mu-law */
  speak(text: string): Promise<Uint8Array>;
  /** Keys that the caller has pressed since the call was answered. */
  keys(): string;
}

/** A caller who speaks for longer is no longer listened to. */
const LONGEST_MESSAGE_MS = 60_000;

/**
 * Plays a machine that has answered.
 * @returns `person`: somebody takes the call; `done`: the machine hangs up; `over`: the call ended before
 */
export async function playMachine(
  line: MachineLine,
  script: readonly MachinePart[],
  deps: MachineDeps,
): Promise<'person' | 'done' | 'over'> {
  let keysTaken = 0;
  const parts = [...script];
  while (line.isStreaming) {
    const part = parts.shift();
    if (part === undefined || 'hangUp' in part) return 'done';
    if ('person' in part) return 'person';
    if ('say' in part) await line.say(await deps.speak(part.say));
    else if ('pauseMs' in part) await line.pause(part.pauseMs);
    else if ('beepHz' in part || 'musicMs' in part) await line.say(encodeMulaw(wordlessSound(part, 1)));
    else if ('listen' in part) {
      if (!(await listen(line, part.listen))) parts.splice(0, Infinity, ...part.unheard);
    } else {
      await line.waitFor(() => deps.keys().length > keysTaken, part.withinMs);
      const chosen = part.keys[deps.keys()[keysTaken] ?? ''];
      // A wrong key is over, too.
      keysTaken = Math.min(keysTaken + 1, deps.keys().length);
      parts.splice(0, Infinity, ...(chosen ?? part.otherwise));
    }
  }
  return 'over';
}

/** @returns whether the caller has said something, and finished */
async function listen(
  line: MachineLine,
  { quietMs, limitMs }: { quietMs: number; limitMs: number },
): Promise<boolean> {
  const since = performance.now();
  if (!(await line.waitFor(() => line.playback.lastVoiceAt > since, limitMs))) return false;
  await line.waitFor(() => line.bufferedMs === 0 && !line.agentHeardWithin(quietMs), LONGEST_MESSAGE_MS);
  return true;
}
