import { isUtf8 } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';

/** Of RFC 6455, 1.3. */
const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** A peer that does not answer a close is let go then. */
const CLOSE_TIMEOUT_MS = 30_000;
const NOTHING = Buffer.alloc(0);
const ASCII_HEADER_BYTES = { short: 125, medium: 0xffff } as const;

interface WireEvents {
  message: [data: Buffer, isBinary: boolean];
  close: [code: number, reason: Buffer];
  ping: [data: Buffer];
}

/**
 * One WebSocket (RFC 6455) over a stream that stands, client or server, without extensions. It exists because a load
 * test sends and takes tens of thousands of small messages a second on one core: a message costs it one write, and
 * none of them a stream, a copy or a listener more than needed.
 *
 * Protocol errors close with 1002, 1007 or 1009; what happens to the connection itself shows as `close` with 1006.
 */
export class WireSocket extends EventEmitter<WireEvents> {
  readonly #stream: Duplex;
  readonly #isClient: boolean;
  /** Of a frame that has not come whole. */
  #pending: Buffer = NOTHING;
  #fragments: Buffer[] = [];
  #fragmentsBytes = 0;
  #fragmentsBinary = false;
  #state: 'open' | 'closing' | 'closed' = 'open';
  #sentClose = false;
  #gotClose = false;
  #code = 1006;
  #reason: Buffer = NOTHING;
  #closeTimer: NodeJS.Timeout | undefined;

