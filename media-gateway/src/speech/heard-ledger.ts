import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { CallRecorder } from '../recording/call-recorder.ts';
import type { HeardSpeech, HeardWord, Speech } from './speech.ts';
import { heardText, heardWords } from './heard-text.ts';

/** The account of agent audio that was heard in the whole call; each stretch is recorded at the time it was heard. */
export class HeardLedger {
  readonly #recorder: Pick<CallRecorder, 'agent'>;
  readonly #bytesPerMs: number;
  /** Zero of the recording, monotonic ms. */
  readonly #zero: number;
  #talkedMs = 0;
  #lastHeardAt: number | undefined;

  constructor(deps: { recorder: Pick<CallRecorder, 'agent'>; format: AudioFormat; zero: number }) {
    this.#recorder = deps.recorder;
    this.#bytesPerMs = bytesPerMs(deps.format);
    this.#zero = deps.zero;
  }

  /** Milliseconds of agent audio heard in the whole call. */
  get talkedMs(): number {
    return Math.round(this.#talkedMs);
  }

  /** When agent audio was last heard; undefined before the first. Monotonic ms. */
  get lastHeardAt(): number | undefined {
    return this.#lastHeardAt;
  }

  /** Records a speech up to `heardBytes`, and releases that audio. */
  note(speech: Speech, heardBytes: number): void {
    if (heardBytes <= speech.recordedBytes) return;
    this.#talkedMs += (heardBytes - speech.recordedBytes) / this.#bytesPerMs;
    for (let run = 0; run < speech.runs.length; run++) {
      const { startByte, at } = speech.runs[run]!;
      const endByte = Math.min(heardBytes, speech.runs[run + 1]?.startByte ?? Infinity);
      const from = Math.max(startByte, speech.recordedBytes);
      if (endByte <= from) continue;
      let atMs = at - this.#zero + (from - startByte) / this.#bytesPerMs;
      speech.forEachPart(from, endByte - from, (part) => {
        this.#recorder.agent(part, Math.round(atMs));
        atMs += part.length / this.#bytesPerMs;
      });
      this.#lastHeardAt = at + (endByte - startByte) / this.#bytesPerMs;
    }
    speech.recordedBytes = heardBytes;
    speech.forget(heardBytes);
    while (speech.runs.length > 1 && speech.runs[1]!.startByte <= heardBytes)
      speech.pastRuns.push(speech.runs.shift()!);
  }

  /** Records what was heard and is no speech. @returns when it ended, monotonic ms */
  noteOther(bytes: Uint8Array, startedAt: number): number {
    const ms = bytes.length / this.#bytesPerMs;
    this.#talkedMs += ms;
    this.#recorder.agent(bytes, Math.round(startedAt - this.#zero));
    return startedAt + ms;
  }

  /** What was heard of a speech that has ended. @param complete the speech was sent and heard to its end */
  account(speech: Speech, heardBytes: number, complete: boolean): HeardSpeech {
    const heardMs = heardBytes / this.#bytesPerMs;
    return {
      text: complete
        ? speech.pieces.map((piece) => piece.text).join(' ')
        : heardText(speech, heardMs, this.#bytesPerMs),
      complete,
      heardMs: Math.round(heardMs),
      startedAt: speech.startedAt,
      endedAt: heardBytes === 0 ? undefined : this.#lastHeardAt,
      words: this.#words(speech, heardMs, complete),
    };
  }

  #words(speech: Speech, heardMs: number, complete: boolean): HeardWord[] {
    const runs = [...speech.pastRuns, ...speech.runs].map(({ startByte, at }) => ({
      at,
      startMs: startByte / this.#bytesPerMs,
    }));
    if (runs.length === 0) return [];
    const heard = complete ? speech.words : heardWords(speech, heardMs);
    return heard.flatMap(({ text, startMs, endMs, estimated }) => {
      if (estimated) return [];
      const [start, end] = [Math.min(startMs, heardMs), Math.min(endMs, heardMs)];
      // Between two runs the listener heard nothing: a word ends with the one before, and begins with the one behind.
      const first = runs.findLast((run) => run.startMs <= start) ?? runs[0]!;
      const last = runs.findLast((run) => run.startMs < end) ?? first;
      return [{ text, startedAt: first.at + start - first.startMs, endedAt: last.at + end - last.startMs }];
    });
  }
}
