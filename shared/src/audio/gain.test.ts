import t from 'tap';
import { bytesFromPcm16, pcm16FromBytes } from './audio-frame.ts';
import { decodeAlaw, decodeMulaw, encodeAlaw, encodeMulaw } from './g711.ts';
import { amplifier } from './gain.ts';

const samples = Int16Array.from({ length: 400 }, (_, i) => Math.round(12_000 * Math.sin(i / 7)));
const peak = (values: Int16Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

const coded = [
  ['pcmu', encodeMulaw, decodeMulaw],
  ['pcma', encodeAlaw, decodeAlaw],
] as const;

void t.test('audio is made louder and softer where it lies', async (t) => {
  const pcm = bytesFromPcm16(samples.slice());
  amplifier({ encoding: 'pcm16', sampleRate: 16_000 }, 0.5)(pcm);
  t.ok(Math.abs(peak(pcm16FromBytes(pcm)) - 6000) <= 1);
  for (const [encoding, encode, decode] of coded) {
    const bytes = encode(samples);
    amplifier({ encoding, sampleRate: 8000 }, 2)(bytes);
    t.ok(Math.abs(peak(decode(bytes)) / 24_000 - 1) < 0.05, encoding);
  }
});

void t.test('what is too loud is clipped, not wrapped around', async (t) => {
  const pcm = bytesFromPcm16(Int16Array.of(30_000, -30_000, 32_767, -32_768));
  amplifier({ encoding: 'pcm16', sampleRate: 8000 }, 2)(pcm);
  t.same([...pcm16FromBytes(pcm)], [32_767, -32_768, 32_767, -32_768]);
  for (const [encoding, encode, decode] of coded) {
    const bytes = encode(Int16Array.of(30_000, -30_000));
    amplifier({ encoding, sampleRate: 8000 }, 2)(bytes);
    const [up, down] = decode(bytes);
    t.ok(up! > 31_000 && down! < -31_000, encoding);
  }
});
