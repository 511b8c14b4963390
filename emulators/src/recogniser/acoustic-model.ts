import { CEPSTRA, FEATURE_SIZE } from './features.ts';

/** States of each phone but silence, which has one. */
export const STATES_PER_PHONE = 3;
export const SILENCE = 'pau';

/** Gaussian mixtures with diagonal covariance, one mixture per state. */
export interface AcousticModel {
  /** Names in the order of their states; silence is the first. */
  phones: readonly string[];
  components: number;
  /** What a frame of speech is on average, before any of a call was heard. */
  usualMean: Float32Array;
  /** Per state and component: the constant of its density, weight included. */
  constants: Float32Array;
  /** Per state, component and feature. */
  means: Float32Array;
  /** 1 / (2 variance), laid out as the means. */
  precisions: Float32Array;
}

export function stateCount(model: AcousticModel): number {
  return 1 + (model.phones.length - 1) * STATES_PER_PHONE;
}

/** The first state of a phone. */
export function stateOf(phone: number): number {
  return phone === 0 ? 0 : 1 + (phone - 1) * STATES_PER_PHONE;
}

/** Computes for one frame the logarithm of each state's density, taking the best component for the sum of them. */
export function scoreStates(model: AcousticModel, features: Float32Array, scores: Float32Array): void {
  const { components, constants, means, precisions } = model;
  let at = 0;
  let mixture = 0;
  for (let state = 0; state < scores.length; state++) {
    let best = -Infinity;
    for (let component = 0; component < components; component++) {
      let density = constants[mixture++]!;
      const end = at + FEATURE_SIZE;
      let index = 0;
      // Halfway through, most components are already behind the best one.
      for (const half = at + FEATURE_SIZE / 2; at < half; at++, index++) {
        const distance = features[index]! - means[at]!;
        density -= distance * distance * precisions[at]!;
      }
      if (density > best) {
        for (; at < end; at++, index++) {
          const distance = features[index]! - means[at]!;
          density -= distance * distance * precisions[at]!;
        }
        if (density > best) best = density;
      }
      at = end;
    }
    scores[state] = best;
  }
}

const MAGIC = 'PARLEYAM1\n';

/** One line of JSON after the magic line, then the numbers in the order of the interface, little-endian. */
export function encodeModel(model: AcousticModel): Uint8Array {
  const { phones, components, usualMean, constants, means, precisions } = model;
  const header = Buffer.from(`${MAGIC}${JSON.stringify({ phones, components, features: FEATURE_SIZE })}\n`);
  const numbers = [usualMean, constants, means, precisions].map((part) =>
    Buffer.from(part.buffer, part.byteOffset, part.byteLength),
  );
  return Buffer.concat([header, ...numbers]);
}

/** @throws Error when the bytes are no model of this version */
export function decodeModel(bytes: Uint8Array): AcousticModel {
  const file = Buffer.from(bytes);
  const headerEnd = file.indexOf('\n', MAGIC.length) + 1;
  if (file.toString('latin1', 0, MAGIC.length) !== MAGIC || headerEnd === 0) {
    throw new Error('The file is not an acoustic model.');
  }
  const header = JSON.parse(file.toString('utf8', MAGIC.length, headerEnd)) as {
    phones: string[];
    components: number;
    features: number;
  };
  if (header.features !== FEATURE_SIZE)
    throw new Error('The acoustic model has an unsupported number of features.');
  const states = 1 + (header.phones.length - 1) * STATES_PER_PHONE;
  const mixtures = states * header.components;
  let at = headerEnd;
  const read = (length: number) => {
    const part = new Float32Array(length);
    for (let index = 0; index < length; index++, at += 4) part[index] = file.readFloatLE(at);
    return part;
  };
  return {
    phones: header.phones,
    components: header.components,
    usualMean: read(CEPSTRA),
    constants: read(mixtures),
    means: read(mixtures * FEATURE_SIZE),
    precisions: read(mixtures * FEATURE_SIZE),
  };
}
