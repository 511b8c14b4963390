import type { Clock } from '@parley/shared/time/clock';
import type { Reach } from '../callers/emulated-call.ts';
import { RequestWindow } from '../callers/telephone.ts';
import type { HttpAnswer } from '../server/emulator-server.ts';
import type { CarrierCalls } from './carrier-account.ts';
import type { CarrierApiRequest, NoAnswer } from './carrier-api.ts';
import { parseJsonObject } from './json-object.ts';
import { TelnyxCall, type TelnyxAccount } from './telnyx-call.ts';

/** Thirty dials a second, summed up over five; those above are refused, and nothing waits. */
const DIAL_LIMIT = 150;
const DIAL_WINDOW_MS = 5000;
/** For so long a dial with the id of an earlier one is the earlier one. */
const COMMAND_ID_MS = 60_000;
const DEFAULT_RING_SECONDS = 30;
const [MIN_RING_SECONDS, MAX_RING_SECONDS] = [5, 600];
const MAX_TIME_LIMIT_SECONDS = 14_400;
const DEFAULT_PAGE = 20;

/** What the emulated carrier knows of a dial. Anything else that the vendor takes is refused, and not ignored. */
const PARAMETERS = new Set([
  'connection_id',
  'to',
  'from',
  'webhook_url',
  'webhook_url_method',
  'timeout_secs',
  'time_limit_secs',
  'client_state',
  'command_id',
  'answering_machine_detection',
  'send_silence_when_idle',
  'stream_url',
  'stream_track',
  'stream_codec',
  'stream_auth_token',
  'stream_bidirectional_mode',
  'stream_bidirectional_codec',
  'stream_bidirectional_target_legs',
]);

export const telnyxError = (code: string, title: string, detail = title) => ({
  errors: [{ code, title, detail }],
});

/** Outbound calls of the emulated Telnyx: dialled and listed; carriers 3.3. */
export class TelnyxDials {
  readonly #account: TelnyxAccount;
  readonly #reach: Reach | undefined;
  readonly #clock: Clock;
  readonly #window: RequestWindow;
  readonly #commands = new Map<string, { call: TelnyxCall; atMs: number }>();

  constructor(options: { account: TelnyxAccount; reach: Reach | undefined; clock: Clock }) {
    this.#account = options.account;
    this.#reach = options.reach;
    this.#clock = options.clock;
    this.#window = new RequestWindow(DIAL_LIMIT, DIAL_WINDOW_MS, options.clock);
  }

  /** @returns undefined for commands to a call, or what there is not */
  answer(request: CarrierApiRequest, calls: CarrierCalls<TelnyxCall>): HttpAnswer | NoAnswer | undefined {
    const { method, path, query } = request;
    if (method === 'POST' && path === '/v2/calls') return this.#dial(request.body, calls);
    if (method !== 'GET') return undefined;
    if (path === `/v2/connections/${this.#account.connectionId}/active_calls`)
      return activeCalls(query, calls);
    if (path === '/v2/call_events') return this.#events(query, calls);
    const [, callId] = /^\/v2\/calls\/([^/]+)$/.exec(path) ?? [];
    const call = calls.list().find((one) => one.callId === callId);
    return call && { status: 200, body: { data: { ...call.record(), is_alive: call.isAlive } } };
  }

