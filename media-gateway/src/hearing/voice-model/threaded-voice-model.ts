import { Worker } from 'node:worker_threads';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { RestartingWorker } from './restarting-worker.ts';
import { SlotVoiceModel } from './slot-voice-model.ts';
import { allocateSlots } from './slots.ts';
import type { VoiceModelWorkerData } from './voice-model-worker.ts';
import type { VoiceModel } from './voice-model.ts';

export interface ThreadedVoiceModelOptions {
  /** Streams at a time. Each takes 17 kB of memory once it was in use. */
  maxStreams: number;
  clock: Clock;
  logger: Logger;
  /** How the thread is started; tests keep hold of it. */
  startWorker?: (data: VoiceModelWorkerData) => Worker;
}

/**
 * Starts the voice model in a thread of its own, where it judges the streams of all calls of the process. While the
 * thread is being started again, nothing is judged.
 * @throws when the thread does not come up
 */
export async function openVoiceModel({
  maxStreams,
  clock,
  logger,
  startWorker = startVoiceModelWorker,
}: ThreadedVoiceModelOptions): Promise<VoiceModel & AsyncDisposable> {
  const memory = allocateSlots(maxStreams);
  const worker = new RestartingWorker(() => startWorker({ memory }), { clock, logger });
  await worker.open();
  const model = new SlotVoiceModel(memory, maxStreams, worker);
  return {
    open: (format) => model.open(format),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  };
}

export function startVoiceModelWorker(workerData: VoiceModelWorkerData): Worker {
  return new Worker(new URL('./voice-model-worker.ts', import.meta.url), {
    name: 'voice-model',
    workerData,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
}
