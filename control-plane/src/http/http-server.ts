import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { sleep } from '@parley/shared/async/timeout';
import { ConfigError } from '@parley/shared/errors/config-error';
import { newId } from '@parley/shared/ids/new-id';

const DRAIN_POLL_MS = 20;
/** How long closing waits for requests whose clients are gone already. */
const CLOSE_MS = 5000;

/** Answers a request. What it returns is settled when it needs nothing any more of what it works with. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

/** A listening HTTP server that can be emptied before it is closed. */
export class HttpServer {
  readonly server: Server;
  readonly #sockets = new Set<Socket>();
  #handler: RequestHandler = starting;
  /** Requests whose handler is at work, or whose response is not sent yet. */
  #underWay = 0;
  /** Those of them whose handler is at work: a client that leaves does not end it. */
  #handled = 0;
  #closed = false;

  private constructor() {
    this.server = createServer({ requestTimeout: 120_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 });
    this.server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.server.on('request', (request, response) => {
      void this.#answer(request, response);
    });
  }

  /**
   * Takes the port; until `serve` every answer is 503.
   * @param prefix of the settings that gave host and port, before `HOST` and `PORT`
   * @throws ConfigError that names the one of them that is wrong
   */
  static async listen({ host, port }: { host: string; port: number }, prefix = ''): Promise<HttpServer> {
    const http = new HttpServer();
    await new Promise<void>((resolve, reject) => {
      http.server.once('error', reject);
      http.server.listen({ host, port }, () => {
        http.server.off('error', reject);
        resolve();
      });
    }).catch((error: NodeJS.ErrnoException) => {
      const { code = 'unknown error' } = error;
      throw new ConfigError([
        code === 'EADDRINUSE' || code === 'EACCES'
          ? `${prefix}PORT: cannot listen on ${host}:${port} (${code}). Set ${prefix}PORT to a free one`
          : `${prefix}HOST: cannot listen on ${host} (${code}). Set ${prefix}HOST to an address of this machine, such as 127.0.0.1 or 0.0.0.0`,
      ]);
    });
    return http;
  }

  /** From now on `handler` answers. */
  serve(handler: RequestHandler): void {
    this.#handler = handler;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Takes no new connection, closes idle ones, and waits at most `maxMs` for the requests under way. */
  async drain(maxMs: number): Promise<void> {
    this.#stopListening();
    const deadline = performance.now() + maxMs;
    this.server.closeIdleConnections();
    while (this.#underWay > 0 && performance.now() < deadline) {
      await sleep(DRAIN_POLL_MS);
      this.server.closeIdleConnections();
    }
  }

  /** Cuts off who is connected; resolves when their requests are over too, within a few seconds. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    // Upgraded sockets are no longer the server's own, but they came in here.
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(
      [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    );
    const deadline = performance.now() + CLOSE_MS;
    while (this.#handled > 0 && performance.now() < deadline) await sleep(DRAIN_POLL_MS);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#underWay += 1;
    this.#handled += 1;
    const closed = new Promise((resolve) => response.once('close', resolve));
    try {
      await this.#handler(request, response);
    } finally {
      this.#handled -= 1;
      await closed;
      this.#underWay -= 1;
    }
  }

  #stopListening(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.server.close();
  }
}

const starting: RequestHandler = (_request, response) => {
  const body = { detail: 'The service is starting.', code: 'starting', request_id: newId('req') };
  response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1', connection: 'close' });
  response.end(JSON.stringify(body));
  return Promise.resolve();
};
