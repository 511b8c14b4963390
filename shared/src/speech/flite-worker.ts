import { parentPort, workerData } from 'node:worker_threads';
import { runFlite } from './flite-program.ts';

/** To and from the thread that runs flite; see flite.ts. */
export interface FliteRequest {
  id: number;
  text: string;
}
export type FliteReply = { id: number; samples: Int16Array } | { id: number; error: string };

const port = parentPort!;
const { module } = workerData as { module: WebAssembly.Module };

port.on('message', ({ id, text }: FliteRequest) => {
  try {
    const samples = runFlite(module, text);
    // Its own memory, so that it can be handed over rather than copied again.
    const owned = samples.slice();
    port.postMessage({ id, samples: owned } satisfies FliteReply, [owned.buffer]);
  } catch (error) {
    port.postMessage({
      id,
      error: error instanceof Error ? error.message : String(error),
    } satisfies FliteReply);
  }
});
