import { Agent } from 'undici';

/**
 * For every agent and pool of undici: HTTP/1.1 alone, whatever a server offers. undici's own default takes HTTP/2 from a
 * server that has it, and then a request that is aborted before all of its body was sent hangs the whole process:
 *
 * - undici 8.12.4 calls `close()` and `destroy()` on the stream in one turn (https://github.com/nodejs/undici/pull/5462).
 *   Without a code, `close` of `node:http2` puts the reset off until the body is written; `destroy` takes the stream
 *   away meanwhile, and no reset is ever sent.
 * - nghttp2 still holds the request, sends its headers and asks for its data. For a stream that is gone Node 22 answers
 *   with nothing and no end (`Http2Stream::Provider::Stream::OnRead`), so nghttp2 writes empty DATA frames for ever,
 *   some hundred megabytes a second.
 *
 * Aborting later is no cure: a body waits as long as the socket or the peer's window makes it wait.
 */
export const HTTP1_ONLY = { allowH2: false } as const;

/** For requests whose maker brings no agent: in place of undici's global one. Idle connections keep no process alive. */
export const http1Agent = new Agent({ ...HTTP1_ONLY });
