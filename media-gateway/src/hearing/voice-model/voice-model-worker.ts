import { parentPort, workerData } from 'node:worker_threads';
import { SlotJudge } from './slot-judge.ts';
import { HEADER, headerOf } from './slots.ts';

/** The thread that judges for all calls, see threaded-voice-model.ts. */
export interface VoiceModelWorkerData {
  memory: SharedArrayBuffer;
}

/**
 * While streams are judged, windows are looked for so often. Streams whose windows came meanwhile are judged together,
 * in fours; and nobody has to wake this thread, which would cost the audio loop some microseconds for each frame.
 */
const ROUND_MS = 8;

const { memory } = workerData as VoiceModelWorkerData;
const header = headerOf(memory);
const judge = new SlotJudge(memory);
parentPort!.postMessage('ready');

// Ends with the thread: everything here is the memory of both, and no message is ever received.
for (;;) {
  const { judging, more } = judge.round();
  if (more) continue;
  if (judging > 0) {
    Atomics.wait(header, HEADER.asleep, 0, ROUND_MS);
    continue;
  }
  const bell = Atomics.load(header, HEADER.bell);
  Atomics.store(header, HEADER.asleep, 1);
  // A stream that began before it could see that this thread sleeps is found here.
  if (judge.round().judging === 0) Atomics.wait(header, HEADER.bell, bell);
  Atomics.store(header, HEADER.asleep, 0);
}
