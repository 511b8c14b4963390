import { readFile } from 'node:fs/promises';
import t from 'tap';
import {
  ALAW_TO_PCM16,
  MULAW_TO_PCM16,
  alawToMulaw,
  decodeAlaw,
  decodeMulaw,
  encodeAlaw,
  encodeMulaw,
  mulawToAlaw,
} from './g711.ts';

const CODES = Uint8Array.from({ length: 256 }, (_, code) => code);
const SAMPLES = Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768);

/** G.711 table 2: y(n) is the middle of its interval; segments double, the first starts at -1 in 14 bits. */
function mulawByStandard(code: number): number {
  const inverted = 255 - code;
  const segment = Math.floor((inverted % 128) / 16);
  const step = inverted % 16;
  const value14 = 2 ** segment * (2 * step + 33) - 33;
  return (inverted >= 128 ? -4 : 4) * value14;
}

/** G.711 table 1: as above, 13 bits, no offset, the two lowest segments alike, even bits inverted. */
function alawByStandard(code: number): number {
  const plain = code ^ 0b0101_0101;
  const segment = Math.floor((plain % 128) / 16);
  const step = plain % 16;
  const value13 = segment === 0 ? 2 * step + 1 : 2 ** (segment - 1) * (2 * step + 33);
  return (plain >= 128 ? 8 : -8) * value13;
}

void t.test('every code decodes to the value of the standard', async (t) => {
  t.same(
    Array.from(decodeMulaw(CODES)),
    Array.from(CODES, (code) => mulawByStandard(code) + 0),
  );
  t.same(Array.from(decodeAlaw(CODES)), Array.from(CODES, alawByStandard));
});

/**
 * Made with Python 3.11.7's `audioop`, whose G.711 is Sun's of 1992 and shares nothing with ours: the sample of each code,
 * and of all samples in rising order the first that gets each code. SoX 14.4.2 decodes all codes to the same samples.
 */
interface Vectors {
  decoded: number[];
  first: number[];
  codes: number[];
}

void t.test('another implementation decodes and encodes all codes alike', async (t) => {
  const file = await readFile(new URL('fixtures/g711-vectors.json', import.meta.url), 'utf8');
  const vectors = JSON.parse(file) as Record<'pcmu' | 'pcma', Vectors>;
  // mu-law has 14 bits: where a step begins, implementations differ by how they round 16 bits to them.
  for (const [law, decode, encode, slack] of [
    ['pcmu', decodeMulaw, encodeMulaw, 3],
    ['pcma', decodeAlaw, encodeAlaw, 0],
  ] as const) {
    const { decoded, first, codes } = vectors[law];
    t.same(Array.from(decode(CODES)), decoded, `${law}: decoded`);
    t.equal(
      new Set(codes).size,
      law === 'pcmu' ? 255 : 256,
      `${law}: of the two zeros of mu-law one is made`,
    );
    const at = (shift: number) => Array.from(encode(Int16Array.from(first, (sample) => sample + shift)));
    t.same(at(slack).slice(1), codes.slice(1), `${law}: each step begins there`);
    t.same(at(-1 - slack).slice(1), codes.slice(0, -1), `${law}: and the one before ends`);
    t.equal(encode(Int16Array.of(-32_768))[0], codes[0]);
  }
});

void t.test('known vectors: silence, the extremes, and the digital milliwatt of G.711', async (t) => {
  t.same(Array.from(decodeMulaw(Uint8Array.of(0xff, 0x7f, 0x80, 0x00, 0xfe))), [0, 0, 32_124, -32_124, 8]);
  t.same(Array.from(decodeAlaw(Uint8Array.of(0xd5, 0x55, 0xaa, 0x2a))), [8, -8, 32_256, -32_256]);
  t.same(Array.from(encodeMulaw(Int16Array.of(0, 32_767, -32_768, 8))), [0xff, 0x80, 0x00, 0xfe]);
  t.same(Array.from(encodeAlaw(Int16Array.of(0, -1, 32_767, -32_768))), [0xd5, 0x55, 0xaa, 0x2a]);
  // Tables 5 and 6: the codes of 1 kHz at 0 dBm0, which is 3.17 (mu) and 3.14 dB (A) below the largest sine.
  const milliwatt = (codes: Int16Array, overloadDb: number, peak: number) => {
    const power = codes.reduce((sum, sample) => sum + sample ** 2, 0) / codes.length;
    return 10 * Math.log10(power / (peak ** 2 / 2)) + overloadDb;
  };
  const mu = decodeMulaw(Uint8Array.of(0x1e, 0x0b, 0x0b, 0x1e, 0x9e, 0x8b, 0x8b, 0x9e));
  const a = decodeAlaw(Uint8Array.of(0x34, 0x21, 0x21, 0x34, 0xb4, 0xa1, 0xa1, 0xb4));
  t.ok(Math.abs(milliwatt(mu, 3.17, 8159 * 4)) < 0.05);
  t.ok(Math.abs(milliwatt(a, 3.14, 4096 * 8)) < 0.05);
});

void t.test('a code survives decoding and encoding; of the two zeros of mu-law one is left', async (t) => {
  const expected = Array.from(CODES);
  t.same(Array.from(encodeAlaw(ALAW_TO_PCM16)), expected);
  expected[0x7f] = 0xff;
  t.same(Array.from(encodeMulaw(MULAW_TO_PCM16)), expected);
});

void t.test('every sample gets the code with the nearest value', async (t) => {
  for (const [name, encode, values] of [
    ['mu-law', encodeMulaw, MULAW_TO_PCM16],
    ['A-law', encodeAlaw, ALAW_TO_PCM16],
  ] as const) {
    const sorted = Int16Array.from(new Set(values)).sort();
    const codes = encode(SAMPLES);
    let worse = 0;
    let next = 0;
    for (let i = 0; i < SAMPLES.length; i++) {
      const sample = SAMPLES[i]!;
      while (next < sorted.length - 1 && sorted[next + 1]! <= sample) next++;
      const nearest = Math.min(
        Math.abs(sorted[next]! - sample),
        Math.abs((sorted[next + 1] ?? sorted[next])! - sample),
      );
      // Where segments meet the standard's decision value lies off the middle, by at most half a small step.
      if (Math.abs(values[codes[i]!]! - sample) > nearest * 2) worse++;
    }
    t.equal(worse, 0, name);
  }
});

void t.test('one law becomes the other as if decoded and encoded again', async (t) => {
  t.same(mulawToAlaw(CODES), encodeAlaw(decodeMulaw(CODES)));
  t.same(alawToMulaw(CODES), encodeMulaw(decodeAlaw(CODES)));
  t.same(mulawToAlaw(Uint8Array.of(0xff)), Uint8Array.of(0xd5), 'silence stays silence');
  t.same(alawToMulaw(Uint8Array.of(0x80, 0x00)), encodeMulaw(Int16Array.of(5504, -5504)));
});

void t.test('a view into a larger buffer is read from where it begins', async (t) => {
  const pool = Uint8Array.of(1, 2, 0xff, 0x80, 3);
  t.same(Array.from(decodeMulaw(pool.subarray(2, 4))), [0, 32_124]);
});
