import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { encodeBase64 } from '../base64.ts';
import { CarrierProtocolError } from '../carrier-adapter.ts';
import type { CarrierAdapter, CarrierCommand, CarrierDescriptor, CarrierEvent } from '../carrier-adapter.ts';
import { parseMedia, parseMessage, parseWith, scanMedia } from '../carrier-messages.ts';
import { plivoDtmf, plivoError, plivoPlayedStream, plivoStart } from './plivo-messages.ts';

const MULAW = 'audio/x-mulaw';
const L16 = 'audio/x-l16';

export const plivo: CarrierDescriptor = {
  createAdapter: () => new PlivoAdapter(),
  signatureHeaders: ['x-plivo-signature-v3', 'x-plivo-signature-ma-v3', 'x-plivo-signature-v3-nonce'],
  connectsWhileRinging: false,
};

export class PlivoAdapter implements CarrierAdapter {
  readonly carrier = 'plivo';
  readonly dtmfOut = 'socket';
  readonly unordered = false;
  /** Plivo advises at most 16 KB of base64 in one message. */
  readonly maxAudioBytes = 12_000;
  #format: AudioFormat | undefined;
  #playPrefix = '';
  #streamId = '';

  get inputFormat(): AudioFormat {
    if (!this.#format) throw new Error('The stream has not started.');
    return this.#format;
  }

  /** A stream has one format for both directions. */
  get outputFormat(): AudioFormat {
    return this.inputFormat;
  }

  decode(message: Uint8Array): CarrierEvent | undefined {
    if (this.#format) {
      const audio = scanMedia(message);
      if (audio) return audio;
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
        return parseMedia(this.carrier, parsed);
      case 'dtmf':
        return { type: 'dtmf', digit: parseWith(this.carrier, plivoDtmf, parsed).dtmf.digit };
      case 'playedStream':
        return { type: 'played', mark: parseWith(this.carrier, plivoPlayedStream, parsed).name };
      case 'error':
      case 'playFailed':
        return {
          type: 'complaint',
          code: parseWith(this.carrier, plivoError, parsed).reason ?? parsed.event,
        };
      case 'stop':
        return { type: 'stopped' };
      default:
        return undefined;
    }
  }

  encode(command: CarrierCommand): string {
    switch (command.type) {
      case 'play':
        return `${this.#playPrefix}${encodeBase64(command.bytes)}"}}`;
      case 'mark':
        return JSON.stringify({ event: 'checkpoint', streamId: this.#streamId, name: command.name });
      case 'clear':
        return JSON.stringify({ event: 'clearAudio', streamId: this.#streamId });
      case 'dtmf':
        return JSON.stringify({ event: 'sendDTMF', dtmf: command.digits });
    }
  }

  #start(message: object): CarrierEvent | undefined {
    const { start } = parseWith(this.carrier, plivoStart, message);
    if (this.#format) return undefined;
    const { sampleRate } = start.mediaFormat;
    // Sent without `;rate=`; some pages show it with.
    const encoding = start.mediaFormat.encoding.split(';')[0]!.trim();
    if (encoding === MULAW && sampleRate === 8000) this.#format = { encoding: 'pcmu', sampleRate };
    else if (encoding === L16 && [8000, 16_000, 24_000].includes(sampleRate)) {
      this.#format = { encoding: 'pcm16', sampleRate };
    } else {
      throw new CarrierProtocolError(this.carrier, 'codec_not_agreed', 'the codec is not the requested one');
    }
    this.#streamId = start.streamId;
    this.#playPrefix = `{"event":"playAudio","media":{"contentType":"${encoding}","sampleRate":${sampleRate},"payload":"`;
    return { type: 'started', streamId: start.streamId, carrierCallId: start.callId };
  }
}
