import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { encodeBase64 } from '../base64.ts';
import { CarrierProtocolError } from '../carrier-adapter.ts';
import type { CarrierAdapter, CarrierCommand, CarrierDescriptor, CarrierEvent } from '../carrier-adapter.ts';
import { parseMedia, parseMessage, parseWith, scanMedia } from '../carrier-messages.ts';
import { twilioDtmf, twilioMark, twilioStart } from './twilio-messages.ts';

/** The only format of Twilio's streams, both ways. */
const FORMAT: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };

export const twilio: CarrierDescriptor = {
  createAdapter: () => new TwilioAdapter(),
  signatureHeaders: ['x-twilio-signature'],
  connectsWhileRinging: false,
};

export class TwilioAdapter implements CarrierAdapter {
  readonly carrier = 'twilio';
  readonly inputFormat = FORMAT;
  readonly outputFormat = FORMAT;
  /** The stream has no message for digits, and replacing the call's instructions would end the stream. */
  readonly dtmfOut = 'tones';
  readonly unordered = false;
  readonly maxAudioBytes = 12_000;
  #streamSid: string | undefined;
  #playPrefix = '';

  decode(message: Uint8Array): CarrierEvent | undefined {
    if (this.#streamSid !== undefined) {
      const audio = scanMedia(message);
      if (audio) return audio;
    }
    const parsed = parseMessage(this.carrier, message);
    switch (parsed.event) {
      case 'start':
        return this.#start(parsed);
      case 'media':
        if (this.#streamSid === undefined) {
          throw new CarrierProtocolError(
            this.carrier,
            'media_before_start',
            'media arrived before the start message',
          );
        }
        return parseMedia(this.carrier, parsed);
      case 'dtmf':
        return { type: 'dtmf', digit: parseWith(this.carrier, twilioDtmf, parsed).dtmf.digit };
      case 'mark':
        return { type: 'played', mark: parseWith(this.carrier, twilioMark, parsed).mark.name };
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
        return JSON.stringify({ event: 'mark', streamSid: this.#streamSid, mark: { name: command.name } });
      case 'clear':
        return JSON.stringify({ event: 'clear', streamSid: this.#streamSid });
      case 'dtmf':
        throw new Error('Twilio streams cannot send DTMF.');
    }
  }

  #start(message: object): CarrierEvent | undefined {
    const { start } = parseWith(this.carrier, twilioStart, message);
    if (this.#streamSid !== undefined) return undefined;
    if (start.mediaFormat.encoding !== 'audio/x-mulaw' || start.mediaFormat.sampleRate !== 8000) {
      throw new CarrierProtocolError(this.carrier, 'codec_not_agreed', 'the codec is not mu-law at 8 kHz');
    }
    this.#streamSid = start.streamSid;
    this.#playPrefix = `{"event":"media","streamSid":${JSON.stringify(start.streamSid)},"media":{"payload":"`;
    return { type: 'started', streamId: start.streamSid, carrierCallId: start.callSid };
  }
}
