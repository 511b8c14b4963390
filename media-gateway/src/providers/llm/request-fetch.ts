import { request } from 'undici';
import type { Agent, Dispatcher } from 'undici';

/** An answer as far as the SDK looks at it; the body is a Node stream. */
export interface LeanResponse {
  ok: boolean;
  status: number;
  statusText: string;
  url: string;
  headers: Headers;
  body: Dispatcher.ResponseData['body'];
  text(): Promise<string>;
}

/**
 * `fetch` for the SDK over undici's `request`: half the processor time of `fetch`, most of which goes into web streams
 * that are taken apart at once. Follows no redirect.
 */
export function requestFetch(dispatcher: Agent): typeof fetch {
  const lean = async (url: string | URL, init: RequestInit = {}): Promise<LeanResponse> => {
    const { statusCode, headers, body } = await request(url, {
      method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: init.body as string,
      ...(init.signal ? { signal: init.signal } : {}),
      dispatcher,
    });
    // Told to whoever reads; nobody reads any more when the answer was given up.
    body.on('error', () => undefined);
    return {
      ok: statusCode >= 200 && statusCode < 300,
      status: statusCode,
      statusText: '',
      url: String(url),
      headers: toHeaders(headers),
      body,
      text: () => body.text(),
    };
  };
  return lean as unknown as typeof fetch;
}

function toHeaders(received: Record<string, string | string[] | undefined>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(received))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined) headers.append(name, one);
  return headers;
}
