import type { RateCounter } from '@parley/shared/bus/bus';
import type { Clock } from '@parley/shared/time/clock';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { DialStore } from './dial-store.ts';
import type { DialGate, GateVerdict } from './outbound-calls.ts';

/** A number that calls may be made from. */
export interface CallerNumber {
  _id: string;
  phone_number: string;
  telephony_account_id: string;
  provider: NonNullable<SessionRecord['provider']>;
  /** Calls in a day (UTC); null: as many as the account allows. */
  daily_call_limit: number | null;
}

/** Numbers as dialling asks of them: `PhoneNumberService`. */
export interface CallerNumbers {
  /** Those of these, in this order, that may call now; of no ids: the project's, oldest first. */
  callers(project: { orgId: string; projectId: string }, ids: readonly string[]): Promise<CallerNumber[]>;
}

/** How late a change of a number may be seen. */
const KNOWN_MS = 1000;
const DAY_SECONDS = 24 * 60 * 60;

/** Whether the number that is shown may still call today; where it may not, another of the call's numbers takes its place. */
export class NumberGate implements DialGate {
  readonly name = 'number';
  readonly #numbers: CallerNumbers;
  readonly #rates: RateCounter;
  readonly #dials: DialStore;
  readonly #known: ExpiringCache<CallerNumber[]>;

  constructor(deps: { numbers: CallerNumbers; rates: RateCounter; dials: DialStore; clock: Clock }) {
    this.#numbers = deps.numbers;
    this.#rates = deps.rates;
    this.#dials = deps.dials;
    this.#known = new ExpiringCache({ clock: deps.clock, ttlMs: KNOWN_MS, maxEntries: 1000 });
  }

  async check(session: SessionRecord, nowMs: number): Promise<GateVerdict> {
    const { number_id, number_ids } = session.dial!;
    const project = { orgId: session.org_id, projectId: session.project_id };
    const others = number_ids.filter((id) => id !== number_id);
    const ids = [number_id, ...others];
    const callers = await this.#known.get(ids.join(), () => this.#numbers.callers(project, ids));
    let tomorrow: number | null = null;
    for (const number of callers) {
      const { count, resetAt } = await this.#rates.hit(bucketOf(number._id), DAY_SECONDS, 0);
      if (number.daily_call_limit !== null && count >= number.daily_call_limit) {
        tomorrow = resetAt;
        continue;
      }
      if (number._id === number_id) return { pass: true };
      await this.#use(session, number);
      return { pass: false, until: nowMs };
    }
    if (tomorrow !== null) return { pass: false, until: tomorrow };
    return { pass: false, end: { status: 'failed', failure_reason: 'carrier_error' } };
  }

  async taken(session: SessionRecord): Promise<void> {
    await this.#rates.hit(bucketOf(session.dial!.number_id), DAY_SECONDS);
  }

  async #use(session: SessionRecord, number: CallerNumber): Promise<void> {
    await this.#dials.change(
      session._id,
      { 'dial.state': 'waiting' },
      {
        dial: { number_id: number._id, account_id: number.telephony_account_id },
        fields: {
          provider: number.provider,
          phone_number_id: number._id,
          telephony_account_id: number.telephony_account_id,
          from_number: number.phone_number,
          numbers: [number.phone_number, session.to_number!],
        },
      },
    );
  }
}

function bucketOf(numberId: string): string {
  return `number_calls:${numberId}`;
}
