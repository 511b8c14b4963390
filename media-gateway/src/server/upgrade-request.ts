import type { HttpRequest, HttpResponse } from 'uWebSockets.js';

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

/** The native request lives only until the first `await`. @param parameters variable parts of the route's pattern */
export function copyRequest(
  response: HttpResponse,
  request: HttpRequest,
  parameters: number,
): UpgradeRequest {
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

/** RFC 6455, section 4.2.1; and a response to `close` is closed by uWebSockets.js while it is being upgraded. */
export function mayUpgrade({ headers }: UpgradeRequest): boolean {
  const connection = (headers.get('connection') ?? '').toLowerCase().split(/[\s,]+/);
  return connection.includes('upgrade') && !connection.includes('close');
}

/** Status line, code and words of refused upgrades. */
const REFUSALS = {
  400: ['400 Bad Request', 'bad_request', 'This is not a WebSocket upgrade.'],
  401: ['401 Unauthorized', 'unauthenticated', 'Valid credentials are required.'],
  403: ['403 Forbidden', 'forbidden', 'This is not allowed.'],
  404: ['404 Not Found', 'not_found', 'There is nothing here.'],
  429: ['429 Too Many Requests', 'rate_limited', 'Too many connections were refused. Retry in a minute.'],
  503: ['503 Service Unavailable', 'unavailable', 'No room for another connection. Retry in a few seconds.'],
} as const;
export type RefusalStatus = keyof typeof REFUSALS;

/** Answers with a status and a body as the REST API has it, and closes the connection. */
export function refuseUpgrade(response: HttpResponse, status: RefusalStatus, detail?: string): void {
  const [line, code, words] = REFUSALS[status];
  response.cork(
    () =>
      void response
        .writeStatus(line)
        .writeHeader('content-type', 'application/json')
        .end(JSON.stringify({ detail: detail ?? words, code }), true),
  );
}
