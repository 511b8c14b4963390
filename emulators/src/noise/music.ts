import { addAround, between, NOISE_RATE, pick, samplesOf, white, type Random } from './sound.ts';

/** Semitones above the key: four chords that people have heard before. */
const CHORDS = [
  [0, 4, 7],
  [9, 12, 16],
  [5, 9, 12],
  [7, 11, 14],
];
const SCALE = [0, 2, 4, 7, 9, 12, 14, 16];
const BEATS_A_CHORD = 4;

/** A small band that plays four chords round and round: strings, a tune drawn by chance, bass and drums. */
export function makeMusic(samples: number, random: Random, size: number): Float32Array {
  const whole = new Float32Array(samples);
  const beat = samplesOf(between(random, 0.42, 0.56) / size);
  const key = 196 * size;
  const hz = (semitones: number) => key * 2 ** (semitones / 12);
  for (let count = 0; count * beat < samples; count++) {
    const at = count * beat;
    const chord = CHORDS[Math.floor(count / BEATS_A_CHORD) % CHORDS.length]!;
    if (count % BEATS_A_CHORD === 0)
      for (const note of chord) addAround(whole, tone(hz(note), beat * BEATS_A_CHORD, 2), at, 0.25);
    addAround(whole, tone(hz(chord[0]! - 12), beat, 0.3), at, 0.6);
    for (let half = 0; half < 2; half++) {
      if (random() < 0.3) continue;
      addAround(whole, tone(hz(pick(random, SCALE) + 12), beat, 0.25), at + (half * beat) / 2, 0.5);
    }
    addAround(whole, drum(random, count % 2 === 0 ? 0.004 : 0.05), at, count % 2 === 0 ? 0.3 : 0.5);
  }
  return whole;
}

/** A plucked or bowed note. @param fade seconds until a third is left */
function tone(hz: number, samples: number, fade: number): Float32Array {
  const step = (2 * Math.PI * hz) / NOISE_RATE;
  return Float32Array.from({ length: samples }, (_, i) => {
    let sound = 0;
    for (let harmonic = 1; harmonic <= 6 && harmonic * hz < 3500; harmonic++)
      sound += Math.sin(harmonic * step * i) / harmonic;
    return sound * Math.min(1, i / 60, (samples - i) / 60) * Math.exp(-i / NOISE_RATE / fade);
  });
}

function drum(random: Random, seconds: number): Float32Array {
  const hit = white(samplesOf(seconds * 5), random);
  return hit.map((noise, i) => noise * Math.exp(-i / NOISE_RATE / seconds));
}
