import { randomInt } from 'node:crypto';
import type { HttpAnswer } from '../server/emulator-server.ts';
import type { CarrierApiRequest, NoAnswer } from './carrier-api.ts';
import type { CallbackConditions } from './carrier-webhook.ts';
import { parseJsonObject } from './json-object.ts';
import { stockOf, type HeldNumber, type NumberStock, type StockNumber } from './number-stock.ts';
import { telnyxError } from './telnyx-dials.ts';

const PAGE = 20;

/** What the emulated carrier knows of an application. Anything else is refused, and not ignored. */
const APPLICATION = new Set([
  ...['application_name', 'webhook_event_url', 'webhook_event_failover_url', 'webhook_api_version', 'active'],
]);

interface Application {
  id: string;
  settings: Record<string, unknown>;
}

/** Numbers, orders and applications of the emulated Telnyx: searched, ordered, set up, given back; carriers 3.7. */
export class TelnyxNumbers {
  readonly #stock: NumberStock;
  readonly #connectionId: string;
  readonly #applications: Application[] = [];

  /** @param connectionId of an application that is there from the beginning */
  constructor(stock: NumberStock, connectionId: string) {
    this.#stock = stock;
    this.#connectionId = connectionId;
  }

  /** @returns undefined for what is about none of them */
  answer(
    request: CarrierApiRequest,
    { faults }: Pick<CallbackConditions, 'faults'>,
  ): HttpAnswer | NoAnswer | undefined {
    const { method, path, query } = request;
    const [, resource, id] =
      /^\/v2\/(available_phone_numbers|number_orders|phone_numbers|call_control_applications)(?:\/([^/]+))?$/.exec(
        path,
      ) ?? [];
    if (resource === undefined) return undefined;
    const body = request.body === '' ? {} : parseJsonObject(request.body);
    if (!body) return refused('10015', 'Bad request');
    switch (`${method} ${resource}`) {
      case 'GET available_phone_numbers':
        return this.#search(query);
      case 'POST number_orders': {
        if (faults.take(['order_lost'])) return 'broken';
        const answer = this.#order(body);
        return faults.take(['order_unanswered']) ? 'unanswered' : answer;
      }
      case 'GET number_orders':
        return this.#orders(id, query);
      case 'GET phone_numbers':
        return id === undefined ? this.#list(query) : this.#number(id, (held) => toNumber(held));
      case 'PATCH phone_numbers':
        return id === undefined ? undefined : this.#change(id, body);
      case 'DELETE phone_numbers':
        if (id === undefined) return undefined;
        return this.#number(id, (held) => {
          this.#stock.release(held.number);
          return { ...toNumber(held), status: 'deleted' };
        });
      default:
        return resource === 'call_control_applications' ? this.#application(request, id, body) : undefined;
    }
  }

  #search(query: URLSearchParams): HttpAnswer {
    const country = query.get('filter[country_code]');
    if (country === null) return refused('10004', 'filter[country_code] is required');
    const type = query.get('filter[phone_number_type]');
    const known = type === null || type === 'local' || type === 'toll_free';
    const found = known
      ? this.#stock.search({
          country,
          type: type ?? undefined,
          areaCode: query.get('filter[national_destination_code]') ?? undefined,
          contains: query.get('filter[phone_number][contains]') ?? undefined,
        })
      : [];
    const limit = Number(query.get('filter[limit]') ?? 100);
    const data = found.slice(0, limit).map(toOffer);
    const meta = { total_results: data.length, best_effort_results: 0 };
    return { status: 200, body: { data, meta, metadata: meta } };
  }

  #order(body: Record<string, unknown>): HttpAnswer {
    const { phone_numbers: wanted, connection_id: connection, customer_reference: reference } = body;
    const [first, ...others] = Array.isArray(wanted) ? (wanted as { phone_number?: unknown }[]) : [];
    if (typeof first?.phone_number !== 'string' || others.length > 0)
      return refused('10015', 'this emulator takes one phone number an order');
    if (connection !== undefined && !this.#knows(connection))
      return refused('10015', 'connection_id is invalid');
    const held = this.#stock.order(
      first.phone_number,
      typeof connection === 'string' ? { connection_id: connection } : {},
      typeof reference === 'string' ? reference : null,
    );
    if (!held)
      return {
        status: 400,
        body: telnyxError('85006', 'Number is not available', 'The number is already taken'),
      };
    return { status: 200, body: { data: toOrder(held) } };
  }

  #orders(id: string | undefined, query: URLSearchParams): HttpAnswer {
    const orders = this.#stock.held().filter((held) => stockOf(held.number));
    if (id !== undefined) {
      const held = orders.find((one) => one.orderId === id);
      return held ? { status: 200, body: { data: toOrder(held) } } : notFound();
    }
    const reference = query.get('filter[customer_reference]');
    return paged(
      orders.filter((held) => reference === null || held.reference === reference),
      query,
      toOrder,
    );
  }

  #list(query: URLSearchParams): HttpAnswer {
    const wanted = query.get('filter[phone_number]');
    // Other characters than digits find nothing, as the vendor says.
    if (wanted !== null && !/^\d{3,}$/.test(wanted)) return paged([], query, toNumber);
    if (wanted !== null && wanted.length > 9) this.#stock.find(`+${wanted}`);
    // What waits for documents is an order, and no number yet.
    const found = this.#stock
      .held()
      .filter(({ number, state }) => state !== 'pending' && number.includes(wanted ?? ''));
    return paged(found, query, toNumber);
  }

  #number(id: string, toData: (held: HeldNumber) => object): HttpAnswer {
    const held = this.#stock.byId(id);
    return held ? { status: 200, body: { data: toData(held) } } : notFound();
  }

  #change(id: string, { connection_id: connection, ...rest }: Record<string, unknown>): HttpAnswer {
    const [unknown] = Object.keys(rest).filter((name) => name !== 'tags');
    if (unknown !== undefined) return refused('10015', `${unknown} is not supported by this emulator`);
    if (connection !== undefined && connection !== '' && !this.#knows(connection))
      return refused('10015', 'connection_id is invalid');
    return this.#number(id, (held) => {
      if (connection !== undefined)
        held.settings = connection === '' ? {} : { connection_id: connection as string };
      return toNumber(held);
    });
  }

  #knows(connection: unknown): boolean {
    return connection === this.#connectionId || this.#applications.some(({ id }) => id === connection);
  }

  #application(
    { method, query }: CarrierApiRequest,
    id: string | undefined,
    body: Record<string, unknown>,
  ): HttpAnswer | undefined {
    const unknown = Object.keys(body).find((name) => !APPLICATION.has(name));
    if (unknown !== undefined) return refused('10015', `${unknown} is not supported by this emulator`);
    if (method === 'GET' && id === undefined) {
      const name = query.get('filter[application_name][contains]') ?? '';
      const found = this.#applications.filter(({ settings }) =>
        String(settings['application_name']).includes(name),
      );
      return paged(found, query, toApplication);
    }
    if (method === 'POST' || method === 'PATCH') {
      const { application_name: name, webhook_event_url: url } = body;
      if (typeof name !== 'string' || name.length < 1)
        return refused('10004', 'application_name is required');
      if (typeof url !== 'string' || !/^https?:\/\/\S+$/.test(url))
        return refused('10015', 'webhook_event_url is invalid');
    }
    if (method === 'POST' && id === undefined) {
      const made = { id: `1${randomInt(1e8, 1e9)}${randomInt(1e8, 1e9)}`, settings: body };
      this.#applications.unshift(made);
      return { status: 200, body: { data: toApplication(made) } };
    }
    const known = this.#applications.find((one) => one.id === id);
    if (!known) return notFound();
    if (method === 'PATCH') Object.assign(known.settings, body);
    else if (method !== 'GET') return undefined;
    return { status: 200, body: { data: toApplication(known) } };
  }
}

