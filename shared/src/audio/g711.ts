/** mu-law: added to the magnitude so that segments begin at powers of two (16-bit scale). */
const MULAW_BIAS = 132;
/** The largest magnitude that still has a code once the bias is added. */
const MULAW_CLIP = 32_635;
/** A-law codes travel with their even bits inverted. */
const ALAW_TOGGLE = 0x55;

function mulawToSample(code: number): number {
  const bits = ~code & 0xff;
  const magnitude = ((((bits & 0x0f) << 3) + MULAW_BIAS) << ((bits >> 4) & 7)) - MULAW_BIAS;
  return bits & 0x80 ? -magnitude : magnitude;
}

function sampleToMulaw(sample: number): number {
  const biased = Math.min(Math.abs(sample), MULAW_CLIP) + MULAW_BIAS;
  const segment = 24 - Math.clz32(biased); // 132 has its top bit at 7: segment 0
  return ~((sample < 0 ? 0x80 : 0) | (segment << 4) | ((biased >> (segment + 3)) & 0x0f)) & 0xff;
}

function alawToSample(code: number): number {
  const bits = code ^ ALAW_TOGGLE;
  const segment = (bits >> 4) & 7;
  const steps = ((bits & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? steps : (steps + 0x100) << (segment - 1);
  return bits & 0x80 ? magnitude : -magnitude;
}

function sampleToAlaw(sample: number): number {
  // No code means zero: -1 is the smallest negative magnitude, as 0 is the smallest positive one.
  const magnitude = sample < 0 ? ~sample : sample;
  const segment = Math.max(0, 24 - Math.clz32(magnitude)); // magnitudes below 256 share segment 0
  const step = segment === 0 ? magnitude >> 4 : (magnitude >> (segment + 3)) & 0x0f;
  return ((sample < 0 ? 0 : 0x80) | (segment << 4) | step) ^ ALAW_TOGGLE;
}

/** The sample behind each mu-law code, on the 16-bit scale (the standard's 14 bits, times four). */
export const MULAW_TO_PCM16 = Int16Array.from({ length: 256 }, (_, code) => mulawToSample(code));
/** The sample behind each A-law code, on the 16-bit scale (the standard's 13 bits, times eight). */
export const ALAW_TO_PCM16 = Int16Array.from({ length: 256 }, (_, code) => alawToSample(code));

/** Codes of samples, indexed by the sample as an unsigned 16-bit number. */
export const PCM16_TO_MULAW = Uint8Array.from({ length: 65_536 }, (_, index) =>
  sampleToMulaw((index << 16) >> 16),
);
export const PCM16_TO_ALAW = Uint8Array.from({ length: 65_536 }, (_, index) =>
  sampleToAlaw((index << 16) >> 16),
);
const MULAW_TO_ALAW = Uint8Array.from(MULAW_TO_PCM16, (sample) => PCM16_TO_ALAW[sample & 0xffff]!);
const ALAW_TO_MULAW = Uint8Array.from(ALAW_TO_PCM16, (sample) => PCM16_TO_MULAW[sample & 0xffff]!);

/**
 * Decodes G.711 mu-law (PCMU) to linear PCM.
 * @param mulaw one byte per sample
 * @returns as many samples, signed 16-bit, host byte order
 * @see ITU-T G.711, table 2a
 */
export function decodeMulaw(mulaw: Uint8Array): Int16Array {
  return decode(mulaw, MULAW_TO_PCM16);
}

/**
 * Encodes to G.711 mu-law the nearest code; the two zeros of mu-law both come back as 0xff.
 * @see ITU-T G.711, table 2a
 */
export function encodeMulaw(samples: Int16Array): Uint8Array {
  return encode(samples, PCM16_TO_MULAW);
}

/**
 * Decodes G.711 A-law (PCMA) to linear PCM.
 * @see ITU-T G.711, table 1a
 */
export function decodeAlaw(alaw: Uint8Array): Int16Array {
  return decode(alaw, ALAW_TO_PCM16);
}

/**
 * Encodes to G.711 A-law the nearest code.
 * @see ITU-T G.711, table 1a
 */
export function encodeAlaw(samples: Int16Array): Uint8Array {
  return encode(samples, PCM16_TO_ALAW);
}

/** Byte for byte; the same as decoding and encoding again. */
export function mulawToAlaw(mulaw: Uint8Array): Uint8Array {
  return translate(mulaw, MULAW_TO_ALAW);
}

/** Byte for byte; the same as decoding and encoding again. */
export function alawToMulaw(alaw: Uint8Array): Uint8Array {
  return translate(alaw, ALAW_TO_MULAW);
}

// Loops, because `TypedArray.from` with a mapping function goes through the iterator protocol and takes many times longer.
function decode(bytes: Uint8Array, table: Int16Array): Int16Array {
  const samples = new Int16Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) samples[i] = table[bytes[i]!]!;
  return samples;
}

function encode(samples: Int16Array, table: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(samples.length);
  for (let i = 0; i < samples.length; i++) bytes[i] = table[samples[i]! & 0xffff]!;
  return bytes;
}

function translate(bytes: Uint8Array, table: Uint8Array): Uint8Array {
  const translated = new Uint8Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) translated[i] = table[bytes[i]!]!;
  return translated;
}
