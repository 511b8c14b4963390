import type { Clock } from '@parley/shared/time/clock';

export type StockType = 'local' | 'toll_free';

/** A number that the emulated carrier sells. */
export interface StockNumber {
  /** E.164. */
  number: string;
  country: string;
  type: StockType;
  areaCode: string;
  place: string;
  region: string;
  /** Decimal amounts of US dollars. */
  monthly: string;
  setup: string;
  needsDocuments: boolean;
}

/** A number that the account has, or waits for. */
export interface HeldNumber {
  /** The carrier's own id of it. */
  readonly id: string;
  /** E.164. */
  readonly number: string;
  state: 'active' | 'pending' | 'suspended';
  /** Webhooks or application, by the vendor's names. */
  settings: Record<string, string>;
  /** What the order said of itself. */
  readonly reference: string | null;
  readonly orderId: string;
  readonly since: Date;
}

/** What tests see of an account's numbers, and do to them. */
export interface EmulatedNumbers {
  /** Those that were bought, or asked for by name. */
  held(): readonly HeldNumber[];
  /** How many orders were taken. */
  readonly orders: number;
  /** The documents are in order, or the carrier has the number ready. */
  settle(number: string): void;
  /** The carrier takes a number out of service. */
  suspend(number: string): void;
  /** The account has it no more. */
  lose(number: string): void;
}

const EACH = 30;
/** Of each kind: this one waits for documents, and this one is sold to somebody else just before. */
const [WITH_DOCUMENTS, SOLD] = [28, 29];

const KINDS: readonly (Omit<StockNumber, 'number' | 'needsDocuments'> & { prefix: string })[] = [
  kind('US', 'local', '+12125552', '212', 'New York', 'NY', '1.15', '0.00'),
  kind('US', 'local', '+16465552', '646', 'New York', 'NY', '1.15', '0.00'),
  kind('US', 'toll_free', '+18005552', '800', '', '', '2.15', '0.00'),
  kind('GB', 'local', '+442079460', '207', 'London', '', '1.50', '1.00'),
  kind('IN', 'local', '+918041235', '80', 'Bengaluru', 'KA', '3.00', '5.00'),
  kind('DE', 'local', '+493090182', '30', 'Berlin', '', '1.20', '1.00'),
];

function kind(
  country: string,
  type: StockType,
  prefix: string,
  areaCode: string,
  ...[place = '', region = '', monthly = '', setup = '']: string[]
) {
  return { country, type, prefix, areaCode, place, region, monthly, setup };
}

const STOCK: readonly StockNumber[] = KINDS.flatMap(({ prefix, ...rest }) =>
  Array.from({ length: EACH }, (_, n) => ({
    ...rest,
    number: `${prefix}${String(n).padStart(3, '0')}`,
    needsDocuments: n === WITH_DOCUMENTS,
  })),
);

/**
 * Numbers of one emulated account. It sells a list of its own: thirty of a kind, of which the 29th waits for documents
 * and the last is gone when it is ordered. Every number that is not for sale is the account's already, for whoever
 * asks for it by name.
 */
export class NumberStock implements EmulatedNumbers {
  readonly #newId: () => string;
  readonly #clock: Clock;
  readonly #held = new Map<string, HeldNumber>();
  readonly #lost = new Set<string>();
  orders = 0;

  /** @param newId in the vendor's form */
  constructor(newId: () => string, clock: Clock) {
    this.#newId = newId;
    this.#clock = clock;
  }

  search(wanted: {
    country: string;
    type?: StockType | undefined;
    /** How it begins behind the country code. */
    areaCode?: string | undefined;
    /** Digits of the whole number. */
    contains?: string | undefined;
  }): StockNumber[] {
    return STOCK.filter(
      (one) =>
        one.country === wanted.country &&
        (wanted.type === undefined || one.type === wanted.type) &&
        (wanted.areaCode === undefined || one.areaCode.startsWith(wanted.areaCode)) &&
        (wanted.contains === undefined || one.number.includes(wanted.contains.replace(/\D/g, ''))) &&
        !this.#held.has(one.number),
    );
  }

  /** @returns undefined when it can't be had */
  order(
    number: string,
    settings: Record<string, string>,
    reference: string | null = null,
  ): HeldNumber | undefined {
    const offer = STOCK.find((one) => one.number === number);
    if (!offer || this.#held.has(number) || offer.number.endsWith(String(SOLD))) return undefined;
    this.orders++;
    return this.#hold(number, { settings, reference, state: offer.needsDocuments ? 'pending' : 'active' });
  }

  /** @returns undefined for a number that is not the account's */
  find(number: string): HeldNumber | undefined {
    const known = this.#held.get(number);
    if (known) return known;
    if (this.#lost.has(number) || STOCK.some((one) => one.number === number)) return undefined;
    return this.#hold(number, { settings: {}, reference: null, state: 'active' });
  }

  byId(id: string): HeldNumber | undefined {
    return this.held().find((one) => one.id === id);
  }

  held(): readonly HeldNumber[] {
    return [...this.#held.values()];
  }

  release(number: string): void {
    this.#held.delete(number);
    if (!STOCK.some((one) => one.number === number)) this.#lost.add(number);
  }

  lose(number: string): void {
    this.release(number);
  }

  settle(number: string): void {
    this.#set(number, 'active');
  }

  suspend(number: string): void {
    this.#set(number, 'suspended');
  }

  #set(number: string, state: HeldNumber['state']): void {
    const held = this.find(number);
    if (!held) throw new Error('The account has no such number.');
    held.state = state;
  }

  #hold(number: string, how: Pick<HeldNumber, 'settings' | 'reference' | 'state'>): HeldNumber {
    const held: HeldNumber = {
      ...{ id: this.#newId(), orderId: this.#newId(), number, since: new Date(this.#clock.now()) },
      ...how,
    };
    this.#held.set(number, held);
    return held;
  }
}

/** What the carrier's list says of a number; undefined where the account brought it. */
export function stockOf(number: string): StockNumber | undefined {
  return STOCK.find((one) => one.number === number);
}
