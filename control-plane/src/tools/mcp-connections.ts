import { createHash } from 'node:crypto';
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { mcpFetch, McpTooLargeError } from './mcp-fetch.ts';
import type { ToolSecrets } from './tool-model.ts';

/** Connections that are kept; the one that was idle longest makes way. */
const MAX_CONNECTIONS = 64;
const IDLE_MS = 60_000;
/** Pages of a server's list of tools. */
const MAX_PAGES = 20;

/** Where an MCP server is, and how it knows us. */
export interface McpServer {
  orgId: string;
  url: string;
  transport: 'streamable_http' | 'sse';
  secrets: ToolSecrets;
}

/** A tool as its server describes it, unchecked. */
export interface McpTool {
  name: string;
  description?: string | undefined;
  inputSchema: unknown;
}

/** What a tool answered: text, and data where there is any. */
export interface McpResult {
  failed: boolean;
  text: string;
}

/** An MCP server gave no answer. @property code `timeout`, `too_large` or `unreachable` */
export class McpError extends Error {
  readonly code: 'timeout' | 'too_large' | 'unreachable';

  constructor(code: McpError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'McpError';
    this.code = code;
  }
}

interface Connection {
  client: Client;
  ready: Promise<void>;
  users: number;
  idle: Timer | undefined;
  tooLarge: boolean;
}

/** Connections to tenants' MCP servers: kept while they are used, each with its own credentials. */
export class McpConnections implements AsyncDisposable {
  readonly #safeFetch: Pick<SafeFetch, 'dispatcherFor'>;
  readonly #clock: Clock;
  /** In the order of their last use. */
  readonly #open = new Map<string, Connection>();
  #closed = false;

  constructor(deps: { safeFetch: Pick<SafeFetch, 'dispatcherFor'>; clock: Clock }) {
    this.#safeFetch = deps.safeFetch;
    this.#clock = deps.clock;
  }

  /** What the server has. @throws McpError; the reason of `signal` */
  listTools(server: McpServer, timeoutMs: number, signal: AbortSignal): Promise<McpTool[]> {
    return this.#use(server, timeoutMs, signal, async (client, options) => {
      const tools: McpTool[] = [];
      let cursor: string | undefined;
      for (let page = 0; page < MAX_PAGES; page++) {
        const answer = await client.listTools(cursor === undefined ? undefined : { cursor }, options);
        tools.push(...answer.tools);
        cursor = answer.nextCursor;
        if (cursor === undefined) break;
      }
      return tools;
    });
  }

  /** Runs one of its tools; an abort cancels it there. @throws McpError; the reason of `signal` */
  callTool(
    server: McpServer,
    call: { name: string; arguments: Record<string, unknown> },
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<McpResult> {
    return this.#use(server, timeoutMs, signal, async (client, options) => {
      const { content, structuredContent, isError } = await client.callTool(call, options);
      const texts = content.map((part) => (part.type === 'text' ? part.text : `[${part.type} left out]`));
      const text = structuredContent === undefined ? texts.join('\n') : JSON.stringify(structuredContent);
      return { failed: isError === true, text };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map(([key, connection]) => this.#close(key, connection)));
  }

  async #use<T>(
    server: McpServer,
    timeoutMs: number,
    signal: AbortSignal,
    work: (
      client: Client,
      options: { timeout: number; maxTotalTimeout: number; signal: AbortSignal },
    ) => Promise<T>,
  ): Promise<T> {
    signal.throwIfAborted();
    const key = keyOf(server);
    // Both a time-out and an abort look the same in the SDK's errors.
    const timeUp = AbortSignal.timeout(timeoutMs);
    const within = AbortSignal.any([signal, timeUp]);
    const connection = this.#connect(key, server);
    connection.users++;
    connection.idle?.cancel();
    try {
      const options = { timeout: timeoutMs, maxTotalTimeout: timeoutMs, signal: within };
      await abortable(connection.ready, within);
      return await work(connection.client, options);
    } catch (error) {
      if (!within.aborted || connection.tooLarge) void this.#close(key, connection);
      signal.throwIfAborted();
      if (connection.tooLarge) throw new McpError('too_large', new McpTooLargeError().message);
      if (timeUp.aborted)
        throw new McpError('timeout', `The MCP server did not answer within ${timeoutMs} ms.`);
      throw new McpError('unreachable', 'The MCP server could not be used.', { cause: error });
    } finally {
      connection.users--;
      if (connection.users === 0 && this.#open.get(key) === connection)
        connection.idle = this.#clock.setTimeout(() => void this.#close(key, connection), IDLE_MS);
    }
  }

  #connect(key: string, server: McpServer): Connection {
    const known = this.#open.get(key);
    if (known) {
      this.#open.delete(key);
      this.#open.set(key, known);
      return known;
    }
    if (this.#closed) throw new McpError('unreachable', 'The control plane is stopping.');
    if (this.#open.size >= MAX_CONNECTIONS) {
      const idle = [...this.#open].find(([, { users }]) => users === 0);
      if (!idle) throw new McpError('unreachable', 'Too many MCP servers are in use.');
      void this.#close(...idle);
    }
    const client = new Client({ name: 'parley', version: '1' });
    const connection: Connection = {
      client,
      ready: Promise.resolve(),
      users: 0,
      idle: undefined,
      tooLarge: false,
    };
    const options = {
      fetch: mcpFetch({
        safeFetch: this.#safeFetch,
        orgId: server.orgId,
        headers: server.secrets.headers,
        auth: server.secrets.auth,
        listens: server.transport === 'sse',
        now: () => this.#clock.now(),
        onTooLarge: () => {
          connection.tooLarge = true;
          void this.#close(key, connection);
        },
      }),
    };
    const url = new URL(server.url);
    const transport =
      server.transport === 'sse'
        ? new SSEClientTransport(url, options)
        : new StreamableHTTPClientTransport(url, options);
    connection.ready = client.connect(transport as Parameters<Client['connect']>[0], { timeout: 10_000 });
    connection.ready.catch(() => void this.#close(key, connection));
    this.#open.set(key, connection);
    return connection;
  }

  async #close(key: string, connection: Connection): Promise<void> {
    connection.idle?.cancel();
    if (this.#open.get(key) === connection) this.#open.delete(key);
    // It may be closed already, by the server.
    await connection.client.close().catch(() => {});
  }
}

function keyOf(server: McpServer): string {
  return createHash('sha256').update(JSON.stringify(server)).digest('hex');
}

async function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
