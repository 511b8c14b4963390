import { readFile } from 'node:fs/promises';
import t from 'tap';
import { filterBank, Resampler } from './resampler.ts';

function sine(hz: number, rate: number, samples: number, amplitude = 20_000): Int16Array {
  return Int16Array.from({ length: samples }, (_, i) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / rate)),
  );
}

function resampleWhole(samples: Int16Array, from: number, to: number): number[] {
  const resampler = new Resampler(from, to);
  return [...resampler.process(samples), ...resampler.flush()];
}

function rms(samples: readonly number[]): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

const inDb = (ratio: number) => 20 * Math.log10(ratio);
const PAIRS = [
  [8000, 16_000],
  [16_000, 8000],
  [8000, 24_000],
  [24_000, 8000],
  [24_000, 16_000],
  [16_000, 24_000],
  [48_000, 16_000],
  [48_000, 8000],
  [44_100, 8000],
  [22_050, 16_000],
] as const;

void t.test('tones above the new Nyquist frequency leave nothing above -60 dB', async (t) => {
  for (const [from, to] of [
    [24_000, 8000],
    [16_000, 8000],
    [48_000, 16_000],
  ] as const) {
    for (let hz = to / 2 + 50; hz < from / 2; hz += to / 37) {
      const heard = resampleWhole(sine(hz, from, from / 4), from, to).slice(100, -100);
      const alias = inDb(rms(heard) / (20_000 / Math.SQRT2));
      if (alias > -60) t.fail(`${from} to ${to}, ${hz} Hz: ${alias.toFixed(1)} dB`);
    }
    t.pass(`${from} to ${to}`);
  }
});

void t.test('tones within the band arrive in place and clean', async (t) => {
  for (const [from, to] of PAIRS) {
    let worst = Infinity;
    for (const share of [0.05, 0.2, 0.4, 0.6, 0.7]) {
      const hz = (share * Math.min(from, to)) / 2;
      const heard = resampleWhole(sine(hz, from, from / 4), from, to).slice(200, -200);
      const ideal = heard.map((_, i) => 20_000 * Math.sin((2 * Math.PI * hz * (i + 200)) / to));
      worst = Math.min(worst, inDb(rms(ideal) / rms(heard.map((sample, i) => sample - ideal[i]!))));
    }
    t.ok(worst > 55, `${from} to ${to}: ${worst.toFixed(1)} dB`);
  }
});

/** Five tones below 3 kHz, faded in and out. */
function tones(rate: number, samples: number): Int16Array {
  const parts = [
    [130, 0.1],
    [470, 1.3],
    [1010, 2.2],
    [1730, 0.4],
    [2650, 2.9],
  ] as const;
  return Int16Array.from({ length: samples }, (_, i) => {
    const fade = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / samples);
    const sum = parts.reduce((all, [hz, phase]) => all + Math.sin((2 * Math.PI * hz * i) / rate + phase), 0);
    return Math.round(5000 * fade * sum);
  });
}

void t.test('another resampler makes the same of the same signal', async (t) => {
  // Every seventh sample of SoX 14.4.2: `sox -D -r <from> - -t raw - rate -v <to>`, given 50 ms of `tones`.
  const file = await readFile(new URL('fixtures/resampler-vectors.json', import.meta.url), 'utf8');
  for (const [rates, expected] of Object.entries(JSON.parse(file) as Record<string, number[]>)) {
    const [from, to] = rates.split('/').map(Number) as [number, number];
    const made = resampleWhole(tones(from, from / 20), from, to).filter((_, i) => i % 7 === 0);
    t.equal(made.length, expected.length, `${rates}: as long`);
    const worst = Math.max(...made.map((sample, i) => Math.abs(sample - expected[i]!)));
    t.ok(worst <= 12, `${rates}: ${worst} of 23,000 apart at most`);
  }
});

