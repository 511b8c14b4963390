import { randomUUID } from 'node:crypto';
import { get, type ClientRequest } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type {
  HttpRequest,
  HttpResponse,
  WebSocket,
  us_listen_socket,
  us_socket_context_t,
} from 'uWebSockets.js';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { closeCodes } from './close-codes.ts';
import { loadUws } from './load-uws.ts';
import { Socket } from './socket.ts';
import type { SocketLimits, SocketListener } from './socket.ts';

/** An upgrade request, copied: valid for as long as it is held. */
export interface UpgradeRequest {
  /** Path and query as the client sent them. Hold a credential: never log them. */
  readonly target: string;
  readonly query: string;
  /** The variable parts of the route's pattern, in order. */
  readonly params: readonly string[];
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly remoteAddress: string;
}

/** Refused with an HTTP status and no body, or let in. */
export type Admission =
  | { status: 400 | 401 | 403 | 404 | 429 | 503 }
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
 * Connections that send no complete request are closed by uWebSockets.js after some ten seconds, counted from the
 * first byte, so a request trickling in is no way to hold one.
 */
export async function openWebSocketServer(options: WebSocketServerOptions): Promise<WebSocketServer> {
  const { limits, logger, clock } = options;
  const uws = loadUws(limits.maxHeaderBytes);
  const app = uws.App();
  const sockets = new Set<Socket>();
  let httpConnections = 0;
  let pendingUpgrades = 0;
  let corkHolder: HttpResponse | undefined;
  const monotonic = () => clock.monotonic();

  app.filter((response, change) => {
    httpConnections += Number(change);
    // The connection that holds the cork is ours.
    const others = httpConnections + sockets.size - (corkHolder ? 1 : 0);
    if (Number(change) > 0 && others > limits.maxConnections) response.close();
  });

  for (const route of options.upgrades) {
    const socketLimits: SocketLimits = { ...limits, ...route.limits };
    const parameters = route.pattern.split('/').filter((part) => part.startsWith(':')).length;
    app.ws<UserData>(route.pattern, {
      compression: uws.DISABLED,
      // Frames up to here are read to be refused with 1009; uWebSockets.js drops the connection for larger ones.
      maxPayloadLength: socketLimits.maxPayloadBytes * 4,
      maxBackpressure: socketLimits.maxBufferedBytes * 4,
      idleTimeout: limits.idleTimeoutSeconds,
      sendPingsAutomatically: true,
      upgrade: (response, request, context) => {
        void upgrade(route, parameters, response, request, context);
      },
      open(ws) {
        // Taken over when the upgrade is through: until then another socket may be corked.
        ws.getUserData().opened(ws);
      },
      message(ws, message, isBinary) {
        const { socket } = ws.getUserData();
        if (!socket) return;
        guarded(socket, () => socket.receive(message, isBinary));
      },
      drain(ws) {
        const { socket } = ws.getUserData();
        if (!socket) return;
        guarded(socket, () => socket.drained());
      },
      pong(ws) {
        const { socket } = ws.getUserData();
        if (!socket) return;
        guarded(socket, () => socket.ponged());
      },
      close(ws, code, message) {
        const { socket } = ws.getUserData();
        if (!socket) return;
        sockets.delete(socket);
        guarded(socket, () => socket.gone(code, Buffer.from(message).toString()));
      },
    });
  }
  for (const route of options.http) {
    app.get(route.path, (response) => {
      const { status, body } = route.respond();
      response
        .writeStatus(String(status))
        .writeHeader('Content-Type', 'application/json')
        .writeHeader('Cache-Control', 'no-store')
        .end(JSON.stringify(body));
    });
  }
  const holderPath = `/${randomUUID()}`;
  app.get(holderPath, (response) => {
    response.onAborted(() => (corkHolder = undefined));
    corkHolder = response;
  });
  app.any('/*', (response) => void response.writeStatus('404 Not Found').endWithoutBody(0, true));

  /**
   * Runs an upgrade uncorked. Corked by its own response it would not be safe: `cork` looks at the response once more
   * when that is a WebSocket already, and now and then closes it (uWebSockets 1929). uWebSockets.js warns of anything
   * uncorked on stderr, so a response that is never answered holds the cork meanwhile.
   */
  function uncorked(task: () => void): void {
    if (corkHolder) corkHolder.cork(task);
    else task();
  }

  /** A mistake of ours in one connection must not take the others with it. */
  function guarded(socket: Socket, task: () => void): void {
    try {
      task();
    } catch (error) {
      logger.error({ err: error }, 'socket handler failed');
      try {
        socket.fail(closeCodes.internal, 'internal');
      } catch (closeError) {
        logger.error({ err: closeError }, 'socket close handler failed');
      }
    }
  }

  async function upgrade(
    route: UpgradeRoute,
    parameters: number,
    response: HttpResponse,
    httpRequest: HttpRequest,
    context: us_socket_context_t,
  ): Promise<void> {
    const left = new AbortController();
    response.onAborted(() => left.abort());
    const request = copyRequest(response, httpRequest, parameters);
    // RFC 6455, section 4.2.1; and a response to `close` is closed by uWebSockets.js while it is being upgraded.
    const connection = (request.headers.get('connection') ?? '').toLowerCase().split(/[\s,]+/);
    if (!connection.includes('upgrade') || connection.includes('close')) return refuse(response, 400);
    if (pendingUpgrades >= limits.maxPendingUpgrades) return refuse(response, 503);
    pendingUpgrades++;
    let admission: Admission;
    try {
      admission = await route.admit(request, left.signal);
    } catch (error) {
      if (!left.signal.aborted) logger.error({ err: error }, 'upgrade failed');
      admission = { status: 503 };
    } finally {
      pendingUpgrades--;
    }
    if (left.signal.aborted) return;
    if ('status' in admission) return refuse(response, admission.status);
    const { open, protocol = '' } = admission;
    httpConnections--; // `filter` reports no end for connections that became WebSockets
    let ws: WebSocket<UserData> | undefined;
    uncorked(() => {
      response.upgrade<UserData>(
        { opened: (openedWs) => void (ws = openedWs), socket: undefined },
        request.headers.get('sec-websocket-key') ?? '',
        protocol,
        request.headers.get('sec-websocket-extensions') ?? '',
        context,
      );
    });
    if (!ws) return; // gone in that moment
    const { remoteAddress } = request;
    const socket = new Socket(ws, { remoteAddress, limits: { ...limits, ...route.limits }, monotonic });
    ws.getUserData().socket = socket;
    sockets.add(socket);
    guarded(socket, () => socket.listen(open(socket)));
  }

  let listening = await new Promise<us_listen_socket | undefined>((resolve, reject) => {
    app.listen(options.host, options.port, EXCLUSIVE_PORT, (socket) => {
      if (socket) resolve(socket);
      else reject(new Error(`The media server cannot listen on ${options.host}:${options.port}.`));
    });
  });
  const port = uws.us_socket_local_port(listening!);
  const holder = await holdConnection(options.host, port, holderPath, () => corkHolder !== undefined);

  function stopListening(): void {
    if (listening) uws.us_listen_socket_close(listening);
    listening = undefined;
  }

  let disposing: Promise<void> | undefined;
  async function dispose(): Promise<void> {
    stopListening();
    corkHolder = undefined;
    holder.destroy();
    for (const socket of [...sockets]) guarded(socket, () => socket.fail(closeCodes.goingAway, 'shutdown'));
    await new Promise<void>((resolve) => setImmediate(resolve)); // lets the close frames out
    app.close();
  }

  return {
    port,
    get sockets() {
      return sockets.size;
    },
    stopListening,
    [Symbol.asyncDispose]: () => (disposing ??= dispose()),
  };
}

