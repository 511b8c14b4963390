import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { CarrierName } from '@parley/shared/contracts/session-values';

/** Caller audio in the adapter's `inputFormat`. The object and its bytes are used again for the next message. */
export interface CarrierAudio {
  type: 'audio';
  bytes: Uint8Array;
  /** Counts the messages of the stream, where the carrier says so. */
  chunk: number | undefined;
  /** The carrier's media time; only differences mean something. */
  timestampMs: number | undefined;
}

export type CarrierEvent =
  | { type: 'started'; streamId: string; carrierCallId: string }
  | CarrierAudio
  | { type: 'dtmf'; digit: string }
  /** Everything sent before the mark was played, or thrown away by a clear. */
  | { type: 'played'; mark: string }
  /** The carrier did not take something we sent. */
  | { type: 'complaint'; code: string }
  | { type: 'stopped' };

export type CarrierCommand =
  /** At most `maxAudioBytes`. */
  | { type: 'play'; bytes: Uint8Array }
  | { type: 'mark'; name: string }
  | { type: 'clear' }
  | { type: 'dtmf'; digits: string };

/** A carrier's media messages in our terms. Only translates: no socket, timer or HTTP. One adapter serves one stream. */
export interface CarrierAdapter {
  readonly carrier: CarrierName;
  /** Of caller audio; known from `started` on. */
  readonly inputFormat: AudioFormat;
  /** Of agent audio; known from `started` on. */
  readonly outputFormat: AudioFormat;
  readonly dtmfOut: 'socket' | 'carrier_command' | 'tones';
  /** Media may come out of order and has to be sorted by `chunk`. */
  readonly unordered: boolean;
  /** Audio of one `play`. */
  readonly maxAudioBytes: number;
  /**
   * @param message UTF-8
   * @returns undefined for messages the call has no use for
   * @throws CarrierProtocolError when a message breaks the carrier's own format, or media comes before `start`
   */
  decode(message: Uint8Array): CarrierEvent | undefined;
  /** Only after `started`. */
  encode(command: CarrierCommand): string;
}

/** What the gateway has to know of a carrier before a stream of it has begun. */
export interface CarrierDescriptor {
  createAdapter(): CarrierAdapter;
  /** Headers over which it signs its upgrade request, lower-case. */
  readonly signatureHeaders: readonly string[];
  /** It may connect while the call still rings, and says `start` when that is answered. */
  readonly connectsWhileRinging: boolean;
}

/** A carrier said something its own documents do not allow. The message holds nothing a person said. */
export class CarrierProtocolError extends Error {
  readonly carrier: CarrierName;
  readonly code: 'malformed' | 'media_before_start' | 'codec_not_agreed';

  constructor(
    carrier: CarrierName,
    code: CarrierProtocolError['code'],
    message: string,
    options?: ErrorOptions,
  ) {
    super(`${carrier}: ${message}`, options);
    this.name = 'CarrierProtocolError';
    this.carrier = carrier;
    this.code = code;
  }
}
