import type { Delay } from '../../server/delays.ts';
import type { NovaTiming } from './nova-session.ts';

export interface ListenSettings {
  nova: NovaTiming;
  flux: {
    updateEveryMs: number;
    /** Voice before `StartOfTurn`, beside a first word. */
    startOfTurnMs: number;
    /** Silence before `EndOfTurn` at the default threshold. */
    endOfTurn: Delay;
    idleUpdates: boolean;
    /** Whether `ForceEndTurn` is enabled for the account. */
    forceEndTurn: boolean;
    idleTimeoutMs: number;
  };
  /** Of `/v1/listen`. */
  idleTimeoutMs: number;
  /** Documents disagree whether `KeepAlive` holds a connection that never had audio; true is the stricter reading. */
  keepAliveNeedsAudio: boolean;
  /** After `CloseStream`; undefined closes without a status, which the client sees as 1005. */
  closeCode: number | undefined;
}

/** Counts since the start. */
export interface DeepgramStats {
  connections: number;
  open: number;
  refused: number;
  requests: number;
  audio_frames: number;
  audio_bytes: number;
  empty_frames: number;
  utterances: number;
  keep_alives: number;
  finalizes: number;
  idle_closes: number;
  /** Sent, by type. */
  messages: Record<string, number>;
}

export function newStats(): DeepgramStats {
  return {
    connections: 0,
    open: 0,
    refused: 0,
    requests: 0,
    audio_frames: 0,
    audio_bytes: 0,
    empty_frames: 0,
    utterances: 0,
    keep_alives: 0,
    finalizes: 0,
    idle_closes: 0,
    messages: {},
  };
}

/** `model_info`: its name says that no vendor's model was at work. */
export function modelInfo(model: string) {
  return { name: `${model}-parley-emulator`, version: '2026-01-01.0', arch: 'parley-emulator' };
}