  #dial(body: string, calls: CarrierCalls<TelnyxCall>): HttpAnswer | NoAnswer {
    const wish = parseJsonObject(body);
    if (!wish) return refused('10015', 'Bad request');
    const earlier = this.#dialledBy(wish['command_id']);
    if (earlier) return placed(earlier);
    if (!this.#window.take())
      return { status: 429, body: telnyxError('90103', 'Dials per second limit exceeded') };
    for (const name of Object.keys(wish))
      if (!PARAMETERS.has(name)) return refused('10015', `${name} is not supported by this emulator`);
    for (const name of ['connection_id', 'to', 'from'])
      if (wish[name] === undefined)
        return refused('10004', 'Missing required parameter', `${name} is required`);
    if (wish['connection_id'] !== this.#account.connectionId)
      return refused('10015', 'Invalid value for connection_id (Call Control App ID)');
    const { to, from } = wish;
    if (!isNumber(to) || !isNumber(from)) return refused('10016', 'Phone number must be in +E.164 format');
    const webhookUrl = wish['webhook_url'];
    if (typeof webhookUrl !== 'string' || !/^https?:\/\/\S+$/.test(webhookUrl))
      return refused('10015', 'webhook_url: emulated applications have no address of their own');
    const streamUrl = wish['stream_url'];
    if (streamUrl !== undefined && !(typeof streamUrl === 'string' && /^wss?:\/\/\S+$/.test(streamUrl)))
      return refused('10015', 'stream_url is invalid');
    if (
      ![undefined, 'disabled', 'detect', 'detect_beep'].includes(
        wish['answering_machine_detection'] as string,
      )
    )
      return refused('10015', 'answering_machine_detection: not supported by this emulator');
    const ring = Number(wish['timeout_secs'] ?? DEFAULT_RING_SECONDS);
    if (!(ring >= MIN_RING_SECONDS && ring <= MAX_RING_SECONDS))
      return refused('10015', 'timeout_secs is invalid');
    const limit = Number(wish['time_limit_secs'] ?? MAX_TIME_LIMIT_SECONDS);
    if (!(limit > 0 && limit <= MAX_TIME_LIMIT_SECONDS))
      return refused('10015', 'time_limit_secs is invalid');
    const place = { voiceUrl: webhookUrl, statusUrl: webhookUrl, reach: this.#reach, from, to };
    return calls.dial(to, {
      ringTimeoutMs: ring * 1000,
      refused: () => refused('10016', 'Phone number must be in +E.164 format'),
      place: (telephone) => {
        const dialled = { telephone, body: wish, timeLimitMs: limit * 1000 };
        const call = new TelnyxCall(place, this.#account, calls.conditions, dialled);
        if (typeof wish['command_id'] === 'string')
          this.#commands.set(wish['command_id'], { call, atMs: this.#clock.monotonic() });
        return call;
      },
      answer: placed,
    });
  }

  #dialledBy(commandId: unknown): TelnyxCall | undefined {
    const oldest = this.#clock.monotonic() - COMMAND_ID_MS;
    for (const [id, { atMs }] of this.#commands) if (atMs <= oldest) this.#commands.delete(id);
    return this.#commands.get(String(commandId))?.call;
  }

  /** The events of the account's calls, oldest first, by which those that are over can be found. */
  #events(query: URLSearchParams, calls: CarrierCalls<TelnyxCall>): HttpAnswer {
    const filter = (name: string) => query.get(`filter[${name}]`);
    const since = filter('occurred_at][gte');
    const found = calls
      .list()
      .reverse()
      .filter(
        ({ from, to }) =>
          [null, from].includes(filter('from')) &&
          [null, to].includes(filter('to')) &&
          [null, this.#account.connectionId].includes(filter('connection_id')),
      )
      .flatMap((call) => call.events.map((event) => ({ call, event })))
      .filter(
        ({ event }) => [null, event.name].includes(filter('name')) && (since === null || event.at >= since),
      );
    return {
      status: 200,
      body: {
        data: found.map(({ call, event }) => ({
          ...{ record_type: 'call_event', type: 'webhook', name: event.name, metadata: {} },
          ...{ call_leg_id: call.legId, event_timestamp: event.at },
        })),
        meta: { total_pages: 1, total_results: found.length, page_number: 1, page_size: found.length },
      },
    };
  }
}

const placed = (call: TelnyxCall): HttpAnswer => ({
  status: 200,
  body: { data: { ...call.record(), is_alive: false } },
});

function refused(code: string, title: string, detail?: string): HttpAnswer {
  return { status: 422, body: telnyxError(code, title, detail) };
}

function activeCalls(query: URLSearchParams, calls: CarrierCalls<TelnyxCall>): HttpAnswer {
  const size = Number(query.get('page[limit]') ?? query.get('page[size]') ?? DEFAULT_PAGE);
  const alive = calls.list().filter((call) => call.isAlive);
  // By cursor, as the documents say, or by number, as the vendor's own SDK asks.
  const pageNumber = Number(query.get('page[number]') ?? 1);
  const cursor = alive.findIndex(({ callId }) => callId === query.get('page[after]'));
  const start = cursor + 1 + (pageNumber - 1) * size;
  const shown = alive.slice(start, start + size);
  const after = start + size < alive.length ? shown.at(-1)!.callId : null;
  return {
    status: 200,
    body: {
      data: shown.map((call) => call.record()),
      meta: { total_items: alive.length, cursors: { after, before: null } },
    },
  };
}

const isNumber = (value: unknown): value is string =>
  typeof value === 'string' && /^\+[1-9]\d{6,14}$/.test(value);
