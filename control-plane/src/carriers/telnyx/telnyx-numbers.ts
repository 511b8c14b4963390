import { z } from 'zod';
import { readAnswer } from '../carrier-answer.ts';
import type { CarrierClient } from '../carrier-client.ts';
import type {
  AvailableNumber,
  CarrierNumbers,
  NumberSearch,
  NumberWebhooks,
  OrderAnswer,
  OwnedNumber,
} from '../carrier-numbers.ts';
import { CarrierError } from '../carrier.ts';

const availableSchema = z.object({
  data: z.array(
    z.object({
      phone_number: z.string(),
      region_information: z
        .array(z.object({ region_type: z.string().nullish(), region_name: z.string().nullish() }))
        .nullish(),
      features: z.array(z.object({ name: z.string() })).nullish(),
      cost_information: z
        .object({
          monthly_cost: z.string().nullish(),
          upfront_cost: z.string().nullish(),
          currency: z.string().nullish(),
        })
        .nullish(),
    }),
  ),
});
const orderSchema = z.object({ id: z.string(), status: z.string() });
const orderedSchema = z.object({ data: orderSchema });
const ordersSchema = z.object({
  data: z.array(
    orderSchema.extend({
      customer_reference: z.string().nullish(),
      created_at: z.string().nullish(),
      requirements_met: z.boolean().nullish(),
    }),
  ),
});
const ownedSchema = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      phone_number: z.string(),
      status: z.string(),
      connection_id: z.string().nullish(),
    }),
  ),
});
const applicationSchema = z.object({
  id: z.string(),
  application_name: z.string(),
  webhook_event_url: z.string().nullish(),
});
const applicationsSchema = z.object({ data: z.array(applicationSchema) });
const madeSchema = z.object({ data: applicationSchema });
const errorSchema = z.object({ errors: z.array(z.object({ code: z.coerce.string() })).min(1) });

/** States of a number, by the vendor's description; others are active. */
const STATES: Readonly<Record<string, OwnedNumber['state']>> = {
  'purchase-pending': 'pending',
  'provision-pending': 'pending',
  'port-pending': 'pending',
  'requirement-info-pending': 'pending',
  'requirement-info-under-review': 'pending',
  'requirement-info-exception': 'suspended',
  'emergency-only': 'suspended',
  'port-out-pending': 'active',
  'purchase-failed': 'failed',
  'port-failed': 'failed',
};
/** Numbers that the account had. */
const GONE = ['deleted', 'ported-out'];

/** Numbers at Telnyx: orders take their time, and webhooks are a Call Control application's, one for our account. */
export class TelnyxNumbers implements CarrierNumbers {
  readonly #client: CarrierClient;

  constructor(client: CarrierClient) {
    this.#client = client;
  }

