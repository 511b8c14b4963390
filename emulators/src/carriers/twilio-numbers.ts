import type { HttpAnswer } from '../server/emulator-server.ts';
import type { CarrierApiRequest, NoAnswer } from './carrier-api.ts';
import type { CallbackConditions } from './carrier-webhook.ts';
import type { HeldNumber, NumberStock, StockNumber } from './number-stock.ts';
import { twilioError } from './twilio-dials.ts';

const PAGE = 50;

/** What can be set of a number, by its name in requests and in answers. Anything else is refused, and not ignored. */
const SETTINGS: Readonly<Record<string, string>> = {
  VoiceUrl: 'voice_url',
  VoiceMethod: 'voice_method',
  VoiceFallbackUrl: 'voice_fallback_url',
  StatusCallback: 'status_callback',
  StatusCallbackMethod: 'status_callback_method',
  VoiceApplicationSid: 'voice_application_sid',
  FriendlyName: 'friendly_name',
};

/** Numbers of the emulated Twilio: searched, bought, set up, given back, and their prices; carriers 2.7. */
export class TwilioNumbers {
  readonly #account: string;
  readonly #accountSid: string;
  readonly #stock: NumberStock;

  /** @param account its path, without a slash at the end */
  constructor(account: string, accountSid: string, stock: NumberStock) {
    this.#account = account;
    this.#accountSid = accountSid;
    this.#stock = stock;
  }

  /** @returns undefined for what is not about numbers */
  answer(
    { method, path, query, body }: CarrierApiRequest,
    { faults }: Pick<CallbackConditions, 'faults'>,
  ): HttpAnswer | NoAnswer | undefined {
    const [, priced] = /^\/v1\/PhoneNumbers\/Countries\/([A-Z]{2})$/.exec(path) ?? [];
    if (priced !== undefined && method === 'GET') return this.#prices(priced);
    if (!path.startsWith(`${this.#account}/`)) return undefined;
    const resource = path.slice(this.#account.length + 1);
    const [, country, kind] =
      /^AvailablePhoneNumbers\/([A-Z]{2})\/(Local|Mobile|National|TollFree)\.json$/.exec(resource) ?? [];
    if (country !== undefined && kind !== undefined && method === 'GET')
      return this.#search(country, kind, query);
    const form = new URLSearchParams(body);
    if (resource === 'IncomingPhoneNumbers.json') {
      if (method === 'GET') return this.#list(query);
      if (method !== 'POST') return undefined;
      if (faults.take(['order_lost'])) return 'broken';
      const answer = this.#buy(form);
      return faults.take(['order_unanswered']) ? 'unanswered' : answer;
    }
    const [, sid] = /^IncomingPhoneNumbers\/(PN[0-9a-f]{32})\.json$/.exec(resource) ?? [];
    return sid === undefined ? undefined : this.#number(method, sid, form);
  }

  #prices(country: string): HttpAnswer {
    const offers = this.#stock.search({ country });
    if (offers.length === 0) return failed(404, 20404, 'The requested resource was not found');
    const types = new Map(offers.map((one) => [one.type, one.monthly]));
    return {
      status: 200,
      body: {
        country,
        iso_country: country,
        price_unit: 'USD',
        phone_number_prices: [...types].map(([type, monthly]) => ({
          number_type: type === 'toll_free' ? 'toll free' : type,
          base_price: monthly,
          current_price: monthly,
        })),
        url: `https://pricing.twilio.com/v1/PhoneNumbers/Countries/${country}`,
      },
    };
  }

