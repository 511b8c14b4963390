import { getCountryCallingCode, type CountryCode } from 'libphonenumber-js/min';
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

/** The most that one answer holds. */
const PAGE = 20;
const MAX_PAGES = 25;
/** The vendor's prices are all in it. */
const CURRENCY = 'USD';

const TYPES: Readonly<Record<NumberType, string>> = {
  local: 'local',
  mobile: 'mobile',
  national: 'national',
  toll_free: 'tollfree',
};
const BY_NAME: Readonly<Record<string, NumberType>> = {
  local: 'local',
  fixed: 'local',
  mobile: 'mobile',
  national: 'national',
  tollfree: 'toll_free',
};

const availableSchema = z.object({
  objects: z.array(
    z.object({
      number: z.string(),
      city: z.string().nullish(),
      region: z.string().nullish(),
      type: z.string(),
      sub_type: z.string().nullish(),
      setup_rate: z.string().nullish(),
      monthly_rental_rate: z.string().nullish(),
      sms_enabled: z.boolean().nullish(),
      mms_enabled: z.boolean().nullish(),
      voice_enabled: z.boolean().nullish(),
      restriction: z.string().nullish(),
    }),
  ),
});
const boughtSchema = z.object({ numbers: z.array(z.object({ number: z.string(), status: z.string() })) });
const ownedSchema = z.object({
  number: z.string(),
  application: z.string().nullish(),
  monthly_rental_rate: z.string().nullish(),
  active: z.boolean().nullish(),
  compliance_status: z.string().nullish(),
});
const applicationsSchema = z.object({
  meta: z.object({ next: z.string().nullish() }).nullish(),
  objects: z.array(z.object({ app_id: z.string(), app_name: z.string(), answer_url: z.string().nullish() })),
});
const madeSchema = z.object({ app_id: z.string() });
const errorSchema = z.object({ error: z.string() });

/**
 * Numbers at Plivo, by its REST API: the webhooks are an application's, of which our account has one for all its
 * numbers; an application of somebody else is never changed.
 */
export class PlivoNumbers implements CarrierNumbers {
  readonly #client: CarrierClient;
  readonly #account: string;

  /** @param account path of the account, without a slash at its end */
  constructor(client: CarrierClient, account: string) {
    this.#client = client;
    this.#account = account;
  }

  async search(search: NumberSearch, signal?: AbortSignal): Promise<AvailableNumber[]> {
    const { country, type, areaCode, contains } = search;
    const digits = contains?.replace(/\D/g, '') ?? '';
    const query = new URLSearchParams({
      country_iso: country,
      services: 'voice',
      limit: String(contains === null ? Math.min(search.limit, PAGE) : PAGE),
    });
    if (type !== null) query.set('type', TYPES[type]);
    // The vendor's pattern is how a number begins behind its country code.
    const prefix = areaCode ?? nationalDigits(country, contains);
    if (prefix !== null) query.set('pattern', prefix);
    const { objects } = await this.#get(availableSchema, `PhoneNumber/?${query.toString()}`, signal);
    return objects
      .filter((number) => number.number.includes(digits))
      .slice(0, search.limit)
      .map((number) => ({
        phoneNumber: `+${number.number}`,
        country,
        region: number.region ?? number.city ?? null,
        type: BY_NAME[number.sub_type ?? ''] ?? BY_NAME[number.type] ?? null,
        capabilities: (['voice', 'sms', 'mms'] as const).filter((name) => number[`${name}_enabled`]),
        monthlyAmount: number.monthly_rental_rate ?? null,
        setupAmount: number.setup_rate ?? null,
        currency: CURRENCY,
        requiresDocuments: number.restriction != null && number.restriction !== '',
      }));
  }

