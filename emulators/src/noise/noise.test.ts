import t from 'tap';
import { decodeMulaw, encodeMulaw } from '@parley/shared/audio/g711';
import { toFrames } from '../callers/carrier-line.ts';
import { activeLevelDb, gainOf } from './active-level.ts';
import { callerLevelDb, LineNoise, noiseAt } from './line-noise.ts';
import { makeNoise } from './make-noise.ts';
import { formatNoise, NOISE_HALVES, NOISE_KINDS, parseNoise } from './noise-setting.ts';
import { readVoiceMark } from '../recogniser/voice-mark.ts';
import { Surroundings } from './surroundings.ts';
import { openVoices } from './voices.ts';

const SECONDS = 3;

const sine = (samples: number, amplitude: number) =>
  Int16Array.from({ length: samples }, (_, i) => amplitude * Math.sin((2 * Math.PI * 440 * i) / 8000));

const bytesOf = (base64: string) => Buffer.from(base64, 'base64');

void t.test('noise is given as a kind and a level', async (t) => {
  t.same(parseNoise('tv:-20'), { kind: 'tv', levelDb: -20, levelTo: 'caller' });
  t.same(parseNoise('babble:-7.5dB'), { kind: 'babble', levelDb: -7.5, levelTo: 'caller' });
  t.same(parseNoise('car:-45dBFS'), { kind: 'car', levelDb: -45, levelTo: 'full-scale' });
  t.equal(formatNoise(parseNoise('dog:-45dBFS')), 'dog:-45dBFS');
  t.equal(formatNoise(parseNoise('dog:0')), 'dog:0');
  for (const wrong of ['', 'tv', 'tv:', 'tv:loud', 'radio:-20', 'tv:-90', 'tv:20', 'tv:0dBFS', 'tv:-20:1'])
    t.throws(
      () => parseNoise(wrong),
      /tv, babble, talker, music, street, kitchen, car, cough, knock, dog/,
      wrong,
    );
});

void t.test('the active level is that of the speech, not of its pauses', async (t) => {
  const halves = new Int16Array(16_000);
  halves.set(sine(8000, 3277));
  const expected = 20 * Math.log10(0.1 / Math.SQRT2);
  t.ok(Math.abs(activeLevelDb(halves) - expected) < 0.1);
  t.ok(Math.abs(activeLevelDb(sine(8000, 3277)) - expected) < 0.1);
  t.equal(activeLevelDb(new Int16Array(800)), -Infinity);
  t.ok(Math.abs(gainOf(-20) - 0.1) < 1e-9);
});

void t.test(
  'every kind has the level that is asked for after mu-law, repeats itself, and differs by half',
  async (t) => {
    const voices = await Promise.all(NOISE_HALVES.map(openVoices));
    for (const kind of NOISE_KINDS) {
      const [first, second] = NOISE_HALVES.map((half, i) => makeNoise(kind, half, voices[i]!, SECONDS));
      t.equal(first!.length, SECONDS * 8000);
      t.notSame(first!.subarray(4000, 5000), second!.subarray(4000, 5000), `${kind}: the halves differ`);
      for (const levelDb of [-25, -50]) {
        const noise = new LineNoise(noiseAt(first!, levelDb));
        const heard = Buffer.concat(
          Array.from({ length: noise.frames }, (_, i) => bytesOf(noise.mix(i, undefined))),
        );
        const level = activeLevelDb(decodeMulaw(heard));
        t.ok(Math.abs(level - levelDb) < 0.5, `${kind} at ${levelDb} dB is heard at ${level.toFixed(2)} dB`);
      }
    }
    const again = makeNoise('talker', 'development', await openVoices('development'), SECONDS);
    t.same(
      again,
      makeNoise('talker', 'development', voices[0]!, SECONDS),
      'what was spoken before changes nothing',
    );
  },
);

void t.test(
  'a line hears the caller over the noise, which goes on in pauses and begins again at its end',
  async (t) => {
    const noise = new LineNoise(sine(480, 300));
    t.equal(noise.frames, 3);
    t.equal(noise.mix(4, undefined), noise.mix(1, undefined));
    t.same(
      decodeMulaw(bytesOf(noise.mix(1, undefined))),
      decodeMulaw(encodeMulaw(sine(480, 300).subarray(160, 320))),
    );
    const speech = encodeMulaw(sine(160, 8000));
    const background = sine(480, 300).subarray(160, 320);
    const sum = decodeMulaw(speech).map((sample, i) => sample + background[i]!);
    t.same(new Uint8Array(bytesOf(noise.mix(1, toFrames(speech)[0]))), encodeMulaw(sum));
    const loud = new LineNoise(new Int16Array(160).fill(30_000));
    t.ok(
      decodeMulaw(bytesOf(loud.mix(0, toFrames(encodeMulaw(new Int16Array(160).fill(30_000)))[0]))).every(
        (s) => s > 30_000,
      ),
    );
  },
);

void t.test(
  'the ears are told when the caller speaks, and not of noise, or of what they are not to know',
  async (t) => {
    const said = toFrames(encodeMulaw(sine(160, 4000)))[0];
    for (const around of [new LineNoise(sine(480, 300)), undefined]) {
      const surroundings = new Surroundings(around, 1);
      const marks = () =>
        [said, undefined].map((frame) => readVoiceMark(bytesOf(surroundings.mix(0, frame)).subarray(0, 80)));
      t.same(marks(), [true, false]);
      surroundings.audible = false;
      t.same(marks(), [false, false]);
    }
  },
);

void t.test('a caller who says nothing has the usual level', async (t) => {
  t.equal(callerLevelDb([]), -14);
  t.ok(Math.abs(callerLevelDb([encodeMulaw(sine(8000, 3277))]) + 23) < 0.2);
});
