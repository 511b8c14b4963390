/** Why an upload could not be made ready, as its owner reads it. */
export const AUDIO_FAILURES = {
  broken: 'The file is damaged, or holds something else than its beginning says.',
  encoding:
    'The encoding of the WAV file is not supported. Use PCM of 8, 16, 24 or 32 bits, 32-bit floating point, mu-law or A-law.',
  no_audio: 'The file holds no audio.',
  sample_rate: 'The sample rate is not supported. Use 8, 16, 22.05, 24, 32, 44.1 or 48 kHz.',
  too_complex: 'The audio could not be decoded within the limits of time and memory.',
  too_long: 'The audio is longer than 10 minutes. Shorten it and upload it again.',
  too_many_channels: 'The audio has more than 8 channels. Use one or two.',
} as const;

export type AudioFailure = keyof typeof AUDIO_FAILURES;

/** The audio cannot be decoded, however often it is tried. The message is for its owner. */
export class AudioError extends Error {
  readonly failure: AudioFailure;

  constructor(failure: AudioFailure, options?: ErrorOptions) {
    super(AUDIO_FAILURES[failure], options);
    this.name = 'AudioError';
    this.failure = failure;
  }
}
