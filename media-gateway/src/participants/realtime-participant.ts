import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import { CALL_CLOSE_CODES } from '../server/close-codes.ts';
import { EarlyMedia } from './early-media.ts';
import type { ConnectionEnd, Participant, ParticipantListener } from './participant.ts';

/**
 * Clients play from a buffer of their own, over networks that pause now and then: audio is sent this far ahead. They
 * drop it themselves when the caller interrupts.
 */
const LEAD_MS = 1500;
/** Clients send pieces of any length; the call is given short ones. */
const FRAME_MS = 20;

/** What a realtime participant needs of the protocol around it. */
export interface RealtimeOutlet {
  /** Agent audio in the participant's output format. @param atMs where in the speech it belongs */
  onAgentAudio(bytes: Uint8Array, atMs: number): void;
  /** The call has ended this connection. */
  onClosed(code: number, reason: string): void;
  bufferedBytes(): number;
}

/** The far end of a web session: a browser or a program that speaks the realtime protocol. */
export class RealtimeParticipant implements Participant {
  readonly carrier = null;
  readonly carrierCommands = false;
  readonly steadyAudio = false;
  readonly marks = false;
  readonly leadMs = LEAD_MS;
  readonly dtmfOut = 'none';
  readonly inputFormat: AudioFormat;
  readonly outputFormat: AudioFormat;
  readonly #outlet: RealtimeOutlet;
  readonly #inputBytesPerMs: number;
  readonly #early = new EarlyMedia();

  #listener: ParticipantListener | undefined;
  #attached = false;
  #over = false;
  #gone: { lost: boolean } | undefined;
  #wire: AudioFormat;
  #converter: AudioConverter;
  #oddByte: number | undefined;
  #receivedBytes = 0;

  constructor(deps: { inputFormat: AudioFormat; outputFormat: AudioFormat; outlet: RealtimeOutlet }) {
    this.inputFormat = deps.inputFormat;
    this.outputFormat = deps.outputFormat;
    this.#outlet = deps.outlet;
    this.#inputBytesPerMs = bytesPerMs(deps.inputFormat);
    this.#wire = deps.inputFormat;
    this.#converter = new AudioConverter(deps.inputFormat, deps.inputFormat);
  }

  // ---- for the call ----

  /**
   * Attaches the listener. Early media is delivered after this returns, so that a call may attach in its
   * constructor.
   */
  attach(listener: ParticipantListener): void {
    if (this.#attached) throw new Error('A participant can be attached only once.');
    this.#attached = true;
    queueMicrotask(() => {
      if (this.#over) return;
      this.#listener = listener;
      for (const item of this.#early.take()) if (item.type === 'audio') this.#deliver(item.bytes);
      if (this.#gone !== undefined) this.#notifyGone(this.#gone);
    });
  }

  play(bytes: Uint8Array, atMs: number): void {
    if (!this.#over) this.#outlet.onAgentAudio(bytes, atMs);
  }

  /** Clients drop what they have not played when they are told that somebody speaks; nothing is to be sent for it. */
  clear(): void {}

  sendDtmf(): void {}

  end(how: ConnectionEnd, reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#listener = undefined;
    this.#outlet.onClosed(CALL_CLOSE_CODES[how], reason);
  }

  bufferedBytes(): number {
    return this.#outlet.bufferedBytes();
  }

  // ---- for the protocol ----

  /** Takes caller audio. @param wire its format, which may change from piece to piece */
  receive(received: Uint8Array, wire: AudioFormat): void {
    if (this.#over || this.#gone !== undefined) return;
    if (wire.encoding !== this.#wire.encoding || wire.sampleRate !== this.#wire.sampleRate) {
      this.#wire = wire;
      this.#oddByte = undefined;
      this.#converter = new AudioConverter(wire, this.inputFormat);
    }
    const bytes = this.#converter.convert(this.#wholeSamples(received));
    if (this.#listener) this.#deliver(bytes);
    else this.#early.keepAudio(bytes, this.inputFormat, undefined);
  }

  /** Takes a pressed key. Only once the call listens: the session keeps events until then. */
  press(digit: string): void {
    if (!this.#over) this.#listener?.onDtmf(digit);
  }

  /** The connection is gone. @param departure `lost`: without a goodbye, so that the client may come back */
  leave({ lost }: { lost: boolean }): void {
    if (this.#over || this.#gone !== undefined) return;
    this.#gone = { lost };
    if (this.#listener) this.#notifyGone(this.#gone);
  }

  // ---- inside ----

  #deliver(bytes: Uint8Array): void {
    const frameBytes = FRAME_MS * this.#inputBytesPerMs;
    for (let at = 0; at < bytes.length; at += frameBytes) {
      const frame = bytes.subarray(at, at + frameBytes);
      this.#listener?.onAudio(frame, this.#receivedBytes / this.#inputBytesPerMs);
      this.#receivedBytes += frame.length;
    }
  }

  /** Cuts a piece to whole samples: half a sample at its end belongs to the next piece. */
  #wholeSamples(bytes: Uint8Array): Uint8Array {
    if (this.#wire.encoding !== 'pcm16') return bytes;
    let whole = bytes;
    if (this.#oddByte !== undefined) {
      whole = new Uint8Array(1 + bytes.length);
      whole[0] = this.#oddByte;
      whole.set(bytes, 1);
      this.#oddByte = undefined;
    }
    if (whole.length % 2 === 0) return whole;
    this.#oddByte = whole[whole.length - 1];
    return whole.subarray(0, -1);
  }

  #notifyGone({ lost }: { lost: boolean }): void {
    const listener = this.#listener;
    this.#over = true;
    this.#listener = undefined;
    listener?.onGone({ by: 'caller', lost });
  }
}
