import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type {
  CarrierNumbers,
  NumberWebhooks,
  OrderAnswer,
  OwnedNumber,
} from '../carriers/carrier-numbers.ts';
import { CarrierError, type Carrier } from '../carriers/carrier.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { Database } from '../storage/database.ts';
import { phoneNumberCollection, type PhoneNumberRecord } from './phone-number-model.ts';

/** A step at a carrier takes at most this long: as long nobody else takes the number up. */
const LEASE_MS = 120_000;
/** When a carrier that did not answer, or works at it, is asked again. */
const AGAIN_MS = 10_000;
const PENDING_MS = 60_000;
/** Before this an order that got no answer may still be on its way: "none" means nothing. */
const ORDER_SETTLED_MS = 120_000;
/** Orders of one purchase, each after a look-up that found none. */
const MAX_ORDERS = 3;
/** For so long an order that was not taken is repeated. */
const GIVE_UP_MS = 24 * 3_600_000;
/** How often numbers in use are looked at. */
export const CHECK_MS = 6 * 3_600_000;
const AT_ONCE = 20;

type Change = Partial<Omit<PhoneNumberRecord, '_id' | 'created_at' | 'updated_at'>>;

/** Accounts at carriers: `TelephonyAccountService`. */
export interface NumberAccounts {
  /** @returns null when there is no such account */
  open(accountId: string): Promise<Carrier | null>;
}

/**
 * Brings numbers to where they are to be, at the carrier and here: bought and set up, or given back. Each has a time at
 * which it is due; whoever moves that on does the step. A process that dies leaves it, and another goes on from what the
 * carrier says: nothing is ordered again before it was looked for, and nothing that was bought is forgotten.
 */
export class NumberProvisioning {
  readonly #database: Database;
  readonly #accounts: NumberAccounts;
  readonly #publicUrl: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #task: PeriodicTask | undefined;

  constructor(deps: {
    database: Database;
    accounts: NumberAccounts;
    publicUrl: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#database = deps.database;
    this.#accounts = deps.accounts;
    this.#publicUrl = deps.publicUrl;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** The task that does what is due, to be woken by `wake`. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  /** Something is due now. */
  wake(): void {
    void this.#task?.runNow();
  }

  /** Where the carrier is to tell of an account's calls. */
  webhooks({
    provider,
    telephony_account_id: id,
  }: Pick<PhoneNumberRecord, 'provider' | 'telephony_account_id'>): NumberWebhooks {
    const address = (kind: 'voice' | 'status') =>
      `${this.#publicUrl}${carrierCallbackPath(provider, kind, id)}`;
    return { voiceUrl: address('voice'), statusUrl: address('status'), application: `parley-${id}` };
  }

  /** Does what is due, one number after the other. */
  async run(signal: AbortSignal): Promise<void> {
    for (let done = 0; done < AT_ONCE && !signal.aborted; done++) {
      const number = await this.#claim();
      if (!number) return;
      await this.#step(number, signal);
    }
  }

  async #claim(): Promise<PhoneNumberRecord | null> {
    const now = this.#clock.now();
    return this.#database
      .model(phoneNumberCollection)
      .findOneAndUpdate(
        { due_at: { $lte: new Date(now) } },
        { $set: { due_at: new Date(now + LEASE_MS) } },
        { sort: { due_at: 1 }, timestamps: false },
      )
      .lean<PhoneNumberRecord>();
  }

  async #step(number: PhoneNumberRecord, signal: AbortSignal): Promise<void> {
    const fields = { numberId: number._id, status: number.status };
    try {
      const numbers = (await this.#accounts.open(number.telephony_account_id))?.numbers;
      if (!numbers) {
        await this.#change(number, { due_at: null });
        return;
      }
      switch (number.status) {
        case 'provisioning':
          return await (number.origin === 'bought'
            ? this.#buy(numbers, number, signal)
            : this.#finish(numbers, number, signal));
        case 'releasing':
          return await this.#release(numbers, number, signal);
        case 'active':
        case 'suspended':
          return await this.#check(numbers, number, signal);
        default:
          await this.#change(number, { due_at: null });
      }
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn({ ...fields, code: error.code }, 'a step of a phone number failed at the carrier');
      const inUse = number.status === 'active' || number.status === 'suspended';
      await this.#change(number, { due_at: this.#in(inUse ? CHECK_MS : PENDING_MS) });
    }
  }

  /** Looks for the number first, whatever was sent: then, if it is not there, orders it. */
  async #buy(numbers: CarrierNumbers, number: PhoneNumberRecord, signal: AbortSignal): Promise<void> {
    const sentAt = number.order?.sent_at ?? null;
    const found = await numbers.find({ orderId: number._id, phoneNumber: number.phone_number }, signal);
    if (found && sentAt === null) return this.#fail(number, 'already_owned');
    if (found) return this.#arrived(numbers, number, found, signal);
    if (sentAt !== null && this.#clock.now() - sentAt.getTime() < ORDER_SETTLED_MS) {
      await this.#change(number, { due_at: this.#in(AGAIN_MS) });
      return;
    }
    await this.#order(numbers, number, signal);
  }

  async #order(numbers: CarrierNumbers, number: PhoneNumberRecord, signal: AbortSignal): Promise<void> {
    const tries = number.order?.tries ?? 0;
    if (tries >= MAX_ORDERS) return this.#fail(number, 'order_unanswered');
    const order = { sent_at: new Date(this.#clock.now()), tries: tries + 1 };
    // Before it leaves: whoever finds this looks at the carrier before anything is sent again.
    const sent = await this.#change(number, { order }, { 'order.tries': number.order?.tries ?? null });
    if (!sent) return;
    const wish = { orderId: number._id, phoneNumber: number.phone_number, webhooks: this.webhooks(number) };
    const answer = await numbers.order(wish, signal).catch(notOrdered);
    switch (answer.bought) {
      case 'yes': {
        this.#logger.info({ numberId: number._id }, 'phone number ordered');
        const found = await numbers.find({ orderId: number._id, phoneNumber: number.phone_number }, signal);
        if (found) return this.#arrived(numbers, sent, found, signal);
        await this.#change(number, { due_at: this.#in(AGAIN_MS) });
        return;
      }
      case 'unknown':
        await this.#change(number, { due_at: this.#in(AGAIN_MS) });
        return;
      case 'no':
        if (!answer.again || this.#isOld(number))
          return this.#fail(number, answer.cause === null ? answer.code : `${answer.code}: ${answer.cause}`);
        // It was certainly not taken: as if nothing had been sent.
        await this.#change(number, { order: { sent_at: null, tries }, due_at: this.#in(AGAIN_MS) });
    }
  }

  async #arrived(
    numbers: CarrierNumbers,
    number: PhoneNumberRecord,
    found: OwnedNumber,
    signal: AbortSignal,
  ): Promise<void> {
    const { monthlyAmount, currency } = found;
    if (found.state === 'failed') return this.#fail(number, found.reason ?? 'refused');
    if (found.state === 'pending') {
      await this.#change(number, { status_reason: found.reason, due_at: this.#in(PENDING_MS) });
      return;
    }
    const price = monthlyAmount === null ? {} : { monthly_amount: monthlyAmount, currency };
    await this.#finish(numbers, number, signal, { ...price, purchased_at: new Date(this.#clock.now()) });
  }

  /** Sets the webhooks of a number that is there. */
  async #finish(
    numbers: CarrierNumbers,
    number: PhoneNumberRecord,
    signal: AbortSignal,
    set: Change = {},
  ): Promise<void> {
    try {
      await numbers.configure(number.phone_number, this.webhooks(number), signal);
    } catch (error) {
      if (!(error instanceof CarrierError) || error.status !== 404) throw error;
      return this.#fail(number, 'not_owned');
    }
    await this.#change(number, {
      ...{ status: 'active', status_reason: null, due_at: this.#in(CHECK_MS) },
      ...set,
    });
  }

