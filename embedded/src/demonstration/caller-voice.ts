import { encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { parseWav } from '@parley/shared/audio/wav';
import { FLITE_SAMPLE_RATE, type LocalSpeech } from '@parley/shared/speech/flite';

/** Hz */
export const TELEPHONE_RATE = 8000;
const BEEP_HZ = 1000;

/** A text as a telephone carries it: 8 kHz mu-law. */
export async function speakAsCaller(speech: LocalSpeech, text: string): Promise<Uint8Array> {
  return encodeMulaw(await speakAt(TELEPHONE_RATE, speech, text));
}

/** A recording as a telephone carries it. @throws WavError */
export function recordingAsCaller(wav: Uint8Array): Uint8Array {
  return encodeMulaw(recordingAt(TELEPHONE_RATE, wav));
}

/** The tone of an answering machine, as a telephone carries it. */
export function beepAsCaller(ms: number): Uint8Array {
  const samples = Int16Array.from({ length: (ms * TELEPHONE_RATE) / 1000 }, (_, n) =>
    Math.round(9000 * Math.sin((2 * Math.PI * BEEP_HZ * n) / TELEPHONE_RATE)),
  );
  return encodeMulaw(samples);
}

/** A text as samples. */
export async function speakAt(sampleRate: number, speech: LocalSpeech, text: string): Promise<Int16Array> {
  return resample(await speech.synthesize(text), FLITE_SAMPLE_RATE, sampleRate);
}

/** A recording as samples, of its first channel. @throws WavError */
export function recordingAt(sampleRate: number, wav: Uint8Array): Int16Array {
  const { samples, sampleRate: ownRate, channels } = parseWav(wav);
  const mono =
    channels === 1
      ? samples
      : Int16Array.from({ length: Math.floor(samples.length / channels) }, (_, i) => samples[i * channels]!);
  return resample(mono, ownRate, sampleRate);
}

/** A whole recording at another rate. */
export function resample(samples: Int16Array, from: number, to: number): Int16Array {
  if (from === to) return samples;
  const resampler = new Resampler(from, to);
  const body = resampler.process(samples);
  const tail = resampler.flush();
  const whole = new Int16Array(body.length + tail.length);
  whole.set(body);
  whole.set(tail, body.length);
  return whole;
}