const refused = (code: string, detail: string): HttpAnswer => ({
  status: 422,
  body: telnyxError(code, 'Unprocessable entity', detail),
});

const notFound = (): HttpAnswer => ({ status: 404, body: telnyxError('10005', 'Resource not found') });

function toOffer(one: StockNumber): object {
  return {
    record_type: 'available_phone_number',
    phone_number: one.number,
    best_effort: false,
    quickship: true,
    reservable: true,
    region_information: [
      { region_type: 'country_code', region_name: one.country },
      ...(one.place === '' ? [] : [{ region_type: 'location', region_name: one.place }]),
      ...(one.region === '' ? [] : [{ region_type: 'state', region_name: one.region }]),
    ],
    features: [{ name: 'voice' }],
    cost_information: { upfront_cost: one.setup, monthly_cost: one.monthly, currency: 'USD' },
  };
}

function toOrder(held: HeldNumber): object {
  const met = held.state !== 'pending';
  const status = met ? 'success' : 'pending';
  return {
    record_type: 'number_order',
    id: held.orderId,
    status,
    requirements_met: met,
    customer_reference: held.reference,
    connection_id: held.settings['connection_id'] ?? null,
    phone_numbers_count: 1,
    phone_numbers: [{ record_type: 'number_order_phone_number', phone_number: held.number, status }],
    created_at: held.since.toISOString(),
    updated_at: held.since.toISOString(),
  };
}

function toNumber(held: HeldNumber): object {
  return {
    record_type: 'phone_number',
    id: held.id,
    phone_number: held.number,
    status: held.state === 'suspended' ? 'requirement-info-exception' : 'active',
    phone_number_type: stockOf(held.number)?.type ?? 'local',
    connection_id: held.settings['connection_id'] ?? null,
    tags: [],
    created_at: held.since.toISOString(),
    purchased_at: held.since.toISOString(),
  };
}

function toApplication({ id, settings }: Application): object {
  return { record_type: 'call_control_application', id, active: true, ...settings };
}

function paged<T>(found: readonly T[], query: URLSearchParams, toData: (one: T) => object): HttpAnswer {
  const size = Math.min(Number(query.get('page[size]') ?? PAGE), 250);
  const page = Number(query.get('page[number]') ?? 1);
  return {
    status: 200,
    body: {
      data: found.slice((page - 1) * size, page * size).map(toData),
      meta: {
        page_number: page,
        page_size: size,
        total_pages: Math.ceil(found.length / size),
        total_results: found.length,
      },
    },
  };
}
