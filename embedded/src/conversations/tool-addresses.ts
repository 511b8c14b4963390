import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ConversationTool } from './conversation-file.ts';

interface Address {
  tool: ConversationTool;
  asked: unknown[];
}

/** Where the tools of conversations are: an HTTP server that answers what their files say. */
export interface ToolAddresses {
  /** Exact origin, for `OUTBOUND_ALLOW`. */
  readonly origin: string;
  /** @param id of this tool alone @returns its URL */
  add(id: string, tool: ConversationTool): string;
  /** The arguments of all requests to a tool, in order. */
  asked(id: string): readonly unknown[];
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_BODY_BYTES = 1024 * 1024;

/** A tool may be asked without a body. */
function argumentsOf(body: string): unknown {
  try {
    return (JSON.parse(body) as { arguments?: unknown } | null)?.arguments ?? {};
  } catch {
    return {};
  }
}

export async function openToolAddresses(): Promise<ToolAddresses> {
  const addresses = new Map<string, Address>();
  const timers = new Set<NodeJS.Timeout>();
  const server = createServer((req, res) => {
    const address = addresses.get(decodeURIComponent((req.url ?? '').slice(1)));
    if (!address) return void res.writeHead(404).end();
    const parts: Buffer[] = [];
    let size = 0;
    req.on('data', (part: Buffer) => {
      size += part.length;
      if (size > MAX_BODY_BYTES) req.destroy();
      else parts.push(part);
    });
    req.on('end', () => {
      address.asked.push(argumentsOf(Buffer.concat(parts).toString('utf8')));
      const { answer, status, after_ms } = address.tool;
      const timer = setTimeout(() => {
        timers.delete(timer);
        res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      }, after_ms);
      timers.add(timer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    add(id, tool) {
      addresses.set(id, { tool, asked: [] });
      return `${origin}/${encodeURIComponent(id)}`;
    },
    asked: (id) => addresses.get(id)?.asked ?? [],
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
