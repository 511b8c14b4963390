import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { CarrierName } from '@parley/shared/contracts/session-values';

/** What a call needs of its far end, be it a telephone or a browser. */
export interface Participant {
  readonly carrier: CarrierName | null;
  /**
   * A carrier stands behind the connection: it transfers the caller, and hangs up, when the control plane asks it
   * to.
   */
  readonly carrierCommands: boolean;
  /** Caller audio comes all the time, silence too: without it the line is lost. Otherwise microphones may be off. */
  readonly steadyAudio: boolean;
  /** Audio may be played between utterances, too: a background, or hold audio. */
  readonly ambience?: boolean;
  /** What `onAudio` delivers. */
  readonly inputFormat: AudioFormat;
  /** What `play` takes. */
  readonly outputFormat: AudioFormat;
  /** How played audio is proven: by marks that come back, or only by the clock. */
  readonly marks: boolean;
  /** How far ahead of the listener audio may be sent; 300 ms unless said otherwise. */
  readonly leadMs?: number;
  /** How digits can be sent: on the socket, by a command to the carrier, as tones in the audio, or not at all. */
  readonly dtmfOut: 'socket' | 'carrier_command' | 'tones' | 'none';
  /** Delivers everything from now on (and what was buffered until now, at most 1 s of audio). Called once. */
  attach(listener: ParticipantListener): void;
  /**
   * Sends agent audio. Encodes before it returns: the caller may reuse `bytes`. Does nothing after the end.
   * @param atMs where in the speech it belongs
   * @param mark goes out behind it, and comes back when it and everything before it was played
   */
  play(bytes: Uint8Array, atMs: number, mark?: string): void;
  /** Drops what the far end has not played yet. Pending marks must not count as played from here on. */
  clear(): void;
  /** Only when `dtmfOut` is `socket`. */
  sendDtmf(digits: string): void;
  /**
   * Ends the connection. Idempotent; `onGone` is not called for it.
   * @param reason a code word for whoever looks at the connection
   */
  end(how: ConnectionEnd, reason: string): void;
  /** Bytes the socket has not sent yet. */
  bufferedBytes(): number;
}

/** Why a connection is ended from here: its call is over, this process stops, or something of ours failed. */
export type ConnectionEnd = 'over' | 'shutdown' | 'failed';

/** How a far end left.
 * - by the caller: hung up, or (`lost`) the connection vanished and may come back on another one
 * - by the carrier: broke its own protocol or a limit, or (`lost`) the line vanished
 */
export interface Gone {
  by: 'caller' | 'carrier';
  lost: boolean;
}

export interface ParticipantListener {
  /**
   * Caller audio, about 20 ms. `bytes` are only valid during the call.
   * @param timestampMs the far end's media time, when it gives a usable one
   */
  onAudio(bytes: Uint8Array, timestampMs: number | undefined): void;
  onMark(name: string): void;
  onDtmf(digit: string): void;
  /** The connection is gone. Called once. */
  onGone(gone: Gone): void;
}
