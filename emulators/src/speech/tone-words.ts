/** How long a character lasts in speech made of tones, spaces and punctuation included. */
export const TONE_CHARACTER_MS = 60;

/**
 * Each word sounds as three tones, one from each band. All are multiples of 50 Hz, so that over 20 ms every one is
 * orthogonal to all others, and lie where telephones and resamplers leave them alone.
 */
const BANDS_HZ = [
  { lowest: 400, count: 18 },
  { lowest: 1350, count: 17 },
  { lowest: 2250, count: 17 },
] as const;
const STEP_HZ = 50;
const WINDOW_MS = 20;
const HOP_MS = 10;
const AMPLITUDE = 5000;
const RAMP_MS = 4;
/** Of full scale, squared: below it a window is silence. */
const SILENCE_POWER = 300 ** 2;
/** Part of a window's power that its three tones must hold; a window across two words has less. */
const PURITY = 0.7;
/** Windows in a row that make a word: one character gives four. */
const MIN_WINDOWS = 3;

export type WordTones = readonly [lowHz: number, middleHz: number, highHz: number];

/** A word as it is recognised: lower case, letters and digits only. Empty for mere punctuation. */
export function normalizeWord(token: string): string {
  return token.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** The tones of a word: the same for "Hello," and "hello". One in some five thousand words shares them by chance. */
export function wordTones(word: string): WordTones {
  // FNV-1a, 32 bits, with a final mix so that its low bits may be used.
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(normalizeWord(word))) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  let rest = (hash ^ (hash >>> 16)) >>> 0;
  const tones = BANDS_HZ.map(({ lowest, count }) => {
    const tone = lowest + (rest % count) * STEP_HZ;
    rest = Math.floor(rest / count);
    return tone;
  });
  return tones as unknown as WordTones;
}

/** One word with its punctuation as tones, 60 ms a character. Mere punctuation is silent. */
export function renderToneWord(token: string, sampleRate: number): Int16Array {
  const length = toneSamples(token.length, sampleRate);
  const samples = new Int16Array(length);
  if (normalizeWord(token) === '') return samples;
  const steps = wordTones(token).map((hz) => (2 * Math.PI * hz) / sampleRate);
  const ramp = Math.round((RAMP_MS * sampleRate) / 1000);
  for (let i = 0; i < length; i++) {
    const level = AMPLITUDE * Math.min(1, (i + 1) / ramp, (length - i) / ramp);
    samples[i] = level * steps.reduce((sum, step) => sum + Math.sin(step * i), 0);
  }
  return samples;
}

/** How many samples `characters` last. */
export function toneSamples(characters: number, sampleRate: number): number {
  return Math.round((characters * TONE_CHARACTER_MS * sampleRate) / 1000);
}

/** A word heard in tones. */
export interface HeardWord {
  /** As in the vocabulary; undefined for tones of no word in it. */
  word: string | undefined;
  startMs: number;
  endMs: number;
}

/**
 * Finds the words in speech made of tones. It stands mu-law, resampling between telephone rates and cuts at any place:
 * half a word is still that word. The same word twice without a pause counts once.
 * @param sampleRate Hz, 8000 or more
 * @throws RangeError when two words of the vocabulary sound the same
 */
export function decodeToneWords(
  samples: Int16Array,
  sampleRate: number,
  vocabulary: Iterable<string>,
): HeardWord[] {
  const words = wordsByTones(vocabulary);
  const window = Math.round((WINDOW_MS * sampleRate) / 1000);
  const hop = Math.round((HOP_MS * sampleRate) / 1000);
  const bank = goertzelBank(sampleRate);
  const heard: HeardWord[] = [];
  let current: { key: string; first: number; windows: number } | undefined;
  const finish = () => {
    if (current && current.windows >= MIN_WINDOWS) {
      const startMs = current.first * HOP_MS;
      const endMs = startMs + (current.windows - 1) * HOP_MS + WINDOW_MS;
      heard.push({ word: words.get(current.key), startMs, endMs });
    }
    current = undefined;
  };
  for (let index = 0; index * hop + window <= samples.length; index++) {
    const key = tonesIn(samples.subarray(index * hop, index * hop + window), bank);
    if (current && key === current.key) {
      current.windows++;
      continue;
    }
    finish();
    if (key !== undefined) current = { key, first: index, windows: 1 };
  }
  finish();
  return heard;
}

function wordsByTones(vocabulary: Iterable<string>): Map<string, string> {
  const words = new Map<string, string>();
  for (const entry of vocabulary) {
    const word = normalizeWord(entry);
    if (word === '') continue;
    const key = wordTones(word).join();
    const other = words.get(key);
    if (other !== undefined && other !== word)
      throw new RangeError(`"${word}" and "${other}" sound the same.`);
    words.set(key, word);
  }
  return words;
}

interface Tone {
  hz: number;
  /** 2 cos(w), the constant of Goertzel's recurrence. */
  coefficient: number;
}

function goertzelBank(sampleRate: number): Tone[][] {
  return BANDS_HZ.map(({ lowest, count }) =>
    Array.from({ length: count }, (_, i) => {
      const hz = lowest + i * STEP_HZ;
      return { hz, coefficient: 2 * Math.cos((2 * Math.PI * hz) / sampleRate) };
    }),
  );
}

function tonesIn(window: Int16Array, bank: readonly Tone[][]): string | undefined {
  let power = 0;
  for (let i = 0; i < window.length; i++) power += window[i]! * window[i]!;
  power /= window.length;
  if (power < SILENCE_POWER) return undefined;
  let explained = 0;
  const tones = bank.map((band) => {
    let best = 0;
    let bestHz = 0;
    for (const { hz, coefficient } of band) {
      const found = tonePower(window, coefficient);
      if (found > best) {
        best = found;
        bestHz = hz;
      }
    }
    explained += best;
    return bestHz;
  });
  return explained / power >= PURITY ? tones.join() : undefined;
}

/** Mean power of one tone in the window (Goertzel). */
function tonePower(window: Int16Array, coefficient: number): number {
  let previous = 0;
  let beforeThat = 0;
  for (let i = 0; i < window.length; i++) {
    const next = window[i]! + coefficient * previous - beforeThat;
    beforeThat = previous;
    previous = next;
  }
  const squared = previous * previous + beforeThat * beforeThat - coefficient * previous * beforeThat;
  return (2 * squared) / (window.length * window.length);
}
