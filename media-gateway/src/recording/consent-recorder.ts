import type { RecordingResult } from '@parley/shared/contracts/recordings';
import type { CallRecorder, RecordingRedaction } from './call-recorder.ts';

/** A recorder that keeps nothing before it is told to begin. */
export class ConsentRecorder implements CallRecorder {
  readonly #recordingId: string;
  readonly #make: () => CallRecorder;
  #recorder: CallRecorder | undefined;

  /** @param make begins the recording: its file is not there before */
  constructor(recordingId: string, make: () => CallRecorder) {
    this.#recordingId = recordingId;
    this.#make = make;
  }

  begin(): void {
    this.#recorder ??= this.#make();
  }

  caller(bytes: Uint8Array, atMs: number): void {
    this.#recorder?.caller(bytes, atMs);
  }

  agent(bytes: Uint8Array, atMs: number): void {
    this.#recorder?.agent(bytes, atMs);
  }

  finish(endMs: number): Promise<RecordingResult> {
    return (
      this.#recorder?.finish(endMs) ??
      Promise.resolve({ recording_id: this.#recordingId, status: 'failed', error: 'no_consent' })
    );
  }

  settled(): void {
    this.#recorder?.settled();
  }

  get redact(): RecordingRedaction | undefined {
    return this.#recorder?.redact;
  }
}
