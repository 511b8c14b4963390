import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { CarrierName } from '@parley/shared/contracts/session-values';

/** What a call needs of its far end, be it a telephone or a browser. */
export interface Participant {
  readonly kind: 'phone' | 'realtime';
  readonly carrier: CarrierName | null;
  /** What `onAudio` delivers. */
  readonly inputFormat: AudioFormat;
  /** What `play` takes. */
  readonly outputFormat: AudioFormat;
  /** How played audio is proven: by marks that come back, or only by the clock. */
  readonly marks: boolean;
  /** How far ahead of the listener audio may be sent; 300 ms unless said otherwise. */
  readonly leadMs?: number;
  /** How digits can be sent: on the socket, by a command to the carrier, or not at all. */
  readonly dtmfOut: 'socket' | 'carrier_command' | 'none';
  /** Delivers everything from now on (and what was buffered until now, at most 1 s of audio). Called once. */
  attach(listener: ParticipantListener): void;
  /**
   * Sends agent audio. Encodes before it returns: the caller may reuse `bytes`. Does nothing after the end.
   * @param atMs where in the speech it belongs
   */
  play(bytes: Uint8Array, atMs: number): void;
  /** Asks to be told when everything sent before was played. */
  mark(name: string): void;
  /** Drops what the far end has not played yet. Pending marks must not count as played from here on. */
  clear(): void;
  /** Only when `dtmfOut` is `socket`. */
  sendDtmf(digits: string): void;
  /** Closes the connection. Idempotent; `onGone` is not called for it. */
  close(code: number, reason: string): void;
  /** Bytes the socket has not sent yet. */
  bufferedBytes(): number;
}

export interface ParticipantListener {
  /**
   * Caller audio, about 20 ms. `bytes` are only valid during the call.
   * @param timestampMs the far end's media time, when it gives a usable one
   */
  onAudio(bytes: Uint8Array, timestampMs: number | undefined): void;
  onMark(name: string): void;
  onDtmf(digit: string): void;
  /** The connection is gone. `stopped`: the far end said so (`stop`, clean close); otherwise it vanished. Called once. */
  onGone(reason: { stopped: boolean; code: number }): void;
}
