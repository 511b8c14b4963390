/**
 * The outline of a WAV file of 16-bit PCM, made while the file comes in, so that no more of it is held than a sample.
 * Pieces may be cut anywhere.
 */
export class WavPeaks {
  /** By channel, the loudest of each stretch, 0 to 1. Filled as far as the file has come. */
  channels: Float32Array[] = [];
  /** Length of the whole in seconds, once the header is read. */
  seconds = 0;
  readonly #points: number;
  readonly #bytes: number;
  #rate = 0;
  #header: Uint8Array | null = new Uint8Array(0);
  #frameBytes = 0;
  #rest = new Uint8Array(0);
  #framesPerPoint = 1;
  #frame = 0;

  /** @param points stretches that the whole is divided into @param bytes length of the whole file */
  constructor({ points, bytes }: { points: number; bytes: number }) {
    this.#points = points;
    this.#bytes = bytes;
  }

  /** @throws Error for what is no such file */
  add(piece: Uint8Array): void {
    if (this.#header) {
      const header = joined(this.#header, piece);
      const data = this.#readHeader(header);
      if (data === null) {
        if (header.length > 65_536) throw new Error('The recording cannot be read.');
        this.#header = header;
        return;
      }
      this.#header = null;
      piece = header.subarray(data);
    }
    const bytes = this.#rest.length === 0 ? piece : joined(this.#rest, piece);
    const whole = bytes.length - (bytes.length % this.#frameBytes);
    this.#rest = bytes.slice(whole);
    const view = new DataView(bytes.buffer, bytes.byteOffset, whole);
    for (let at = 0; at < whole; this.#frame++) {
      const point = Math.min(this.#points - 1, Math.floor(this.#frame / this.#framesPerPoint));
      for (const channel of this.channels) {
        const loud = Math.abs(view.getInt16(at, true)) / 32_768;
        if (loud > channel[point]!) channel[point] = loud;
        at += 2;
      }
    }
  }

  /** @returns where the samples begin; null when that is not here yet */
  #readHeader(bytes: Uint8Array): number | null {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const tag = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4));
    if (bytes.length < 12) return null;
    if (tag(0) !== 'RIFF' || tag(8) !== 'WAVE') throw new Error('The recording is not a WAV file.');
    for (let at = 12; at + 8 <= bytes.length;) {
      const size = view.getUint32(at + 4, true);
      if (tag(at) === 'data') {
        if (this.#frameBytes === 0) throw new Error('The recording has no format.');
        const frames = Math.max(1, Math.floor((this.#bytes - at - 8) / this.#frameBytes));
        this.#framesPerPoint = frames / this.#points;
        this.seconds = frames / this.#rate;
        return at + 8;
      }
      if (at + 8 + size > bytes.length) return null;
      if (tag(at) === 'fmt ') {
        if (view.getUint16(at + 8, true) !== 1 || view.getUint16(at + 22, true) !== 16)
          throw new Error('The recording is not of 16-bit PCM.');
        const channels = view.getUint16(at + 10, true);
        if (channels < 1 || channels > 2) throw new Error('The recording has too many channels.');
        this.#rate = view.getUint32(at + 12, true);
        this.#frameBytes = channels * 2;
        this.channels = Array.from({ length: channels }, () => new Float32Array(this.#points));
      }
      at += 8 + size + (size % 2);
    }
    return null;
  }
}

function joined(before: Uint8Array, after: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(before.length + after.length);
  bytes.set(before);
  bytes.set(after, before.length);
  return bytes;
}

/** The loudest of each of `points` stretches of samples, 0 to 1. */
export function loudest(samples: Float32Array, points: number): Float32Array {
  const peaks = new Float32Array(points);
  const perPoint = samples.length / points;
  for (const [at, sample] of samples.entries()) {
    const point = Math.min(points - 1, Math.floor(at / perPoint));
    peaks[point] = Math.max(peaks[point]!, Math.abs(sample));
  }
  return peaks;
}
