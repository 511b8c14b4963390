import { randomUUID } from 'node:crypto';
import { fetch } from 'undici';
import { Secret } from '@parley/shared/config/secret';
import type { PlanTool } from '@parley/shared/contracts/session-plan';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { authHeaders } from '@parley/shared/tools/webhook-tool';
import type { ToolAuth } from './tool-model.ts';

/** What an MCP server may answer to one request. */
export const MAX_MCP_ANSWER_BYTES = 1024 * 1024;

/** The server said more than it may. */
export class McpTooLargeError extends Error {
  constructor() {
    super(`The MCP server answered with more than ${MAX_MCP_ANSWER_BYTES} bytes.`);
    this.name = 'McpTooLargeError';
  }
}

/**
 * A `fetch` for the MCP SDK: every address follows the outgoing rule, redirects are refused, and answers are counted in
 * bytes, also those of a stream that stays open, for which each request allows as many again.
 * @param options.listens whether the server may keep a stream of its own open (SSE)
 * @param options.onTooLarge the server has said more than it may
 */
export function mcpFetch(options: {
  safeFetch: Pick<SafeFetch, 'dispatcherFor'>;
  orgId: string;
  headers: Readonly<Record<string, string>>;
  auth: ToolAuth;
  listens: boolean;
  now: () => number;
  onTooLarge: (error: McpTooLargeError) => void;
}): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const auth = wrapped(options.auth);
  let left = MAX_MCP_ANSWER_BYTES;
  return async (input, init = {}) => {
    const url = String(input);
    // Without a stream of its own a server answers 405, and nothing is lost: its answers come with the requests.
    if (init.method === 'GET' && !options.listens) return new Response(null, { status: 405 });
    const dispatcher = options.safeFetch.dispatcherFor(url, { purpose: 'tool', orgId: options.orgId });
    const body = typeof init.body === 'string' ? init.body : '';
    left = MAX_MCP_ANSWER_BYTES;
    const headers = new Headers(init.headers);
    headers.set('accept-encoding', 'identity');
    const own = { ...options.headers, ...authHeaders(auth, randomUUID(), body, options.now()) };
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    const response = await fetch(url, {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(headers),
      ...(body === '' ? {} : { body }),
      ...(init.signal ? { signal: init.signal } : {}),
      redirect: 'error',
      dispatcher,
    });
    const counted = response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          left -= chunk.byteLength;
          if (left >= 0) return controller.enqueue(chunk);
          const error = new McpTooLargeError();
          controller.error(error);
          options.onTooLarge(error);
        },
      }),
    );
    const empty = response.status === 204 || response.status === 304;
    return new Response(empty ? null : ((counted as ReadableStream<Uint8Array> | undefined) ?? null), {
      status: response.status,
      headers: Object.fromEntries(response.headers),
    });
  };
}

type PlanAuth = NonNullable<PlanTool['webhook']>['auth'];

function wrapped(auth: ToolAuth): PlanAuth {
  switch (auth.type) {
    case 'none':
      return auth;
    case 'bearer':
      return { type: 'bearer', token: new Secret(auth.token) };
    case 'basic':
      return { type: 'basic', username: auth.username, password: new Secret(auth.password) };
    case 'header':
      return { type: 'header', name: auth.name, value: new Secret(auth.value) };
    case 'hmac':
      return { type: 'hmac', secret: new Secret(auth.secret) };
  }
}
