import { encodeMulaw, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { FRAME_BYTES } from '../carriers/agent-playback.ts';
import type { SpeechFrame } from '../callers/carrier-line.ts';
import { activeLevelDb, gainOf } from './active-level.ts';
import { noiseLoop } from './noise-corpus.ts';
import type { NoiseHalf, NoiseSetting } from './noise-setting.ts';

/** What flite's callers have; of somebody who says nothing. */
const USUAL_CALLER_DB = -14;

/** One noise at one level, for any number of lines. */
export class LineNoise {
  /** 8 kHz, at its level. */
  readonly samples: Int16Array;
  /** Of noise alone, ready for the wire; filled as they are needed. */
  readonly #frames: string[] = [];

  constructor(samples: Int16Array) {
    this.samples = samples;
  }

  /** How many frames of 20 ms there are before it begins again. */
  get frames(): number {
    return Math.floor(this.samples.length / FRAME_BYTES);
  }

  /** Mixes one frame of a line. @param said what the caller says in it, if anything @returns base64 of mu-law */
  mix(index: number, said: SpeechFrame | undefined): string {
    const at = index % this.frames;
    const noise = this.samples.subarray(at * FRAME_BYTES, (at + 1) * FRAME_BYTES);
    if (!said) return (this.#frames[at] ??= toBase64(encodeMulaw(noise)));
    const speech = Buffer.from(said.base64, 'base64');
    return toBase64(encodeMulaw(noise.map((sample, i) => clip(sample + MULAW_TO_PCM16[speech[i]!]!))));
  }
}

/**
 * Noise of the corpus as it is heard beside a caller.
 * @param callerDb active level of the caller's speech, which the noise may be set against
 */
export async function openLineNoise(
  setting: NoiseSetting,
  half: NoiseHalf,
  callerDb: number,
): Promise<LineNoise> {
  const loop = await noiseLoop(setting.kind, half);
  return new LineNoise(noiseAt(loop, setting.levelDb + (setting.levelTo === 'caller' ? callerDb : 0)));
}

/** The same noise at another active level, dB to a full-scale square wave. */
export function noiseAt(loop: Int16Array, levelDb: number): Int16Array {
  const gain = gainOf(levelDb - activeLevelDb(loop));
  return loop.map((sample) => clip(Math.round(sample * gain)));
}

/**
 * The level of a caller: of everything said in one call.
 * @param said 8 kHz mu-law
 * @returns dB to a full-scale square wave
 */
export function callerLevelDb(said: readonly Uint8Array[]): number {
  const samples = said.flatMap((mulaw) => [...mulaw].map((byte) => MULAW_TO_PCM16[byte]!));
  const level = activeLevelDb(samples);
  return Number.isFinite(level) ? level : USUAL_CALLER_DB;
}

const clip = (sample: number): number => Math.max(-32_768, Math.min(32_767, sample));
const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
