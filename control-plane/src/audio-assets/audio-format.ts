/** What may be uploaded: content type by format. */
export const AUDIO_FORMATS = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  vorbis: 'audio/ogg',
} as const;

/** What names of such files end in. */
export const AUDIO_ENDINGS = { wav: 'wav', mp3: 'mp3', opus: 'ogg', vorbis: 'ogg' } as const;

export type AudioFileFormat = keyof typeof AUDIO_FORMATS;

/** How much of a file `audioFormatOf` looks at. */
export const AUDIO_HEAD_BYTES = 64;

/**
 * What a file is, by its first bytes: names and content types of uploads are whatever a client says.
 * @returns undefined for what no decoder is there for
 */
export function audioFormatOf(head: Uint8Array): AudioFileFormat | undefined {
  const text = Buffer.from(head).toString('latin1');
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WAVE') return 'wav';
  if (text.startsWith('OggS')) {
    // The first page holds the first packet alone, behind a table of its segments (RFC 3533, 6).
    const first = text.slice(27 + (head[26] ?? 0));
    if (first.startsWith('OpusHead')) return 'opus';
    return first.startsWith('\x01vorbis') ? 'vorbis' : undefined;
  }
  return text.startsWith('ID3') || isMpegFrame(head) ? 'mp3' : undefined;
}

/** Whether a frame of MPEG audio of layer II or III begins here (ISO 11172-3, 2.4.1.3). */
function isMpegFrame([first = 0, second = 0, third = 0]: Uint8Array): boolean {
  const version = (second >> 3) & 3;
  const layer = (second >> 1) & 3;
  const sync = first === 0xff && second >= 0xe0 && version !== 1 && (layer === 1 || layer === 2);
  return sync && third >> 4 !== 15 && ((third >> 2) & 3) !== 3;
}
