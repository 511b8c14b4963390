import t from 'tap';
import { encodeAlaw, encodeMulaw } from '@parley/shared/audio/g711';
import { bytesFromPcm16, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { ToneEar } from './tone-ear.ts';

const RATE = 8000;

type Sound = (i: number) => number;
const tone =
  (hz: number, amplitude = 8000): Sound =>
  (i) =>
    amplitude * Math.sin((2 * Math.PI * hz * i) / RATE);
const still: Sound = () => 0;

/** Parts of a sound, one after the other. */
function sounds(...parts: [sound: Sound, ms: number][]): Int16Array {
  return Int16Array.from(
    parts.flatMap(([sound, ms]) =>
      Array.from({ length: ms * (RATE / 1000) }, (_, i) => Math.round(sound(i))),
    ),
  );
}

/** @returns the beeps, pitch and length */
function heard(
  samples: Int16Array,
  encoding: AudioFormat['encoding'] = 'pcmu',
  frame = 160,
): [number, number][] {
  const bytes =
    encoding === 'pcmu'
      ? encodeMulaw(samples)
      : encoding === 'pcma'
        ? encodeAlaw(samples)
        : bytesFromPcm16(samples);
  const ear = new ToneEar({ encoding, sampleRate: RATE });
  const found: [number, number][] = [];
  for (let at = 0; at < bytes.length; at += frame)
    if (ear.push(bytes.subarray(at, at + frame))) found.push([Math.round(ear.hz), ear.toneMs]);
  return found;
}

const around = (sound: Sound, ms: number) => sounds([still, 300], [sound, ms], [still, 300]);
/** Quiet noise of a line, the same each time. */
const hiss = (amplitude: number): Sound => {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state / 2 ** 31 - 1) * amplitude;
  };
};

void t.test('recorders’ tones are made out, at their pitch, in every encoding', async (t) => {
  for (const hz of [425, 440, 620, 850, 1000, 1400, 2000])
    for (const encoding of ['pcmu', 'pcma', 'pcm16'] as const) {
      const [beep, ...others] = heard(around(tone(hz), 400), encoding);
      t.same(others, []);
      t.ok(
        beep && Math.abs(beep[0] - hz) < hz * 0.01 && Math.abs(beep[1] - 400) <= 40,
        `${hz} Hz, ${encoding}: ${String(beep)}`,
      );
    }
  t.equal(heard(around(tone(1000), 400), 'pcmu', 97).length, 1, 'whatever the size of its frames');
  const noise = hiss(300);
  t.equal(
    heard(sounds([noise, 300], [(i) => tone(1000, 6000)(i) + noise(i), 400], [noise, 300])).length,
    1,
    'in noise',
  );
  t.equal(heard(sounds([tone(1000), 300], [still, 400], [tone(1000), 300], [still, 300])).length, 2);
});

void t.test('what is no beep', async (t) => {
  const none = (samples: Int16Array, what: string) => t.same(heard(samples), [], what);
  none(around(tone(1000), 80), 'a click');
  none(around(tone(2100), 3500), 'a fax machine');
  none(
    around((i) => tone(440, 5000)(i) + tone(480, 5000)(i), 2000),
    'ringing',
  );
  none(
    around((i) => tone(697, 5000)(i) + tone(1209, 5000)(i), 200),
    'a key',
  );
  none(around(tone(1000, 100), 400), 'what is hardly heard');
  none(
    around((i) => tone(300 + i / 8)(i), 800),
    'a siren',
  );
  none(around(hiss(8000), 800), 'noise');
  none(
    around((i) => [1, 2, 3, 4, 5].reduce((sum, h) => sum + tone(220 * h, 3000 / h)(i), 0), 600),
    'a held note',
  );
  none(
    sounds([hiss(8000), 300], [tone(1000), 400], [hiss(8000), 300]),
    'a tone in the middle of other sounds',
  );
});
