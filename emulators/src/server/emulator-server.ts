import { once, type EventEmitter } from 'node:events';
import { createServer, ServerResponse, STATUS_CODES } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { constants, createSecureServer, Http2ServerResponse, type Http2ServerRequest } from 'node:http2';
import { Socket, type AddressInfo, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { ZodError } from 'zod';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { acceptKey, WireSocket } from './wire-socket.ts';
import { wait } from './delays.ts';
import type { CommonFault, Fault, FaultPlan } from './faults.ts';

/** What an emulator writes about itself; a pino logger fits. Never what a person said. */
export interface EmulatorLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** A whole HTTP answer, for requests and refused upgrades alike. Objects are sent as JSON. */
export interface HttpAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: object | string;
}

/** A key and its certificate, PEM. With them an emulator speaks TLS, and HTTP/2 to clients that offer it (ALPN). */
export interface EmulatorTls {
  key: string;
  cert: string;
}

/** Over HTTP/2 it comes through Node's compatible interface. */
export type EmulatorRequest = IncomingMessage | Http2ServerRequest;

/** What emulators use of an answer, which both versions of HTTP have. */
export interface EmulatorResponse extends EventEmitter {
  readonly headersSent: boolean;
  setHeader(name: string, value: string | number): unknown;
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  /** HTTP/2 has none: `writeHead` sends at once. */
  flushHeaders?(): void;
  /** @returns false when `drain` should be waited for */
  write(bytes: string | Uint8Array): boolean;
  end(): unknown;
  end(text: string): unknown;
  destroy(): unknown;
}

export interface EmulatorExchange {
  request: EmulatorRequest;
  url: URL;
  /** Aborts when the client has gone or the emulator closes. */
  signal: AbortSignal;
}

export interface EmulatorServerOptions<Kind extends string> {
  /** Goes into the `x-parley-emulator` header of every answer. */
  name: string;
  /** 0, the default, takes a free one. */
  port?: number | undefined;
  /** 127.0.0.1 unless given. */
  host?: string | undefined;
  tls?: EmulatorTls | undefined;
  faults: FaultPlan<Kind>;
  /** The answer of `GET /__emulator/stats`. */
  stats: () => object;
  /** The vendor's body and headers for a refusal; `retry-after` is added here. */
  refusal: (status: number, fault: Fault<Kind>) => HttpAnswer;
  /** Headers of every successful upgrade, such as a request id. */
  upgradeHeaders?: () => Record<string, string>;
  /** Answers an HTTP request, either by writing to `response` or by returning the whole answer. */
  onRequest: (exchange: EmulatorExchange, response: EmulatorResponse) => Promise<HttpAnswer | void>;
  /** Looks at an upgrade before it is accepted. Returning an answer refuses it. */
  admitSocket?: (exchange: EmulatorExchange) => HttpAnswer | undefined;
  /** Answers further routes below `/__emulator/`; undefined for those it does not have. */
  control?: (exchange: EmulatorExchange) => Promise<HttpAnswer | undefined>;
  /** Owns one accepted socket until it closes. Without it every upgrade gets 404. */
  onSocket?: (socket: WireSocket, exchange: EmulatorExchange) => Promise<void> | void;
  clock?: Clock;
  log?: EmulatorLog | undefined;
}

