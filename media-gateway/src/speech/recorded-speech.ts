import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import type { SpokenWord } from './heard-text.ts';

/** How much of a recording is made into the far end's format at a time. */
const PIECE_MS = 200;

/** A speech that was recorded beforehand: one channel of PCM16. */
export interface RecordedSpeech {
  /** Lent: other calls play it too. */
  samples: Uint8Array;
  /** Hz. */
  sampleRate: number;
}

/** A recording in the far end's format, piece by piece. Each piece is the taker's own. */
export function* recordedPieces(
  { samples, sampleRate }: RecordedSpeech,
  format: AudioFormat,
): Generator<Uint8Array> {
  const recorded: AudioFormat = { encoding: 'pcm16', sampleRate };
  const converter = new AudioConverter(recorded, format);
  const size = PIECE_MS * bytesPerMs(recorded);
  for (let at = 0; at < samples.length; at += size) yield converter.convert(samples.slice(at, at + size));
  yield converter.flush();
}

/** Where the words of a recording lie, as if each character took as long. */
export function recordedWords(text: string, { samples, sampleRate }: RecordedSpeech): SpokenWord[] {
  const durationMs = samples.length / bytesPerMs({ encoding: 'pcm16', sampleRate });
  const words = text.split(/\s+/).filter((word) => word !== '');
  const total = words.reduce((sum, word) => sum + word.length, 0);
  let before = 0;
  return words.map((word) => {
    const startMs = (before / total) * durationMs;
    before += word.length;
    return { text: word, startMs, endMs: (before / total) * durationMs, estimated: true };
  });
}
