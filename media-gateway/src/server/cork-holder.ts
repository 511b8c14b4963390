import { randomUUID } from 'node:crypto';
import { get, type ClientRequest } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { HttpResponse, TemplatedApp } from 'uWebSockets.js';

const POLL_MS = 5;
/** Without it everything works, and uWebSockets.js prints its warnings. */
const TRIES = 400;

/**
 * A response that is never answered, to run upgrades uncorked. Corked by its own response an upgrade would not be safe:
 * `cork` looks at the response once more when that is a WebSocket already, and now and then closes it
 * (uWebSockets 1929). uWebSockets.js warns of anything uncorked on stderr, so this response holds the cork meanwhile.
 */
export class CorkHolder {
  readonly #path = `/${randomUUID()}`;
  #response: HttpResponse | undefined;
  #request: ClientRequest | undefined;

  /** @param app that is not listening yet */
  constructor(app: TemplatedApp) {
    app.get(this.#path, (response) => {
      response.onAborted(() => (this.#response = undefined));
      this.#response = response;
    });
  }

  /** Connections that it takes of the server: 1 while it holds the cork. */
  get connections(): number {
    return this.#response ? 1 : 0;
  }

  /** Connects to the server that listens there. Resolves when the request has arrived, or after two seconds. */
  async connect(host: string, port: number): Promise<void> {
    const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    const request = get({ host: address, port, path: this.#path, agent: false });
    // It ends with the server, one way or the other.
    request.on('error', () => {});
    request.on('socket', (socket) => socket.unref());
    this.#request = request;
    for (let tries = 0; tries < TRIES && !this.#response; tries++) await setTimeout(POLL_MS);
  }

  run(task: () => void): void {
    if (this.#response) this.#response.cork(task);
    else task();
  }

  close(): void {
    this.#response = undefined;
    this.#request?.destroy();
  }
}
