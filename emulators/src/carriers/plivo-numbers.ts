import { randomInt, randomUUID } from 'node:crypto';
import type { HttpAnswer } from '../server/emulator-server.ts';
import type { CarrierApiRequest, NoAnswer } from './carrier-api.ts';
import type { CallbackConditions } from './carrier-webhook.ts';
import { parseJsonObject } from './json-object.ts';
import { stockOf, type HeldNumber, type NumberStock, type StockNumber } from './number-stock.ts';
import { plivoError } from './plivo-dials.ts';

const PAGE = 20;

/** What the emulated carrier knows of an application. Anything else is refused, and not ignored. */
const APPLICATION = new Set([
  ...['app_name', 'answer_url', 'answer_method', 'hangup_url', 'hangup_method'],
  ...['fallback_answer_url', 'fallback_method'],
]);

/** Numbers and applications of the emulated Plivo: searched, bought, set up, given back; carriers 1.7. */
export class PlivoNumbers {
  readonly #account: string;
  readonly #stock: NumberStock;
  readonly #applications = new Map<string, Record<string, unknown>>();

  /** @param account the path of the account, with slashes at both ends */
  constructor(account: string, stock: NumberStock) {
    this.#account = account;
    this.#stock = stock;
  }

  /** @returns undefined for what is about neither */
  answer(
    request: CarrierApiRequest,
    { faults }: Pick<CallbackConditions, 'faults'>,
  ): HttpAnswer | NoAnswer | undefined {
    if (!request.path.startsWith(this.#account)) return undefined;
    // The vendor's own SDK leaves the last slash out.
    const [, resource, id] =
      /^(PhoneNumber|Number|Application)\/(?:([^/]+)\/?)?$/.exec(request.path.slice(this.#account.length)) ??
      [];
    if (resource === undefined) return undefined;
    // Whatever comes with other methods, such as the empty text of the vendor's SDK, says nothing.
    const body = request.method === 'POST' ? parseJsonObject(request.body) : {};
    if (!body) return failed(400, 'the body is not JSON');
    switch (resource) {
      case 'PhoneNumber':
        if (request.method === 'GET' && id === undefined) return this.#search(request.query);
        if (request.method === 'POST' && id !== undefined) {
          if (faults.take(['order_lost'])) return 'broken';
          const answer = this.#buy(id, body);
          return faults.take(['order_unanswered']) ? 'unanswered' : answer;
        }
        return undefined;
      case 'Number':
        return id === undefined ? this.#list(request) : this.#number(request.method, id, body);
      case 'Application':
        return this.#application(request, id, body);
      default:
        return undefined;
    }
  }

  #search(query: URLSearchParams): HttpAnswer {
    const country = query.get('country_iso');
    if (country === null || !/^[A-Z]{2}$/.test(country)) return failed(400, 'country_iso is invalid');
    const type = query.get('type');
    const pattern = query.get('pattern');
    const found = this.#stock
      .search({ country, ...(type !== null && { type: type === 'tollfree' ? 'toll_free' : 'local' }) })
      .filter((one) => type === null || TYPES[one.type] === type)
      .filter((one) => pattern === null || nationalOf(one).startsWith(pattern));
    return paged(found, query, (one) => this.#offer(one));
  }

  #offer(one: StockNumber): object {
    return {
      number: digitsOf(one.number),
      prefix: one.areaCode,
      city: one.place,
      country: one.country,
      region: [one.place, one.country].filter((part) => part !== '').join(', '),
      rate_center: null,
      lata: null,
      type: one.type === 'toll_free' ? 'tollfree' : 'fixed',
      sub_type: TYPES[one.type],
      setup_rate: `${one.setup}000`,
      monthly_rental_rate: `${one.monthly}000`,
      sms_enabled: false,
      sms_rate: null,
      voice_enabled: true,
      voice_rate: '0.00500',
      restriction: one.needsDocuments ? 'country-address' : null,
      restriction_text: one.needsDocuments ? 'Requires an address in the country.' : null,
      resource_uri: `${this.#account}PhoneNumber/${digitsOf(one.number)}/`,
    };
  }

  #buy(digits: string, { app_id: appId, ...rest }: Record<string, unknown>): HttpAnswer {
    const [unknown] = Object.keys(rest);
    if (unknown !== undefined) return failed(400, `${unknown} is not supported by this emulator`);
    if (appId !== undefined && !this.#applications.has(String(appId))) return failed(400, 'invalid app_id');
    const held = this.#stock.order(`+${digits}`, appId === undefined ? {} : { app_id: String(appId) });
    if (!held) return failed(400, 'Sorry, this number is not available for purchase');
    const status = held.state === 'pending' ? 'pending' : 'Success';
    const numbers = [{ number: digits, status }];
    return {
      status: 201,
      body: { api_id: randomUUID(), message: 'created', numbers, status: 'fulfilled' },
    };
  }

  #list({ method, query }: CarrierApiRequest): HttpAnswer | undefined {
    if (method !== 'GET') return undefined;
    const start = query.get('number_startswith') ?? '';
    const found = this.#stock.held().filter(({ number }) => digitsOf(number).startsWith(start));
    return paged(found, query, (held) => this.#record(held));
  }

  #number(method: string, digits: string, body: Record<string, unknown>): HttpAnswer | undefined {
    const held = this.#stock.find(`+${digits}`);
    if (!held) return failed(404, 'not found');
    switch (method) {
      case 'GET':
        return { status: 200, body: { api_id: randomUUID(), ...this.#record(held) } };
      case 'DELETE':
        this.#stock.release(held.number);
        return { status: 204 };
      case 'POST': {
        const { app_id: appId, alias: _alias, ...rest } = body;
        const [unknown] = Object.keys(rest);
        if (unknown !== undefined) return failed(400, `${unknown} is not supported by this emulator`);
        if (appId === '' || appId === null) held.settings = {};
        else if (appId !== undefined) {
          if (!this.#applications.has(String(appId))) return failed(400, 'invalid app_id');
          held.settings = { app_id: String(appId) };
        }
        return { status: 202, body: { api_id: randomUUID(), message: 'changed' } };
      }
      default:
        return undefined;
    }
  }

  #record(held: HeldNumber): object {
    const offer = stockOf(held.number);
    const { app_id: appId } = held.settings;
    return {
      number: digitsOf(held.number),
      alias: null,
      sub_account: null,
      added_on: held.since.toISOString().slice(0, 10),
      application: appId === undefined ? null : `${this.#account}Application/${appId}/`,
      carrier: 'Plivo',
      region: offer?.place ?? null,
      number_type: TYPES[offer?.type ?? 'local'],
      monthly_rental_rate: offer ? `${offer.monthly}000` : '0.80000',
      active: held.state === 'active',
      compliance_status:
        held.state === 'pending' ? 'pending' : held.state === 'suspended' ? 'suspended' : null,
      sms_enabled: false,
      voice_enabled: true,
      voice_rate: '0.00500',
      resource_uri: `${this.#account}Number/${digitsOf(held.number)}/`,
    };
  }

  #application(
    { method, query }: CarrierApiRequest,
    id: string | undefined,
    body: Record<string, unknown>,
  ): HttpAnswer | undefined {
    const unknown = Object.keys(body).find((name) => !APPLICATION.has(name));
    if (method === 'POST' && unknown !== undefined)
      return failed(400, `${unknown} is not supported by this emulator`);
    if (id === undefined) {
      if (method === 'GET') return paged([...this.#applications.values()], query, (one) => one);
      if (method !== 'POST') return undefined;
      const { app_name: name, answer_url: url } = body;
      if (typeof name !== 'string' || !/^[\w-]{1,60}$/.test(name)) return failed(400, 'app_name is invalid');
      if (typeof url !== 'string' || !/^https?:\/\//.test(url)) return failed(400, 'answer_url is invalid');
      if ([...this.#applications.values()].some((one) => one['app_name'] === name))
        return failed(400, 'app_name already exists');
      const appId = `${randomInt(1e8, 1e9)}${randomInt(1e7, 1e8)}`;
      this.#applications.set(appId, { app_id: appId, ...body });
      return { status: 201, body: { api_id: randomUUID(), message: 'created', app_id: appId } };
    }
    const known = this.#applications.get(id);
    if (!known) return failed(404, 'not found');
    if (method === 'GET') return { status: 200, body: { api_id: randomUUID(), ...known } };
    if (method === 'POST') {
      Object.assign(known, body);
      return { status: 202, body: { api_id: randomUUID(), message: 'changed' } };
    }
    if (method !== 'DELETE') return undefined;
    this.#applications.delete(id);
    return { status: 204 };
  }
}

const TYPES = { local: 'local', toll_free: 'tollfree' } as const;

const failed = (status: number, error: string): HttpAnswer => ({ status, body: plivoError(error) });

const digitsOf = (number: string) => number.replace(/^\+/, '');

/** The digits behind the country code. */
function nationalOf({ number, areaCode }: StockNumber): string {
  return number.slice(number.indexOf(areaCode, 2));
}

function paged<T>(found: readonly T[], query: URLSearchParams, toObject: (one: T) => object): HttpAnswer {
  const limit = Math.min(Number(query.get('limit') ?? PAGE), PAGE);
  const offset = Number(query.get('offset') ?? 0);
  const next = offset + limit < found.length ? `?limit=${limit}&offset=${offset + limit}` : null;
  return {
    status: 200,
    body: {
      api_id: randomUUID(),
      meta: { limit, offset, total_count: found.length, next, previous: null },
      objects: found.slice(offset, offset + limit).map(toObject),
    },
  };
}
