import { performance } from 'node:perf_hooks';
import { pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { MULAW_TO_PCM16, encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { FRAME_MS } from '../callers/frame-clock.ts';

/** Of 8 kHz mu-law. */
export const FRAME_BYTES = FRAME_MS * 8;
export const MULAW_SILENCE = 0xff;

/** Room for half a minute of what was heard at first; it grows. */
const HEARD_BYTES = 30 * 8000;
/** Silence between two pieces of agent audio that still counts as a hole in one speech, ms. */
const LONGEST_HOLE_MS = 1500;
/** Mean amplitude from which a frame counts as voice, of 32,768. */
const VOICED = 200;
const LOUDNESS = Uint16Array.from(MULAW_TO_PCM16, (sample) => Math.abs(sample));

/** Whether 20 ms of mu-law hold a voice rather than silence. */
export function isVoiced(frame: Uint8Array): boolean {
  let sum = 0;
  for (let i = 0; i < frame.length; i++) sum += LOUDNESS[frame[i]!]!;
  return sum > VOICED * frame.length;
}

/** Agent audio as a telephone plays it: in real time, out of a buffer that holds marks between the audio. */
export class AgentPlayback {
  /** When agent speech was heard last; `performance.now()`. */
  lastVoiceAt = 0;
  /** When the first voiced agent audio of the call came over the wire; 0 before. */
  firstVoiceAt = 0;
  playedBytes = 0;
  /** Holes in agent speech because the buffer had run dry, ms. */
  underrunMs = 0;
  #heard: Uint8Array | undefined;
  #heardBytes = 0;
  /** When the buffer ran dry in the middle of agent speech. */
  #dryAt: number | undefined;
  #buffer: ({ bytes: Uint8Array; offset: number } | { mark: string })[] = [];
  #bufferedBytes = 0;
  #resampler: Resampler | undefined;

  /** @param options.keepHeard keeps what was played, for `heard` */
  constructor({ keepHeard }: { keepHeard: boolean }) {
    if (keepHeard) this.#heard = new Uint8Array(HEARD_BYTES).fill(MULAW_SILENCE);
  }

  /** Audio that waits to be played, ms. */
  get bufferedMs(): number {
    return this.#bufferedBytes / 8;
  }

  /** What was played, silence included, from the first frame on. 8 kHz mu-law. */
  heard(): Uint8Array {
    return this.#heard?.slice(0, this.#heardBytes) ?? new Uint8Array();
  }

  /** @returns the same audio as 8 kHz mu-law */
  toMulaw(bytes: Buffer, encoding: 'pcmu' | 'pcm16', sampleRate: number): Uint8Array {
    if (encoding === 'pcmu') return bytes;
    const samples = pcm16FromBytes(bytes);
    if (sampleRate === 8000) return encodeMulaw(samples);
    this.#resampler ??= new Resampler(sampleRate, 8000);
    return encodeMulaw(this.#resampler.process(samples));
  }

  /** Puts audio behind what waits. @param mulaw 8 kHz @returns whether some of it is a voice */
  add(mulaw: Uint8Array, atMs: number): boolean {
    this.#buffer.push({ bytes: mulaw, offset: 0 });
    this.#bufferedBytes += mulaw.length;
    this.#countHole(atMs);
    const voiced = isVoiced(mulaw);
    if (voiced && this.firstVoiceAt === 0) this.firstVoiceAt = atMs;
    return voiced;
  }

  /** Puts a mark behind what waits. */
  addMark(mark: string): void {
    this.#buffer.push({ mark });
  }

  /** Throws away what waits. @returns its marks */
  clear(): string[] {
    const marks = this.#buffer.flatMap((item) => ('mark' in item ? [item.mark] : []));
    this.#buffer = [];
    this.#bufferedBytes = 0;
    this.#dryAt = undefined;
    return marks;
  }

  /** The agent falls silent because the caller speaks: that is no hole. */
  expectSilence(): void {
    this.#dryAt = undefined;
  }

  /** Plays 20 ms out of the buffer. @param onMark told of each mark that was reached */
  play(frameIndex: number, onMark: (mark: string) => void): void {
    let left = FRAME_BYTES;
    if (this.#buffer.length === 0) return;
    const heard = this.#heard && this.#roomToHear(frameIndex * FRAME_BYTES);
    let voiced = false;
    let played = 0;
    while (this.#buffer.length > 0) {
      // A mark behind this frame is reached when the frame was heard: with the next one.
      if (left === 0) break;
      const head = this.#buffer[0]!;
      if ('mark' in head) {
        this.#buffer.shift();
        onMark(head.mark);
        continue;
      }
      const take = Math.min(left, head.bytes.length - head.offset);
      const part = head.bytes.subarray(head.offset, head.offset + take);
      voiced ||= isVoiced(part);
      heard?.set(part, FRAME_BYTES - left);
      head.offset += take;
      left -= take;
      played += take;
      if (head.offset === head.bytes.length) this.#buffer.shift();
    }
    if (played === 0) return;
    this.#bufferedBytes -= played;
    this.playedBytes += played;
    const now = performance.now();
    if (voiced) this.lastVoiceAt = now;
    if (heard) this.#heardBytes = (frameIndex + 1) * FRAME_BYTES;
    // What is missing of this frame is silence already.
    if (this.#bufferedBytes === 0) this.#dryAt = now + FRAME_MS - left / 8;
  }

  #countHole(atMs: number): void {
    if (this.#dryAt === undefined) return;
    const hole = atMs - this.#dryAt;
    if (hole > 0 && hole < LONGEST_HOLE_MS) this.underrunMs += hole;
    this.#dryAt = undefined;
  }

  /** Where the frame at `start` of what is heard goes. */
  #roomToHear(start: number): Uint8Array {
    const kept = this.#heard!;
    if (start + FRAME_BYTES <= kept.length) return kept.subarray(start, start + FRAME_BYTES);
    const grown = new Uint8Array(Math.max(kept.length * 2, start + FRAME_BYTES)).fill(MULAW_SILENCE);
    grown.set(kept);
    this.#heard = grown;
    return grown.subarray(start, start + FRAME_BYTES);
  }
}
