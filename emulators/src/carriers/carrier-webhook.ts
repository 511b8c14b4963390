import { request } from 'undici';
import type { Clock } from '@parley/shared/time/clock';
import type { Reach } from '../callers/emulated-call.ts';
import { wait } from '../server/delays.ts';
import { COMMON_FAULTS, type FaultPlan } from '../server/faults.ts';

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

/**
 * What may go wrong with the callbacks of an emulated carrier.
 * - `callback_lost`: it never comes
 * - `callback_late`: it comes `delayMs` (5000 when none is given) later, also when the call is long over
 * - `callback_twice`: it comes twice
 * - `callback_overtaken`: it comes after the one that follows it
 *
 * `after` picks one callback of a call: how many of them came before.
 */
export const CALLBACK_FAULTS = [
  'callback_lost',
  'callback_late',
  'callback_twice',
  'callback_overtaken',
] as const;

export type CallbackFault = (typeof CALLBACK_FAULTS)[number];

/**
 * What may go wrong at an emulated carrier beyond its callbacks.
 * - `dial_lost`: the connection breaks, and nobody is called
 * - `dial_unanswered`: the call is placed, and the request never answered
 * - `order_lost`, `order_unanswered`: the same of an order for a number
 */
export const CARRIER_FAULTS = [
  ...COMMON_FAULTS,
  ...CALLBACK_FAULTS,
  ...(['dial_lost', 'dial_unanswered', 'order_lost', 'order_unanswered'] as const),
] as const;

export type CarrierFault = (typeof CARRIER_FAULTS)[number];

const LATE_MS = 5000;

/** What the callbacks of an account's calls have in common. */
export interface CallbackConditions {
  faults: FaultPlan<CarrierFault>;
  clock: Clock;
  /** Aborts when the emulator closes: what is late by then never comes. */
  signal: AbortSignal;
}

/** Webhooks that nobody waits for, until the call is over. */
export class PendingWebhooks {
  readonly #conditions: CallbackConditions | undefined;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #late = new Set<Promise<unknown>>();
  #told = 0;
  #held: (() => Promise<unknown>) | undefined;

  /** @param conditions without them every callback comes once, and at once */
  constructor(conditions?: CallbackConditions) {
    this.#conditions = conditions;
  }

  send(delivery: Promise<unknown>): void {
    track(this.#pending, delivery);
  }

  /** Delivers a callback, unless it is to go wrong. Its own answer means nothing. */
  tell(deliver: () => Promise<unknown>): void {
    const told = this.#told++;
    const fault = this.#conditions?.faults.take(
      CALLBACK_FAULTS,
      ({ after }) => after === undefined || after === told,
    );
    const overtaken = this.#held;
    this.#held = undefined;
    switch (fault?.kind) {
      case 'callback_lost':
        break;
      case 'callback_late': {
        const { clock, signal } = this.#conditions!;
        track(this.#late, wait(clock, fault.delayMs ?? LATE_MS, signal).then(deliver));
        break;
      }
      case 'callback_overtaken':
        this.#held = deliver;
        break;
      case 'callback_twice':
        this.send(deliver());
        this.send(deliver());
        break;
      default: {
        const delivery = deliver().catch(() => {});
        this.send(overtaken ? delivery.then(overtaken) : delivery);
        return;
      }
    }
    if (overtaken) this.send(overtaken());
  }

  /** Waits for all but those that are late. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /** Nothing follows: waits for all, also for one that was to be overtaken. */
  async finished(): Promise<void> {
    if (this.#held) this.send(this.#held());
    this.#held = undefined;
    await this.settled();
    while (this.#late.size > 0) await Promise.all(this.#late);
  }
}

function track(set: Set<Promise<unknown>>, delivery: Promise<unknown>): void {
  const settled = delivery.catch(() => {}).finally(() => set.delete(settled));
  set.add(settled);
}
