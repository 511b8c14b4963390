import { silence } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { encodeBase64 } from '../base64.ts';
import { CarrierProtocolError } from '../carrier-adapter.ts';
import type {
  CarrierAdapter,
  CarrierAudio,
  CarrierCommand,
  CarrierDescriptor,
  CarrierEvent,
} from '../carrier-adapter.ts';
import { parseMedia, parseMessage, parseWith, scanMedia } from '../carrier-messages.ts';
import { telnyxDtmf, telnyxError, telnyxMark, telnyxStart } from './telnyx-messages.ts';

/** What every dial and answer asks for as `stream_bidirectional_codec`, whatever the leg of the call speaks. */
const OUTPUT: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };
/** Shorter messages are refused or crackle. */
const MIN_AUDIO = silence(OUTPUT, 20);
const PLAY_PREFIX = '{"event":"media","media":{"payload":"';
const CLEAR = '{"event":"clear"}';

export const telnyx: CarrierDescriptor = {
  createAdapter: () => new TelnyxAdapter(),
  signatureHeaders: [],
  connectsWhileRinging: true,
};

export class TelnyxAdapter implements CarrierAdapter {
  readonly carrier = 'telnyx';
  readonly outputFormat = OUTPUT;
  readonly dtmfOut = 'carrier_command';
  readonly unordered = true;
  readonly maxAudioBytes = 12_000;
  #format: AudioFormat | undefined;

  get inputFormat(): AudioFormat {
    if (!this.#format) throw new Error('The stream has not started.');
    return this.#format;
  }

  decode(message: Uint8Array): CarrierEvent | undefined {
    if (this.#format) {
      const audio = scanMedia(message);
      if (audio) return this.#toHostOrder(audio);
    }
    const parsed = parseMessage(this.carrier, message);
    switch (parsed.event) {
      case 'start':
        return this.#start(parsed);
      case 'media':
        if (!this.#format) {
          throw new CarrierProtocolError(
            this.carrier,
            'media_before_start',
            'media arrived before the start message',
          );
        }
        return this.#toHostOrder(parseMedia(this.carrier, parsed));
      case 'dtmf':
        return { type: 'dtmf', digit: parseWith(this.carrier, telnyxDtmf, parsed).dtmf.digit };
      case 'mark':
        return { type: 'played', mark: parseWith(this.carrier, telnyxMark, parsed).mark.name };
      case 'error': {
        const { payload } = parseWith(this.carrier, telnyxError, parsed);
        return { type: 'complaint', code: payload?.title ?? payload?.code ?? 'error' };
      }
      case 'stop':
        return { type: 'stopped' };
      default:
        return undefined;
    }
  }

  encode(command: CarrierCommand): string {
    switch (command.type) {
      case 'play':
        return `${PLAY_PREFIX}${encodeBase64(padded(command.bytes))}"}}`;
      case 'mark':
        return JSON.stringify({ event: 'mark', mark: { name: command.name } });
      case 'clear':
        return CLEAR;
      case 'dtmf':
        throw new Error('Telnyx streams cannot send DTMF: use the call command instead.');
    }
  }

  /** The leg's codec is taken as it is: calls of some countries are A-law whatever was asked for. */
  #start(message: object): CarrierEvent | undefined {
    const { stream_id, start } = parseWith(this.carrier, telnyxStart, message);
    if (this.#format) return undefined;
    const { encoding, sample_rate: sampleRate } = start.media_format;
    if (encoding === 'PCMU' && sampleRate === 8000) this.#format = { encoding: 'pcmu', sampleRate };
    else if (encoding === 'PCMA' && sampleRate === 8000) this.#format = { encoding: 'pcma', sampleRate };
    else if (encoding === 'L16' && [8000, 16_000, 24_000].includes(sampleRate)) {
      this.#format = { encoding: 'pcm16', sampleRate };
    } else {
      throw new CarrierProtocolError(this.carrier, 'codec_not_agreed', 'the codec is not supported');
    }
    return { type: 'started', streamId: stream_id, carrierCallId: start.call_control_id };
  }

  /** L16 is RTP's payload: network byte order (RFC 3551, section 4.5.11). */
  #toHostOrder(audio: CarrierAudio | undefined): CarrierAudio | undefined {
    if (!audio || this.#format?.encoding !== 'pcm16') return audio;
    const { bytes } = audio;
    const even = bytes.length - (bytes.length % 2);
    for (let i = 0; i < even; i += 2) {
      const high = bytes[i]!;
      bytes[i] = bytes[i + 1]!;
      bytes[i + 1] = high;
    }
    return audio;
  }
}

function padded(bytes: Uint8Array): Uint8Array {
  if (bytes.length >= MIN_AUDIO.length) return bytes;
  const whole = MIN_AUDIO.slice();
  whole.set(bytes);
  return whole;
}
