import { workerData } from 'node:worker_threads';
import { writeMp3, type Mp3Source } from './mp3-file.ts';

/** The thread that makes one MP3, see mp3-encoder.ts; it ends when that is done, or fails. */
export interface Mp3WorkerData {
  source: Mp3Source;
  target: string;
}

const { source, target } = workerData as Mp3WorkerData;
await writeMp3(source, target);
