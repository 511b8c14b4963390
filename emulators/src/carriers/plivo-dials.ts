import { randomUUID } from 'node:crypto';
import type { Clock } from '@parley/shared/time/clock';
import type { Reach } from '../callers/emulated-call.ts';
import { DialPace, RequestWindow } from '../callers/telephone.ts';
import type { HttpAnswer } from '../server/emulator-server.ts';
import type { CarrierCalls } from './carrier-account.ts';
import type { CarrierApiRequest, NoAnswer } from './carrier-api.ts';
import { parseJsonObject } from './json-object.ts';
import { PlivoCall, type PlivoAccount, type PlivoStage } from './plivo-call.ts';

/** Calls that are begun a second; those above wait in a queue. */
const CALLS_PER_SECOND = 2;
/** Requests in a window, of which the vendor speaks as 300 in 5 s. */
const REQUEST_LIMIT = 300;
const REQUEST_WINDOW_MS = 5000;
const DEFAULT_RING_SECONDS = 120;
const DEFAULT_TIME_LIMIT_SECONDS = 14_400;
const MAX_TIME_LIMIT_SECONDS = 86_400;
const PAGE = 20;

/** What the emulated carrier knows of a dial. Anything else that the vendor takes is refused, and not ignored. */
const PARAMETERS = new Set([
  'from',
  'to',
  'answer_url',
  'answer_method',
  'ring_url',
  'ring_method',
  'hangup_url',
  'hangup_method',
  'caller_name',
  'ring_timeout',
  'time_limit',
  'machine_detection',
  'machine_detection_url',
  'machine_detection_method',
]);

export const plivoError = (error: string) => ({ api_id: randomUUID(), error });

/** Outbound calls of the emulated Plivo: dialled, listed and withdrawn; carriers 1.3. */
export class PlivoDials {
  readonly #account: string;
  readonly #credentials: PlivoAccount;
  readonly #reach: Reach | undefined;
  readonly #pace: DialPace;
  readonly #window: RequestWindow;

  /** @param options `account`: the path of the account, with slashes at both ends */
  constructor(options: {
    account: string;
    credentials: PlivoAccount;
    reach: Reach | undefined;
    clock: Clock;
  }) {
    this.#account = options.account;
    this.#credentials = options.credentials;
    this.#reach = options.reach;
    this.#pace = new DialPace(CALLS_PER_SECOND, options.clock);
    this.#window = new RequestWindow(REQUEST_LIMIT, REQUEST_WINDOW_MS, options.clock);
  }

