import * as nodeFs from 'node:fs/promises';
import path from 'node:path';
import t, { type Test } from 'tap';
import { wavHeader } from '@parley/shared/audio/wav';
import { hasMp3, writeMp3 } from './mp3-file.ts';

/** The MP3 of some seconds of a tone, with what its first frame tells players. */
async function encoded(t: Test, sampleRate: number, channels: number, samples: number) {
  const dir = t.testdir({});
  const wav = path.join(dir, 'a.wav');
  const pcm = Int16Array.from({ length: samples * channels }, (_, i) => 8000 * Math.sin(i / 5));
  const header = wavHeader({ sampleRate, channels, dataBytes: pcm.byteLength });
  await nodeFs.writeFile(wav, Buffer.concat([header, Buffer.from(pcm.buffer)]));
  const target = path.join(dir, 'a.mp3');
  await writeMp3({ path: wav, sampleRate, channels }, target);
  t.same((await nodeFs.readdir(dir)).sort(), ['a.mp3', 'a.wav'], 'nothing else is left');
  t.equal((await nodeFs.stat(target)).mode & 0o777, 0o600, 'of nobody else');
  const bytes = await nodeFs.readFile(target);
  const tag = bytes.indexOf('Info');
  const lame = tag + 4 + 4 + 4 + 4 + 100 + 4;
  const delays = bytes.readUIntBE(lame + 9 + 1 + 10 + 1, 3);
  return {
    ...{ bytes, tag, flags: bytes.readUInt32BE(tag + 4), frames: bytes.readUInt32BE(tag + 8) },
    ...{ length: bytes.readUInt32BE(tag + 12), contents: bytes.subarray(tag + 16, tag + 116) },
    ...{ encoder: bytes.toString('latin1', lame, lame + 9), bitrate: bytes[lame + 20] },
    ...{ delay: delays >> 12, padding: delays & 0xfff },
  };
}

void t.test('the first frame tells how long an MP3 is, and what to leave out at both ends', async (t) => {
  for (const [rate, channels, kbps] of [
    [8000, 1, 24],
    [8000, 2, 32],
    [16_000, 1, 40],
    [16_000, 2, 48],
    [24_000, 1, 64],
    [24_000, 2, 64],
  ] as const) {
    const samples = rate * 3 + 123;
    const mp3 = await encoded(t, rate, channels, samples);
    const frameBytes = (72 * kbps * 1000) / rate;
    t.equal(mp3.tag, channels === 1 ? 13 : 21, `${rate} ${channels}`);
    t.match(mp3, { flags: 15, length: mp3.bytes.length, encoder: 'LAME3.100', bitrate: kbps, delay: 576 });
    t.equal(mp3.frames, mp3.bytes.length / frameBytes - 1, 'the first holds no sound');
    t.equal(mp3.frames * 576 - mp3.delay - mp3.padding, samples, 'it is exactly as long as the recording');
    t.same([mp3.contents[0], mp3.contents[1], mp3.contents[50], mp3.contents[99]], [0, 2, 128, 253]);
    t.equal(mp3.bytes.readUInt16BE(0) & 0xffe0, 0xffe0, 'it begins as a frame');
    t.same(mp3.bytes.subarray(0, 2), mp3.bytes.subarray(frameBytes, frameBytes + 2), 'as the others do');
  }
});

void t.test('a recording without a sample is an MP3 as well, and odd rates have none', async (t) => {
  const { frames, delay, padding } = await encoded(t, 8000, 1, 0);
  t.ok(frames >= 0 && delay === 576 && padding <= 0xfff);
  t.same([8000, 16_000, 24_000, 44_100, 11_025].map(hasMp3), [true, true, true, false, false]);
  const dir = t.testdir({});
  await t.rejects(writeMp3({ path: 'a.wav', sampleRate: 44_100, channels: 1 }, path.join(dir, 'b')), {
    name: 'RangeError',
  });
  await t.rejects(
    writeMp3({ path: path.join(dir, 'gone.wav'), sampleRate: 8000, channels: 1 }, path.join(dir, 'b')),
    {
      code: 'ENOENT',
    },
  );
  t.same(await nodeFs.readdir(dir), []);
});