  /** @param head what came with the upgrade. Listeners that are added in this turn of the event loop miss nothing. */
  constructor(stream: Duplex, head: Buffer, role: 'client' | 'server') {
    super();
    this.#stream = stream;
    this.#isClient = role === 'client';
    if (head.length > 0) stream.unshift(head);
    stream.on('error', () => stream.destroy());
    stream.on('end', () => {
      this.#leave();
      stream.end();
    });
    stream.on('close', () => {
      clearTimeout(this.#closeTimer);
      this.#state = 'closed';
      this.emit('close', this.#code, this.#reason);
    });
    setImmediate(() => {
      if (!stream.destroyed) stream.on('data', (bytes: Buffer) => this.#take(bytes));
    });
  }

  /** Opens one as a client. @throws Error for a refused upgrade, with its status, and for one that takes too long */
  static connect(
    url: string,
    options: {
      headers?: Record<string, string>;
      handshakeTimeoutMs?: number;
      /** Certificates that are trusted instead of the usual ones, PEM. */
      ca?: string | undefined;
    } = {},
  ): Promise<WireSocket> {
    const address = new URL(url);
    const secure = address.protocol === 'wss:';
    address.protocol = secure ? 'https:' : 'http:';
    const key = randomBytes(16).toString('base64');
    return new Promise((resolve, reject) => {
      const request = (secure ? httpsRequest : httpRequest)(address, {
        agent: false,
        headers: {
          ...options.headers,
          'sec-websocket-version': '13',
          'sec-websocket-key': key,
          connection: 'Upgrade',
          upgrade: 'websocket',
        },
        ...(options.ca === undefined ? {} : { ca: options.ca }),
      });
      const fail = (error: Error) => {
        clearTimeout(timer);
        request.destroy();
        reject(error);
      };
      const timer = setTimeout(
        () => fail(new Error('Opening handshake has timed out')),
        options.handshakeTimeoutMs ?? 10_000,
      );
      request.on('error', fail);
      request.on('response', (response) =>
        fail(new Error(`Unexpected server response: ${response.statusCode}`)),
      );
      request.on('upgrade', (response, stream, head) => {
        clearTimeout(timer);
        if (response.headers['sec-websocket-accept'] !== acceptKey(key)) {
          stream.destroy();
          return fail(new Error('Invalid Sec-WebSocket-Accept header'));
        }
        stream.setNoDelay(true);
        resolve(new WireSocket(stream, head, 'client'));
      });
      request.end();
    });
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Bytes that the kernel has not taken yet. */
  get bufferedAmount(): number {
    return this.#stream.writableLength;
  }

  /** What is under it, for who wants to break it. */
  get stream(): Duplex {
    return this.#stream;
  }

  /** Messages to a socket that is not open are dropped. A string is sent as text. */
  send(data: string | Uint8Array): void {
    if (this.#state !== 'open') return;
    if (typeof data === 'string') this.#write(OPCODE.text, Buffer.from(data));
    else this.#write(OPCODE.binary, data);
  }

  /** As `send` of a string, for ASCII only: it goes to the kernel as it is, without becoming a buffer first. */
  sendAscii(text: string): void {
    if (this.#state !== 'open') return;
    if (text.length > ASCII_HEADER_BYTES.medium) this.send(text);
    else this.#stream.write(asciiHeader(text.length, this.#isClient) + text, 'latin1');
  }

  ping(): void {
    if (this.#state === 'open') this.#write(OPCODE.ping, NOTHING);
  }

  /** Begins the closing handshake. Without a code the peer sees 1005. */
  close(code?: number, reason = ''): void {
    if (this.#state !== 'open') return;
    this.#sendClose(code, Buffer.from(reason));
  }

  /** Breaks the connection without a word. */
  terminate(): void {
    this.#leave();
    this.#stream.destroy();
  }

  /** Reads no more. */
  pause(): void {
    this.#stream.pause();
  }

  #leave(): void {
    if (this.#state === 'open') this.#state = 'closing';
  }

  #sendClose(code: number | undefined, reason: Buffer): void {
    this.#leave();
    if (this.#sentClose || this.#stream.destroyed) return;
    const body = Buffer.alloc(code === undefined ? 0 : 2 + reason.length);
    if (code !== undefined) {
      body.writeUInt16BE(code);
      reason.copy(body, 2);
    }
    this.#write(OPCODE.close, body);
    this.#sentClose = true;
    if (this.#gotClose) this.#stream.end();
    this.#closeTimer = setTimeout(() => this.#stream.destroy(), CLOSE_TIMEOUT_MS);
    this.#closeTimer.unref();
  }

  /** The peer broke the protocol. */
  #fail(code: number): void {
    this.#pending = NOTHING;
    this.#gotClose = true;
    this.#sendClose(code, NOTHING);
  }

  #write(opcode: number, payload: Uint8Array): void {
    const { length } = payload;
    const extended = length > ASCII_HEADER_BYTES.medium ? 8 : length > ASCII_HEADER_BYTES.short ? 2 : 0;
    const start = 2 + extended + (this.#isClient ? 4 : 0);
    const frame = Buffer.allocUnsafe(start + length);
    frame[0] = 0x80 | opcode;
    frame[1] = (this.#isClient ? 0x80 : 0) | (extended === 8 ? 127 : extended === 2 ? 126 : length);
    if (extended === 2) frame.writeUInt16BE(length, 2);
    else if (extended === 8) frame.writeBigUInt64BE(BigInt(length), 2);
    if (this.#isClient) frame.fill(0, start - 4, start);
    frame.set(payload, start);
    this.#stream.write(frame);
  }

  #take(bytes: Buffer): void {
    let all = this.#pending.length > 0 ? Buffer.concat([this.#pending, bytes]) : bytes;
    this.#pending = NOTHING;
    while (all.length >= 2 && !this.#gotClose) {
      const first = all[0]!;
      const second = all[1]!;
      const masked = (second & 0x80) !== 0;
      if ((first & 0x70) !== 0 || masked === this.#isClient) return this.#fail(1002);
      let length = second & 0x7f;
      let start = 2;
      if (length === 126) {
        if (all.length < 4) break;
        length = all.readUInt16BE(2);
        start = 4;
      } else if (length === 127) {
        if (all.length < 10) break;
        length = Number(all.readBigUInt64BE(2));
        start = 10;
      }
      if (length > MAX_MESSAGE_BYTES) return this.#fail(1009);
      const key = start;
      if (masked) start += 4;
      const end = start + length;
      if (all.length < end) break;
      const payload = all.subarray(start, end);
      if (masked) unmask(payload, all, key);
      all = all.subarray(end);
      this.#frame((first & 0x80) !== 0, first & 0x0f, payload);
    }
    // What is kept waits for more: the memory it came in must not.
    if (all.length > 0 && !this.#gotClose) this.#pending = Buffer.from(all);
  }

  #frame(isLast: boolean, opcode: number, payload: Buffer): void {
    if (opcode >= OPCODE.close) {
      if (!isLast || payload.length > 125) return this.#fail(1002);
      return this.#control(opcode, payload);
    }
    const continues = opcode === OPCODE.continuation;
    if (opcode > OPCODE.binary || continues !== this.#fragments.length > 0) return this.#fail(1002);
    if (isLast && !continues) return this.#message(payload, opcode === OPCODE.binary);
    if (!continues) this.#fragmentsBinary = opcode === OPCODE.binary;
    this.#fragments.push(Buffer.from(payload));
    this.#fragmentsBytes += payload.length;
    if (this.#fragmentsBytes > MAX_MESSAGE_BYTES) return this.#fail(1009);
    if (!isLast) return;
    const whole = Buffer.concat(this.#fragments);
    this.#fragments = [];
    this.#fragmentsBytes = 0;
    this.#message(whole, this.#fragmentsBinary);
  }

  #message(payload: Buffer, isBinary: boolean): void {
    if (!isBinary && !isUtf8(payload)) this.#fail(1007);
    else this.emit('message', payload, isBinary);
  }

  #control(opcode: number, payload: Buffer): void {
    switch (opcode) {
      case OPCODE.ping:
        if (this.#state === 'open') this.#write(OPCODE.pong, payload);
        this.emit('ping', payload);
        return;
      case OPCODE.pong:
        return;
      case OPCODE.close:
        if (payload.length === 1) return this.#fail(1002);
        this.#gotClose = true;
        this.#code = payload.length === 0 ? 1005 : payload.readUInt16BE(0);
        this.#reason = Buffer.from(payload.subarray(2));
        if (this.#sentClose) this.#stream.end();
        else this.#sendClose(payload.length === 0 ? undefined : this.#code, this.#reason);
        return;
      default:
        this.#fail(1002);
    }
  }
}

/** The server's proof that it understood. */
export function acceptKey(key: string): string {
  return createHash('sha1')
    .update(key + ACCEPT_GUID)
    .digest('base64');
}

function unmask(payload: Buffer, bytes: Buffer, key: number): void {
  const one = bytes[key]!;
  const two = bytes[key + 1]!;
  const three = bytes[key + 2]!;
  const four = bytes[key + 3]!;
  if ((one | two | three | four) === 0) return;
  const { length } = payload;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    payload[at]! ^= one;
    payload[at + 1]! ^= two;
    payload[at + 2]! ^= three;
    payload[at + 3]! ^= four;
  }
  for (; at < length; at++) payload[at]! ^= bytes[key + (at & 3)]!;
}

/** By length: the frames of a call have few. */
const headers = { client: new Map<number, string>(), server: new Map<number, string>() };

/**
 * Head of a text frame, a character a byte. A client's mask is zero, which is a mask like any other: it protects
 * intermediaries from scripts in browsers, and here is neither.
 */
function asciiHeader(length: number, isClient: boolean): string {
  const known = isClient ? headers.client : headers.server;
  const found = known.get(length);
  if (found !== undefined) return found;
  const mask = isClient ? 0x80 : 0;
  const size =
    length > ASCII_HEADER_BYTES.short
      ? String.fromCharCode(mask | 126, length >> 8, length & 0xff)
      : String.fromCharCode(mask | length);
  const header = `\x81${size}${isClient ? '\0\0\0\0' : ''}`;
  known.set(length, header);
  return header;
}
