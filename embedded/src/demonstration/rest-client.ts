import { request } from 'undici';
import { sleep } from '@parley/shared/async/timeout';
import { http1Agent } from '@parley/shared/http/http1';

const TIMEOUT_MS = 10_000;
/** For a limit of requests to pass; it is one per minute. */
const MAX_WAIT_MS = 70_000;

/** An answer outside 2xx. */
export class RestError extends Error {
  readonly status: number;

  constructor(method: string, path: string, status: number, body: string) {
    super(`${method} ${path} answered ${status}: ${body.slice(0, 1000)}`);
    this.name = 'RestError';
    this.status = status;
  }
}

/** The public REST API as any program uses it. */
export class RestClient {
  readonly baseUrl: string;
  readonly #key: string;

  constructor(baseUrl: string, key: string) {
    this.baseUrl = baseUrl;
    this.#key = key;
  }

  get<T>(path: string): Promise<T> {
    return this.#call<T>('GET', path);
  }

  post<T>(path: string, body: object): Promise<T> {
    return this.#call<T>('POST', path, body);
  }

  put<T>(path: string, body: object): Promise<T> {
    return this.#call<T>('PUT', path, body);
  }

  patch<T>(path: string, body: object): Promise<T> {
    return this.#call<T>('PATCH', path, body);
  }

  async delete(path: string): Promise<void> {
    await this.#call('DELETE', path);
  }

  async bytes(path: string): Promise<Buffer> {
    return Buffer.from(await (await this.#send('GET', path)).arrayBuffer());
  }

  async #call<T>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<T> {
    const text = await (await this.#send(method, path, body)).text();
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }

  async #send(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object) {
    let response;
    for (let waitedMs = 0; ;) {
      response = await request(`${this.baseUrl}${path}`, {
        dispatcher: http1Agent,
        method,
        headers: {
          authorization: `Bearer ${this.#key}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
      });
      const waitMs = Number(response.headers['retry-after']) * 1000;
      if (response.statusCode !== 429 || !(waitedMs + waitMs <= MAX_WAIT_MS)) break;
      // Several calls that are followed at once share one key's requests per minute.
      await response.body.dump();
      await sleep(waitMs);
      waitedMs += waitMs;
    }
    if (response.statusCode >= 300)
      throw new RestError(method, path, response.statusCode, await response.body.text());
    return response.body;
  }
}
