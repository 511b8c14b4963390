import t from 'tap';
import { bytesFromPcm16, pcm16FromBytes } from './audio-frame.ts';
import type { AudioFormat } from './audio-frame.ts';
import { AudioConverter } from './convert.ts';
import { encodeAlaw, encodeMulaw } from './g711.ts';

const tone = (rate: number, ms: number) =>
  Int16Array.from({ length: (rate * ms) / 1000 }, (_, i) =>
    Math.round(9000 * Math.sin((2 * Math.PI * 440 * i) / rate)),
  );
const MULAW_8: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };
const ALAW_8: AudioFormat = { encoding: 'pcma', sampleRate: 8000 };
const PCM_8: AudioFormat = { encoding: 'pcm16', sampleRate: 8000 };
const PCM_24: AudioFormat = { encoding: 'pcm16', sampleRate: 24_000 };

function convertWhole(bytes: Uint8Array, from: AudioFormat, to: AudioFormat): Uint8Array {
  const converter = new AudioConverter(from, to);
  return Buffer.concat([converter.convert(bytes), converter.flush()]);
}

void t.test('the same format passes through untouched', async (t) => {
  const converter = new AudioConverter(PCM_24, { ...PCM_24 });
  const bytes = Uint8Array.of(1, 2, 3);
  t.ok(converter.passThrough);
  t.equal(converter.convert(bytes), bytes);
  t.equal(converter.flush().length, 0);
  t.notOk(new AudioConverter(MULAW_8, ALAW_8).passThrough);
});

void t.test('at one rate only the encoding changes', async (t) => {
  const samples = tone(8000, 40);
  const pcm = bytesFromPcm16(samples);
  t.same(new AudioConverter(PCM_8, MULAW_8).convert(pcm), encodeMulaw(samples));
  t.same(new AudioConverter(PCM_8, ALAW_8).convert(pcm), encodeAlaw(samples));
  t.same(new AudioConverter(MULAW_8, ALAW_8).convert(Uint8Array.of(0xff)), Uint8Array.of(0xd5));
  t.same(new AudioConverter(ALAW_8, MULAW_8).convert(Uint8Array.of(0x2a)), Uint8Array.of(0x00));
  t.same(new AudioConverter(MULAW_8, PCM_8).convert(Uint8Array.of(0xfe)), Uint8Array.of(8, 0));
});

void t.test('at another rate a tone keeps its length and its loudness', async (t) => {
  const heard = pcm16FromBytes(convertWhole(encodeMulaw(tone(8000, 500)), MULAW_8, PCM_24));
  t.equal(heard.length, 12_000);
  const loudness = Math.sqrt(heard.reduce((sum, sample) => sum + sample ** 2, 0) / heard.length);
  t.ok(Math.abs(loudness - 9000 / Math.SQRT2) < 100, String(loudness));
  t.equal(convertWhole(bytesFromPcm16(tone(24_000, 500)), PCM_24, ALAW_8).length, 4000);
});

void t.test('rule 26: chunks that end inside a sample give what the whole stream gives', async (t) => {
  const bytes = bytesFromPcm16(tone(24_000, 100));
  for (const to of [PCM_8, MULAW_8, { encoding: 'pcma', sampleRate: 24_000 } as const]) {
    const whole = convertWhole(bytes, PCM_24, to);
    const converter = new AudioConverter(PCM_24, to);
    const pieces: Uint8Array[] = [];
    for (let at = 0, size = 1; at < bytes.length; at += size, size = (size % 97) + 2) {
      pieces.push(converter.convert(bytes.subarray(at, at + size)), converter.convert(new Uint8Array(0)));
    }
    t.same(
      Buffer.concat([...pieces, converter.flush()]),
      Buffer.from(whole),
      `to ${to.encoding} ${to.sampleRate}`,
    );
  }
});

void t.test('half a sample is forgotten by a flush', async (t) => {
  const converter = new AudioConverter(PCM_8, MULAW_8);
  t.equal(converter.convert(Uint8Array.of(1)).length, 0);
  converter.flush();
  t.same(converter.convert(Uint8Array.of(8, 0)), Uint8Array.of(0xfe));
});
