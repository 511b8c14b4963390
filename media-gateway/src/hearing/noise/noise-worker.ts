import { workerData } from 'node:worker_threads';
import { loadRnnoise, NoiseSuppressor } from '@parley/shared/audio/noise-suppressor';
import { HEADER, noiseHeader, NoiseSlot } from './noise-slots.ts';

/** The thread that takes noise out of the audio of all calls that want it, see noise-suppression.ts. */
export interface NoiseWorkerData {
  memory: SharedArrayBuffer;
}

/** Audio is looked for so often while there are streams. */
const ROUND_MS = 5;

const { memory } = workerData as NoiseWorkerData;
const header = noiseHeader(memory);
const rnnoise = await loadRnnoise();
const places: { slot: NoiseSlot; stream: number; suppressor: NoiseSuppressor | undefined }[] = [];
Atomics.store(header, HEADER.ready, 1);

// Ends with the thread: everything here is the memory of both, and no message is ever received.
for (;;) {
  const bell = Atomics.load(header, HEADER.bell);
  let open = 0;
  const used = Atomics.load(header, HEADER.used);
  for (let index = 0; index < used; index++) {
    const place = (places[index] ??= {
      slot: new NoiseSlot(memory, index),
      stream: 0,
      suppressor: undefined,
    });
    const { slot } = place;
    if (!slot.isOpen) {
      place.suppressor?.[Symbol.dispose]();
      place.suppressor = undefined;
      continue;
    }
    open++;
    if (place.stream !== slot.stream || !place.suppressor) {
      place.suppressor?.[Symbol.dispose]();
      place.stream = slot.stream;
      place.suppressor = new NoiseSuppressor(rnnoise, slot.format, slot.high ? 'high' : 'standard');
    }
    if (slot.waiting > 0) slot.give(place.suppressor.process(slot.take()));
  }
  if (open > 0) Atomics.wait(header, HEADER.bell, bell, ROUND_MS);
  else Atomics.wait(header, HEADER.bell, bell);
}
