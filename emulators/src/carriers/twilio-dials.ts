import type { Clock } from '@parley/shared/time/clock';
import type { Reach } from '../callers/emulated-call.ts';
import { DialPace } from '../callers/telephone.ts';
import type { HttpAnswer } from '../server/emulator-server.ts';
import type { CarrierCalls } from './carrier-account.ts';
import type { CarrierApiRequest, NoAnswer } from './carrier-api.ts';
import { STATUS_EVENTS, TwilioCall, type StatusEvent, type TwilioAccount } from './twilio-call.ts';

export const MAX_TWIML = 4000;

/** Calls that are begun a second; those above wait in a queue. */
const CALLS_PER_SECOND = 1;
const DEFAULT_RING_SECONDS = 60;
const MAX_RING_SECONDS = 600;
/** The vendor lets it ring a little longer than it was asked to. */
const MORE_RING_SECONDS = 5;
const DEFAULT_TIME_LIMIT_SECONDS = 14_400;
const MAX_TIME_LIMIT_SECONDS = 86_400;
const DEFAULT_PAGE = 50;
const MAX_PAGE = 1000;

/** What the emulated carrier knows of a dial. Anything else that the vendor takes is refused, and not ignored. */
const PARAMETERS = new Set([
  'To',
  'From',
  'Url',
  'Method',
  'Twiml',
  'StatusCallback',
  'StatusCallbackMethod',
  'StatusCallbackEvent',
  'Timeout',
  'TimeLimit',
  'MachineDetection',
  'AsyncAmd',
  'AsyncAmdStatusCallback',
  'AsyncAmdStatusCallbackMethod',
]);

export const twilioError = (code: number, message: string, status: number) => ({
  code,
  message,
  more_info: `https://www.twilio.com/docs/errors/${code}`,
  status,
});

/** Outbound calls of the emulated Twilio: created and listed; carriers 2.3. */
export class TwilioDials {
  readonly #calls: string;
  readonly #credentials: TwilioAccount;
  readonly #reach: Reach | undefined;
  readonly #pace: DialPace;

  /** @param options `account`: the path of the account, without a slash at its end */
  constructor(options: {
    account: string;
    credentials: TwilioAccount;
    reach: Reach | undefined;
    clock: Clock;
  }) {
    this.#calls = `${options.account}/Calls.json`;
    this.#credentials = options.credentials;
    this.#reach = options.reach;
    this.#pace = new DialPace(CALLS_PER_SECOND, options.clock);
  }

