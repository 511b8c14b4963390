import { seededRandom } from '@parley/shared/values/seeded-random';
import { activeLevelDb, gainOf } from '../noise/active-level.ts';
import { makeMusic } from '../noise/music.ts';
import { filter, NOISE_RATE, pink, samplesOf, type Random } from '../noise/sound.ts';
import type { Speaker } from '../noise/voices.ts';
import type { AnswerPart, AnswerScript } from './answer-script.ts';

/** Active level of the voices, and of tones and music, dB to a full-scale square wave. */
const VOICE_DB = -22;
const TONE_DB = -20;
const RAMP_SAMPLES = 40;
/** Of the voice's level: what is fainter is no begin and no end that two ears would agree on. */
const CLEAR_DB = -30;

export interface HeardWord {
  text: string;
  /** When it has been said. */
  endMs: number;
}

/** What an answer sounds like, and what is known of it. */
export interface AnswerSound {
  /** 8 kHz. */
  samples: Int16Array;
  words: HeardWord[];
  /** What is said between two pauses. */
  utterances: { fromMs: number; toMs: number; text: string }[];
  beepsEndMs: number[];
}

/** Makes the sound of an answer. Its words lie evenly over their sentence, by their length. */
export function renderAnswer(
  script: AnswerScript,
  speak: (speaker: Speaker, text: string) => Float32Array,
  seed: number,
): AnswerSound {
  const random = seededRandom(seed);
  const sound: AnswerSound = { samples: new Int16Array(0), words: [], utterances: [], beepsEndMs: [] };
  const pieces: Float32Array[] = [];
  let at = 0;
  const add = (piece: Float32Array) => {
    pieces.push(piece);
    at += piece.length;
  };
  for (const part of script.parts) {
    if ('pauseMs' in part) add(new Float32Array(samplesOf(part.pauseMs / 1000)));
    else if ('beepHz' in part) {
      add(tone(part));
      sound.beepsEndMs.push(ms(at));
    } else if ('musicMs' in part) add(music(part, random));
    else {
      const said = trimmed(atLevel(speak(script.speaker, part.say), VOICE_DB));
      note(sound, part.say, ms(at), ms(at + said.length));
      add(said);
    }
  }
  const whole = new Float32Array(at);
  let from = 0;
  for (const piece of pieces) {
    whole.set(piece, from);
    from += piece.length;
  }
  if (script.noiseDb !== undefined) addRoom(whole, VOICE_DB + script.noiseDb, random);
  sound.samples = toPcm16(whole);
  return sound;
}

/** A part without words: 8 kHz. */
export function wordlessSound(
  part: Extract<AnswerPart, { beepHz: number } | { musicMs: number }>,
  seed: number,
): Int16Array {
  return toPcm16('beepHz' in part ? tone(part) : music(part, seededRandom(seed)));
}

const toPcm16 = (samples: Float32Array) =>
  Int16Array.from(samples, (value) => Math.max(-32_768, Math.min(32_767, Math.round(value))));

const music = ({ musicMs }: { musicMs: number }, random: Random) =>
  atLevel(makeMusic(samplesOf(musicMs / 1000), random, 1), TONE_DB);

const ms = (samples: number) => (samples * 1000) / NOISE_RATE;

function note(sound: AnswerSound, text: string, fromMs: number, toMs: number): void {
  sound.utterances.push({ fromMs, toMs, text });
  const words = text.split(/\s+/);
  let said = 0;
  for (const word of words) {
    said += word.length + 1;
    sound.words.push({ text: word, endMs: fromMs + ((toMs - fromMs) * said) / (text.length + 1) });
  }
}

function atLevel(samples: Float32Array, db: number): Float32Array {
  // Of unit power until here: on the 16-bit scale something like a level.
  const loud = samples.map((sample) => sample * 3000);
  const gain = gainOf(db - activeLevelDb(loud));
  return loud.map((sample) => sample * gain);
}

/** Without the silence before and behind it. */
function trimmed(samples: Float32Array): Float32Array {
  const clear = 32_768 * gainOf(VOICE_DB + CLEAR_DB) * 4;
  let start = samples.findIndex((sample) => Math.abs(sample) > clear);
  let end = samples.findLastIndex((sample) => Math.abs(sample) > clear);
  start = Math.max(0, start);
  end = Math.max(start, end);
  return samples.slice(start, end + 1);
}

function tone({ beepHz, ms: durationMs }: { beepHz: number; ms: number }): Float32Array {
  const length = samplesOf(durationMs / 1000);
  const amplitude = 32_768 * gainOf(TONE_DB) * Math.SQRT2;
  return Float32Array.from({ length }, (_, i) => {
    const ramp = Math.min(1, i / RAMP_SAMPLES, (length - i) / RAMP_SAMPLES);
    return amplitude * ramp * Math.sin((2 * Math.PI * beepHz * i) / NOISE_RATE);
  });
}

function addRoom(samples: Float32Array, db: number, random: Random): void {
  const room = filter(pink(samples.length, random), 'highpass', 150);
  const loud = room.map((sample) => sample * 3000);
  const gain = gainOf(db - activeLevelDb(loud));
  for (let i = 0; i < samples.length; i++) samples[i]! += loud[i]! * gain;
}
