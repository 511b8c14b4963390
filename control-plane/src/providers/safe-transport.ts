import type { SafeFetch, SafeTarget } from '@parley/shared/http/safe-fetch';

/**
 * The outgoing rule for a library that wants a `fetch`: no redirects, no private addresses, bounded answers. Bodies
 * are whole on both sides: nothing streams.
 */
export function fetchThrough(
  fetch: Pick<SafeFetch, 'request'>,
  target: SafeTarget,
  timeoutMs: number,
): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = new Uint8Array(await request.arrayBuffer());
    const answer = await fetch.request({
      ...target,
      url: request.url,
      method: request.method as 'GET' | 'POST' | 'DELETE',
      headers: Object.fromEntries(request.headers),
      ...(body.length > 0 && { body }),
      timeoutMs,
      signal: request.signal,
    });
    const empty = answer.status === 204 || answer.status === 304;
    return new Response(empty ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: answer.headers,
    });
  };
}
