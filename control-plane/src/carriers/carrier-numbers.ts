import type { CarrierError } from './carrier.ts';

export const NUMBER_TYPES = ['local', 'mobile', 'national', 'toll_free'] as const;
export type NumberType = (typeof NUMBER_TYPES)[number];

export interface NumberSearch {
  /** ISO 3166-1, two letters. */
  country: string;
  /** null: `local` where the carrier needs one, else any. */
  type: NumberType | null;
  /** Digits behind the country code. */
  areaCode: string | null;
  /** Digits anywhere in the number. */
  contains: string | null;
  limit: number;
}

/** A number that can be bought. null: the carrier does not tell. */
export interface AvailableNumber {
  /** E.164. */
  phoneNumber: string;
  country: string;
  region: string | null;
  type: NumberType | null;
  capabilities: string[];
  /** Decimal amounts of `currency`. */
  monthlyAmount: string | null;
  setupAmount: string | null;
  /** ISO 4217. */
  currency: string | null;
  requiresDocuments: boolean | null;
}

/** Where the carrier is to tell of a number's calls. */
export interface NumberWebhooks {
  voiceUrl: string;
  statusUrl: string;
  /** Of the application, at carriers where numbers have one: the same for all numbers of the account. */
  application: string;
}

/** A number that the account has, or has ordered. */
export interface OwnedNumber {
  state: 'active' | 'pending' | 'suspended' | 'failed';
  /** The carrier's word for a state that is not active. */
  reason: string | null;
  monthlyAmount: string | null;
  currency: string | null;
}

/**
 * What is known after an order. `no` is certain: nothing was bought, and where `again` says so it may be ordered later.
 * `unknown`: it may have been bought; look before anything is repeated.
 */
export type OrderAnswer =
  | { bought: 'yes' }
  | { bought: 'no'; code: CarrierError['code']; cause: string | null; again: boolean }
  | { bought: 'unknown'; code: CarrierError['code'] | 'aborted' };

/** Numbers of one telephony account, which are E.164 here. Nothing is ever repeated in here. */
export interface CarrierNumbers {
  /** What the carrier sells. @throws CarrierError */
  search(search: NumberSearch, signal?: AbortSignal): Promise<AvailableNumber[]>;

  /**
   * Orders a number, which costs money. Never throws for what the carrier or the network does: see `OrderAnswer`.
   * @param order `orderId`: ours; goes to the carrier where it has a field for it
   * @throws CarrierError before the order, where the application that it is to belong to can't be had
   */
  order(
    order: { orderId: string; phoneNumber: string; webhooks: NumberWebhooks },
    signal?: AbortSignal,
  ): Promise<OrderAnswer>;

  /** @returns null when the account neither has the number nor has ordered it @throws CarrierError when that is not known */
  find(number: { orderId: string; phoneNumber: string }, signal?: AbortSignal): Promise<OwnedNumber | null>;

  /** Sets the webhooks of a number of the account; again changes nothing. @throws CarrierError `refused` when it has none such */
  configure(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void>;

  /** Clears the webhooks, unless they are others by now or the number is gone. @throws CarrierError */
  clear(phoneNumber: string, webhooks: NumberWebhooks, signal?: AbortSignal): Promise<void>;

  /** Gives the number back; one that is gone counts as done. @throws CarrierError */
  release(phoneNumber: string, signal?: AbortSignal): Promise<void>;
}