  /** @returns undefined for what concerns one call, or nothing that there is */
  answer(request: CarrierApiRequest, calls: CarrierCalls<TwilioCall>): HttpAnswer | NoAnswer | undefined {
    const { method, path } = request;
    if (path === this.#calls && method === 'POST')
      return this.#dial(new URLSearchParams(request.body), calls);
    if (path === this.#calls && method === 'GET') return this.#list(request.query, calls);
    const [, callId] = /\/Calls\/([^/]+)\.json$/.exec(path) ?? [];
    // Those that are over are read, too.
    const call = method === 'GET' ? calls.list().find((one) => one.callId === callId) : undefined;
    return call && { status: 200, body: call.record() };
  }

  #dial(form: URLSearchParams, calls: CarrierCalls<TwilioCall>): HttpAnswer | NoAnswer {
    for (const name of form.keys())
      if (!PARAMETERS.has(name)) return refused(20001, `${name} is not supported by this emulator`);
    const problem = numberProblem(form);
    if (problem) return problem;
    const [to, from] = [form.get('To')!, form.get('From')!];
    const [url, twiml] = [form.get('Url'), form.get('Twiml')];
    if (url === null && twiml === null) return refused(21205, 'Url parameter is required.');
    if (url !== null && !isUrl(url)) return refused(21205, `Url is not a valid URL: ${url}`);
    if (twiml !== null && twiml.length > MAX_TWIML) return refused(32018, 'Twiml is too long');
    const statusCallback = form.get('StatusCallback');
    if (statusCallback !== null && !isUrl(statusCallback))
      return refused(21609, `Invalid 'StatusCallback' URL: ${statusCallback}`);
    const amd = form.get('AsyncAmdStatusCallback');
    if (form.has('MachineDetection') || form.has('AsyncAmd') || amd !== null) {
      if (form.get('MachineDetection') !== 'Enable' || form.get('AsyncAmd') !== 'true')
        return refused(20001, 'only asynchronous MachineDetection=Enable is supported by this emulator');
      if (amd === null || !isUrl(amd)) return refused(21262, "Invalid 'AsyncAmdStatusCallback'");
    }
    for (const name of ['Method', 'StatusCallbackMethod', 'AsyncAmdStatusCallbackMethod'])
      if (![null, 'POST'].includes(form.get(name)))
        return refused(20001, `${name}: only POST is supported by this emulator`);
    const statusEvents = statusEventsOf(form, statusCallback !== null);
    if (!statusEvents) return refused(21626, 'Invalid StatusCallbackEvent');
    const ring = seconds(form.get('Timeout'), DEFAULT_RING_SECONDS, MAX_RING_SECONDS);
    const limit = seconds(form.get('TimeLimit'), DEFAULT_TIME_LIMIT_SECONDS, MAX_TIME_LIMIT_SECONDS);
    if (ring === undefined || limit === undefined) return refused(20001, 'Invalid Timeout or TimeLimit');
    const place = {
      // Neither address is asked where the other parameters say so.
      ...{ voiceUrl: url ?? '', statusUrl: statusCallback ?? '' },
      ...{ reach: this.#reach, from, to },
    };
    return calls.dial(to, {
      ringTimeoutMs: (ring + MORE_RING_SECONDS) * 1000,
      pace: this.#pace,
      refused: () => refused(21211, `Invalid 'To' Phone Number: ${to}`),
      place: (telephone) =>
        new TwilioCall(place, this.#credentials, calls.conditions, {
          ...{ telephone, twiml: twiml ?? undefined, statusEvents, machineUrl: amd ?? undefined },
          timeLimitMs: limit * 1000,
        }),
      answer: (call) => ({ status: 201, body: call.record() }),
    });
  }

  #list(query: URLSearchParams, calls: CarrierCalls<TwilioCall>): HttpAnswer {
    const found = calls
      .list()
      .filter(
        (call) =>
          [null, call.to].includes(query.get('To')) &&
          [null, call.from].includes(query.get('From')) &&
          [null, call.status].includes(query.get('Status')),
      );
    const size = seconds(query.get('PageSize'), DEFAULT_PAGE, MAX_PAGE) ?? DEFAULT_PAGE;
    const page = Number(query.get('Page') ?? 0);
    const uri = (index: number) => {
      const asked = new URLSearchParams(query);
      asked.set('Page', String(index));
      asked.set('PageSize', String(size));
      return `${this.#calls}?${asked.toString()}`;
    };
    const start = page * size;
    const shown = found.slice(start, start + size);
    return {
      status: 200,
      body: {
        calls: shown.map((call) => call.record()),
        ...{ page, page_size: size, start, end: start + shown.length - 1, uri: uri(page) },
        first_page_uri: uri(0),
        next_page_uri: start + size < found.length ? uri(page + 1) : null,
        previous_page_uri: page > 0 ? uri(page - 1) : null,
      },
    };
  }
}

function refused(code: number, message: string): HttpAnswer {
  return { status: 400, body: twilioError(code, message, 400) };
}

const NUMBER = /^\+[1-9]\d{6,14}$/;

function numberProblem(form: URLSearchParams): HttpAnswer | undefined {
  const [to, from] = [form.get('To'), form.get('From')];
  if (to === null || to === '') return refused(21201, "No 'To' number is specified");
  if (from === null || from === '') return refused(21213, "No 'From' number is specified");
  if (!NUMBER.test(to)) return refused(21211, `Invalid 'To' Phone Number: ${to}`);
  if (!NUMBER.test(from)) return refused(21212, `Invalid From Number (caller ID): ${from}`);
  // A number of the account cannot call itself.
  return to === from ? refused(21211, `Invalid 'To' Phone Number: ${to}`) : undefined;
}

/** @returns undefined where one of them is none */
function statusEventsOf(form: URLSearchParams, told: boolean): ReadonlySet<StatusEvent> | undefined {
  const asked = form.getAll('StatusCallbackEvent');
  const events = STATUS_EVENTS.filter((event) => asked.includes(event));
  if (events.length < new Set(asked).size) return undefined;
  if (!told) return new Set();
  return new Set(events.length === 0 ? ['completed'] : events);
}

function isUrl(value: string): boolean {
  return /^https?:\/\/\S+$/.test(value);
}

/** @returns undefined unless it is a whole number up to `max` */
function seconds(value: string | null, standard: number, max: number): number | undefined {
  const number = value === null ? standard : Number(value);
  return Number.isInteger(number) && number > 0 && number <= max ? number : undefined;
}
