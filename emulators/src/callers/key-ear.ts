import { decodeMulaw } from '@parley/shared/audio/g711';

/** Frequencies of rows and columns, Hz; ITU-T Q.23. */
const ROWS = [697, 770, 852, 941];
const COLUMNS = [1209, 1336, 1477, 1633];
const KEYS = ['123A', '456B', '789C', '*0#D'];

const RATE = 8000;
const BLOCK = 160;
/** Mean power below which nothing is heard, of 32,768 squared: 40 dB below full scale. */
const QUIET = 32_768 ** 2 * 1e-4;
/** Of a block's power both tones together: a voice has more than two. */
const PURE = 0.85;
/** Either tone has at least this share: one alone is no key. */
const EACH = 0.2;
/** A key is held for 40 ms; the blocks need not lie where the tone does. */
const BLOCKS = 2;

/** Hears the tones of keys in a telephone's audio. */
export class KeyEar {
  readonly #onKey: (digit: string) => void;
  #samples = new Int16Array(BLOCK);
  #filled = 0;
  #key: string | undefined;
  #blocks = 0;

  constructor(onKey: (digit: string) => void) {
    this.#onKey = onKey;
  }

  /** @param mulaw 8 kHz */
  push(mulaw: Uint8Array): void {
    for (const sample of decodeMulaw(mulaw)) {
      this.#samples[this.#filled++] = sample;
      if (this.#filled < BLOCK) continue;
      this.#filled = 0;
      this.#block(keyIn(this.#samples));
    }
  }

  #block(key: string | undefined): void {
    this.#blocks = key === this.#key ? this.#blocks + 1 : 1;
    this.#key = key;
    if (key !== undefined && this.#blocks === BLOCKS) this.#onKey(key);
  }
}

function keyIn(block: Int16Array): string | undefined {
  let power = 0;
  for (const sample of block) power += sample * sample;
  power /= block.length;
  if (power < QUIET) return undefined;
  const row = strongest(block, ROWS);
  const column = strongest(block, COLUMNS);
  const [low, high] = [row.power / power, column.power / power];
  return low + high > PURE && low > EACH && high > EACH ? KEYS[row.index]![column.index] : undefined;
}

function strongest(block: Int16Array, frequencies: readonly number[]): { index: number; power: number } {
  const powers = frequencies.map((hz) => tonePower(block, hz));
  const power = Math.max(...powers);
  return { index: powers.indexOf(power), power };
}

/** Mean power of one tone (Goertzel). */
function tonePower(block: Int16Array, hz: number): number {
  const coefficient = 2 * Math.cos((2 * Math.PI * hz) / RATE);
  let before = 0;
  let last = 0;
  for (const sample of block) {
    const next = sample + coefficient * last - before;
    before = last;
    last = next;
  }
  const magnitude = last * last + before * before - coefficient * last * before;
  return (2 * magnitude) / (block.length * block.length);
}
