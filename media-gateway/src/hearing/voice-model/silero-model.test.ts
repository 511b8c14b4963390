import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t from 'tap';
import loadWabt from 'wabt';
import { referenceSounds } from './fixtures/reference-sound.ts';
import { SileroModel, SileroStream, WINDOW_SAMPLES } from './silero-model.ts';

const reference = JSON.parse(readFileSync(new URL('fixtures/reference.json', import.meta.url), 'utf8')) as {
  sound_sha256: string[];
  probabilities: string[];
};
const sounds = await referenceSounds();
const expected = reference.probabilities.map((text) => {
  const bytes = Buffer.from(text, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
});
/** The largest difference seen is 5e-6: sums are added up in another order. */
const TOLERANCE = 1e-5;

/** What the model makes of sounds whose windows are judged together. */
function judgeTogether(model: SileroModel, together: readonly Int16Array[]): number[][] {
  const rings = together.map((sound) => {
    const ring = new Int16Array(2 ** 18);
    ring.set(sound);
    return ring;
  });
  const streams = together.map(() => new SileroStream());
  const found: number[][] = together.map(() => []);
  for (let from = 0; from + WINDOW_SAMPLES <= together[0]!.length; from += WINDOW_SAMPLES) {
    streams.forEach((stream, i) => stream.take(rings[i]!, from));
    model.judge(streams);
    streams.forEach((stream, i) => found[i]!.push(stream.probability));
  }
  return found;
}

const largestDifference = (a: readonly number[], b: readonly number[]) =>
  a.reduce((largest, value, i) => Math.max(largest, Math.abs(value - b[i]!)), 0);

void t.test('the sounds are those that the reference was recorded with', async (t) => {
  t.same(
    sounds.map((sound) => createHash('sha256').update(sound).digest('hex')),
    reference.sound_sha256,
  );
});

void t.test('probabilities are those of ONNX Runtime, for four streams at a time', async (t) => {
  const found = judgeTogether(new SileroModel(), sounds);
  for (const [i, probabilities] of found.entries()) {
    t.equal(probabilities.length, expected[i]!.length);
    t.ok(largestDifference(probabilities, expected[i]!) < TOLERANCE);
  }
});

void t.test('a stream alone, and five of which one is left over, give the same', async (t) => {
  const model = new SileroModel();
  const short = sounds.map((sound) => sound.subarray(0, 100 * WINDOW_SAMPLES));
  const [alone] = judgeTogether(model, [short[1]!]);
  t.ok(largestDifference(alone!, expected[1]!) < TOLERANCE);
  const five = judgeTogether(model, [...short, short[3]!]);
  t.ok(largestDifference(five[2]!, expected[2]!) < TOLERANCE);
  t.same(five[4], five[3]);
});

void t.test('a voice is told from noise', async (t) => {
  const shares = judgeTogether(new SileroModel(), sounds).map(
    (probabilities) => probabilities.filter((p) => p >= 0.5).length / probabilities.length,
  );
  const [voice, inNoise, noise] = shares;
  t.ok(voice! > 0.8);
  t.ok(inNoise! > 0.8);
  t.equal(noise, 0);
});

void t.test('what a stream remembers is its own, and is forgotten by a reset', async (t) => {
  const model = new SileroModel();
  const stream = new SileroStream();
  const ring = new Int16Array(2 ** 18);
  ring.set(sounds[0]!);
  const first = () => {
    stream.take(ring, 0);
    model.judge([stream]);
    return stream.probability;
  };
  const fresh = first();
  t.not(first(), fresh);
  stream.reset();
  t.equal(first(), fresh);
});

void t.test('the kernel is what its source text says', async (t) => {
  const source = readFileSync(new URL('silero-kernel.wat', import.meta.url), 'utf8');
  const wabt = await loadWabt();
  const module = wabt.parseWat('silero-kernel.wat', source, { simd: true, relaxed_simd: true });
  module.resolveNames();
  module.validate();
  const made = Buffer.from(module.toBinary({}).buffer);
  t.ok(made.equals(readFileSync(new URL('silero-kernel.wasm', import.meta.url))));
});
