import { PCM16_TO_MULAW } from '@parley/shared/audio/g711';
import { LevelMeter, type RawFormat } from './level-meter.ts';

/*
 * Marks in mu-law that say whether the caller speaks, whatever else is heard on the line. The lowest bit of every eighth
 * byte is given away for them, as the robbed-bit signalling of telephone trunks does it: nobody hears the difference.
 * They pass where the bytes of the caller do, and where they are decoded to linear samples at the same rate.
 */

/** 10 ms: what an ear judges at a time. */
const BLOCK_SAMPLES = 80;
const STEP = 8;
const SPEAKS = [1, 0, 1, 1, 0, 0, 1, 1, 1, 0];

/** Whether marks pass in it. */
export function carriesMarks({ encoding, sampleRate }: RawFormat): boolean {
  return (encoding === 'mulaw' || encoding === 'linear16') && sampleRate === 8000;
}

/** In place. @param mulaw 8 kHz, whole blocks of 10 ms */
export function markVoice(mulaw: Uint8Array, speaks: boolean): void {
  for (let at = 0, bit = 0; at < mulaw.length; at += STEP, bit++) {
    const wanted = SPEAKS[bit % SPEAKS.length]! ^ (speaks ? 0 : 1);
    mulaw[at] = (mulaw[at]! & 0xfe) | wanted;
  }
}

/** @param block 10 ms of mu-law @returns undefined where there is no mark */
export function readVoiceMark(block: Uint8Array): boolean | undefined {
  let same = 0;
  for (let bit = 0; bit < SPEAKS.length; bit++) if ((block[bit * STEP]! & 1) === SPEAKS[bit]) same++;
  return same === SPEAKS.length ? true : same === 0 ? false : undefined;
}

/**
 * Of a block of linear samples: each one that was decoded from mu-law has the code that it came from.
 * @param block 10 ms of PCM16, low byte first
 * @returns undefined where there is no mark
 */
export function readLinearVoiceMark(block: Uint8Array): boolean | undefined {
  for (let at = 0; at < BLOCK_SAMPLES; at += STEP)
    codes[at] = PCM16_TO_MULAW[block[2 * at]! | (block[2 * at + 1]! << 8)]!;
  return readVoiceMark(codes);
}

/** Room for one block, used again and again. */
const codes = new Uint8Array(BLOCK_SAMPLES);

/** So many blocks in a row are no chance. */
const SURE_AFTER = 5;

/**
 * Measures as a `LevelMeter`, but believes marks: infinitely loud while the caller speaks, and silent otherwise. Audio
 * without marks is as loud as it is.
 */
export class MarkedMeter {
  readonly blockMs: number;
  readonly #block: Uint8Array;
  readonly #readMark: (block: Uint8Array) => boolean | undefined;
  readonly #loudness: LevelMeter;
  readonly #onBlock: (meanSquare: number) => void;
  #length = 0;
  #meanSquare = 0;
  #told = 0;
  #inARow = 0;

  /** @param format one that `carriesMarks` */
  constructor(format: RawFormat, onBlock: (meanSquare: number) => void) {
    const linear = format.encoding === 'linear16';
    this.#block = new Uint8Array(BLOCK_SAMPLES * (linear ? 2 : 1));
    this.#readMark = linear ? readLinearVoiceMark : readVoiceMark;
    this.#loudness = new LevelMeter(format, (meanSquare) => (this.#meanSquare = meanSquare));
    this.blockMs = this.#loudness.blockMs;
    this.#onBlock = onBlock;
  }

  push(bytes: Uint8Array): void {
    const block = this.#block;
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + block.length - this.#length);
      block.set(part, this.#length);
      this.#length += part.length;
      at += part.length;
      if (this.#length < block.length) return;
      this.#length = 0;
      this.#loudness.push(block);
      const speaks = this.#readMark(block);
      this.#inARow = speaks === undefined ? 0 : this.#inARow + 1;
      if (speaks === undefined) this.#told = this.#meanSquare;
      // What may be a chance changes nothing.
      else if (this.#inARow >= SURE_AFTER) this.#told = speaks ? Infinity : 0;
      this.#onBlock(this.#told);
    }
  }
}
