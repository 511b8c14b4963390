import { encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { parseWav } from '@parley/shared/audio/wav';
import { FLITE_SAMPLE_RATE, type LocalSpeech } from '@parley/shared/speech/flite';

/** A text as a telephone carries it: 8 kHz mu-law. */
export async function speakAsCaller(speech: LocalSpeech, text: string): Promise<Uint8Array> {
  return toTelephone(await speech.synthesize(text), FLITE_SAMPLE_RATE);
}

/** A recording as a telephone carries it. @throws WavError */
export function recordingAsCaller(wav: Uint8Array): Uint8Array {
  const { samples, sampleRate, channels } = parseWav(wav);
  const mono =
    channels === 1
      ? samples
      : Int16Array.from({ length: Math.floor(samples.length / channels) }, (_, i) => samples[i * channels]!);
  return toTelephone(mono, sampleRate);
}

function toTelephone(samples: Int16Array, sampleRate: number): Uint8Array {
  if (sampleRate === 8000) return encodeMulaw(samples);
  const resampler = new Resampler(sampleRate, 8000);
  const body = encodeMulaw(resampler.process(samples));
  const tail = encodeMulaw(resampler.flush());
  const whole = new Uint8Array(body.length + tail.length);
  whole.set(body);
  whole.set(tail, body.length);
  return whole;
}