  async #release(numbers: CarrierNumbers, number: PhoneNumberRecord, signal: AbortSignal): Promise<void> {
    await numbers.release(number.phone_number, signal);
    const released = { status: 'released', active_number: null, due_at: null } as const;
    await this.#change(number, { ...released, released_at: new Date(this.#clock.now()) });
  }

  async #check(numbers: CarrierNumbers, number: PhoneNumberRecord, signal: AbortSignal): Promise<void> {
    const found = await numbers.find({ orderId: number._id, phoneNumber: number.phone_number }, signal);
    const isActive = found?.state === 'active';
    const reason = found ? (found.reason ?? found.state) : 'not_owned';
    await this.#change(number, {
      status: isActive ? 'active' : 'suspended',
      status_reason: isActive ? null : reason,
      due_at: this.#in(CHECK_MS),
    });
    if (isActive !== (number.status === 'active'))
      this.#logger.warn({ numberId: number._id, reason, isActive }, 'a phone number changed at its carrier');
  }

  async #fail(number: PhoneNumberRecord, reason: string): Promise<void> {
    this.#logger.warn({ numberId: number._id, reason }, 'a phone number could not be had');
    await this.#change(number, {
      ...{ status: 'failed', status_reason: reason.slice(0, 200), active_number: null, due_at: null },
    });
  }

  /** Nothing where somebody has changed the state meanwhile: it is released while it is looked at. */
  #change(
    number: PhoneNumberRecord,
    set: Change,
    where: Record<string, unknown> = {},
  ): Promise<PhoneNumberRecord | null> {
    return this.#database
      .model(phoneNumberCollection)
      .findOneAndUpdate(
        { _id: number._id, status: number.status, ...where },
        { $set: set },
        { returnDocument: 'after' },
      )
      .lean<PhoneNumberRecord>();
  }

  #isOld(number: PhoneNumberRecord): boolean {
    return this.#clock.now() - number.created_at.getTime() > GIVE_UP_MS;
  }

  #in(ms: number): Date {
    return new Date(this.#clock.now() + ms);
  }
}

/** What is thrown comes before the order itself. */
function notOrdered(error: unknown): OrderAnswer {
  if (!(error instanceof CarrierError)) throw error;
  const again = error.code === 'rate_limit' || error.code === 'unavailable' || error.code === 'timeout';
  return { bought: 'no', code: error.code, cause: null, again };
}
