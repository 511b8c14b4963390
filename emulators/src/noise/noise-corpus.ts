import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { NoiseHalf, NoiseKind } from './noise-setting.ts';

/** By kind and half: there are few, of 640 KB each, and they never change. */
const loops = new Map<string, Promise<Int16Array>>();

/** One loop of the corpus, made by a worker when it is first asked for; see make-noise.ts. 8 kHz. */
export function noiseLoop(kind: NoiseKind, half: NoiseHalf): Promise<Int16Array> {
  const key = `${kind} ${half}`;
  const known = loops.get(key);
  if (known) return known;
  const made = makeInWorker(kind, half);
  loops.set(key, made);
  // What failed once may be asked for again.
  made.catch(() => loops.delete(key));
  return made;
}

async function makeInWorker(kind: NoiseKind, half: NoiseHalf): Promise<Int16Array> {
  const worker = new Worker(new URL('noise-worker.ts', import.meta.url), { workerData: { kind, half } });
  try {
    const [loop] = (await once(worker, 'message')) as [Int16Array];
    return loop;
  } finally {
    await worker.terminate();
  }
}