  /** @returns undefined for what concerns a live call, or nothing that there is */
  answer(request: CarrierApiRequest, calls: CarrierCalls<PlivoCall>): HttpAnswer | NoAnswer | undefined {
    if (!this.#window.take()) return failed(429, 'too many requests');
    if (!request.path.startsWith(this.#account)) return undefined;
    const resource = request.path.slice(this.#account.length);
    if (resource === 'Call/' && request.method === 'POST') return this.#dial(request.body, calls);
    if (request.method === 'GET') {
      // The vendor's own SDK leaves the last slash out.
      const found = /^Call\/(?:([^/]+)\/?)?$/.exec(resource);
      if (found) return found[1] === undefined ? list(request, calls) : read(found[1], request, calls);
    }
    const [, requestUuid] = /^Request\/([^/]+)\/$/.exec(resource) ?? [];
    if (requestUuid !== undefined && request.method === 'DELETE') return withdraw(requestUuid, calls);
    return undefined;
  }

  #dial(body: string, calls: CarrierCalls<PlivoCall>): HttpAnswer | NoAnswer {
    const wish = parseJsonObject(body);
    if (!wish) return failed(400, 'invalid JSON body');
    for (const name of Object.keys(wish))
      if (!PARAMETERS.has(name)) return failed(400, `${name} is not supported by this emulator`);
    for (const name of ['from', 'to', 'answer_url'])
      if (wish[name] === undefined) return failed(400, `${name} parameter not present`);
    const from = toNumber(wish['from']);
    if (from === undefined) return failed(400, 'from parameter is invalid');
    const to = toNumber(wish['to']);
    if (to === undefined) return failed(400, 'to parameter is invalid');
    for (const name of ['answer_url', 'ring_url', 'hangup_url', 'machine_detection_url'])
      if (wish[name] !== undefined && !isUrl(wish[name])) return failed(400, `${name} parameter is invalid`);
    for (const name of ['answer_method', 'ring_method', 'hangup_method', 'machine_detection_method'])
      if (![undefined, 'POST'].includes(wish[name] as string | undefined))
        return failed(400, `${name}: only POST is supported by this emulator`);
    const ring = seconds(wish['ring_timeout'], DEFAULT_RING_SECONDS, MAX_TIME_LIMIT_SECONDS);
    if (ring === undefined) return failed(400, 'ring_timeout parameter is invalid');
    const limit = seconds(wish['time_limit'], DEFAULT_TIME_LIMIT_SECONDS, MAX_TIME_LIMIT_SECONDS);
    if (limit === undefined) return failed(400, 'time_limit parameter is invalid');
    if (wish['machine_detection'] !== undefined && wish['machine_detection_url'] === undefined)
      return failed(400, 'machine_detection without machine_detection_url is not supported by this emulator');
    const requestUuid = randomUUID();
    const answerUrl = wish['answer_url'] as string;
    const place = {
      voiceUrl: answerUrl,
      // The vendor's default, which surprises: the answer URL is told of hang-ups, too.
      statusUrl: (wish['hangup_url'] ?? answerUrl) as string,
      reach: this.#reach,
      from,
      to,
    };
    return calls.dial(to, {
      ringTimeoutMs: ring * 1000,
      pace: this.#pace,
      refused: () => failed(400, 'to parameter is invalid'),
      place: (telephone) =>
        new PlivoCall(place, this.#credentials, calls.conditions, {
          requestUuid,
          telephone,
          ringUrl: wish['ring_url'] as string | undefined,
          machineUrl:
            wish['machine_detection'] === 'true' ? (wish['machine_detection_url'] as string) : undefined,
          timeLimitMs: limit * 1000,
        }),
      answer: () => ({
        status: 201,
        body: { api_id: randomUUID(), message: 'call fired', request_uuid: requestUuid },
      }),
    });
  }
}

const failed = (status: number, error: string): HttpAnswer => ({ status, body: plivoError(error) });

/** Queued or live calls by their ids, or records of those that are over. */
function list({ query }: CarrierApiRequest, calls: CarrierCalls<PlivoCall>): HttpAnswer {
  const status = query.get('status');
  const wanted = STAGES[status ?? ''];
  if (status !== null && !wanted) return failed(400, 'status parameter is invalid');
  const [from, to] = [query.get('from_number'), query.get('to_number')];
  const direction = query.get('call_direction');
  const found = calls.list().filter(
    (call) =>
      call.stage === (wanted ?? 'over') &&
      // Numbers are filtered by how they begin.
      digitsOf(call.from).startsWith(from ?? '') &&
      digitsOf(call.to).startsWith(to ?? '') &&
      (direction === null || direction === (call.dialled ? 'outbound' : 'inbound')),
  );
  if (wanted)
    return { status: 200, body: { api_id: randomUUID(), calls: found.map(({ callId }) => callId) } };
  const limit = Math.min(Number(query.get('limit') ?? PAGE), PAGE);
  const offset = Number(query.get('offset') ?? 0);
  return {
    status: 200,
    body: {
      api_id: randomUUID(),
      meta: { limit, offset, total_count: found.length, next: null, previous: null },
      objects: found.slice(offset, offset + limit).map((call) => call.record()),
    },
  };
}

const STAGES: Readonly<Record<string, PlivoStage>> = { queued: 'queued', live: 'live' };

function read(
  callId: string,
  { query }: CarrierApiRequest,
  calls: CarrierCalls<PlivoCall>,
): HttpAnswer | undefined {
  const wanted = STAGES[query.get('status') ?? ''] ?? 'over';
  const call = calls.list().find((one) => one.callId === callId && one.stage === wanted);
  if (!call) return failed(404, 'call not found');
  const api_id = randomUUID();
  if (wanted === 'over') return { status: 200, body: { api_id, ...call.record() } };
  return {
    status: 200,
    body: {
      api_id,
      call_uuid: callId,
      request_uuid: call.dialled?.requestUuid,
      direction: call.dialled ? 'outbound' : 'inbound',
      from: digitsOf(call.from),
      to: digitsOf(call.to),
      call_status: call.status,
      caller_name: call.from,
    },
  };
}

/** Ends a call that nobody has answered yet. */
function withdraw(requestUuid: string, calls: CarrierCalls<PlivoCall>): HttpAnswer {
  const call = calls.list().find((one) => one.dialled?.requestUuid === requestUuid);
  if (!call || call.stage === 'over' || call.status === 'in-progress')
    return failed(404, 'request not found');
  call.end('api');
  return { status: 204 };
}

const digitsOf = (number: string) => number.replace(/^\+/, '');

/** @returns E.164 */
function toNumber(value: unknown): string | undefined {
  return typeof value === 'string' && /^\+?[1-9]\d{6,14}$/.test(value) ? `+${digitsOf(value)}` : undefined;
}

function isUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\/\S+$/.test(value);
}

/** @returns undefined unless it is a whole number of seconds up to `max` */
function seconds(value: unknown, standard: number, max: number): number | undefined {
  const number = value === undefined ? standard : Number(value);
  return Number.isInteger(number) && number > 0 && number <= max ? number : undefined;
}