export interface EmulatorServer {
  /** `http://127.0.0.1:port`, or https; the same origin takes WebSockets. */
  readonly url: string;
  readonly port: number;
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_CONTROL_BYTES = 64 * 1024;
const DEFAULT_HANDSHAKE_DELAY_MS = 2000;
/** Longer than any pause of a call, like the vendors' front ends: a reused connection must not be lost to us. */
const KEEP_ALIVE_MS = 120_000;
const TLS_HANDSHAKE_TIMEOUT_MS = 5000;
/** Sixteen bytes in base64. */
const SOCKET_KEY = /^[+/0-9A-Za-z]{22}==$/;

/**
 * What all provider emulators have in common: one port for HTTP and WebSocket (no compression, as their vendors are
 * spoken to without), in the clear or over TLS, refusals and slow handshakes by fault plan, and three routes for whoever steers it from
 * another process:
 *
 *     GET  /__emulator/stats
 *     GET  /__emulator/faults
 *     POST /__emulator/faults   {"faults": [{"kind": "refuse", "status": 429, "count": 1}]}
 */
export async function openEmulatorServer<Kind extends string>(
  options: EmulatorServerOptions<Kind | CommonFault>,
): Promise<EmulatorServer> {
  const { name, faults, clock = systemClock, log, host = '127.0.0.1' } = options;
  const marks = { 'x-parley-emulator': name };
  const exchanges = new Set<AbortController>();
  const running = new Set<Promise<void>>();
  const sockets = new Set<WireSocket>();

  /** Applies what can go wrong before a request is looked at. */
  async function admit(signal: AbortSignal): Promise<HttpAnswer | undefined> {
    const slow = faults.take(['slow_handshake']);
    if (slow) await wait(clock, slow.delayMs ?? DEFAULT_HANDSHAKE_DELAY_MS, signal);
    const fault = faults.take(
      ['refuse', 'rate_limit'],
      (one) => one.kind === 'refuse' || one.after === undefined,
    );
    if (!fault) return undefined;
    const answer = options.refusal(fault.kind === 'rate_limit' ? 429 : (fault.status ?? 503), fault);
    if (fault.retryAfterMs === undefined) return answer;
    return {
      ...answer,
      headers: { 'retry-after': String(Math.ceil(fault.retryAfterMs / 1000)), ...answer.headers },
    };
  }

  async function answerRequest(request: EmulatorRequest, response: EmulatorResponse): Promise<void> {
    const signal = signalUntilClosed(response);
    for (const [header, value] of Object.entries(marks)) response.setHeader(header, value);
    try {
      const url = new URL(request.url ?? '/', 'http://emulator');
      const answer = url.pathname.startsWith('/__emulator/')
        ? await control({ request, url, signal })
        : ((await admit(signal)) ?? (await options.onRequest({ request, url, signal }, response)));
      if (answer) sendAnswer(response, answer);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof BodyTooLargeError) {
        sendAnswer(response, { status: 413, body: { error: error.message } });
        return;
      }
      log?.warn({ err: error }, 'emulator request failed');
      if (response.headersSent) response.destroy();
      else
        sendAnswer(response, {
          status: 500,
          body: { error: 'The emulator failed because of an internal error.' },
        });
    }
  }

  async function control(exchange: EmulatorExchange): Promise<HttpAnswer> {
    const { request, url } = exchange;
    if (url.pathname === '/__emulator/stats' && request.method === 'GET') {
      return { status: 200, body: { emulator: name, ...options.stats(), faults_struck: faults.struck } };
    }
    if (url.pathname !== '/__emulator/faults') {
      return (await options.control?.(exchange)) ?? { status: 404, body: { error: 'No such route.' } };
    }
    if (request.method === 'POST') {
      // A web page cannot send this type across origins without asking first, and nobody answers it.
      if (!request.headers['content-type']?.startsWith('application/json')) {
        return { status: 415, body: { error: 'Unsupported content type. Send application/json.' } };
      }
      try {
        const body = JSON.parse((await readBody(request, MAX_CONTROL_BYTES)).toString()) as {
          faults?: unknown;
        } | null;
        faults.set(body?.faults);
      } catch (error) {
        if (error instanceof SyntaxError) return { status: 400, body: { error: 'The body is not JSON.' } };
        if (error instanceof ZodError) return { status: 422, body: { error: error.issues } };
        throw error;
      }
    } else if (request.method !== 'GET') {
      return { status: 405, body: { error: 'Method not allowed. Use GET or POST.' } };
    }
    return { status: 200, body: { faults: faults.faults } };
  }

  async function answerUpgrade(request: IncomingMessage, stream: Duplex, head: Buffer): Promise<void> {
    const signal = signalUntilClosed(stream);
    stream.on('error', () => stream.destroy());
    const url = new URL(request.url ?? '/', 'http://emulator');
    const exchange = { request, url, signal };
    try {
      const refused = (await admit(signal)) ?? refuseSocket(exchange);
      if (refused) {
        refuseUpgrade(stream, refused);
        return;
      }
      const socket = acceptUpgrade(request, stream, head);
      track(Promise.resolve(options.onSocket?.(socket, exchange)));
    } catch (error) {
      if (!signal.aborted) log?.warn({ err: error }, 'emulator upgrade failed');
      stream.destroy();
    }
  }

  function acceptUpgrade(request: IncomingMessage, stream: Duplex, head: Buffer): WireSocket {
    // The first that is offered, as keys travel beside it.
    const protocol = request.headers['sec-websocket-protocol']?.split(',')[0]?.trim();
    const lines = [
      'HTTP/1.1 101 Switching Protocols',
      'Upgrade: websocket',
      'Connection: Upgrade',
      `Sec-WebSocket-Accept: ${acceptKey(request.headers['sec-websocket-key']!)}`,
      ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
      ...Object.entries({ ...marks, ...options.upgradeHeaders?.() }).map(
        ([name, value]) => `${name}: ${value}`,
      ),
    ];
    stream.write(`${lines.join('\r\n')}\r\n\r\n`);
    const socket = new WireSocket(stream, head, 'server');
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  }

