import type { RecordingResult } from '@parley/shared/contracts/recordings';

/**
 * Records one call on one clock whose zero is `answered_at`: caller left, agent right. Never blocks, never throws;
 * what the disk can't take becomes silence and is counted.
 */
export interface CallRecorder {
  /** Caller audio in the far end's input format. `bytes` are only valid during the call. */
  caller(bytes: Uint8Array, atMs: number): void;
  /** Agent audio in the far end's output format, once it is known to have been played. */
  agent(bytes: Uint8Array, atMs: number): void;
  /** Silence for both from here on is dropped; the file is closed and stored. Resolves when the result is known, at most after a few seconds (it goes on from the spool otherwise). */
  finish(endMs: number): Promise<RecordingResult>;
  /** The result of `finish` is on disk with the call's report: nothing else has to remember it. */
  settled(): void;
  /** Only of a recording that waits for consent: nothing is kept before. */
  begin?(): void;
  /** Only where something of the call is masked. */
  readonly redact?: RecordingRedaction | undefined;
}

/** What of a recording is made silent. Times are those of the recording. */
export interface RecordingRedaction {
  mute(side: 'caller' | 'agent', fromMs: number, toMs: number): void;
  /** What was said until then is known: when the process dies, nothing later is kept. */
  judged(untilMs: number): void;
}

/** For calls that are not recorded. */
export const noRecorder: CallRecorder = {
  caller() {},
  agent() {},
  settled() {},
  finish: () => Promise.reject(new Error('The call is not recorded.')),
};
