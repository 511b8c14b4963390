import type { WebSocket } from 'uWebSockets.js';
import { closeCodes } from './close-codes.ts';

/** Events of a socket, for its owner. Nothing is called after `onClose`, nor after the owner's own `end`. */
export interface SocketListener {
  /** One text message. `bytes` (UTF-8) are only valid during the call: copy what is kept. */
  onMessage(bytes: Uint8Array): void;
  onPong?(): void;
  /** What had piled up was sent. */
  onDrain?(): void;
  /** The connection is over: the far end closed it (its code, 1005 for none), it was lost (1006), or it broke a limit. */
  onClose(code: number, reason: string): void;
}

export interface SocketLimits {
  maxPayloadBytes: number;
  /** Sent but not taken by the far end; beyond, the socket is closed with 1013. */
  maxBufferedBytes: number;
  /** Beyond, the socket is closed with 1013. */
  maxMessagesPerSecond: number;
}

type NativeSocket = Pick<WebSocket<unknown>, 'send' | 'getBufferedAmount' | 'end' | 'ping' | 'cork'>;

/** One WebSocket of a client. Safe to use after its end: calls do nothing then. */
export class Socket {
  readonly remoteAddress: string;
  #ws: NativeSocket | undefined;
  readonly #limits: SocketLimits;
  readonly #monotonic: () => number;
  #listener: SocketListener | undefined;
  #windowEndsAt = 0;
  #messagesInWindow = 0;

  constructor(
    ws: NativeSocket,
    options: { remoteAddress: string; limits: SocketLimits; monotonic: () => number },
  ) {
    this.#ws = ws;
    this.remoteAddress = options.remoteAddress;
    this.#limits = options.limits;
    this.#monotonic = options.monotonic;
  }

  get closed(): boolean {
    return this.#ws === undefined;
  }

  /** Bytes accepted by `send` that are still in this process. */
  get bufferedBytes(): number {
    return this.#ws?.getBufferedAmount() ?? 0;
  }

  /** Sends one text message. A far end that does not keep up loses its connection (1013). */
  send(text: string): void {
    const ws = this.#ws;
    if (!ws) return;
    const dropped = ws.send(text, false, false) === 2;
    if (dropped || ws.getBufferedAmount() > this.#limits.maxBufferedBytes) {
      this.fail(closeCodes.overloaded, 'slow_reader');
    }
  }

  ping(): void {
    this.#ws?.ping();
  }

  /** Sends what `task` sends in one packet where it can. */
  cork(task: () => void): void {
    if (this.#ws) this.#ws.cork(task);
    else task();
  }

  /** Says goodbye with `code` and forgets the listener. Idempotent. */
  end(code: number, reason: string): void {
    const ws = this.#ws;
    if (!ws) return;
    this.#ws = undefined;
    this.#listener = undefined;
    ws.end(code, reason);
  }

  /** Closes the socket because the far end broke a rule, and calls the listener's `onClose`. */
  fail(code: number, reason: string): void {
    const listener = this.#listener;
    if (!this.#ws) return;
    this.end(code, reason);
    listener?.onClose(code, reason);
  }

  /** Only for the server that made it. */
  listen(listener: SocketListener): void {
    if (this.#ws) this.#listener = listener;
    else listener.onClose(closeCodes.lost, '');
  }

  /** Only for the server that made it. */
  receive(message: ArrayBuffer, isBinary: boolean): void {
    if (!this.#ws) return;
    if (isBinary) return this.fail(closeCodes.badMessage, 'binary_frame');
    if (message.byteLength > this.#limits.maxPayloadBytes) {
      return this.fail(closeCodes.frameTooLarge, 'frame_too_large');
    }
    if (this.#floods()) return this.fail(closeCodes.overloaded, 'too_many_messages');
    this.#listener?.onMessage(new Uint8Array(message, 0, message.byteLength));
  }

  /** Only for the server that made it. */
  ponged(): void {
    this.#listener?.onPong?.();
  }

  /** Only for the server that made it. */
  drained(): void {
    this.#listener?.onDrain?.();
  }

  /** Only for the server that made it. */
  gone(code: number, reason: string): void {
    const listener = this.#listener;
    this.#ws = undefined;
    this.#listener = undefined;
    listener?.onClose(code, reason);
  }

  #floods(): boolean {
    const now = this.#monotonic();
    if (now >= this.#windowEndsAt) {
      this.#windowEndsAt = now + 1000;
      this.#messagesInWindow = 0;
    }
    return ++this.#messagesInWindow > this.#limits.maxMessagesPerSecond;
  }
}
