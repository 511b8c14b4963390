import { between, filter, NOISE_RATE, samplesOf, toUnitPower, white, type Random } from './sound.ts';

/* Sounds of their own, each drawn anew. `size` makes them smaller (above 1) or larger. */

/** A cough: a burst of breath, then a rough voice that dies away. */
export function cough(random: Random, size: number): Float32Array {
  const samples = samplesOf(between(random, 0.25, 0.4));
  const breath = white(samples, random);
  const throat = filter(breath.slice(), 'bandpass', between(random, 550, 750) * size, 1.2);
  const mouth = filter(breath, 'bandpass', between(random, 1400, 1900) * size, 1);
  const pitch = between(random, 95, 150) * size;
  return Float32Array.from({ length: samples }, (_, i) => {
    const seconds = i / NOISE_RATE;
    const burst = Math.min(1, seconds / 0.008) * Math.exp(-seconds / 0.07);
    const voice = seconds > 0.06 ? Math.exp(-(seconds - 0.06) / 0.09) : 0;
    const rough = 0.6 + 0.4 * Math.sin(2 * Math.PI * pitch * seconds);
    return (throat[i]! + 0.8 * mouth[i]!) * (burst + 0.6 * voice * rough);
  });
}

/** A knuckle on wood. */
export function knock(random: Random, size: number): Float32Array {
  const panel = between(random, 180, 320) * size;
  const click = white(samplesOf(0.15), random);
  return click.map((noise, i) => {
    const seconds = i / NOISE_RATE;
    const body =
      Math.sin(2 * Math.PI * panel * seconds) + 0.6 * Math.sin(2 * Math.PI * panel * 2.37 * seconds);
    return body * Math.exp(-seconds / 0.03) + noise * Math.exp(-seconds / 0.004);
  });
}

/** A bark: harmonics that rise and fall again, and some breath. */
export function bark(random: Random, size: number): Float32Array {
  const samples = samplesOf(between(random, 0.14, 0.26));
  const breath = filter(white(samples, random), 'bandpass', 1300 * size, 0.8);
  const top = between(random, 420, 620) * size;
  let phase = 0;
  return Float32Array.from({ length: samples }, (_, i) => {
    const part = i / samples;
    phase += (2 * Math.PI * top * (0.65 + 0.35 * Math.sin(Math.PI * Math.min(1, part * 1.4)))) / NOISE_RATE;
    let voice = 0;
    for (let harmonic = 1; harmonic <= 5; harmonic++) voice += Math.sin(harmonic * phase) / harmonic;
    return Math.sin(Math.PI * part) ** 0.6 * (voice + 1.5 * breath[i]!);
  });
}

/** A dish on another: a few high tones that ring for a moment. Of unit power. */
export function clatter(random: Random, size: number): Float32Array {
  const rings = between(random, 0.015, 0.06);
  const tones = Array.from({ length: 5 }, () => between(random, 1100, 3300) * size);
  const hit = white(samplesOf(0.2), random);
  return toUnitPower(
    hit.map((noise, i) => {
      const seconds = i / NOISE_RATE;
      const ringing = tones.reduce((sum, hz) => sum + Math.sin(2 * Math.PI * hz * seconds), 0);
      return ringing * Math.exp(-seconds / rings) + 2 * noise * Math.exp(-seconds / 0.003);
    }),
  );
}

/** Comes nearer and goes away again. Of unit power. */
export function passingCar(random: Random, size: number): Float32Array {
  const samples = samplesOf(between(random, 2, 4));
  const tyres = filter(white(samples, random), 'bandpass', between(random, 500, 1000) * size, 0.6);
  return toUnitPower(tyres.map((sample, i) => sample * Math.sin((Math.PI * i) / samples) ** 2));
}
