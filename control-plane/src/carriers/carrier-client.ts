import { request as httpRequest, type Dispatcher, type FormData } from 'undici';
import type { CarrierName, FailureReason } from '@parley/shared/contracts/session-values';
import { http1Agent } from '@parley/shared/http/http1';
import type { Clock } from '@parley/shared/time/clock';
import type { DialAnswer } from './carrier-dialling.ts';
import { CarrierError } from './carrier.ts';

const TIMEOUT_MS = 8000;
const MAX_ANSWER_BYTES = 256 * 1024;

export interface CarrierCall {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Below the base URL, with a leading slash. */
  path: string;
  json?: object;
  form?: Record<string, string> | [name: string, value: string][];
  multipart?: FormData;
  /** Statuses that count as done besides 2xx, or a test over status and body. */
  alsoDone?: (status: number, body: string) => boolean;
  signal?: AbortSignal | undefined;
}

/** What is known of a request after it. `no`: it was certainly not done; `again`: it may be, later. */
export type Attempt =
  | { done: 'yes'; body: string }
  /** `body` is null where the carrier never got it. */
  | { done: 'no'; code: CarrierError['code']; status: number; body: string | null; again: boolean }
  | { done: 'unknown'; code: CarrierError['code'] | 'aborted' };

const UNREACHED = { failure: 'carrier_error', cause: null } as const;

/**
 * One carrier's REST API. Never repeats a request by itself: none of the three has idempotency keys everywhere, and a
 * repeated dial or transfer is heard by people.
 */
export class CarrierClient {
  readonly #carrier: CarrierName;
  readonly #baseUrl: string;
  readonly #authorization: string;
  readonly #dispatcher: Dispatcher;
  readonly #clock: Clock;
  readonly #onUnauthorized: (() => void) | undefined;

  constructor(options: {
    carrier: CarrierName;
    /** Without a trailing slash. */
    baseUrl: string;
    /** Header value; a secret. */
    authorization: string;
    dispatcher?: Dispatcher | undefined;
    clock: Clock;
    onUnauthorized?: (() => void) | undefined;
  }) {
    this.#carrier = options.carrier;
    this.#baseUrl = options.baseUrl.replace(/\/+$/, '');
    this.#authorization = options.authorization;
    this.#dispatcher = options.dispatcher ?? http1Agent;
    this.#clock = options.clock;
    this.#onUnauthorized = options.onUnauthorized;
  }

  /** @throws CarrierError; its message holds neither address nor answer */
  async call(call: CarrierCall): Promise<string> {
    const { status, body } = await this.#request(call);
    if ((status >= 200 && status < 300) || call.alsoDone?.(status, body)) return body;
    throw new CarrierError(this.#carrier, faultOf(status), status);
  }

  /**
   * Asks for an outbound call.
   * @param read what the carrier's answers say: the ids of a call that was placed, or why it was refused; `again`: for now
   */
  async dial(
    call: CarrierCall,
    read: {
      placed: (body: string) => { carrierCallId: string | null; requestId: string | null };
      refused: (
        body: string,
        status: number,
      ) => { failure: FailureReason; cause: string | null; again?: boolean };
    },
  ): Promise<DialAnswer> {
    const answer = await this.attempt(call);
    if (answer.done === 'yes') return { placed: 'yes', ...read.placed(answer.body) };
    if (answer.done === 'unknown') return { placed: 'unknown', code: answer.code };
    const { body, code, again } = answer;
    const why = body === null ? UNREACHED : read.refused(body, answer.status);
    return { placed: 'no', code, again, ...why };
  }

  /** A request that must not be done twice: says what is known of it, and never throws for what carrier or network do. */
  async attempt(call: CarrierCall): Promise<Attempt> {
    let answer: { status: number; body: string };
    try {
      answer = await this.#request(call);
    } catch (error) {
      if (call.signal?.aborted) return { done: 'unknown', code: 'aborted' };
      if (!(error instanceof CarrierError)) throw error;
      const { code, sent } = error;
      return sent ? { done: 'unknown', code } : { done: 'no', code, status: 0, body: null, again: true };
    }
    const { status, body } = answer;
    if (status >= 200 && status < 300) return { done: 'yes', body };
    const code = faultOf(status);
    // A server that fails, or gave up on the request, may have taken it all the same.
    if (code === 'unavailable' || status === 408 || status < 400) return { done: 'unknown', code };
    return { done: 'no', code, status, body, again: code === 'rate_limit' };
  }

  /** @throws CarrierError when there is no answer */
  async #request(call: CarrierCall): Promise<{ status: number; body: string }> {
    const { method, path, json, form, multipart, signal } = call;
    const timeout = new AbortController();
    const timer = this.#clock.setTimeout(() => timeout.abort(new Error('No answer in time.')), TIMEOUT_MS);
    try {
      const answer = await httpRequest(`${this.#baseUrl}${path}`, {
        method,
        headers: {
          authorization: this.#authorization,
          accept: 'application/json',
          ...(json ? { 'content-type': 'application/json' } : {}),
          ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
        },
        // Of a multipart body the client writes the content type, with its boundary.
        body: json ? JSON.stringify(json) : form ? new URLSearchParams(form).toString() : (multipart ?? null),
        signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal,
        dispatcher: this.#dispatcher,
      });
      if (answer.statusCode === 401) this.#onUnauthorized?.();
      return { status: answer.statusCode, body: await readBounded(answer.body) };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const code = timeout.signal.aborted ? 'timeout' : 'unavailable';
      throw new CarrierError(this.#carrier, code, undefined, { cause: error, sent: mayHaveLeft(error) });
    } finally {
      timer.cancel();
    }
  }
}

/**
 * Whether the carrier may have got the request. It has not where the connection never stood; the same errors of one that
 * stood (its host is unreachable now) say nothing.
 */
function mayHaveLeft(error: unknown): boolean {
  // Several addresses of one name were tried: each has its own error.
  if (error instanceof AggregateError) return error.errors.some(mayHaveLeft);
  if (!(error instanceof Error)) return true;
  if ('code' in error && error.code === 'UND_ERR_CONNECT_TIMEOUT') return false;
  return !('syscall' in error && (error.syscall === 'connect' || error.syscall === 'getaddrinfo'));
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
