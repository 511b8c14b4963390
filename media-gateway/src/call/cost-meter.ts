import type { Usage } from '@parley/shared/contracts/usage';
import { costOf, NOTHING_USED, usedSince } from '@parley/shared/contracts/call-prices';
import type { CallQuantities } from '@parley/shared/contracts/call-prices';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Emit } from '../reporting/call-reporter.ts';
import type { CallClock } from './call-clock.ts';

const COUNT_MS = 5000;
/** How often the control plane is told. What a call costs after the last time is all that can go beyond a balance. */
const TELL_MS = 30_000;
const WARN_PERCENT = 80n;

/**
 * Counts what a call costs, at each turn and each five seconds, by the prices of its plan. What the control plane books
 * in the end it works out from the report; this is what a call is stopped by.
 */
export class CostMeter {
  /** Of the agent that speaks. */
  #prices: SessionPlan['prices'];
  /** What was used when it began, and what that had cost: earlier legs, and agents that have handed the call over. */
  #usedBefore: Readonly<Usage> = NOTHING_USED;
  #spentBefore: bigint;
  readonly #usage: Readonly<Usage>;
  readonly #clock: CallClock;
  readonly #emit: Emit;
  readonly #onCeiling: () => void;
  /** When this leg began, from the first answer. */
  readonly #beganAt: number;
  #countDueAt = 0;
  #tellDueAt: number;
  #told: number | undefined;
  #warned = false;

  constructor(deps: {
    prices: SessionPlan['prices'];
    /** Grows as the call goes on. */
    usage: Readonly<Usage>;
    clock: CallClock;
    emit: Emit;
    /** The ceiling is reached; asked for again at each count until the call is over. */
    onCeiling: () => void;
  }) {
    this.#prices = deps.prices;
    this.#spentBefore = BigInt(deps.prices?.spent ?? 0);
    this.#usage = deps.usage;
    this.#clock = deps.clock;
    this.#emit = deps.emit;
    this.#onCeiling = deps.onCeiling;
    this.#beganAt = deps.clock.offset();
    this.#tellDueAt = deps.clock.monotonic() + TELL_MS;
  }

  /** Another agent has taken the call over: what its models cost counts from now on, and its ceiling is that of the whole call. */
  agentChanged(prices: SessionPlan['prices']): void {
    if (!this.#prices || !prices) return;
    this.#spentBefore += costOf(this.#prices, this.#used(0));
    this.#usedBefore = usedSince(NOTHING_USED, this.#usage);
    this.#prices = prices;
    this.#warned = false;
  }

  tick(now: number): void {
    if (!this.#prices || now < this.#countDueAt) return;
    this.#countDueAt = now + COUNT_MS;
    this.count();
    if (now < this.#tellDueAt) return;
    this.#tellDueAt = now + TELL_MS;
    this.tell();
  }

  /** Looks whether the ceiling is near, or reached. */
  count(): void {
    const ceiling = this.#prices?.ceiling ?? null;
    if (ceiling === null) return;
    const amount = this.#amount();
    if (amount >= BigInt(ceiling)) this.#onCeiling();
    else if (!this.#warned && amount * 100n >= BigInt(ceiling) * WARN_PERCENT) {
      this.#warned = true;
      this.#emit('warning', { code: 'cost_limit_near' });
    }
  }

  /** Tells the control plane, if it does not know yet. */
  tell(): void {
    const amount = Number(this.#amount());
    if (!this.#prices || amount === this.#told || !Number.isSafeInteger(amount)) return;
    this.#told = amount;
    this.#emit('cost', { amount });
  }

  /** In 10⁻⁹ of the currency, with what earlier legs have cost. */
  #amount(): bigint {
    if (!this.#prices) return 0n;
    // A minute costs the same whoever speaks.
    return this.#spentBefore + costOf(this.#prices, this.#used(this.#clock.offset() - this.#beganAt));
  }

  #used(connected_ms: number): CallQuantities {
    return { ...usedSince(this.#usedBefore, this.#usage), connected_ms };
  }
}
