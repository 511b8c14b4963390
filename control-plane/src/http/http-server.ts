import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { sleep } from '@parley/shared/async/timeout';

const DRAIN_POLL_MS = 20;

/** A listening HTTP server that can be emptied before it is closed. */
export class HttpServer {
  readonly server: Server;
  readonly #sockets = new Set<Socket>();
  #underWay = 0;
  #closed = false;

  private constructor(listener: RequestListener) {
    this.server = createServer({ requestTimeout: 120_000, headersTimeout: 20_000, keepAliveTimeout: 65_000 });
    this.server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.server.on('request', (request, response) => {
      this.#underWay += 1;
      response.once('close', () => (this.#underWay -= 1));
      listener(request, response);
    });
  }

  /** @throws when the port can't be had */
  static async open(listener: RequestListener, where: { host: string; port: number }): Promise<HttpServer> {
    const http = new HttpServer(listener);
    await new Promise<void>((resolve, reject) => {
      http.server.once('error', reject);
      http.server.listen(where, () => {
        http.server.off('error', reject);
        resolve();
      });
    });
    return http;
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
