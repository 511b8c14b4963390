import type { LookupAddress } from 'node:dns';
import { lookup as dnsLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import { isAllowed, parseAllowEntry, type AllowEntry, type OutboundScope } from './allow-list.ts';
import { HTTP1_ONLY } from './http1.ts';
import { OutboundFailedError, OutboundRefusedError } from './outbound-errors.ts';
import { isPublicAddress } from './public-address.ts';

export interface SafeRequest extends OutboundScope {
  url: string;
  /** Default GET. */
  method?: Dispatcher.HttpMethod;
  headers?: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  /** For everything from the name look-up to the last byte of the answer. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** Trusted for this request, besides those of the instance: what a session plan brings. */
  allow?: readonly (AllowEntry | string)[];
}

export interface SafeResponse {
  /** Any, also 3xx: redirects are not followed. */
  status: number;
  /** Lower-case names; several values of one name are joined by `, `. */
  headers: Record<string, string>;
  /** At most `maxResponseBytes`. */
  body: Buffer;
  /** There was more. */
  truncated: boolean;
}

/** Address and scope of a request that somebody else makes. */
export type SafeTarget = OutboundScope & Pick<SafeRequest, 'allow'>;

export interface SafeFetch {
  /**
   * @throws OutboundRefusedError when the address is against the rules
   * @throws OutboundFailedError when there was no answer
   * @throws the reason of `signal`
   */
  request(request: SafeRequest): Promise<SafeResponse>;
  /** For when an address is stored: all that can be told without asking the name service. @throws OutboundRefusedError */
  checkUrl(url: string, target: SafeTarget): void;
  /**
   * For libraries that make their own requests with undici: connects nowhere the rules forbid. It stays ours.
   * @throws OutboundRefusedError when the address itself is against them
   */
  dispatcherFor(url: string, target: SafeTarget): Agent;
  /** The same for sockets, as `lookup` of `net.connect`, `tls.connect`, `http.request` and `ws`. `url` may be ws(s). */
  lookupFor(url: string, target: SafeTarget): LookupFunction;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface SafeFetchOptions {
  allow: readonly (AllowEntry | string)[];
  /** Of an answer's body; default 1 MiB. */
  maxResponseBytes?: number;
  /** Connections to one origin at a time, default 64; further requests wait for one within their own time. */
  maxConnections?: number;
  userAgent?: string;
  /** All addresses of a name; default the operating system's look-up. */
  resolve?: (hostname: string) => Promise<LookupAddress[]>;
}

/** Set by the connection itself, or able to confuse what stands between. */
const FORBIDDEN_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Idle connections are given up long before servers do, which is after five seconds where nobody said otherwise: a
 * request that meets a connection as it is closed fails, and may not be repeated. undici's timers may be a second late.
 */
const KEEP_ALIVE_MS = 3000;
/** So much earlier than a server says that it closes. */
const KEEP_ALIVE_MARGIN_MS = 2000;
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * Requests to addresses that tenants choose: https, to public addresses only, whatever their names resolve to, and
 * no redirects. Exact origins of the allow-list may be http and private.
 */
export function createSafeFetch(options: SafeFetchOptions): SafeFetch {
  const allow = options.allow.map(toEntry);
  const maxResponseBytes = options.maxResponseBytes ?? 1024 * 1024;
  const resolve =
    options.resolve ?? ((hostname: string) => dnsLookup(hostname, { all: true, order: 'verbatim' }));
  const publicLookup = createLookup(resolve, isPublicAddress);
  const anyLookup = createLookup(resolve, () => true);
  const agentOptions: Agent.Options = {
    connections: options.maxConnections ?? 64,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
  };
  const connectPublic = buildConnector({ lookup: publicLookup, timeout: CONNECT_TIMEOUT_MS, ...HTTP1_ONLY });
  const connectAny = buildConnector({ lookup: anyLookup, timeout: CONNECT_TIMEOUT_MS, ...HTTP1_ONLY });
  /** Origins that some list trusts: libraries that use our dispatchers may follow redirects to others. */
  const trustedOrigins = new Set<string>();
  const publicAgent = new Agent({
    ...HTTP1_ONLY,
    ...agentOptions,
    connect: (target, callback) => {
      try {
        refuseUnlessPublic(target.protocol, target.hostname);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      connectPublic(target, callback);
    },
  });
  const trustedAgent = new Agent({
    ...HTTP1_ONLY,
    ...agentOptions,
    connect: (target, callback) => {
      // As in a URL: the port is part of it unless it is the scheme's own.
      if (trustedOrigins.has(`${target.protocol}//${target.host}`)) {
        connectAny(target, callback);
      } else {
        callback(notPublic(), null);
      }
    },
  });
  let disposing: Promise<void> | undefined;

  /** @returns the address, and whether the operator trusts it */
  function admit(text: string, target: SafeTarget): { url: URL; trusted: boolean } {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') {
      throw new OutboundRefusedError('invalid_url', 'must be an absolute https address');
    }
    if (url.username !== '' || url.password !== '') {
      throw new OutboundRefusedError('credentials_in_url', 'must not contain a user name or password');
    }
    if (isAllowed(allow, url, target) || isAllowed((target.allow ?? []).map(toEntry), url, target)) {
      trustedOrigins.add(url.origin);
      return { url, trusted: true };
    }
    refuseUnlessPublic(url.protocol, url.hostname);
    return { url, trusted: false };
  }

  function admitSocket(text: string, target: SafeTarget): LookupFunction {
    return admit(text.replace(/^ws(?=s?:)/i, 'http'), target).trusted ? anyLookup : publicLookup;
  }

  async function send(
    agent: Agent,
    url: URL,
    request: SafeRequest,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<SafeResponse> {
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method: request.method ?? 'GET',
      headers,
      body: request.body ?? null,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const { body, truncated } = await readBody(response.body, maxResponseBytes);
    return { status: response.statusCode, headers: joinHeaders(response.headers), body, truncated };
  }

  async function request(request: SafeRequest): Promise<SafeResponse> {
    const { timeoutMs, signal } = request;
    const { url, trusted } = admit(request.url, request);
    const headers = toHeaders(request.headers ?? {}, options.userAgent ?? 'Parley');
    signal?.throwIfAborted();

    const aborting = new AbortController();
    const onAbort = () => aborting.abort(signal!.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(
      () => aborting.abort(new OutboundFailedError('timeout', `No response within ${timeoutMs} ms.`)),
      timeoutMs,
    );
    // undici notices an abort only once it is connected, and a look-up can take its time.
    const aborted = new Promise<never>((_, reject) => {
      aborting.signal.addEventListener('abort', () => reject(aborting.signal.reason as Error));
    });
    const answer = send(trusted ? trustedAgent : publicAgent, url, request, headers, aborting.signal);
    try {
      return await Promise.race([answer, aborted]);
    } catch (error) {
      throw aborting.signal.aborted ? (aborting.signal.reason as Error) : toOutboundError(error);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  return {
    request,
    checkUrl: (url, target) => void admit(url, target),
    dispatcherFor: (url, target) => (admit(url, target).trusted ? trustedAgent : publicAgent),
    lookupFor: admitSocket,
    [Symbol.asyncDispose]() {
      disposing ??= Promise.all([publicAgent.destroy(), trustedAgent.destroy()]).then(() => undefined);
      return disposing;
    },
  };
}

/** Whether an address is https, and neither a private address nor a name of this machine. Other names are not looked up. */
export function isPublicUrl(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  try {
    refuseUnlessPublic(protocol, hostname);
    return true;
  } catch {
    return false;
  }
}

/** What can be told without a look-up. There is none for a literal address. */
function refuseUnlessPublic(protocol: string, hostname: string): void {
  if (protocol !== 'https:') throw new OutboundRefusedError('https_required', 'must be an https address');
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) ? !isPublicAddress(host) : /(^|\.)localhost\.?$/.test(host)) throw notPublic();
}

/** The connection goes to an address that was checked: nothing is looked up again in between. */
function createLookup(
  resolve: (hostname: string) => Promise<LookupAddress[]>,
  isFine: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const wanted = options.family === 4 || options.family === 'IPv4' ? 4 : 6;
        const family = options.family ? wanted : 0;
        const addresses = found.filter((entry) => isFine(entry.address));
        if (found.length > 0 && addresses.length === 0) {
          callback(notPublic(), '', 0);
          return;
        }
        const usable = family === 0 ? addresses : addresses.filter((entry) => entry.family === family);
        const [first] = usable;
        if (!first) {
          callback(Object.assign(new Error('The host name has no address.'), { code: 'ENOTFOUND' }), '', 0);
        } else if (options.all) {
          callback(null, usable);
        } else {
          callback(null, first.address, first.family);
        }
      },
      (error: Error) => callback(error, '', 0),
    );
  };
}

async function readBody(
  stream: AsyncIterable<Uint8Array> & { destroy(): unknown },
  maxBytes: number,
): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    length += chunk.byteLength;
    // Leaving the loop gives the connection up, whatever is still to come.
    if (length > maxBytes) break;
  }
  return { body: Buffer.concat(chunks, Math.min(length, maxBytes)), truncated: length > maxBytes };
}

