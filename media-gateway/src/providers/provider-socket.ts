import { Agent as HttpAgent } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { LookupFunction } from 'node:net';
import { createSecureContext } from 'node:tls';
import { WebSocket } from 'ws';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { ProviderFault } from '@parley/shared/errors/provider-error';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { faultOfStatus } from './provider-fault.ts';

/** The TLS context and session cache that all provider sockets of a process share. */
export class SocketAgents {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;

  /** @param lookup resolves names; without it the operating system does */
  constructor(lookup?: LookupFunction) {
    const options = { keepAlive: false, ...(lookup && { lookup }) };
    this.#http = new HttpAgent(options);
    this.#https = new HttpsAgent({ ...options, secureContext: createSecureContext() });
  }

  forUrl(url: URL): HttpAgent {
    return url.protocol === 'wss:' ? this.#https : this.#http;
  }

  dispose(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}

/** `path` and `query` under a base URL of `http`, `https`, `ws` or `wss`, as the address of a WebSocket. */
export function socketUrl(baseUrl: string, path: string, query: URLSearchParams): URL {
  const url = new URL(baseUrl);
  url.protocol = url.protocol === 'https:' || url.protocol === 'wss:' ? 'wss:' : 'ws:';
  url.pathname = url.pathname.replace(/\/$/, '') + path;
  url.search = query.toString();
  return url;
}

export interface ProviderSocketOptions {
  /** Name in errors. */
  provider: string;
  url: URL;
  /** Asked once, when connecting: the place to reveal a credential. */
  headers: () => Record<string, string>;
  agents: SocketAgents;
  clock: Clock;
  /** Until the upgrade is answered. */
  connectTimeoutMs?: number;
  /** A peer that is silent for a whole interval after a ping is taken for dead. */
  pingIntervalMs?: number;
  /** `send` refuses while more than this waits to leave. */
  maxBufferedBytes?: number;
  maxMessageBytes?: number;
}

/** Nothing is told after `dispose`. */
export interface ProviderSocketListener {
  onOpen(): void;
  /** `data` belongs to the listener. */
  onMessage(data: Buffer, isBinary: boolean): void;
  /** Once, whatever the reason: refused, timed out, lost, or closed by the peer. */
  onClosed(end: SocketEnd): void;
}

export interface SocketEnd {
  error: ProviderError;
  /** Of a refused upgrade. */
  status: number | undefined;
  /** Of the peer's close frame; 1005 and 1006 where there was none. */
  code: number;
  reason: string;
  /** How long the connection was open; 0 when it never was. */
  aliveMs: number;
}

const CONNECT_TIMEOUT_MS = 3000;
const PING_INTERVAL_MS = 15_000;
const MAX_BUFFERED_BYTES = 256 * 1024;
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;
const CLOSE_TIMEOUT_MS = 1000;
const MAX_REFUSAL_BYTES = 2048;

/** One WebSocket connection to a provider. Connecting starts at once; a closed socket is never opened again. */
export class ProviderSocket {
  readonly #options: ProviderSocketOptions;
  readonly #listener: ProviderSocketListener;
  readonly #ws: WebSocket;
  readonly #maxBufferedBytes: number;
  readonly #closed: Promise<void>;
  #connectTimer: Timer | undefined;
  #pingTimer: Timer | undefined;
  #closeTimer: Timer | undefined;
  #openedAtMs: number | undefined;
  #heard = true;
  #failure: ProviderError | undefined;
  #status: number | undefined;
  #disposed = false;