void t.test(
  'rule 24: however the stream is cut, the samples are the same, and as long as what went in',
  async (t) => {
    for (const [from, to] of PAIRS) {
      const samples = Int16Array.from({ length: 5003 }, (_, i) => ((i * 7919) % 65_536) - 32_768);
      const whole = resampleWhole(samples, from, to);
      t.equal(whole.length, Math.ceil((samples.length * to) / from), `${from} to ${to}: length`);
      for (const sizes of [[1], [160], [7, 0, 513, 1, 64], [512, 1024, 2]]) {
        const resampler = new Resampler(from, to);
        const pieces: number[] = [];
        for (let at = 0, n = 0; at < samples.length; n++) {
          const size = sizes[n % sizes.length]!;
          pieces.push(...resampler.process(samples.subarray(at, at + size)));
          at += size;
        }
        pieces.push(...resampler.flush());
        t.same(pieces, whole, `${from} to ${to} in pieces of ${sizes.join()}`);
      }
    }
  },
);

void t.test('a slow tone has no step where chunks meet', async (t) => {
  for (const [from, to] of PAIRS) {
    const hz = 100;
    const samples = sine(hz, from, from / 5);
    const resampler = new Resampler(from, to);
    const heard: number[] = [];
    const frame = from / 50;
    for (let at = 0; at < samples.length; at += frame)
      heard.push(...resampler.process(samples.subarray(at, at + frame)));
    const steepest = (20_000 * 2 * Math.PI * hz) / to;
    const inside = heard.slice(to / 100);
    const steps = inside.slice(1).map((sample, i) => Math.abs(sample - inside[i]!));
    t.ok(Math.max(...steps) <= steepest + 20, `${from} to ${to}`);
  }
});

void t.test('a constant stays the same constant in every phase', async (t) => {
  for (const [from, to] of PAIRS) {
    const heard = resampleWhole(new Int16Array(from / 10).fill(12_345), from, to).slice(100, -100);
    t.same(new Set(heard), new Set([12_345]), `${from} to ${to}`);
  }
});

void t.test('overshoot is clipped, not wrapped', async (t) => {
  const square = Int16Array.from({ length: 1600 }, (_, i) => (Math.floor(i / 20) % 2 ? 32_767 : -32_768));
  const heard = resampleWhole(square, 8000, 16_000).slice(100, -100);
  // Wrapping would put a sample of the other sign into the middle of a half wave of 40 samples.
  for (let half = 0; half + 40 <= heard.length; half++) {
    const [before, at, after] = heard.slice(half, half + 3) as [number, number, number];
    if (
      Math.sign(before) === Math.sign(after) &&
      Math.abs(before) > 20_000 &&
      Math.sign(at) !== Math.sign(before)
    ) {
      t.fail(`sample ${half} wrapped`);
    }
  }
  t.equal(Math.max(...heard), 32_767);
});

void t.test('a flushed resampler starts anew', async (t) => {
  const resampler = new Resampler(8000, 16_000);
  const first = [...resampler.process(sine(440, 8000, 400)), ...resampler.flush()];
  t.same([...resampler.process(sine(440, 8000, 400)), ...resampler.flush()], first);
});

void t.test('rule 29: filters are made once for a pair of rates, and shared by all streams', async (t) => {
  const made = filterBank(8000, 24_000);
  t.equal(filterBank(8000, 24_000), made);
  t.equal(filterBank(16_000, 48_000), filterBank(16_000, 48_000));
  t.not(filterBank(24_000, 8000), made);
});

void t.test('equal rates pass through; nonsense rates are refused', async (t) => {
  const samples = sine(440, 8000, 100);
  t.equal(new Resampler(8000, 8000).process(samples), samples);
  t.equal(new Resampler(8000, 8000).flush().length, 0);
  for (const rate of [0, -8000, 8000.5, NaN, Infinity, 1e9])
    t.throws(() => new Resampler(rate, 8000), RangeError);
  t.throws(() => new Resampler(44_099, 383_998), RangeError);
});
