import { open, rename } from 'node:fs/promises';
import { createMp3Encoder } from 'wasm-media-encoders';
import { WAV_HEADER_BYTES } from './part-file.ts';

const CHUNK_FRAMES = 16_384;
/** Samples of one MP3 frame at the rates of speech (MPEG-2 and 2.5). */
const FRAME_SAMPLES = 576;
/** What LAME puts before the first sample, as it tells it to players, which add what their own filter delays. */
const ENCODER_DELAY = 576;
/** kbit/s of one channel and of two, by the sample rate: a frame must hold the 157 bytes, or 165, of the first one's tag. */
const BITRATES = { 8000: [24, 32], 16_000: [40, 48], 24_000: [64, 64] } as const;

/** What is encoded: a WAV file of 16 bits, as recordings are written. */
export interface Mp3Source {
  path: string;
  sampleRate: number;
  channels: number;
}

/** Whether recordings of this sample rate can become an MP3. */
export function hasMp3(sampleRate: number): sampleRate is keyof typeof BITRATES {
  return sampleRate in BITRATES;
}

/**
 * Writes the MP3 of a WAV file: constant bitrate, channels as they are. Its first frame tells players what to leave out
 * at both ends, so that it is exactly as long as the WAV, and every word where it was.
 * @param target appears once it is whole
 * @throws what the disk says; RangeError for a sample rate that recordings do not have
 */
export async function writeMp3({ path, sampleRate, channels }: Mp3Source, target: string): Promise<void> {
  if (!hasMp3(sampleRate)) throw new RangeError(`No MP3 is made of ${sampleRate} Hz.`);
  const bitrate = BITRATES[sampleRate][channels === 1 ? 0 : 1];
  const encoder = await createMp3Encoder();
  encoder.configure({ sampleRate, channels: channels === 1 ? 1 : 2, bitrate });
  const source = await open(path, 'r');
  try {
    const partial = `${target}.tmp`;
    const file = await open(partial, 'w', 0o600);
    try {
      const infoBytes = (FRAME_SAMPLES / 8) * ((bitrate * 1000) / sampleRate);
      let bytes = infoBytes;
      let header: Uint8Array | undefined;
      const write = async (encoded: Uint8Array) => {
        if (encoded.length === 0) return;
        // The encoder returns a view of its memory, which the next call overwrites.
        header ??= encoded.slice(0, 4);
        for (let at = 0; at < encoded.length;) {
          const { bytesWritten } = await file.write(encoded, at, encoded.length - at, bytes);
          at += bytesWritten;
          bytes += bytesWritten;
        }
      };
      const pcm = Buffer.allocUnsafe(CHUNK_FRAMES * channels * 2);
      const planes = Array.from({ length: channels }, () => new Float32Array(CHUNK_FRAMES));
      let frames = 0;
      for (;;) {
        const { bytesRead } = await source.read(pcm, 0, pcm.length, WAV_HEADER_BYTES + frames * channels * 2);
        const read = Math.floor(bytesRead / (channels * 2));
        if (read === 0) break;
        for (let i = 0; i < read; i++)
          for (let channel = 0; channel < channels; channel++)
            planes[channel]![i] = pcm.readInt16LE((i * channels + channel) * 2) / 32_768;
        await write(encoder.encode(planes.map((plane) => plane.subarray(0, read))));
        frames += read;
      }
      await write(encoder.finalize());
      const info = infoFrame({
        header: header ?? new Uint8Array(4),
        length: infoBytes,
        channels,
        bitrate,
        samples: frames,
        bytes,
      });
      await file.write(info, 0, info.length, 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, target);
  } finally {
    await source.close();
  }
}

/** A silent frame with the tag of Xing and LAME: http://gabriel.mp3-tech.org/mp3infotag.html */
function infoFrame(of: {
  /** Of any frame of the file. */
  header: Uint8Array;
  length: number;
  channels: number;
  bitrate: number;
  /** Of one channel, without what the encoder adds. */
  samples: number;
  /** Of the whole file. */
  bytes: number;
}): Buffer {
  const frame = Buffer.alloc(of.length);
  frame.set(of.header);
  const frames = of.bytes / of.length - 1;
  let at = 4 + (of.channels === 1 ? 9 : 17);
  at += frame.write('Info', at, 'latin1');
  // Number of frames, bytes, table of contents and quality follow.
  at = frame.writeUInt32BE(0x0f, at);
  at = frame.writeUInt32BE(frames, at);
  at = frame.writeUInt32BE(of.bytes, at);
  for (let percent = 0; percent < 100; percent++)
    at = frame.writeUInt8(Math.floor((percent * 256) / 100), at);
  at = frame.writeUInt32BE(0, at);
  at += frame.write('LAME3.100', at, 'latin1');
  // Constant bitrate; nothing is said of filters and loudness.
  at = frame.writeUInt8(0x01, at) + 10;
  at = frame.writeUInt8(of.bitrate, at);
  const padding = Math.min(0xfff, Math.max(0, frames * FRAME_SAMPLES - ENCODER_DELAY - of.samples));
  frame.writeUIntBE(ENCODER_DELAY * 4096 + padding, at, 3);
  return frame;
}
