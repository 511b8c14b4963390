import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { wavHeader } from '@parley/shared/audio/wav';
import { ConflictError, UnavailableError } from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { FLITE_SAMPLE_RATE, LocalSpeechError } from '@parley/shared/speech/flite';
import { invalid } from '../http/validation.ts';
import { coversLanguage } from '../providers/model-catalog.ts';
import type { OpenModel } from '../providers/model-catalog.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { voicesOf } from '../providers/provider-voices.ts';
import type { LocalVoice } from './local-voice.ts';
import { LOCAL_VOICE } from './voice-catalog.ts';
import type { SpeakRequest } from './voice-schema.ts';

/** Audio as it goes to a client. */
export interface SpokenAudio {
  contentType: string;
  bytes: Buffer;
}

const CONTENT_TYPES = { mp3: 'audio/mpeg', wav: 'audio/wav', pcm16_16000: 'audio/pcm;rate=16000' } as const;

/** Speaks texts outside of calls. */
export class VoiceSpeech {
  readonly #fetch: SafeFetch;
  readonly #local: LocalVoice;

  constructor({ fetch, localVoice }: { fetch: SafeFetch; localVoice: LocalVoice }) {
    this.#fetch = fetch;
    this.#local = localVoice;
  }

  /** @throws ValidationError for what the voice cannot do, ProviderFailure, UnavailableError */
  async speak(opened: OpenModel, request: SpeakRequest, signal: AbortSignal): Promise<SpokenAudio> {
    const { model, account, voice } = opened;
    const { text, language, speed, format } = request;
    const contentType = CONTENT_TYPES[format];
    if (model.provider === 'flite') {
      checkLocal(request);
      const samples = await this.#speakLocally(text, signal);
      return { contentType, bytes: packed(format, Buffer.from(bytesFromPcm16(samples))) };
    }
    const voices = voicesOf(model.provider);
    if (!voices || !account || voice === undefined) {
      throw new ConflictError('invalid_state', 'This voice is not available in this installation.');
    }
    const wanted = format === 'mp3' ? 'mp3' : 'pcm';
    const bytes = await voices
      .speak(
        account,
        this.#fetch,
        { model: model.model, voiceId: voice, text, language, speed, format: wanted },
        signal,
      )
      .catch((error: unknown) => {
        if (!(error instanceof ProviderFailure) || error.fault !== 'language') throw error;
        throw invalid(['body', 'language'], 'is not spoken by this voice', 'not_available');
      });
    return { contentType, bytes: packed(format, bytes) };
  }

  async #speakLocally(text: string, signal: AbortSignal): Promise<Int16Array> {
    try {
      return await this.#local.synthesize(text, signal);
    } catch (error) {
      if (!(error instanceof LocalSpeechError)) throw error;
      if (error.reason === 'failed') throw new ProviderFailure('unavailable', { cause: error });
      const why =
        error.reason === 'closed'
          ? 'The service is stopping'
          : 'Too many syntheses are running for this voice';
      throw new UnavailableError(`${why}. Retry in a few seconds.`, { cause: error });
    }
  }
}

function checkLocal({ language, speed, format }: SpeakRequest): void {
  if (format === 'mp3')
    throw invalid(['body', 'format'], 'must be wav or pcm16_16000 for this voice', 'not_available');
  if (speed !== undefined && speed !== 1) {
    throw invalid(['body', 'speed'], 'must be 1 for this voice', 'not_available');
  }
  if (language !== undefined && !coversLanguage(['en', ...LOCAL_VOICE.languages], language)) {
    throw invalid(['body', 'language'], 'must be English for this voice', 'not_available');
  }
}

function packed(format: SpeakRequest['format'], bytes: Buffer): Buffer {
  if (format !== 'wav') return bytes;
  const header = wavHeader({ sampleRate: FLITE_SAMPLE_RATE, channels: 1, dataBytes: bytes.length });
  return Buffer.concat([header, bytes]);
}