  async order(
    { phoneNumber, webhooks }: { orderId: string; phoneNumber: string; webhooks: NumberWebhooks },
    signal?: AbortSignal,
  ): Promise<OrderAnswer> {
    const appId = await this.#application(webhooks, signal);
    const attempt = await this.#client.attempt({
      method: 'POST',
      path: `${this.#account}/PhoneNumber/${digitsOf(phoneNumber)}/`,
      json: { app_id: appId },
      signal,
    });
    if (attempt.done === 'unknown') return { bought: 'unknown', code: attempt.code };
    if (attempt.done === 'yes')
      // An answer that is not understood is looked up.
      return readAnswer(boughtSchema, attempt.body)
        ? { bought: 'yes' }
        : { bought: 'unknown', code: 'unavailable' };
    const { code, again, body } = attempt;
    const error = body === null ? undefined : readAnswer(errorSchema, body);
    return { bought: 'no', code, again, cause: error?.error.slice(0, 200) ?? null };
  }

  async find({ phoneNumber }: { phoneNumber: string }, signal?: AbortSignal): Promise<OwnedNumber | null> {
    const number = await this.#find(phoneNumber, signal);
    if (!number) return null;
    const compliance = number.compliance_status?.toLowerCase() ?? null;
    const state =
      compliance !== null && PENDING.includes(compliance)
        ? 'pending'
        : (compliance !== null && REFUSED.includes(compliance)) || number.active === false
          ? 'suspended'
          : 'active';
    return {
      state,
      reason: state === 'active' ? null : (compliance ?? 'inactive'),
      monthlyAmount: number.monthly_rental_rate ?? null,
      currency: number.monthly_rental_rate == null ? null : CURRENCY,
    };
  }

  async configure(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void> {
    if (!(await this.#find(phoneNumber, signal))) throw new CarrierError('plivo', 'refused', 404);
    const appId = await this.#application(webhooks, signal);
    await this.#change(phoneNumber, appId, signal);
  }

  async clear(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void> {
    const number = await this.#find(phoneNumber, signal);
    const ours = await this.#ours(webhooks.application, signal);
    if (number && ours && number.application?.includes(`/${ours.app_id}/`))
      await this.#change(phoneNumber, '', signal);
  }

  async release(phoneNumber: string, signal?: AbortSignal): Promise<void> {
    await this.#client.call({
      method: 'DELETE',
      path: `${this.#account}/Number/${digitsOf(phoneNumber)}/`,
      alsoDone: (status) => status === 404,
      signal,
    });
  }

  async #change(phoneNumber: string, appId: string, signal: AbortSignal | undefined): Promise<void> {
    const path = `${this.#account}/Number/${digitsOf(phoneNumber)}/`;
    await this.#client.call({ method: 'POST', path, json: { app_id: appId }, signal });
  }

  async #find(phoneNumber: string, signal: AbortSignal | undefined) {
    const body = await this.#client.call({
      method: 'GET',
      path: `${this.#account}/Number/${digitsOf(phoneNumber)}/`,
      alsoDone: (status) => status === 404,
      signal,
    });
    const number = readAnswer(ownedSchema, body);
    if (number?.number === digitsOf(phoneNumber)) return number;
    // What says that there is none is an error of the vendor's, and nothing else.
    if (readAnswer(errorSchema, body)) return null;
    throw new CarrierError('plivo', 'unavailable');
  }

  /** The application of these webhooks: found, made, or pointed at us again. */
  async #application(webhooks: NumberWebhooks, signal: AbortSignal | undefined): Promise<string> {
    const { voiceUrl, statusUrl, application } = webhooks;
    const json = {
      answer_url: voiceUrl,
      answer_method: 'POST',
      hangup_url: statusUrl,
      hangup_method: 'POST',
    };
    const known = await this.#ours(application, signal);
    if (known?.answer_url === voiceUrl) return known.app_id;
    const base = `${this.#account}/Application/`;
    if (known) {
      await this.#client.call({ method: 'POST', path: `${base}${known.app_id}/`, json, signal });
      return known.app_id;
    }
    const body = await this.#client.call({
      ...{ method: 'POST' as const, path: base, signal },
      json: { app_name: application, ...json },
    });
    const made = readAnswer(madeSchema, body);
    if (!made) throw new CarrierError('plivo', 'unavailable');
    return made.app_id;
  }

  async #ours(name: string, signal: AbortSignal | undefined) {
    for (let page = 0; page < MAX_PAGES; page++) {
      const path = `Application/?limit=${PAGE}&offset=${page * PAGE}`;
      const { objects, meta } = await this.#get(applicationsSchema, path, signal);
      const known = objects.find(({ app_name }) => app_name === name);
      if (known || !meta?.next) return known;
    }
    throw new CarrierError('plivo', 'unsupported');
  }

  /** @throws CarrierError also for an answer that is not understood */
  async #get<S extends z.ZodType>(
    schema: S,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<z.output<S>> {
    const body = await this.#client.call({ method: 'GET', path: `${this.#account}/${path}`, signal });
    const answer = readAnswer(schema, body);
    if (answer === undefined) throw new CarrierError('plivo', 'unavailable');
    return answer;
  }
}

/** Compliance of a number, by the vendor's words for its applications. */
const PENDING = ['pending', 'submitted', 'draft', 'in-review'];
const REFUSED = ['rejected', 'suspended', 'expired'];

const digitsOf = (number: string) => number.replace(/^\+/, '');

/** The digits behind the country code, of a text that is a whole number of that country. */
function nationalDigits(country: string, contains: string | null): string | null {
  const code = callingCode(country);
  if (contains === null || code === null || !contains.startsWith(`+${code}`)) return null;
  return contains.slice(code.length + 1) || null;
}

function callingCode(country: string): string | null {
  try {
    return getCountryCallingCode(country as CountryCode);
  } catch {
    return null;
  }
}
