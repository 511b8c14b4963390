import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { CarrierProtocolError } from '../carriers/carrier-adapter.ts';
import type { CarrierAdapter, CarrierEvent } from '../carriers/carrier-adapter.ts';
import { ChunkOrder } from '../carriers/chunk-order.ts';
import { CALL_CLOSE_CODES, ORDERLY_CLOSES, closeCodes } from '../server/close-codes.ts';
import type { Socket, SocketListener } from '../server/socket.ts';
import { EarlyMedia } from './early-media.ts';
import { LineWatch } from './line-watch.ts';
import type { ConnectionEnd, Gone, Participant, ParticipantListener } from './participant.ts';

const DIGIT = /^[0-9*#A-D]$/;

/** What a carrier says when its stream begins. */
export interface StreamStart {
  carrierCallId: string;
  streamId: string;
  /** When the stream began, ms since the epoch. */
  at: number;
}

/**
 * The far end of a telephone call: a carrier's stream. Made as soon as the WebSocket stands; what the caller says
 * before `attach` is kept, within bounds.
 */
export class PhoneParticipant implements Participant, SocketListener {
  readonly carrierCommands = true;
  readonly steadyAudio = true;
  readonly ambience = true;
  readonly marks = true;
  readonly carrier: CarrierName;
  readonly dtmfOut: CarrierAdapter['dtmfOut'];
  /** Resolves with the first valid `start`, or with undefined when the connection ended before. */
  readonly started: Promise<StreamStart | undefined>;
  readonly #socket: Pick<Socket, 'send' | 'cork' | 'ping' | 'end' | 'bufferedBytes'>;
  readonly #adapter: CarrierAdapter;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #order: ChunkOrder | undefined;
  readonly #resolveStarted: (start: StreamStart | undefined) => void;
  readonly #early = new EarlyMedia();
  readonly #watch: LineWatch;

  #listener: ParticipantListener | undefined;
  #attached = false;
  #hasStarted = false;
  #over = false;
  #gone: Gone | undefined;
  #generation = 0;
  #complaints = 0;

  constructor(deps: {
    socket: Pick<Socket, 'send' | 'cork' | 'ping' | 'end' | 'bufferedBytes'>;
    adapter: CarrierAdapter;
    clock: Clock;
    logger: Logger;
  }) {
    this.#socket = deps.socket;
    this.#adapter = deps.adapter;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.carrier = deps.adapter.carrier;
    this.dtmfOut = deps.adapter.dtmfOut;
    if (deps.adapter.unordered) {
      this.#order = new ChunkOrder((bytes, timestampMs) => this.#onAudio(bytes, timestampMs));
    }
    const { promise, resolve } = Promise.withResolvers<StreamStart | undefined>();
    this.started = promise;
    this.#resolveStarted = resolve;
    this.#watch = new LineWatch({
      clock: deps.clock,
      ping: () => deps.socket.ping(),
      onLost: () => {
        deps.socket.end(closeCodes.goingAway, 'media_timeout');
        this.#leave({ by: 'carrier', lost: true });
      },
    });
    this.#watch.start();
  }

  get inputFormat(): AudioFormat {
    return this.#adapter.inputFormat;
  }

  get outputFormat(): AudioFormat {
    return this.#adapter.outputFormat;
  }

  // ---- for the call ----

  /**
   * Attaches the listener. Early media is delivered after this returns, so that a call may attach in its
   * constructor.
   */
  attach(listener: ParticipantListener): void {
    if (this.#attached) throw new Error('A participant can be attached only once.');
    this.#attached = true;
    queueMicrotask(() => this.#deliverTo(listener));
  }

  play(bytes: Uint8Array, _atMs: number, mark?: string): void {
    if (this.#over) return;
    if (mark === undefined) this.#play(bytes);
    else
      this.#socket.cork(() => {
        this.#play(bytes);
        this.#socket.send(this.#adapter.encode({ type: 'mark', name: `${this.#generation}.${mark}` }));
      });
  }

  #play(bytes: Uint8Array): void {
    const { maxAudioBytes } = this.#adapter;
    for (let at = 0; at < bytes.length; at += maxAudioBytes) {
      const part = bytes.length <= maxAudioBytes ? bytes : bytes.subarray(at, at + maxAudioBytes);
      this.#socket.send(this.#adapter.encode({ type: 'play', bytes: part }));
    }
  }

  /** Carriers answer pending marks when they clear, or not at all: none of them proves anything from here on. */
  clear(): void {
    if (this.#over) return;
    this.#generation++;
    this.#socket.send(this.#adapter.encode({ type: 'clear' }));
  }

  sendDtmf(digits: string): void {
    if (!this.#over) this.#socket.send(this.#adapter.encode({ type: 'dtmf', digits }));
  }

  end(how: ConnectionEnd, reason: string): void {
    this.close(CALL_CLOSE_CODES[how], reason);
  }

  /** As `end`, with a code of the connection's own: for streams that become no call. */
  close(code: number, reason: string): void {
    this.#finish();
    this.#socket.end(code, reason);
    this.#listener = undefined;
    this.#gone = undefined;
  }

  bufferedBytes(): number {
    return this.#socket.bufferedBytes;
  }

  // ---- for the socket ----

  onMessage(bytes: Uint8Array): void {
    if (this.#over) return;
    this.#watch.sign();
    let event: CarrierEvent | undefined;
    try {
      event = this.#adapter.decode(bytes);
    } catch (error) {
      if (!(error instanceof CarrierProtocolError)) throw error;
      this.#refuse(error);
      return;
    }
    if (event) this.#onEvent(event);
  }

  onPong(): void {
    this.#watch.sign();
  }

  onClose(code: number): void {
    if (ORDERLY_CLOSES.has(code)) this.#leave({ by: 'caller', lost: false });
    else this.#leave({ by: 'carrier', lost: code === closeCodes.lost });
  }

  // ---- inside ----

  #onEvent(event: CarrierEvent): void {
    switch (event.type) {
      case 'audio':
        if (this.#order) this.#order.push(event.bytes, event.chunk, event.timestampMs);
        else this.#onAudio(event.bytes, event.timestampMs);
        break;
      case 'started':
        this.#hasStarted = true;
        this.#resolveStarted({
          carrierCallId: event.carrierCallId,
          streamId: event.streamId,
          at: this.#clock.now(),
        });
        break;
      case 'dtmf':
        this.#onDigit(event.digit);
        break;
      case 'played':
        this.#onMark(event.mark);
        break;
      case 'complaint':
        // Each time twice as many: a carrier may complain about every message.
        this.#complaints++;
        if (Number.isInteger(Math.log2(this.#complaints))) {
          this.#logger.warn(
            { carrier: this.carrier, code: event.code.slice(0, 64), times: this.#complaints },
            'the carrier rejected a message',
          );
        }
        break;
      case 'stopped':
        if (!this.#hasStarted) this.#socket.end(closeCodes.done, 'stopped');
        this.#leave({ by: 'caller', lost: false });
        break;
    }
  }

  #onAudio(received: Uint8Array, timestampMs: number | undefined): void {
    const format = this.#adapter.inputFormat;
    const odd = format.encoding === 'pcm16' && received.length % 2 === 1;
    // Half a sample would turn all further audio into noise.
    const bytes = odd ? received.subarray(0, -1) : received;
    if (this.#listener) this.#listener.onAudio(bytes, timestampMs);
    else this.#early.keepAudio(bytes, format, timestampMs);
  }

  #onDigit(digit: string): void {
    if (!DIGIT.test(digit)) return;
    if (this.#listener) this.#listener.onDtmf(digit);
    else this.#early.keepDigit(digit);
  }

  #onMark(wireName: string): void {
    const dot = wireName.indexOf('.');
    if (wireName.slice(0, dot) !== String(this.#generation)) return;
    this.#listener?.onMark(wireName.slice(dot + 1));
  }

  #refuse(error: CarrierProtocolError): void {
    this.#logger.warn({ carrier: this.carrier, err: error }, 'a carrier stream was refused');
    const code = error.code === 'codec_not_agreed' ? closeCodes.codecNotAgreed : closeCodes.badMessage;
    this.#socket.end(code, error.code);
    this.#leave({ by: 'carrier', lost: false });
  }

  #deliverTo(listener: ParticipantListener): void {
    if (this.#over && !this.#gone) return;
    this.#listener = listener;
    for (const item of this.#early.take()) {
      if (item.type === 'audio') this.#listener?.onAudio(item.bytes, item.timestampMs);
      else this.#listener?.onDtmf(item.digit);
    }
    if (this.#gone) this.#notifyGone(this.#gone);
  }

  /** The far end is gone. */
  #leave(gone: Gone): void {
    if (this.#over) return;
    this.#finish();
    if (this.#listener) this.#notifyGone(gone);
    else this.#gone = gone;
  }

  #notifyGone(gone: Gone): void {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#gone = undefined;
    listener?.onGone(gone);
  }

  #finish(): void {
    this.#over = true;
    this.#watch.close();
    this.#resolveStarted(undefined);
  }
}
