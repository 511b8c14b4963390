import { encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { FLITE_SAMPLE_RATE, openFlite } from '@parley/shared/speech/flite';
import { activeLevelDb, gainOf } from '../noise/active-level.ts';
import { toFrames, type SpeechFrame } from '../callers/carrier-line.ts';
import { renderToneWord } from './tone-words.ts';

const RATE = 8000;
const FRAME_SAMPLES = 160;
const NOISE_MS = 400;
const NOISE_AMPLITUDE = 4000;
/** Of full scale: real speech fades out, and what is fainter is no end that two ears would agree on. */
const CLEAR_END = 1500;

/** What callers say, made once before the run: frames that all calls share. */
export type CallerSpeech = (line: string) => readonly SpeechFrame[];

/**
 * @param voice `tones`: begins and ends exactly on a frame, so that figures counted from the last voiced frame have
 *   no error of their own. `flite`: real speech, cut where it fades out.
 * @param levelDb active level that each line is given, dB to a full-scale square wave; its own unless given
 */
export async function makeCallerSpeech(
  lines: Iterable<string>,
  voice: 'tones' | 'flite',
  levelDb?: number,
): Promise<CallerSpeech> {
  const frames = new Map<string, readonly SpeechFrame[]>([['', toFrames(encodeMulaw(noise()))]]);
  const flite = voice === 'flite' ? await openFlite() : undefined;
  try {
    for (const line of new Set(lines)) {
      if (line === '') continue;
      const samples = flite ? toTelephone(await flite.synthesize(line)) : tones(line);
      const gain = levelDb === undefined ? 1 : gainOf(levelDb - activeLevelDb(samples));
      frames.set(line, toFrames(encodeMulaw(samples.map((sample) => sample * gain))));
    }
  } finally {
    await flite?.[Symbol.asyncDispose]();
  }
  return (line) => {
    const found = frames.get(line);
    if (!found) throw new Error(`There is no recording of "${line}".`);
    return found;
  };
}

function tones(line: string): Int16Array {
  const parts = line.match(/\s+|\S+/g) ?? [];
  return joined(
    parts.map((part) =>
      part.trim() === '' ? new Int16Array(part.length * 60 * (RATE / 1000)) : renderToneWord(part, RATE),
    ),
  );
}

/** 8 kHz, without the silence before and the fading after. */
function toTelephone(speech: Int16Array): Int16Array {
  const resampler = new Resampler(FLITE_SAMPLE_RATE, RATE);
  const samples = joined([resampler.process(speech), resampler.flush()]);
  const halves: boolean[] = [];
  for (let at = 0; at < samples.length; at += FRAME_SAMPLES / 2) {
    const half = samples.subarray(at, at + FRAME_SAMPLES / 2);
    halves.push(half.reduce((sum, sample) => sum + Math.abs(sample), 0) > (CLEAR_END / 2) * half.length);
  }
  const start = Math.max(0, halves.indexOf(true)) * (FRAME_SAMPLES / 2);
  const end = (halves.lastIndexOf(true) + 1) * (FRAME_SAMPLES / 2);
  // Filled up in front, so that the voice ends with the last frame.
  const length = Math.ceil((end - start) / FRAME_SAMPLES) * FRAME_SAMPLES;
  const whole = new Int16Array(length);
  whole.set(samples.subarray(start, end), length - (end - start));
  return whole;
}

/** A crash of dishes: loud, short, and no words. The same for every call. */
function noise(): Int16Array {
  let state = 1;
  return Int16Array.from({ length: (NOISE_MS * RATE) / 1000 }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 2 ** 31 - 1) * NOISE_AMPLITUDE;
  });
}

function joined(parts: Int16Array[]): Int16Array {
  const whole = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** How long it lasts, from the first voiced frame to the last. */
export function voicedMs(frames: readonly SpeechFrame[]): number {
  const first = frames.findIndex((frame) => frame.voiced);
  return first === -1 ? 0 : (frames.findLastIndex((frame) => frame.voiced) + 1 - first) * 20;
}
