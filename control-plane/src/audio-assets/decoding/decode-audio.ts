import type { Readable } from 'node:stream';
import type { AssetRate } from '@parley/shared/contracts/audio-assets';
import type { Clock } from '@parley/shared/time/clock';
import { openBoundedProcess } from '../../lifecycle/bounded-process.ts';
import { AudioError } from './audio-error.ts';
import type { DecodeLine, DecodeOrder } from './decode-child.ts';

const PROGRAM = new URL('./decode-child.ts', import.meta.url);
const MAX_LINE_BYTES = 1000;
const NEWLINE = 10;

/** What a file was. */
export interface DecodedAudio {
  sampleRateHz: number;
  durationMs: number;
}

/**
 * Decodes a file in a bounded process, and gives it out at every rate of `ASSET_RATES`. The process is gone when this
 * ends, whatever ends it.
 * @param options.store keeps the samples of one rate, PCM16 of one channel; reads them to their end
 * @throws AudioError; the reason of `signal`; what `store` throws
 */
export async function decodeAudio(
  order: DecodeOrder,
  {
    clock,
    signal,
    store,
  }: {
    clock: Clock;
    signal: AbortSignal;
    store: (rate: AssetRate, samples: AsyncIterable<Uint8Array>) => Promise<unknown>;
  },
): Promise<DecodedAudio> {
  signal.throwIfAborted();
  const child = openBoundedProcess(PROGRAM, order, { clock, signal });
  try {
    const output = new DecoderOutput(child.output);
    for (;;) {
      const told = await output.line();
      if ('failure' in told) throw new AudioError(told.failure);
      if (!('rate' in told)) return { sampleRateHz: told.sample_rate_hz, durationMs: told.duration_ms };
      await store(told.rate, output.bytes(told.bytes));
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    await child.close();
  }
}

/** Lines, and bytes between them. Whoever was killed, or dead of its own limit, breaks off: `too_complex`. */
class DecoderOutput {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(output: Readable) {
    this.#chunks = (output as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  async line(): Promise<DecodeLine> {
    let end: number;
    while ((end = this.#rest.indexOf(NEWLINE)) === -1) {
      if (this.#rest.length > MAX_LINE_BYTES) throw new AudioError('broken');
      this.#rest = Buffer.concat([this.#rest, await this.#next()]);
    }
    const text = this.#rest.toString('utf8', 0, end);
    this.#rest = this.#rest.subarray(end + 1);
    return JSON.parse(text) as DecodeLine;
  }

  async *bytes(count: number): AsyncGenerator<Buffer> {
    for (let left = count; left > 0;) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const some = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(some.length);
      left -= some.length;
      yield some;
    }
  }

  async #next(): Promise<Buffer> {
    const { done, value } = await this.#chunks.next();
    if (done === true) throw new AudioError('too_complex');
    return value;
  }
}