/** A request to our own server that it does not answer. Resolves when it has arrived. */
async function holdConnection(
  host: string,
  port: number,
  path: string,
  arrived: () => boolean,
): Promise<ClientRequest> {
  const address = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  const request = get({ host: address, port, path, agent: false });
  // It ends with the server, one way or the other.
  request.on('error', () => {});
  request.on('socket', (socket) => socket.unref());
  for (let tries = 0; tries < HOLDER_TRIES && !arrived(); tries++) await setTimeout(HOLDER_POLL_MS);
  return request;
}

const HOLDER_POLL_MS = 5;
/** Without it everything works, and uWebSockets.js prints its warnings. */
const HOLDER_TRIES = 400;

/** `LIBUS_LISTEN_EXCLUSIVE_PORT`; without it a second process would silently share the port. */
const EXCLUSIVE_PORT = 1;

interface UserData {
  opened: (ws: WebSocket<UserData>) => void;
  socket: Socket | undefined;
}

const REASONS: Record<number, string> = {
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  429: '429 Too Many Requests',
  503: '503 Service Unavailable',
};

function refuse(response: HttpResponse, status: number): void {
  response.cork(() => void response.writeStatus(REASONS[status] ?? String(status)).endWithoutBody(0, true));
}

/** The native request lives only until the first `await`. */
function copyRequest(response: HttpResponse, request: HttpRequest, parameters: number): UpgradeRequest {
  const headers = new Map<string, string>();
  request.forEach((name, value) => {
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  });
  const query = request.getQuery() ?? '';
  const path = request.getUrl();
  return {
    target: query === '' ? path : `${path}?${query}`,
    query,
    params: Array.from({ length: parameters }, (_, index) => request.getParameter(index) ?? ''),
    headers,
    remoteAddress: Buffer.from(response.getRemoteAddressAsText()).toString(),
  };
}
