import { parentPort, workerData } from 'node:worker_threads';
import { makeNoise } from './make-noise.ts';
import type { NoiseHalf, NoiseKind } from './noise-setting.ts';
import { openVoices } from './voices.ts';

const { kind, half } = workerData as { kind: NoiseKind; half: NoiseHalf };
const loop = makeNoise(kind, half, await openVoices(half));
parentPort!.postMessage(loop, [loop.buffer as ArrayBuffer]);
