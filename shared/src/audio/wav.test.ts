import t from 'tap';
import { bytesFromPcm16 } from './audio-frame.ts';
import { WavError, parseWav, wavHeader } from './wav.ts';

function chunk(tag: string, content: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(content.length);
  return Buffer.concat([Buffer.from(tag), length, content, Buffer.alloc(content.length % 2)]);
}

function format(code: number, bits: number, channels = 1, extra = Buffer.alloc(0)): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt16LE(code, 0);
  content.writeUInt16LE(channels, 2);
  content.writeUInt32LE(8000, 4);
  content.writeUInt16LE(bits, 14);
  return chunk('fmt ', Buffer.concat([content, extra]));
}

const file = (...chunks: Buffer[]) => Buffer.concat([chunk('RIFF', Buffer.from('WAVE')), ...chunks]);

void t.test('the header is the canonical one and reads back', async (t) => {
  const samples = Int16Array.of(0, 1, -1, 32_767, -32_768, 5);
  const data = bytesFromPcm16(samples);
  const header = wavHeader({ sampleRate: 24_000, channels: 2, dataBytes: data.length });
  t.equal(
    Buffer.from(header).toString('hex'),
    '52494646300000005741564566 6d742010000000010002 00c05d00000077010004001000646174610c000000'.replaceAll(
      ' ',
      '',
    ),
  );
  t.same(parseWav(Buffer.concat([header, data])), { sampleRate: 24_000, channels: 2, samples });
});

void t.test('8-bit, mu-law, A-law and extensible files are read, other chunks skipped', async (t) => {
  const list = chunk('LIST', Buffer.from('odd'));
  const read = (...chunks: Buffer[]) => Array.from(parseWav(file(...chunks)).samples);
  t.same(read(format(1, 8), list, chunk('data', Uint8Array.of(128, 255, 0))), [0, 32_512, -32_768]);
  t.same(read(list, format(7, 8), chunk('data', Uint8Array.of(0xff, 0x80))), [0, 32_124]);
  t.same(read(format(6, 8, 1, Buffer.alloc(2)), chunk('data', Uint8Array.of(0xd5, 0xaa))), [8, 32_256]);
  const extension = Buffer.alloc(24);
  extension.writeUInt16LE(1, 8);
  t.same(read(format(0xfffe, 16, 1, extension), chunk('data', Uint8Array.of(7, 0))), [7]);
});

void t.test('24 and 32 bits lose the lower ones, floating point is clipped', async (t) => {
  const read = (code: number, bits: number, data: Uint8Array) =>
    Array.from(parseWav(file(format(code, bits), chunk('data', data))).samples);
  t.same(read(1, 24, Uint8Array.of(0xff, 0x34, 0x12, 0, 0, 0x80)), [0x1234, -32_768]);
  t.same(read(1, 32, Uint8Array.of(1, 2, 0x34, 0x12, 0xff, 0xff, 0xff, 0xff)), [0x1234, -1]);
  const { buffer, byteOffset, byteLength } = Float32Array.of(0, 0.5, 1, 7, -1, -Infinity, NaN);
  t.same(
    read(3, 32, new Uint8Array(buffer, byteOffset, byteLength)),
    [0, 16_384, 32_767, 32_767, -32_768, -32_768, 0],
  );
});

void t.test(
  'a data chunk of unknown length holds all whole samples that follow, from any offset',
  async (t) => {
    const header = wavHeader({ sampleRate: 16_000, channels: 1, dataBytes: 0 });
    header.set([0xff, 0xff, 0xff, 0xff], 40);
    const shifted = Buffer.concat([Buffer.from([9]), header, Buffer.from([1, 0, 2, 0, 3])]).subarray(1);
    t.same(Array.from(parseWav(shifted).samples), [1, 2]);
    const stereo = file(format(1, 16, 2), chunk('data', Uint8Array.of(1, 0, 2, 0, 3, 0)));
    t.same(Array.from(parseWav(stereo).samples), [1, 2], 'of two channels, only pairs');
  },
);

void t.test('what is no readable WAV file is refused', async (t) => {
  for (const [what, bytes] of [
    ['nothing', new Uint8Array(0)],
    ['an MP3', Buffer.from('ID3 this is something else entirely')],
    ['no data', file(format(1, 16))],
    ['no format', file(chunk('data', new Uint8Array(4)))],
    ['a short format', file(chunk('fmt ', new Uint8Array(10)), chunk('data', new Uint8Array(4)))],
    ['20 bits', file(format(1, 20), chunk('data', new Uint8Array(6)))],
    ['doubles', file(format(3, 64), chunk('data', new Uint8Array(8)))],
    ['no channels', file(format(1, 16, 0), chunk('data', new Uint8Array(8)))],
    ['no bits', file(format(1, 0), chunk('data', new Uint8Array(8)))],
  ] as const) {
    t.throws(() => parseWav(bytes), WavError, what);
  }
  t.throws(() => wavHeader({ sampleRate: 8000, channels: 1, dataBytes: 2 ** 32 }), WavError);
});