function toEntry(entry: AllowEntry | string): AllowEntry {
  return typeof entry === 'string' ? parseAllowEntry(entry) : entry;
}

function notPublic(): OutboundRefusedError {
  return new OutboundRefusedError('private_address', 'must resolve to a public internet address');
}

function toHeaders(given: Readonly<Record<string, string>>, userAgent: string): Record<string, string> {
  // Answers come as they are: a compressed one could be larger than its bound says.
  const headers: Record<string, string> = { 'user-agent': userAgent, 'accept-encoding': 'identity' };
  for (const [name, value] of Object.entries(given)) {
    const lower = name.toLowerCase();
    if (FORBIDDEN_HEADERS.has(lower) || !/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(lower)) {
      throw new OutboundRefusedError('header_not_allowed', `must not set the header ${lower.slice(0, 40)}`);
    }
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      throw new OutboundRefusedError(
        'header_not_allowed',
        `the header ${lower} contains characters that are not allowed`,
      );
    }
    headers[lower] = value;
  }
  return headers;
}

function joinHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

function toOutboundError(error: unknown): Error {
  const chain = causes(error);
  const refused = chain.find((cause) => cause instanceof OutboundRefusedError);
  if (refused) return refused;
  const codes = chain
    .map((cause) => (cause as { code?: unknown }).code)
    .filter((code) => typeof code === 'string');
  const has = (pattern: RegExp) => codes.some((code) => pattern.test(code));
  if (has(/^(ENOTFOUND|EAI_\w+|ENODATA)$/)) {
    return new OutboundFailedError('dns_failed', 'The host name could not be resolved.', { cause: error });
  }
  if (has(/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/)) {
    return new OutboundFailedError('connect_failed', 'The connection failed.', { cause: error });
  }
  if (has(/CERT|SSL|TLS|^UNABLE_TO_/)) {
    return new OutboundFailedError('tls_failed', 'The TLS connection failed.', { cause: error });
  }
  return new OutboundFailedError('broken', 'The connection ended before the response was complete.', {
    cause: error,
  });
}

function causes(error: unknown): Error[] {
  const found: Error[] = [];
  const visit = (current: unknown) => {
    if (!(current instanceof Error) || found.includes(current)) return;
    found.push(current);
    visit(current.cause);
    if (current instanceof AggregateError) current.errors.forEach(visit);
  };
  visit(error);
  return found;
}
