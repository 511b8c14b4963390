import { z } from 'zod';
import { readAnswer } from '../carrier-answer.ts';
import type { CarrierClient } from '../carrier-client.ts';
import type {
  AvailableNumber,
  CarrierNumbers,
  NumberSearch,
  NumberType,
  NumberWebhooks,
  OrderAnswer,
  OwnedNumber,
} from '../carrier-numbers.ts';
import { CarrierError } from '../carrier.ts';

/** Kinds by the vendor's names in paths, and in its prices. */
const KINDS: Readonly<Record<NumberType, { path: string; price: string }>> = {
  local: { path: 'Local', price: 'local' },
  mobile: { path: 'Mobile', price: 'mobile' },
  national: { path: 'National', price: 'national' },
  toll_free: { path: 'TollFree', price: 'toll free' },
};

const availableSchema = z.object({
  available_phone_numbers: z.array(
    z.object({
      phone_number: z.string(),
      region: z.string().nullish(),
      locality: z.string().nullish(),
      iso_country: z.string(),
      address_requirements: z.string().nullish(),
      capabilities: z.record(z.string(), z.boolean()),
    }),
  ),
});
const pricesSchema = z.object({
  price_unit: z.string(),
  phone_number_prices: z.array(
    z.object({
      number_type: z.string(),
      current_price: z.union([z.string(), z.number()]).nullish(),
    }),
  ),
});
const numberSchema = z.object({
  sid: z.string(),
  phone_number: z.string(),
  status: z.string().nullish(),
  voice_url: z.string().nullish(),
});
const ownedSchema = z.object({ incoming_phone_numbers: z.array(numberSchema) });
const errorSchema = z.object({ code: z.number() });

/** Numbers at Twilio: each has webhooks of its own, and is the account's as soon as it is ordered. */
export class TwilioNumbers implements CarrierNumbers {
  readonly #client: CarrierClient;
  readonly #prices: CarrierClient;
  readonly #account: string;

  /**
   * @param prices the vendor's API of prices, a host of its own
   * @param account path of the account, without a slash at its end
   */
  constructor(client: CarrierClient, prices: CarrierClient, account: string) {
    this.#client = client;
    this.#prices = prices;
    this.#account = account;
  }

  async search(search: NumberSearch, signal?: AbortSignal): Promise<AvailableNumber[]> {
    const type = search.type ?? 'local';
    const { path, price } = KINDS[type];
    const query = new URLSearchParams({ VoiceEnabled: 'true', PageSize: String(search.limit) });
    // `AreaCode` is for the United States and Canada alone; a pattern is for all.
    if (search.areaCode !== null) query.set('AreaCode', search.areaCode);
    if (search.contains !== null) query.set('Contains', search.contains);
    const body = await this.#client.call({
      method: 'GET',
      path: `${this.#account}/AvailablePhoneNumbers/${search.country}/${path}.json?${query.toString()}`,
      // The vendor has none of this kind in the country.
      alsoDone: (status) => status === 404,
      signal,
    });
    const found = readAnswer(availableSchema, body)?.available_phone_numbers ?? [];
    if (found.length === 0) return [];
    const { monthlyAmount, currency } = await this.#price(search.country, price, signal);
    return found.map((number) => ({
      phoneNumber: number.phone_number,
      country: number.iso_country,
      region: [number.locality, number.region].filter(Boolean).join(', ') || null,
      type,
      capabilities: Object.entries(number.capabilities)
        .filter(([, has]) => has)
        .map(([name]) => name.toLowerCase()),
      monthlyAmount,
      setupAmount: null,
      currency,
      requiresDocuments: number.address_requirements == null ? null : number.address_requirements !== 'none',
    }));
  }

  async order(
    { phoneNumber, webhooks }: { orderId: string; phoneNumber: string; webhooks: NumberWebhooks },
    signal?: AbortSignal,
  ): Promise<OrderAnswer> {
    const attempt = await this.#client.attempt({
      method: 'POST',
      path: `${this.#account}/IncomingPhoneNumbers.json`,
      form: { PhoneNumber: phoneNumber, ...settings(webhooks) },
      signal,
    });
    if (attempt.done === 'yes') return { bought: 'yes' };
    if (attempt.done === 'unknown') return { bought: 'unknown', code: attempt.code };
    const { code, again, body } = attempt;
    const error = body === null ? undefined : readAnswer(errorSchema, body);
    return { bought: 'no', code, again, cause: error ? String(error.code) : null };
  }

  async find({ phoneNumber }: { phoneNumber: string }, signal?: AbortSignal): Promise<OwnedNumber | null> {
    const number = await this.#find(phoneNumber, signal);
    if (!number) return null;
    // Other words than `in-use` have not been seen.
    const active = number.status == null || number.status === 'in-use';
    return {
      state: active ? 'active' : 'suspended',
      reason: active ? null : (number.status ?? null),
      monthlyAmount: null,
      currency: null,
    };
  }

  async configure(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void> {
    const number = await this.#find(phoneNumber, signal);
    if (!number) throw new CarrierError('twilio', 'refused', 404);
    await this.#change(number.sid, settings(webhooks), signal);
  }

  async clear(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void> {
    const number = await this.#find(phoneNumber, signal);
    if (number?.voice_url === webhooks.voiceUrl)
      await this.#change(number.sid, { VoiceUrl: '', StatusCallback: '' }, signal);
  }

  async release(phoneNumber: string, signal?: AbortSignal): Promise<void> {
    const number = await this.#find(phoneNumber, signal);
    if (!number) return;
    await this.#client.call({
      method: 'DELETE',
      path: `${this.#account}/IncomingPhoneNumbers/${encodeURIComponent(number.sid)}.json`,
      alsoDone: (status) => status === 404,
      signal,
    });
  }

  async #change(sid: string, form: Record<string, string>, signal: AbortSignal | undefined): Promise<void> {
    const path = `${this.#account}/IncomingPhoneNumbers/${encodeURIComponent(sid)}.json`;
    await this.#client.call({ method: 'POST', path, form, signal });
  }

  async #find(phoneNumber: string, signal: AbortSignal | undefined) {
    const query = new URLSearchParams({ PhoneNumber: phoneNumber });
    const body = await this.#client.call({
      method: 'GET',
      path: `${this.#account}/IncomingPhoneNumbers.json?${query.toString()}`,
      signal,
    });
    const list = readAnswer(ownedSchema, body);
    if (!list) throw new CarrierError('twilio', 'unavailable');
    return list.incoming_phone_numbers.find((number) => number.phone_number === phoneNumber);
  }

  async #price(
    country: string,
    type: string,
    signal: AbortSignal | undefined,
  ): Promise<{ monthlyAmount: string | null; currency: string | null }> {
    const path = `/v1/PhoneNumbers/Countries/${country}`;
    const body = await this.#prices.call({
      ...{ method: 'GET' as const, path, signal },
      alsoDone: (status) => status === 404,
    });
    const prices = readAnswer(pricesSchema, body);
    const price = prices?.phone_number_prices.find(({ number_type }) => number_type === type)?.current_price;
    return {
      monthlyAmount: price == null ? null : String(price),
      currency: prices && price != null ? prices.price_unit.toUpperCase() : null,
    };
  }
}

/** What wins over the address, an application, is taken away. */
function settings({ voiceUrl, statusUrl }: NumberWebhooks): Record<string, string> {
  return {
    VoiceUrl: voiceUrl,
    VoiceMethod: 'POST',
    StatusCallback: statusUrl,
    StatusCallbackMethod: 'POST',
    VoiceApplicationSid: '',
  };
}
