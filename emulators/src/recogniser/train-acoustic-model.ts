/**
 * Trains the acoustic model from flite's voices and writes `acoustic-model.bin`:
 *
 *     node emulators/src/recogniser/train-acoustic-model.ts
 *
 * Needed again only when the features, the phones or the sentences change. Takes a minute or two.
 */
import { writeFileSync } from 'node:fs';
import { decodeMulaw, encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { parseWav } from '@parley/shared/audio/wav';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { encodeModel, SILENCE, STATES_PER_PHONE, stateOf } from './acoustic-model.ts';
import { CEPSTRA, FEATURE_RATE, FEATURE_SIZE, FeatureStream, FRAME_MS } from './features.ts';
import { FlitePhones } from './flite-phones.ts';
import type { SpeechFrame } from './features.ts';
import type { Phone } from './flite-phones.ts';
import { TRAINING_SENTENCES } from './training-sentences.ts';

const VOICES = ['slt', 'rms', 'awb', 'kal16'];
/** Playing faster or slower moves pitch and formants as well: other speakers of the same voice. */
const SPEEDS = [0.9, 1, 1.1];
/** Level of white noise below the speech. */
const NOISES_DB = [Infinity, 30, 22, 14];
const COMPONENTS = 8;
const MAX_FRAMES_PER_STATE = 6000;
const ROUNDS = 12;
const VARIANCE_FLOOR = 0.12;
/** A feature frame describes the middle of its window. */
const FRAME_CENTRE_MS = 12.5;

const random = seededRandom(20260101);

interface Recording {
  voice: string;
  samples: Int16Array;
  phones: Phone[];
}

function gaussian(): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

function record(flite: FlitePhones): Recording[] {
  const recordings: Recording[] = [];
  for (const voice of VOICES) {
    for (const text of TRAINING_SENTENCES) {
      const { wav, phones } = flite.speak(text, voice);
      const { samples, sampleRate } = parseWav(wav);
      for (const speed of SPEEDS) {
        const resampler = new Resampler(sampleRate, Math.round(FEATURE_RATE / speed / 80) * 80);
        const played = resampler.process(samples);
        const scale = played.length / ((samples.length / sampleRate) * FEATURE_RATE);
        recordings.push({
          voice: `${voice} ${speed}`,
          samples: played,
          phones: phones.map(({ name, endMs }) => ({ name, endMs: endMs * scale })),
        });
      }
    }
  }
  return recordings;
}

/** As a telephone line would carry it: some gain, some noise, and mu-law. */
function overTheLine(samples: Int16Array, noiseDb: number): Int16Array {
  const gain = 10 ** ((random() * 14 - 9) / 20);
  let power = 0;
  for (const sample of samples) power += sample * sample;
  const noise = Math.sqrt(power / samples.length) * 10 ** (-noiseDb / 20);
  const line = samples.map((sample) =>
    Math.max(-32768, Math.min(32767, gain * (sample + noise * gaussian()))),
  );
  return decodeMulaw(encodeMulaw(line));
}

function collect(recordings: readonly Recording[], phoneNames: readonly string[], usualMean: Float32Array) {
  const frames: Float32Array[][] = Array.from(
    { length: stateOf(phoneNames.length - 1) + STATES_PER_PHONE },
    () => [],
  );
  let voice = '';
  let current: Recording;
  let atMs = 0;
  let phone = 0;
  const take = ({ features }: SpeechFrame) => {
    const { phones } = current;
    const centreMs = atMs + FRAME_CENTRE_MS;
    atMs += FRAME_MS;
    while (phone < phones.length - 1 && centreMs >= phones[phone]!.endMs) phone++;
    const { name, endMs } = phones[phone]!;
    const startMs = phones[phone - 1]?.endMs ?? 0;
    const index = phoneNames.indexOf(name);
    const third = Math.floor(((centreMs - startMs) / (endMs - startMs)) * STATES_PER_PHONE);
    const state = index === 0 ? 0 : stateOf(index) + Math.max(0, Math.min(STATES_PER_PHONE - 1, third));
    frames[state]!.push(features.slice());
  };
  let warm = new FeatureStream(usualMean, take);
  for (const [index, recording] of recordings.entries()) {
    for (const noiseDb of NOISES_DB) {
      current = recording;
      atMs = 0;
      phone = 0;
      // Half of the sentences come in the middle of a call, half at its start.
      let stream = new FeatureStream(usualMean, take);
      if (index % 2 === 0) {
        if (voice !== recording.voice) warm = new FeatureStream(usualMean, take);
        voice = recording.voice;
        stream = warm;
        // The frames that straddle two sentences belong to silence at either end, so they do no harm.
      }
      stream.push(overTheLine(recording.samples, noiseDb));
    }
  }
  return { frames, mean: warm.speechMean };
}

/** k-means, then a Gaussian for each cluster. */
function fitMixture(
  all: readonly Float32Array[],
): { weight: number; mean: Float64Array; variance: Float64Array }[] {
  const frames = all.length <= MAX_FRAMES_PER_STATE ? all : sample(all, MAX_FRAMES_PER_STATE);
  const spread = moments(frames).variance;
  let centres = sample(frames, Math.min(COMPONENTS, frames.length)).map((frame): Float64Array =>
    Float64Array.from(frame),
  );
  let clusters: Float32Array[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    clusters = centres.map(() => []);
    for (const frame of frames) {
      let best = 0;
      let bestDistance = Infinity;
      for (const [index, centre] of centres.entries()) {
        let distance = 0;
        for (let at = 0; at < FEATURE_SIZE; at++) distance += (frame[at]! - centre[at]!) ** 2 / spread[at]!;
        if (distance < bestDistance) {
          bestDistance = distance;
          best = index;
        }
      }
      clusters[best]!.push(frame);
    }
    clusters = clusters.filter((cluster) => cluster.length >= 8);
    centres = clusters.map((cluster) => moments(cluster).mean);
  }
  return clusters.map((cluster) => {
    const { mean, variance } = moments(cluster);
    for (let at = 0; at < FEATURE_SIZE; at++) {
      // Between the cluster's own and the state's: small clusters must not be over-confident.
      const share = cluster.length / (cluster.length + 50);
      variance[at] = Math.max(
        VARIANCE_FLOOR * spread[at]!,
        share * variance[at]! + (1 - share) * spread[at]!,
      );
    }
    return { weight: cluster.length / frames.length, mean, variance };
  });
}

function moments(frames: readonly Float32Array[]): { mean: Float64Array; variance: Float64Array } {
  const mean = new Float64Array(FEATURE_SIZE);
  const variance = new Float64Array(FEATURE_SIZE);
  for (const frame of frames)
    for (let at = 0; at < FEATURE_SIZE; at++) mean[at]! += frame[at]! / frames.length;
  for (const frame of frames) {
    for (let at = 0; at < FEATURE_SIZE; at++) variance[at]! += (frame[at]! - mean[at]!) ** 2 / frames.length;
  }
  return { mean, variance: variance.map((value) => Math.max(value, 1e-4)) };
}

function sample<T>(all: readonly T[], count: number): T[] {
  return Array.from({ length: count }, () => all[Math.floor(random() * all.length)]!);
}

const flite = new FlitePhones();
const recordings = record(flite);
const names = new Set(recordings.flatMap(({ phones }) => phones.map(({ name }) => name)));
names.delete(SILENCE);
const phones = [SILENCE, ...[...names].sort()];
console.log(`${recordings.length} recordings, ${phones.length} phones`);

// Whatever the speaker, from all recordings in a row.
const average = new FeatureStream(new Float32Array(CEPSTRA), () => undefined);
for (const { samples } of sample(recordings, 100)) average.push(decodeMulaw(encodeMulaw(samples)));
const usualMean = average.speechMean;

const { frames } = collect(recordings, phones, usualMean);
const mixtures = frames.length * COMPONENTS;
const model = {
  phones,
  components: COMPONENTS,
  usualMean,
  constants: new Float32Array(mixtures).fill(-1e30),
  means: new Float32Array(mixtures * FEATURE_SIZE),
  precisions: new Float32Array(mixtures * FEATURE_SIZE),
};
for (const [state, own] of frames.entries()) {
  for (const [component, { weight, mean, variance }] of fitMixture(own).entries()) {
    const mixture = state * COMPONENTS + component;
    let logDeterminant = 0;
    for (let at = 0; at < FEATURE_SIZE; at++) {
      logDeterminant += Math.log(2 * Math.PI * variance[at]!);
      model.means[mixture * FEATURE_SIZE + at] = mean[at]!;
      model.precisions[mixture * FEATURE_SIZE + at] = 1 / (2 * variance[at]!);
    }
    model.constants[mixture] = Math.log(weight) - logDeterminant / 2;
  }
}
const least = Math.min(...frames.map((own) => own.length));
console.log(`${frames.reduce((sum, own) => sum + own.length, 0)} frames, at least ${least} a state`);
writeFileSync(new URL('acoustic-model.bin', import.meta.url), encodeModel(model));
