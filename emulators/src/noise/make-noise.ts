import { seededRandom } from '@parley/shared/values/seeded-random';
import { activeLevelDb, gainOf } from './active-level.ts';
import { bark, clatter, cough, knock, passingCar } from './events.ts';
import { makeMusic } from './music.ts';
import { NOISE_HALVES, NOISE_KINDS, type NoiseHalf, type NoiseKind } from './noise-setting.ts';
import {
  addAround,
  between,
  filter,
  inRoom,
  NOISE_RATE,
  pink,
  samplesOf,
  toLoop,
  toUnitPower,
  white,
  type Random,
} from './sound.ts';
import { speech, type Voices } from './voices.ts';

/** Of a loop, unless another length is asked for. */
const LOOP_SECONDS = 40;
/** Of a steady sound is blended over the seam. */
const SEAM_SECONDS = 0.5;
/** At which loops are kept, dB to a full-scale square wave: peaks fit. */
const LOOP_LEVEL_DB = -26;

/** What the halves do differently, beside voices, sentences and seeds. */
interface Manner {
  /** Of the loudspeaker of a television, Hz. */
  loudspeaker: readonly [low: number, high: number];
  /** Of music under its speech, dB. */
  musicDb: number;
  /** People talking at once. */
  crowd: number;
  /** How much of a room is heard, 0 to 1. */
  room: number;
  /** Pitches, tempos and resonances are multiplied by it. */
  size: number;
  /** Of an engine, Hz. */
  engineHz: number;
}

const MANNERS: Readonly<Record<NoiseHalf, Manner>> = {
  development: {
    loudspeaker: [220, 3300],
    musicDb: -12,
    crowd: 7,
    room: 0.35,
    size: 1,
    engineHz: 29,
  },
  'held-out': {
    loudspeaker: [320, 2900],
    musicDb: -9,
    crowd: 6,
    room: 0.5,
    size: 1.17,
    engineHz: 37,
  },
};

interface Making {
  samples: number;
  random: Random;
  manner: Manner;
  voices: Voices;
}

const MAKERS: Readonly<Record<NoiseKind, (making: Making) => Float32Array>> = {
  tv: makeTelevision,
  babble: makeBabble,
  talker: makeTalker,
  music: ({ samples, random, manner }) => makeMusic(samples, random, manner.size),
  street: makeStreet,
  kitchen: makeKitchen,
  car: makeCar,
  cough: (making) => makeEvents(making, cough, { groups: [1, 3], gap: [0.25, 0.5], pause: [2.5, 6] }),
  knock: (making) => makeEvents(making, knock, { groups: [2, 4], gap: [0.16, 0.3], pause: [2, 5] }),
  dog: (making) => makeEvents(making, bark, { groups: [1, 4], gap: [0.3, 0.6], pause: [1.5, 4.5] }),
};

/**
 * One loop of noise: the same for the same kind and half, on every machine.
 * @param voices of that half
 * @param seconds of the loop
 * @returns 8 kHz
 */
export function makeNoise(
  kind: NoiseKind,
  half: NoiseHalf,
  voices: Voices,
  seconds = LOOP_SECONDS,
): Int16Array {
  const seed = 1000 * (NOISE_HALVES.indexOf(half) + 1) + NOISE_KINDS.indexOf(kind);
  const made = MAKERS[kind]({
    samples: samplesOf(seconds),
    random: seededRandom(seed),
    manner: MANNERS[half],
    voices,
  });
  // Telephones carry 300 to 3400 Hz.
  filter(filter(made, 'highpass', 200), 'lowpass', 3500);
  const scaled = toUnitPower(made).map((sample) => sample * 1000);
  const gain = gainOf(LOOP_LEVEL_DB - activeLevelDb(scaled));
  return Int16Array.from(scaled, (sample) => Math.max(-32_768, Math.min(32_767, Math.round(sample * gain))));
}

/** One voice after the other without a rest, music under it, out of a small loudspeaker in a room. */
function makeTelevision({ samples, random, manner, voices }: Making): Float32Array {
  const said = speech(voices, random, {
    speakers: voices.speakers.slice(0, 5),
    samples,
    sentences: 2,
    pauseSeconds: [0, 0.25],
  });
  addAround(said, toUnitPower(makeMusic(samples, random, manner.size)), 0, gainOf(manner.musicDb));
  const [low, high] = manner.loudspeaker;
  filter(filter(said, 'highpass', low, 1.1), 'lowpass', high, 1.1);
  return inRoom(said, random, manner.room);
}

