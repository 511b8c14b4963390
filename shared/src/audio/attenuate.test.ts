import t from 'tap';
import { attenuator } from './attenuate.ts';
import { bytesFromPcm16, pcm16FromBytes } from './audio-frame.ts';
import { decodeAlaw, decodeMulaw, encodeAlaw, encodeMulaw } from './g711.ts';

const samples = Int16Array.from({ length: 800 }, (_, i) => Math.round(20_000 * Math.sin(i / 7)));
const rms = (values: Int16Array) =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);
const lossDb = (softer: Int16Array) => 20 * Math.log10(rms(samples) / rms(softer));

void t.test('each format gets softer by as much as was asked for, and keeps its input', async (t) => {
  const pcm = bytesFromPcm16(samples.slice());
  const soft = pcm16FromBytes(attenuator({ encoding: 'pcm16', sampleRate: 16_000 }, 15)(pcm));
  t.ok(Math.abs(lossDb(soft) - 15) < 0.1);
  t.same(pcm16FromBytes(pcm), samples);
  const mulaw = encodeMulaw(samples);
  const alaw = encodeAlaw(samples);
  t.ok(
    Math.abs(lossDb(decodeMulaw(attenuator({ encoding: 'pcmu', sampleRate: 8000 }, 15)(mulaw))) - 15) < 0.3,
  );
  t.ok(Math.abs(lossDb(decodeAlaw(attenuator({ encoding: 'pcma', sampleRate: 8000 }, 15)(alaw))) - 15) < 0.3);
  t.same(mulaw, encodeMulaw(samples));
});

void t.test('silence stays silence, and pieces may be of any length', async (t) => {
  const soften = attenuator({ encoding: 'pcmu', sampleRate: 8000 }, 15);
  t.same(decodeMulaw(soften(new Uint8Array(3).fill(0xff))), new Int16Array(3));
  t.equal(soften(new Uint8Array(10_000)).length, 10_000);
});
