import type {
  HttpResponse,
  TemplatedApp,
  WebSocket,
  us_listen_socket,
  us_socket_context_t,
} from 'uWebSockets.js';
import { ConfigError } from '@parley/shared/errors/config-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { closeCodes } from './close-codes.ts';
import { CorkHolder } from './cork-holder.ts';
import { loadUws } from './load-uws.ts';
import { Socket } from './socket.ts';
import type { SocketLimits, SocketListener } from './socket.ts';
import { copyRequest, mayUpgrade, refuseUpgrade } from './upgrade-request.ts';
import type { RefusalStatus, UpgradeRequest } from './upgrade-request.ts';

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`; without it a second process would silently share the port. */
const EXCLUSIVE_PORT = 1;

/** Refused with an HTTP status and a JSON body, or let in. */
export type Admission =
  | { status: RefusalStatus; /** What the client can do about it. */ detail?: string }
  | {
      /** The subprotocol chosen from those the client offers. */
      protocol?: string;
      /** Called once the WebSocket stands: takes it over. */
      open(socket: Socket): SocketListener;
    };

export interface UpgradeRoute {
  /** For example `/media/:carrier/:ticket`. */
  pattern: string;
  /** Where this route differs from the server. */
  limits?: Partial<SocketLimits>;
  /** Decides before 101 is sent. `signal` aborts when the client leaves meanwhile. */
  admit(request: UpgradeRequest, signal: AbortSignal): Admission | Promise<Admission>;
}

export interface HttpRoute {
  path: string;
  respond(): { status: number; body: object };
}

export interface WebSocketServerOptions {
  host: string;
  /** 0 = any free one. */
  port: number;
  upgrades: readonly UpgradeRoute[];
  http: readonly HttpRoute[];
  limits: SocketLimits & {
    maxHeaderBytes: number;
    /** TCP connections, upgraded or not. Beyond, new ones are closed at once. */
    maxConnections: number;
    /** Upgrades waiting for their admission. Beyond: 503. */
    maxPendingUpgrades: number;
    /** Seconds without a word, pongs included, after which a WebSocket is closed. It is pinged before. */
    idleTimeoutSeconds: number;
  };
  clock: Clock;
  logger: Logger;
}

export interface WebSocketServer {
  readonly port: number;
  /** WebSockets open now. */
  readonly sockets: number;
  /** Takes no new connections; those that stand go on. */
  stopListening(): void;
  /** Closes every socket with 1001. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens the server: listens, and takes what its routes admit. Connections that send no complete request are closed by
 * uWebSockets.js after some ten seconds, counted from the first byte, so a request trickling in is no way to hold one.
 * @throws when it cannot listen
 */
export async function openWebSocketServer(options: WebSocketServerOptions): Promise<WebSocketServer> {
  const server = new UwsServer(options);
  await server.listen();
  return server;
}

interface UserData {
  opened: (ws: WebSocket<UserData>) => void;
  socket: Socket | undefined;
}

class UwsServer implements WebSocketServer {
  readonly #options: WebSocketServerOptions;
  readonly #uws: ReturnType<typeof loadUws>;
  readonly #app: TemplatedApp;
  readonly #corkHolder: CorkHolder;
  readonly #sockets = new Set<Socket>();
  #httpConnections = 0;
  #pendingUpgrades = 0;
  #listening: us_listen_socket | undefined;
  #port = 0;
  #disposing: Promise<void> | undefined;

  constructor(options: WebSocketServerOptions) {
    this.#options = options;
    this.#uws = loadUws(options.limits.maxHeaderBytes);
    this.#app = this.#uws.App();
    this.#app.filter((response, change) => this.#count(response, Number(change)));
    for (const route of options.upgrades) this.#serveUpgrades(route);
    for (const route of options.http) this.#serveHttp(route);
    this.#corkHolder = new CorkHolder(this.#app);
    this.#app.any('/*', (response) => void response.writeStatus('404 Not Found').endWithoutBody(0, true));
  }

  get port(): number {
    return this.#port;
  }

  get sockets(): number {
    return this.#sockets.size;
  }

  async listen(): Promise<void> {
    const { host, port } = this.#options;
    const listening = await new Promise<us_listen_socket>((resolve, reject) => {
      this.#app.listen(host, port, EXCLUSIVE_PORT, (socket) => {
        if (socket) resolve(socket);
        else reject(new ConfigError([`PORT, HOST: cannot listen on ${host}:${port}`]));
      });
    });
    this.#listening = listening;
    this.#port = this.#uws.us_socket_local_port(listening);
    await this.#corkHolder.connect(host, this.#port);
  }

  stopListening(): void {
    if (this.#listening) this.#uws.us_listen_socket_close(this.#listening);
    this.#listening = undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#disposing ??= this.#dispose());
  }

  async #dispose(): Promise<void> {
    this.stopListening();
    this.#corkHolder.close();
    for (const socket of [...this.#sockets]) {
      this.#guarded(socket, () => socket.fail(closeCodes.goingAway, 'shutdown'));
    }
    await new Promise<void>((resolve) => setImmediate(resolve)); // lets the close frames out
    this.#app.close();
  }

  /** A connection came (1) or went (-1). Those that became WebSockets are counted by their sockets. */
  #count(response: HttpResponse, change: number): void {
    this.#httpConnections += change;
    const others = this.#httpConnections + this.#sockets.size - this.#corkHolder.connections;
    if (change > 0 && others > this.#options.limits.maxConnections) response.close();
  }

  #serveHttp(route: HttpRoute): void {
    this.#app.get(route.path, (response) => {
      const { status, body } = route.respond();
      response
        .writeStatus(String(status))
        .writeHeader('Content-Type', 'application/json')
        .writeHeader('Cache-Control', 'no-store')
        .end(JSON.stringify(body));
    });
  }

  #serveUpgrades(route: UpgradeRoute): void {
    const limits = { ...this.#options.limits, ...route.limits };
    const parameters = route.pattern.split('/').filter((part) => part.startsWith(':')).length;
    const on = (ws: WebSocket<UserData>, task: (socket: Socket) => void): void => {
      const { socket } = ws.getUserData();
      if (socket) this.#guarded(socket, () => task(socket));
    };
    this.#app.ws<UserData>(route.pattern, {
      compression: this.#uws.DISABLED,
      // Frames up to here are read to be refused with 1009; uWebSockets.js drops the connection for larger ones.
      maxPayloadLength: limits.maxPayloadBytes * 4,
      maxBackpressure: limits.maxBufferedBytes * 4,
      idleTimeout: limits.idleTimeoutSeconds,
      sendPingsAutomatically: true,
      upgrade: (response, request, context) => {
        const left = new AbortController();
        response.onAborted(() => left.abort());
        const copied = copyRequest(response, request, parameters);
        void this.#upgrade(route, response, copied, context, left.signal);
      },
      // Taken over when the upgrade is through: until then another socket may be corked.
      open: (ws) => ws.getUserData().opened(ws),
      // For each frame of audio: without a function of its own.
      message: (ws, message, isBinary) => {
        const { socket } = ws.getUserData();
        if (!socket) return;
        try {
          socket.receive(message, isBinary);
        } catch (error) {
          this.#failed(socket, error);
        }
      },
      drain: (ws) => on(ws, (socket) => socket.drained()),
      pong: (ws) => on(ws, (socket) => socket.ponged()),
      close: (ws, code, message) =>
        on(ws, (socket) => {
          this.#sockets.delete(socket);
          socket.gone(code, Buffer.from(message).toString());
        }),
    });
  }

  async #upgrade(
    route: UpgradeRoute,
    response: HttpResponse,
    request: UpgradeRequest,
    context: us_socket_context_t,
    left: AbortSignal,
  ): Promise<void> {
    if (!mayUpgrade(request)) return refuseUpgrade(response, 400);
    const admission = await this.#admit(route, request, left);
    if (left.aborted) return;
    if ('status' in admission) return refuseUpgrade(response, admission.status, admission.detail);
    const ws = this.#accept(response, request, context, admission.protocol ?? '');
    if (!ws) return; // gone in that moment
    const socket = new Socket(ws, {
      remoteAddress: request.remoteAddress,
      limits: { ...this.#options.limits, ...route.limits },
      monotonic: () => this.#options.clock.monotonic(),
    });
    ws.getUserData().socket = socket;
    this.#sockets.add(socket);
    this.#guarded(socket, () => socket.listen(admission.open(socket)));
  }

  async #admit(route: UpgradeRoute, request: UpgradeRequest, left: AbortSignal): Promise<Admission> {
    if (this.#pendingUpgrades >= this.#options.limits.maxPendingUpgrades) return { status: 503 };
    this.#pendingUpgrades++;
    try {
      return await route.admit(request, left);
    } catch (error) {
      if (!left.aborted) this.#options.logger.error({ err: error }, 'a WebSocket upgrade failed');
      return { status: 503 };
    } finally {
      this.#pendingUpgrades--;
    }
  }

  /** Answers 101. @returns undefined when the client has left in that moment */
  #accept(
    response: HttpResponse,
    { headers }: UpgradeRequest,
    context: us_socket_context_t,
    protocol: string,
  ): WebSocket<UserData> | undefined {
    this.#httpConnections--; // `filter` reports no end for connections that became WebSockets
    let accepted: WebSocket<UserData> | undefined;
    this.#corkHolder.run(() => {
      response.upgrade<UserData>(
        { opened: (ws) => void (accepted = ws), socket: undefined },
        headers.get('sec-websocket-key') ?? '',
        protocol,
        headers.get('sec-websocket-extensions') ?? '',
        context,
      );
    });
    return accepted;
  }

  /** A mistake of ours in one connection must not take the others with it. */
  #guarded(socket: Socket, task: () => void): void {
    try {
      task();
    } catch (error) {
      this.#failed(socket, error);
    }
  }

  #failed(socket: Socket, error: unknown): void {
    const { logger } = this.#options;
    logger.error({ err: error }, 'a WebSocket handler failed');
    try {
      socket.fail(closeCodes.internal, 'internal');
    } catch (closeError) {
      logger.error({ err: closeError }, 'a WebSocket close handler failed');
    }
  }
}