  #search(country: string, kind: string, query: URLSearchParams): HttpAnswer {
    const type = KINDS[kind];
    const offers = type === undefined ? [] : this.#stock.search({ country, type });
    if (offers.length === 0) return failed(404, 20404, 'The requested resource was not found');
    const found = this.#stock.search({
      country,
      type,
      areaCode: query.get('AreaCode') ?? undefined,
      contains: query.get('Contains') ?? undefined,
    });
    const size = Math.min(Number(query.get('PageSize') ?? PAGE), 1000);
    return {
      status: 200,
      body: {
        available_phone_numbers: found.slice(0, size).map(toOffer),
        uri: `${this.#account}/AvailablePhoneNumbers/${country}/${kind}.json`,
      },
    };
  }

  #buy(form: URLSearchParams): HttpAnswer {
    const number = form.get('PhoneNumber') ?? '';
    form.delete('PhoneNumber');
    const settings = toSettings(form);
    if (typeof settings === 'string') return failed(400, 20001, settings);
    if (!/^\+[1-9]\d{6,14}$/.test(number)) return failed(400, 21421, 'PhoneNumber is invalid');
    // The vendor asks for an address before it takes the order.
    const needs = this.#stock
      .search({ country: countryOf(number, this.#stock) })
      .find((one) => one.number === number)?.needsDocuments;
    if (needs) return failed(400, 21631, 'Phone Number Requires an Address but the AddressSid was empty.');
    const held = this.#stock.order(number, settings);
    if (!held) return failed(400, 21422, `${number} is not available.`);
    return { status: 201, body: this.#record(held) };
  }

  #list(query: URLSearchParams): HttpAnswer {
    const wanted = query.get('PhoneNumber');
    // The vendor takes patterns; a whole number is one.
    const found =
      wanted === null ? this.#stock.held() : [this.#stock.find(wanted)].filter((one) => one !== undefined);
    const size = Math.min(Number(query.get('PageSize') ?? PAGE), 1000);
    return {
      status: 200,
      body: {
        incoming_phone_numbers: found.slice(0, size).map((held) => this.#record(held)),
        ...{ page: 0, page_size: size, next_page_uri: null },
        uri: `${this.#account}/IncomingPhoneNumbers.json`,
      },
    };
  }

  #number(method: string, sid: string, form: URLSearchParams): HttpAnswer | undefined {
    const held = this.#stock.byId(sid);
    if (!held) return failed(404, 20404, 'The requested resource was not found');
    if (method === 'DELETE') {
      this.#stock.release(held.number);
      return { status: 204 };
    }
    if (method === 'POST') {
      const settings = toSettings(form);
      if (typeof settings === 'string') return failed(400, 20001, settings);
      Object.assign(held.settings, settings);
    }
    return { status: 200, body: this.#record(held) };
  }

  #record(held: HeldNumber): object {
    return {
      sid: held.id,
      account_sid: this.#accountSid,
      phone_number: held.number,
      friendly_name: held.number,
      api_version: '2010-04-01',
      ...Object.fromEntries(Object.values(SETTINGS).map((name) => [name, ''])),
      ...held.settings,
      status: held.state === 'active' ? 'in-use' : held.state,
      origin: 'twilio',
      capabilities: { voice: true, sms: false, mms: false },
      date_created: held.since.toUTCString(),
      date_updated: held.since.toUTCString(),
      uri: `${this.#account}/IncomingPhoneNumbers/${held.id}.json`,
    };
  }
}

const KINDS: Readonly<Record<string, StockNumber['type']>> = { Local: 'local', TollFree: 'toll_free' };

const failed = (status: number, code: number, message: string): HttpAnswer => ({
  status,
  body: twilioError(code, message, status),
});

function toOffer(one: StockNumber): object {
  return {
    friendly_name: one.number,
    phone_number: one.number,
    lata: null,
    locality: one.place || null,
    rate_center: null,
    latitude: null,
    longitude: null,
    region: one.region || null,
    postal_code: null,
    iso_country: one.country,
    address_requirements: one.needsDocuments ? 'local' : 'none',
    beta: false,
    capabilities: { voice: true, SMS: false, MMS: false },
  };
}

function countryOf(number: string, stock: NumberStock): string {
  const countries = ['US', 'GB', 'IN', 'DE'];
  return countries.find((one) => stock.search({ country: one, contains: number }).length > 0) ?? '';
}

/** @returns what is wrong with them, or the settings */
function toSettings(form: URLSearchParams): Record<string, string> | string {
  const settings: Record<string, string> = {};
  for (const [name, value] of form) {
    const field = SETTINGS[name];
    if (field === undefined) return `${name} is not supported by this emulator`;
    if (/Url$|Callback$/.test(name) && value !== '' && !/^https?:\/\/\S+$/.test(value))
      return `${name} is not a valid URL`;
    settings[field] = value;
  }
  return settings;
}