/** Many people at once, nobody near. */
function makeBabble({ samples, random, manner, voices }: Making): Float32Array {
  const whole = new Float32Array(samples);
  for (let person = 0; person < manner.crowd; person++) {
    const speaker = voices.speakers[person % voices.speakers.length]!;
    const own = speech(voices, random, {
      speakers: [speaker],
      samples,
      sentences: 1,
      pauseSeconds: [0, 0.6],
    });
    addAround(whole, own, Math.floor(random() * samples), gainOf(between(random, -3, 3)));
  }
  filter(whole, 'lowpass', 2800);
  return inRoom(whole, random, manner.room);
}

/** One person near the telephone, who speaks with somebody else. */
function makeTalker({ samples, random, voices }: Making): Float32Array {
  return speech(voices, random, {
    speakers: voices.speakers.slice(0, 1),
    samples,
    sentences: 1,
    pauseSeconds: [0.4, 1.8],
  });
}

function makeStreet({ samples, random, manner }: Making): Float32Array {
  const rumble = swelling(filter(steady(samples, random, pink), 'lowpass', 900), random, 0.4);
  toUnitPower(rumble);
  for (let at = 0; at < samples;) {
    addAround(rumble, passingCar(random, manner.size), at, between(random, 1, 3));
    at += samplesOf(between(random, 2, 6));
  }
  // Somebody sounds a horn now and then.
  for (let horn = 0; horn < 3; horn++) {
    const length = samplesOf(between(random, 0.2, 0.7));
    const tones = [410 * manner.size, 516 * manner.size].map((hz) => (2 * Math.PI * hz) / NOISE_RATE);
    const sound = Float32Array.from({ length }, (_, i) => {
      const edge = Math.min(1, i / 200, (length - i) / 200);
      return edge * tones.reduce((sum, step) => sum + Math.tanh(2 * Math.sin(step * i)), 0);
    });
    addAround(rumble, sound, Math.floor(random() * samples), 1.2);
  }
  return rumble;
}

/** Dishes, and water that runs. */
function makeKitchen({ samples, random, manner }: Making): Float32Array {
  const water = swelling(filter(steady(samples, random, white), 'highpass', 900), random, 0.5);
  filter(water, 'bandpass', 2200, 0.5);
  toUnitPower(water);
  for (let at = 0; at < samples;) {
    addAround(water, clatter(random, manner.size), at, between(random, 0.8, 2.2));
    at += samplesOf(random() < 0.6 ? between(random, 0.05, 0.3) : between(random, 0.8, 2.5));
  }
  return water;
}

/** Inside a car: the road, and the engine with its harmonics. */
function makeCar({ samples, random, manner }: Making): Float32Array {
  const road = swelling(filter(steady(samples, random, pink), 'lowpass', 500), random, 0.25);
  toUnitPower(road);
  let phase = 0;
  for (let i = 0; i < samples; i++) {
    const hz = manner.engineHz * (1 + 0.04 * Math.sin((8 * Math.PI * i) / samples));
    phase += (2 * Math.PI * hz) / NOISE_RATE;
    let engine = 0;
    for (let harmonic = 4; harmonic <= 16; harmonic++) engine += Math.sin(harmonic * phase) / harmonic;
    road[i]! += engine;
  }
  return road;
}

/** The same sound again and again, in small groups with pauses between. */
function makeEvents(
  { samples, random, manner }: Making,
  make: (random: Random, size: number) => Float32Array,
  rhythm: {
    groups: readonly [number, number];
    gap: readonly [number, number];
    pause: readonly [number, number];
  },
): Float32Array {
  const whole = new Float32Array(samples);
  for (let at = samplesOf(0.5); at < samples; at += samplesOf(between(random, ...rhythm.pause))) {
    const [fewest, most] = rhythm.groups;
    for (let left = Math.floor(between(random, fewest, most + 1)); left > 0; left--) {
      const sound = make(random, manner.size);
      if (at + sound.length > samples) break;
      addAround(whole, sound, at, between(random, 0.7, 1));
      at += sound.length + samplesOf(between(random, ...rhythm.gap) - 0.1);
    }
  }
  return inRoom(whole, random, manner.room / 2);
}

/** Steady noise that loops without a seam. */
function steady(
  samples: number,
  random: Random,
  make: (samples: number, random: Random) => Float32Array,
): Float32Array {
  return toLoop(make(samples + samplesOf(SEAM_SECONDS), random), samples);
}

/** Its loudness comes and goes slowly. In place. @param depth 0 to 1 */
function swelling(samples: Float32Array, random: Random, depth: number): Float32Array {
  const waves = [3, 5, 8].map((turns) => ({
    step: (2 * Math.PI * turns) / samples.length,
    phase: random() * 7,
  }));
  for (let i = 0; i < samples.length; i++) {
    const swell = waves.reduce((sum, { step, phase }) => sum + Math.sin(step * i + phase), 0) / waves.length;
    samples[i]! *= 1 + depth * swell;
  }
  return samples;
}