  function refuseSocket(exchange: EmulatorExchange): HttpAnswer | undefined {
    if (!options.onSocket) return { status: 404, body: { error: 'WebSocket endpoint not found.' } };
    const { headers } = exchange.request;
    if (headers.upgrade?.toLowerCase() !== 'websocket' || headers['sec-websocket-version'] !== '13')
      return {
        status: 426,
        headers: { 'sec-websocket-version': '13' },
        body: { error: 'Unsupported WebSocket version. Use version 13.' },
      };
    if (!SOCKET_KEY.test(headers['sec-websocket-key'] ?? ''))
      return { status: 400, body: { error: 'The WebSocket key is missing or invalid.' } };
    return options.admitSocket?.(exchange);
  }

  function refuseUpgrade(stream: Duplex, { status, headers, body }: HttpAnswer): void {
    const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
    const all = {
      'content-type': typeof body === 'string' ? 'text/plain' : 'application/json',
      'content-length': String(Buffer.byteLength(text)),
      connection: 'close',
      ...marks,
      ...headers,
    };
    const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}\r\n`);
    stream.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`);
  }

  function signalUntilClosed(connection: Duplex | EmulatorResponse): AbortSignal {
    const exchange = new AbortController();
    exchanges.add(exchange);
    connection.on('close', () => {
      exchanges.delete(exchange);
      exchange.abort(new Error('The client has gone.'));
    });
    return exchange.signal;
  }

  function track(work: Promise<void>): void {
    const settled = work
      .catch((error: unknown) => log?.warn({ err: error }, 'emulator failed'))
      .finally(() => running.delete(settled));
    running.add(settled);
  }
  const { server, closeConnections } = createListener(
    options.tls,
    (request, response) => track(answerRequest(request, response)),
    (request, stream, head) => track(answerUpgrade(request, stream, head)),
  );
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  log?.info({ emulator: name, port }, 'emulator listening');

  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    const ended = once(server, 'close');
    server.close();
    for (const exchange of exchanges) exchange.abort(new Error('The emulator is closing.'));
    for (const socket of sockets) socket.terminate();
    closeConnections();
    await Promise.all(running);
    await ended;
  }
  return {
    url: `${options.tls ? 'https' : 'http'}://${host}:${port}`,
    port,
    [Symbol.asyncDispose]: () => (closed ??= close()),
  };
}

/** A server that does not listen yet. Over TLS it speaks HTTP/2 and HTTP/1.1, which a client chooses by ALPN. */
function createListener(
  tls: EmulatorTls | undefined,
  onRequest: (request: EmulatorRequest, response: EmulatorResponse) => void,
  onUpgrade: (request: IncomingMessage, stream: Duplex, head: Buffer) => void,
): { server: Server; closeConnections: () => void } {
  if (tls === undefined) {
    const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, onRequest);
    server.on('upgrade', onUpgrade);
    return { server, closeConnections: () => server.closeAllConnections() };
  }
  // Over TLS, Node leaves idle connections of either version open for ever.
  const server = createSecureServer(
    { ...tls, allowHTTP1: true, handshakeTimeout: TLS_HANDSHAKE_TIMEOUT_MS },
    onRequest,
  );
  // Node does so for HTTP/1.1 in the clear alone. Without it, a second small message waits for the client's word on the
  // first: up to 40 ms.
  server.on('connection', (socket: Socket) => socket.setNoDelay(true));
  server.on('upgrade', onUpgrade);
  const connections = new Set<TLSSocket>();
  server.on('secureConnection', (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
  });
  return {
    server,
    closeConnections: () => {
      for (const socket of connections) socket.destroy();
    },
  };
}

/** The client sent more than the route takes. */
export class BodyTooLargeError extends Error {
  constructor(maxBytes: number) {
    super(`The body is too large: the maximum is ${maxBytes} bytes.`);
    this.name = 'BodyTooLargeError';
  }
}

/** @throws BodyTooLargeError past `maxBytes`; the answer to it is 413 */
export async function readBody(request: EmulatorRequest, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    length += part.length;
    if (length > maxBytes) throw new BodyTooLargeError(maxBytes);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function sendAnswer(response: EmulatorResponse, { status, headers, body }: HttpAnswer): void {
  const text = typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body);
  response.writeHead(status, {
    'content-type': typeof body === 'string' ? 'text/plain' : 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** Breaks what is under `socket` or `response` so that the peer sees a failure, not an end. */
export function resetConnection(connection: WireSocket | EmulatorResponse): void {
  if (connection instanceof Http2ServerResponse) {
    // Only this stream: other answers of the connection go on.
    connection.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    return;
  }
  const stream = connection instanceof WireSocket ? connection.stream : socketOf(connection);
  if (!stream) return;
  // A reset while an end is under way fails in libuv, and then Node never gets rid of the handle. TLS knows none.
  if (stream.writableEnded || !(stream instanceof Socket) || stream instanceof TLSSocket) stream.destroy();
  else stream.resetAndDestroy();
}

function socketOf(response: EmulatorResponse): Socket | null {
  return response instanceof ServerResponse ? response.socket : null;
}
