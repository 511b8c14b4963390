import t from 'tap';
import { bytesFromPcm16, bytesPerMs, durationMs, pcm16FromBytes, silence } from './audio-frame.ts';
import { decodeAlaw, decodeMulaw } from './g711.ts';

void t.test('durations follow from encoding and rate', async (t) => {
  t.equal(bytesPerMs({ encoding: 'pcmu', sampleRate: 8000 }), 8);
  t.equal(bytesPerMs({ encoding: 'pcm16', sampleRate: 24_000 }), 48);
  t.equal(durationMs({ encoding: 'pcma', sampleRate: 8000, bytes: new Uint8Array(160) }), 20);
  t.equal(durationMs({ encoding: 'pcm16', sampleRate: 22_050, bytes: new Uint8Array(44_100) }), 1000);
});

void t.test('silence is silent in every encoding and whole samples long', async (t) => {
  t.same(decodeMulaw(silence({ encoding: 'pcmu', sampleRate: 8000 }, 20)), new Int16Array(160));
  t.same(decodeAlaw(silence({ encoding: 'pcma', sampleRate: 8000 }, 20)), new Int16Array(160).fill(8));
  t.same(silence({ encoding: 'pcm16', sampleRate: 16_000 }, 20), new Uint8Array(640));
  t.equal(silence({ encoding: 'pcm16', sampleRate: 22_050 }, 1).length, 44);
  t.equal(silence({ encoding: 'pcm16', sampleRate: 8000 }, -5).length, 0);
});

void t.test('rule 25: bytes become samples at even and odd offsets of a larger buffer', async (t) => {
  for (const offset of [0, 1, 2, 3]) {
    const pool = new Uint8Array(offset + 6).fill(0xee);
    pool.set([0x01, 0x00, 0xff, 0x7f, 0x00, 0x80], offset);
    t.same(Array.from(pcm16FromBytes(pool.subarray(offset))), [1, 32_767, -32_768], `offset ${offset}`);
  }
  t.same(Array.from(pcm16FromBytes(Uint8Array.of(5, 0, 9))), [5], 'half a sample is left out');
});

void t.test('rule 25: samples become the bytes of their own part of a buffer', async (t) => {
  const pool = Int16Array.of(9, 1, -2, 9);
  t.same(Array.from(bytesFromPcm16(pool.subarray(1, 3))), [1, 0, 0xfe, 0xff]);
});