  constructor(options: ProviderSocketOptions, listener: ProviderSocketListener) {
    this.#options = options;
    this.#listener = listener;
    this.#maxBufferedBytes = options.maxBufferedBytes ?? MAX_BUFFERED_BYTES;
    const { clock, url } = options;
    this.#ws = new WebSocket(url, {
      headers: options.headers(),
      agent: options.agents.forUrl(url),
      perMessageDeflate: false,
      // Text is decoded and parsed anyway; JSON.parse finds what matters.
      skipUTF8Validation: true,
      followRedirects: false,
      maxPayload: options.maxMessageBytes ?? MAX_MESSAGE_BYTES,
    });
    this.#closed = new Promise((resolve) => {
      this.#ws.once('close', (code: number, reason: Buffer) => {
        this.#onClose(code, reason.toString());
        resolve();
      });
    });
    this.#ws.on('open', () => this.#onOpen());
    this.#ws.on('message', (data: Buffer, isBinary: boolean) => {
      this.#heard = true;
      if (!this.#disposed) listener.onMessage(data, isBinary);
    });
    this.#ws.on('pong', () => (this.#heard = true));
    this.#ws.on('error', (error: Error) => this.#onError(error));
    this.#ws.on('unexpected-response', (_request, response) => this.#onRefused(response));
    const timeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    this.#connectTimer = clock.setTimeout(
      () => this.fail('timeout', `the connection was not open after ${timeoutMs} ms`),
      timeoutMs,
    );
  }

  get isOpen(): boolean {
    return this.#ws.readyState === WebSocket.OPEN;
  }

  /**
   * Sends a text or a binary message. Bytes are copied before this returns.
   * @returns false when the socket is not open, or does not get rid of what it was given before
   */
  send(data: string | Uint8Array): boolean {
    const ws = this.#ws;
    if (ws.readyState !== WebSocket.OPEN || ws.bufferedAmount > this.#maxBufferedBytes) return false;
    ws.send(data);
    return true;
  }

  /** Ends the connection at once because of something the adapter found; `onClosed` follows. */
  fail(fault: ProviderFault, message: string): void {
    this.#failure ??= new ProviderError(this.#options.provider, fault, message);
    this.#ws.terminate();
  }

  /** Says goodbye and waits until the connection is gone, about a second at most. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#disposed) {
      this.#disposed = true;
      this.#connectTimer?.cancel();
      this.#pingTimer?.cancel();
      if (this.#ws.readyState === WebSocket.OPEN) {
        this.#ws.close(1000);
        this.#closeTimer = this.#options.clock.setTimeout(() => this.#ws.terminate(), CLOSE_TIMEOUT_MS);
      } else {
        this.#ws.terminate();
      }
    }
    await this.#closed;
  }

  #onOpen(): void {
    this.#connectTimer?.cancel();
    this.#openedAtMs = this.#options.clock.monotonic();
    if (this.#disposed) return;
    this.#armPing();
    this.#listener.onOpen();
  }

  #armPing(): void {
    const intervalMs = this.#options.pingIntervalMs ?? PING_INTERVAL_MS;
    this.#pingTimer = this.#options.clock.setTimeout(() => {
      if (!this.#heard) {
        this.fail('timeout', 'the connection is dead: no answer to a ping');
        return;
      }
      this.#heard = false;
      if (this.isOpen) this.#ws.ping();
      this.#armPing();
    }, intervalMs);
  }

  #onError(error: Error & { code?: string }): void {
    const fault = error.code?.startsWith('WS_ERR_') ? 'protocol' : 'unavailable';
    this.#failure ??= new ProviderError(
      this.#options.provider,
      fault,
      `the connection failed (${error.code ?? 'no code'})`,
      {
        cause: error,
      },
    );
  }

  /** Reads the beginning of the refusal, which says why, and gives up. */
  #onRefused(response: IncomingMessage): void {
    const { statusCode = 0 } = response;
    this.#status = statusCode;
    const parts: Buffer[] = [];
    let length = 0;
    const done = () => {
      const why = refusalReason(response, Buffer.concat(parts));
      this.fail(faultOfStatus(statusCode), `the connection was refused with ${statusCode}${why}`);
    };
    response.on('data', (part: Buffer) => {
      parts.push(part);
      length += part.length;
      if (length > MAX_REFUSAL_BYTES) done();
    });
    response.once('end', done);
    response.once('error', done);
  }

  #onClose(code: number, reason: string): void {
    this.#connectTimer?.cancel();
    this.#pingTimer?.cancel();
    this.#closeTimer?.cancel();
    if (this.#disposed) return;
    this.#disposed = true;
    const { provider, clock } = this.#options;
    const error =
      this.#failure ?? new ProviderError(provider, 'unavailable', `the connection was closed with ${code}`);
    const aliveMs = this.#openedAtMs === undefined ? 0 : clock.monotonic() - this.#openedAtMs;
    this.#listener.onClosed({ error, status: this.#status, code, reason, aliveMs });
  }
}

/** The provider's own word for a refusal, such as `INVALID_AUTH` or `quota_exceeded`; free text stays out. */
function refusalReason(response: IncomingMessage, body: Buffer): string {
  try {
    const parsed = JSON.parse(body.toString()) as Record<string, unknown> & {
      detail?: { status?: unknown };
      error?: { code?: unknown };
    };
    const word = parsed['err_code'] ?? parsed.detail?.status ?? parsed.error?.code;
    if (typeof word === 'string' && /^[\w +-]{1,64}$/.test(word)) return ` (${word})`;
  } catch {
    // Not JSON: the header or nothing.
  }
  const header = response.headers['dg-error'];
  return typeof header === 'string' ? ` (${header.slice(0, 120)})` : '';
}

/** Tells a provider that is down from one that dropped a connection: several short-lived ones in a row. */
export class QuickFailures {
  readonly #limit: number;
  readonly #quickMs: number;
  #count = 0;

  constructor({ limit = 4, quickMs = 5000 }: { limit?: number; quickMs?: number } = {}) {
    this.#limit = limit;
    this.#quickMs = quickMs;
  }

  /** Failures in a row so far. */
  get count(): number {
    return this.#count;
  }

  /** @returns true when it is time to give up */
  add(aliveMs: number): boolean {
    this.#count = aliveMs < this.#quickMs ? this.#count + 1 : 0;
    return this.#count >= this.#limit;
  }
}