  async search(search: NumberSearch, signal?: AbortSignal): Promise<AvailableNumber[]> {
    const query = new URLSearchParams({
      'filter[country_code]': search.country,
      'filter[features][]': 'voice',
      'filter[limit]': String(search.limit),
    });
    if (search.type !== null) query.set('filter[phone_number_type]', search.type);
    if (search.areaCode !== null) query.set('filter[national_destination_code]', search.areaCode);
    if (search.contains !== null)
      query.set('filter[phone_number][contains]', search.contains.replace(/\D/g, ''));
    const { data } = await this.#get(
      availableSchema,
      `/v2/available_phone_numbers?${query.toString()}`,
      signal,
    );
    return data.map((number) => {
      const regions = number.region_information ?? [];
      const named = (type: string) =>
        regions.find(({ region_type }) => region_type === type)?.region_name ?? null;
      const { monthly_cost, upfront_cost, currency } = number.cost_information ?? {};
      return {
        phoneNumber: number.phone_number,
        country: search.country,
        region:
          [named('location') ?? named('rate_center'), named('state')].filter(Boolean).join(', ') || null,
        // The answer does not say; what was asked for is kept.
        type: search.type,
        capabilities: (number.features ?? []).map(({ name }) => name),
        monthlyAmount: monthly_cost ?? null,
        setupAmount: upfront_cost ?? null,
        currency: currency ?? null,
        requiresDocuments: null,
      };
    });
  }

  async order(
    order: { orderId: string; phoneNumber: string; webhooks: NumberWebhooks },
    signal?: AbortSignal,
  ): Promise<OrderAnswer> {
    const application = await this.#application(order.webhooks, signal);
    const attempt = await this.#client.attempt({
      method: 'POST',
      path: '/v2/number_orders',
      json: {
        phone_numbers: [{ phone_number: order.phoneNumber }],
        connection_id: application,
        customer_reference: order.orderId,
      },
      signal,
    });
    if (attempt.done === 'unknown') return { bought: 'unknown', code: attempt.code };
    if (attempt.done === 'yes') {
      const status = readAnswer(orderedSchema, attempt.body)?.data.status;
      if (status === undefined) return { bought: 'unknown', code: 'unavailable' };
      if (status !== 'failure') return { bought: 'yes' };
      return { bought: 'no', code: 'refused', cause: status, again: false };
    }
    const { code, again, body } = attempt;
    const error = body === null ? undefined : readAnswer(errorSchema, body);
    return { bought: 'no', code, again, cause: error?.errors[0]?.code ?? null };
  }

  /** The number itself, else the newest order for it: numbers are listed some time after they were ordered. */
  async find(
    { orderId, phoneNumber }: { orderId: string; phoneNumber: string },
    signal?: AbortSignal,
  ): Promise<OwnedNumber | null> {
    const untold = { monthlyAmount: null, currency: null };
    const number = await this.#find(phoneNumber, signal);
    if (number) {
      const state = STATES[number.status] ?? 'active';
      return { state, reason: state === 'active' ? null : number.status, ...untold };
    }
    const query = new URLSearchParams({ 'filter[customer_reference]': orderId });
    const { data } = await this.#get(ordersSchema, `/v2/number_orders?${query.toString()}`, signal);
    const [newest] = data
      .filter(({ customer_reference }) => customer_reference === orderId)
      .sort((a, b) => (b.created_at ?? '').localeCompare(a.created_at ?? ''));
    if (!newest) return null;
    if (newest.status === 'failure') return { state: 'failed', reason: 'order_failed', ...untold };
    const reason = newest.requirements_met === false ? 'requirements_not_met' : newest.status;
    return { state: 'pending', reason, ...untold };
  }

  async configure(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void> {
    const number = await this.#find(phoneNumber, signal);
    if (!number) throw new CarrierError('telnyx', 'refused', 404);
    const application = await this.#application(webhooks, signal);
    if (number.connection_id !== application) await this.#connect(number.id, application, signal);
  }

  async clear(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void> {
    const number = await this.#find(phoneNumber, signal);
    const ours = await this.#ours(webhooks.application, signal);
    if (number && ours && number.connection_id === ours.id) await this.#connect(number.id, '', signal);
  }

  async release(phoneNumber: string, signal?: AbortSignal): Promise<void> {
    const number = await this.#find(phoneNumber, signal);
    if (!number) return;
    await this.#client.call({
      method: 'DELETE',
      path: `/v2/phone_numbers/${encodeURIComponent(number.id)}`,
      alsoDone: (status) => status === 404,
      signal,
    });
  }

  async #connect(id: string, connectionId: string, signal: AbortSignal | undefined): Promise<void> {
    const path = `/v2/phone_numbers/${encodeURIComponent(id)}`;
    await this.#client.call({ method: 'PATCH', path, json: { connection_id: connectionId }, signal });
  }

  async #find(phoneNumber: string, signal: AbortSignal | undefined) {
    // Only digits: with any other character nothing is found.
    const query = new URLSearchParams({ 'filter[phone_number]': phoneNumber.replace(/^\+/, '') });
    const { data } = await this.#get(ownedSchema, `/v2/phone_numbers?${query.toString()}`, signal);
    return data.find((number) => number.phone_number === phoneNumber && !GONE.includes(number.status));
  }

  /** The application of these webhooks: found, made, or pointed at us again. */
  async #application(
    { application, voiceUrl }: NumberWebhooks,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const json = {
      application_name: application,
      webhook_event_url: voiceUrl,
      webhook_api_version: '2',
    };
    const known = await this.#ours(application, signal);
    if (known?.webhook_event_url === voiceUrl) return known.id;
    const base = '/v2/call_control_applications';
    if (known) {
      const path = `${base}/${encodeURIComponent(known.id)}`;
      await this.#client.call({ method: 'PATCH', path, json, signal });
      return known.id;
    }
    const made = readAnswer(
      madeSchema,
      await this.#client.call({ method: 'POST', path: base, json, signal }),
    );
    if (!made) throw new CarrierError('telnyx', 'unavailable');
    return made.data.id;
  }

  async #ours(name: string, signal: AbortSignal | undefined) {
    const query = new URLSearchParams({ 'filter[application_name][contains]': name });
    const path = `/v2/call_control_applications?${query.toString()}`;
    const { data } = await this.#get(applicationsSchema, path, signal);
    return data.find(({ application_name }) => application_name === name);
  }

  /** @throws CarrierError also for an answer that is not understood */
  async #get<S extends z.ZodType>(
    schema: S,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<z.output<S>> {
    const answer = readAnswer(schema, await this.#client.call({ method: 'GET', path, signal }));
    if (answer === undefined) throw new CarrierError('telnyx', 'unavailable');
    return answer;
  }
}
