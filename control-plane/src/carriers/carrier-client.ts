import { request as httpRequest, type Dispatcher } from 'undici';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { http1Agent } from '@parley/shared/http/http1';
import { CarrierError } from './carrier.ts';

const TIMEOUT_MS = 8000;
const MAX_ANSWER_BYTES = 256 * 1024;

export interface CarrierCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** Below the base URL, with a leading slash. */
  path: string;
  json?: object;
  form?: Record<string, string>;
  /** Statuses that count as done besides 2xx, or a test over status and body. */
  alsoDone?: (status: number, body: string) => boolean;
  signal?: AbortSignal | undefined;
}

/**
 * One carrier's REST API. Never repeats a request by itself: none of the three has idempotency keys everywhere, and a
 * repeated dial or transfer is heard by people.
 */
export class CarrierClient {
  readonly #carrier: CarrierName;
  readonly #baseUrl: string;
  readonly #authorization: string;
  readonly #dispatcher: Dispatcher;

  constructor(options: {
    carrier: CarrierName;
    /** Without a trailing slash. */
    baseUrl: string;
    /** Header value; a secret. */
    authorization: string;
    dispatcher?: Dispatcher | undefined;
  }) {
    this.#carrier = options.carrier;
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.#authorization = options.authorization;
    this.#dispatcher = options.dispatcher ?? http1Agent;
  }

  /** @throws CarrierError; its message holds neither address nor answer */
  async call({ method, path, json, form, alsoDone, signal }: CarrierCall): Promise<string> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    let status: number;
    let body: string;
    try {
      const answer = await httpRequest(`${this.#baseUrl}${path}`, {
        method,
        headers: {
          authorization: this.#authorization,
          accept: 'application/json',
          ...(json ? { 'content-type': 'application/json' } : {}),
          ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        },
        body: json ? JSON.stringify(json) : form ? new URLSearchParams(form).toString() : null,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        dispatcher: this.#dispatcher,
      });
      status = answer.statusCode;
      body = await readBounded(answer.body);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const code = timeout.aborted ? 'timeout' : 'unavailable';
      throw new CarrierError(this.#carrier, code, undefined, { cause: error });
    }
    if ((status >= 200 && status < 300) || alsoDone?.(status, body)) return body;
    throw new CarrierError(this.#carrier, faultOf(status), status);
  }
}

function faultOf(status: number): CarrierError['code'] {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate_limit';
  return status >= 500 ? 'unavailable' : 'refused';
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Error('The response is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
