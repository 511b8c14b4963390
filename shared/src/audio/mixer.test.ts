import t from 'tap';
import { bytesFromPcm16, pcm16FromBytes, type AudioEncoding } from './audio-frame.ts';
import { decodeAlaw, decodeMulaw, encodeAlaw, encodeMulaw } from './g711.ts';
import { loopOf, mixerFor } from './mixer.ts';

const FORMS: readonly [
  AudioEncoding,
  (samples: Int16Array) => Uint8Array,
  (bytes: Uint8Array) => Int16Array,
][] = [
  ['pcmu', encodeMulaw, decodeMulaw],
  ['pcma', encodeAlaw, decodeAlaw],
  ['pcm16', (samples) => bytesFromPcm16(samples.slice()), (bytes) => pcm16FromBytes(bytes.slice())],
];

for (const [encoding, encode, decode] of FORMS) {
  void t.test(`${encoding}: a loop is heard under the voice, and by itself, over and over`, async (t) => {
    const mixer = mixerFor({ encoding, sampleRate: 8000 });
    const loop = loopOf(Int16Array.of(4000, -4000, 8000), 0.5);
    const near = (got: Int16Array, wanted: number[]) =>
      got.length === wanted.length &&
      wanted.every((one, i) => Math.abs(got[i]! - one) <= 40 + Math.abs(one) * 0.04);
    const alone = [2000, -2000, 4000, 2000, -2000, 4000, 2000];
    const bytes = encoding === 'pcm16' ? 2 : 1;
    t.ok(near(decode(mixer.alone(7 * bytes, loop, 0)), alone));
    t.ok(near(decode(mixer.alone(2 * bytes, loop, 5)), [4000, 2000]), 'from anywhere in it');
    const voice = encode(Int16Array.of(8000, 8000, 8000, 8000));
    const before = voice.slice();
    t.ok(near(decode(mixer.under(voice, loop, 3)), [10_000, 6000, 12_000, 10_000]));
    t.same(voice, before, 'the voice itself stays as it is');
    const loud = mixer.under(
      encode(Int16Array.of(32_000, -32_000)),
      loopOf(Int16Array.of(30_000, -30_000), 1),
      0,
    );
    const [up, down] = decode(loud);
    t.ok(up! > 31_000 && down! < -31_000, 'what is too loud is clipped');
  });
}
