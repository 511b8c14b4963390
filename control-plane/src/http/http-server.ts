import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { sleep } from '@parley/shared/async/timeout';
import { ConfigError } from '@parley/shared/errors/config-error';
import { newId } from '@parley/shared/ids/new-id';

const DRAIN_POLL_MS = 20;

/** A listening HTTP server that can be emptied before it is closed. */
export class HttpServer {
  readonly server: Server;
  readonly #sockets = new Set<Socket>();
  #listener: RequestListener = starting;
  #underWay = 0;
  #closed = false;

  private constructor() {
    this.server = createServer({ requestTimeout: 120_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 });
    this.server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.server.on('request', (request, response) => {
      this.#underWay += 1;
      response.once('close', () => (this.#underWay -= 1));
      this.#listener(request, response);
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

  /** From now on `listener` answers. */
  serve(listener: RequestListener): void {
    this.#listener = listener;
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

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopListening();
    // Upgraded sockets are no longer the server's own, but they came in here.
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(
      [...this.#sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))),
    );
  }

  #stopListening(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.server.close();
  }
}

const starting: RequestListener = (_request, response) => {
  const body = { detail: 'The service is starting.', code: 'starting', request_id: newId('req') };
  response.writeHead(503, { 'content-type': 'application/json', 'retry-after': '1', connection: 'close' });
  response.end(JSON.stringify(body));
};
