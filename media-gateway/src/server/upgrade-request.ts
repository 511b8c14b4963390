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

/** Status lines of refused upgrades. */
const STATUS_LINES = {
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  429: '429 Too Many Requests',
  503: '503 Service Unavailable',
} as const;
export type RefusalStatus = keyof typeof STATUS_LINES;

/** Answers with a status and no body, and closes the connection. */
export function refuseUpgrade(response: HttpResponse, status: RefusalStatus): void {
  response.cork(() => void response.writeStatus(STATUS_LINES[status]).endWithoutBody(0, true));
}
