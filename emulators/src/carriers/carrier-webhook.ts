import { request } from 'undici';
import type { Reach } from '../callers/emulated-call.ts';

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 256 * 1024;

export interface WebhookAnswer {
  status: number;
  body: string;
}

/** A webhook of an emulated carrier could not be delivered, or was not answered as carriers demand. */
export class WebhookError extends Error {
  override name = 'WebhookError';
}

/**
 * Posts one webhook.
 * @throws WebhookError when nobody answers in time; addresses in its message lack the query
 */
export async function postWebhook(options: {
  url: string;
  body: string;
  headers: Record<string, string>;
  timeoutMs?: number;
  reach?: Reach | undefined;
}): Promise<WebhookAnswer> {
  const { reach = (url) => url } = options;
  const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
  try {
    const response = await request(reach(options.url), {
      method: 'POST',
      headers: options.headers,
      body: options.body,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    const body = await response.body.text();
    if (body.length > MAX_ANSWER_BYTES) throw new Error('the answer is too large');
    return { status: response.statusCode, body };
  } catch (error) {
    throw new WebhookError(
      `${addressOf(options.url)}: ${error instanceof Error ? error.message : 'failed'}`,
      {
        cause: error,
      },
    );
  }
}

/** @throws WebhookError unless the answer is a 200 */
function expectOk(url: string, answer: WebhookAnswer): string {
  if (answer.status === 200) return answer.body;
  throw new WebhookError(`${addressOf(url)} answered ${answer.status}: ${answer.body.slice(0, 500)}`);
}

/**
 * Posts a form that the carrier wants an answer to. A request that nobody answers is repeated once.
 * @param options `headers`: made for each request, for signatures with a nonce; `twice`: as when an answer is lost
 * @returns the body of the answer
 * @throws WebhookError unless the answer is a 200
 */
export async function postForm(
  url: string,
  fields: Record<string, string>,
  options: { headers: () => Record<string, string>; twice: boolean; reach?: Reach | undefined },
): Promise<string> {
  const send = () =>
    postWebhook({
      url,
      reach: options.reach,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...options.headers() },
      body: new URLSearchParams(fields).toString(),
    });
  if (options.twice) await send();
  return expectOk(url, await send().catch(send));
}

function addressOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Webhooks that nobody waits for, until the call is over. */
export class PendingWebhooks {
  readonly #pending = new Set<Promise<unknown>>();

  send(delivery: Promise<unknown>): void {
    const settled = delivery.catch(() => {}).finally(() => this.#pending.delete(settled));
    this.#pending.add(settled);
  }

  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}
