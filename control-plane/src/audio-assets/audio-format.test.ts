import t from 'tap';
import { audioFormatOf } from './audio-format.ts';

const page = (packet: string) =>
  Buffer.concat([Buffer.from('OggS'), Buffer.alloc(22), Buffer.of(1, 8), Buffer.from(packet, 'latin1')]);

void t.test('a file is known by its first bytes', async (t) => {
  for (const [what, bytes, format] of [
    ['WAV', Buffer.from('RIFF\x10\0\0\0WAVEfmt '), 'wav'],
    ['another RIFF', Buffer.from('RIFF\x10\0\0\0AVI LIST'), undefined],
    ['Ogg Opus', page('OpusHead'), 'opus'],
    ['Ogg Vorbis', page('\x01vorbis'), 'vorbis'],
    ['Ogg FLAC', page('\x7fFLAC'), undefined],
    ['an MP3 with a tag', Buffer.from('ID3\x04'), 'mp3'],
    ['an MP3 of MPEG 1, layer III', Buffer.of(0xff, 0xfb, 0x90, 0), 'mp3'],
    ['one of MPEG 2.5', Buffer.of(0xff, 0xe3, 0x18, 0), 'mp3'],
    ['AAC in ADTS', Buffer.of(0xff, 0xf1, 0x50, 0x80), undefined],
    ['text in UTF-16', Buffer.from('\ufeffHello', 'utf16le'), undefined],
    ['a JPEG', Buffer.of(0xff, 0xd8, 0xff, 0xe0), undefined],
    ['m4a', Buffer.from('\0\0\0\x20ftypM4A '), undefined],
    ['FLAC', Buffer.from('fLaC'), undefined],
    ['nothing', Buffer.alloc(0), undefined],
  ] as const) {
    t.equal(audioFormatOf(bytes), format, what);
  }
});
