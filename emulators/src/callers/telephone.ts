import type { Clock, Timer } from '@parley/shared/time/clock';
import { machineByNumber } from '../answers/machines.ts';
import { wait } from '../server/delays.ts';

/** What machine detection says, and how long after the answer, ms. */
export interface EmulatedMachine {
  verdict: 'human' | 'machine' | 'fax';
  afterMs: number;
  /** When it hears a recorder's tone. */
  beepAfterMs?: number;
}

const PERSON: EmulatedMachine = { verdict: 'human', afterMs: 2000 };

/** What a telephone does when it is called. */
export interface Telephone {
  /**
   * `ring`: nobody takes the call; `not_in_service`: the network knows no such number; `invalid`: the carrier refuses
   * the number before it dials; `stay_queued`: the carrier takes the request, and nothing more is heard of it.
   */
  does: 'answer' | 'busy' | 'ring' | 'refuse' | 'not_in_service' | 'invalid' | 'stay_queued';
  /** How long it rings before that, ms. */
  afterMs: number;
  /** Who answered hangs up again after this, ms; never by themselves unless given. */
  hangUpAfterMs?: number;
  /** What has answered, as a carrier's machine detection hears it; a person unless given. */
  machine?: EmulatedMachine;
  /** The carrier places the call, and never answers the request that asked for it. */
  requestUnanswered?: boolean;
}

/** @param to E.164 */
export type Telephones = (to: string) => Telephone;

const answers = (afterMs: number): Telephone => ({ does: 'answer', afterMs });

/** By the last three digits of a number. */
const BY_LAST_DIGITS: Readonly<Record<string, Telephone>> = {
  901: { does: 'busy', afterMs: 1000 },
  902: { does: 'ring', afterMs: 0 },
  903: { does: 'refuse', afterMs: 1000 },
  904: { ...answers(1000), hangUpAfterMs: 0 },
  905: { does: 'not_in_service', afterMs: 0 },
  906: { does: 'invalid', afterMs: 0 },
  907: { ...answers(1000), requestUnanswered: true },
  908: { does: 'stay_queued', afterMs: 0 },
};

/** What machine detection takes recorders, assistants and menus for: they talk without a pause. */
const MACHINE: EmulatedMachine = { verdict: 'machine', afterMs: 4000 };

/**
 * Telephones whose numbers say what they do: `…901` is busy, `…902` is never answered, `…903` refuses, `…904` answers
 * and hangs up, `…905` is not in service, `…906` is refused by the carrier, `…907` is called though the request gets no
 * answer, `…908` stays in the carrier's queue, `…91n` answers after n seconds; all others answer after one. At `…92n`,
 * `…93n` and `…94n` a machine does: `machineByNumber`.
 */
export function telephoneByNumber(to: string): Telephone {
  const digits = to.slice(-3);
  const seconds = /^91(\d)$/.exec(digits)?.[1];
  if (seconds !== undefined) return answers(Number(seconds) * 1000);
  if (machineByNumber(to)) return { ...answers(1000), machine: MACHINE };
  return BY_LAST_DIGITS[digits] ?? answers(1000);
}

/** The longest delay a timer of Node takes, 24 days. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What became of the ringing. `cancelled`: the call was ended before anything else happened. */
export type Rung = 'answered' | 'busy' | 'refused' | 'not_in_service' | 'rung_out' | 'cancelled';

const RUNG: Readonly<Partial<Record<Telephone['does'], Rung>>> = {
  answer: 'answered',
  busy: 'busy',
  refuse: 'refused',
  not_in_service: 'not_in_service',
};

/** The telephone at the far end of one call that was dialled. */
export class DialledTelephone {
  readonly #telephone: Telephone;
  readonly #queuedMs: number;
  readonly #ringTimeoutMs: number;
  readonly #clock: Clock;
  readonly #cancelled = new AbortController();
  readonly #timers: Timer[] = [];

  /** @param options `queuedMs`: how long the call waits for its turn at the carrier */
  constructor(options: { telephone: Telephone; queuedMs: number; ringTimeoutMs: number; clock: Clock }) {
    this.#telephone = options.telephone;
    this.#queuedMs = options.queuedMs;
    this.#ringTimeoutMs = options.ringTimeoutMs;
    this.#clock = options.clock;
  }

  /** Waits in the carrier's queue. @returns whether it is dialled, and not cancelled meanwhile */
  dialled(): Promise<boolean> {
    return this.#wait(this.#telephone.does === 'stay_queued' ? MAX_TIMER_MS : this.#queuedMs);
  }

  /** Rings until somebody does something, or for as long as the carrier lets it ring. */
  async rings(): Promise<Rung> {
    const { does, afterMs } = this.#telephone;
    const outcome = RUNG[does];
    const ringsOut = outcome === undefined || afterMs >= this.#ringTimeoutMs;
    if (!(await this.#wait(ringsOut ? this.#ringTimeoutMs : afterMs))) return 'cancelled';
    return ringsOut ? 'rung_out' : outcome;
  }

  /**
   * Somebody has answered, and talks.
   * @param until `hangUp` is called when they have had enough, `onLimit` when the carrier has, after `limitMs`;
   *   `onMachine`, where it was asked for, with each verdict of machine detection
   */
  answered(until: {
    hangUp: () => void;
    limitMs: number;
    onLimit: () => void;
    onMachine?: ((heard: EmulatedMachine['verdict'] | 'beep') => void) | undefined;
  }): void {
    const { hangUpAfterMs } = this.#telephone;
    this.#timers.push(this.#clock.setTimeout(until.onLimit, Math.min(until.limitMs, MAX_TIMER_MS)));
    const { onMachine } = until;
    if (onMachine) {
      const { verdict, afterMs, beepAfterMs } = this.#telephone.machine ?? PERSON;
      this.#timers.push(this.#clock.setTimeout(() => onMachine(verdict), afterMs));
      if (beepAfterMs !== undefined)
        this.#timers.push(this.#clock.setTimeout(() => onMachine('beep'), beepAfterMs));
    }
    if (hangUpAfterMs !== undefined) this.#timers.push(this.#clock.setTimeout(until.hangUp, hangUpAfterMs));
  }

  /** The call is over. */
  cancel(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#cancelled.abort(new Error('The call is over.'));
  }

  async #wait(ms: number): Promise<boolean> {
    return wait(this.#clock, ms, this.#cancelled.signal).then(
      () => true,
      () => false,
    );
  }
}

/** Calls that a carrier begins one after the other, and keeps in a queue meanwhile. */
export class DialPace {
  readonly #intervalMs: number;
  readonly #clock: Clock;
  #nextAt = 0;

  constructor(callsPerSecond: number, clock: Clock) {
    this.#intervalMs = 1000 / callsPerSecond;
    this.#clock = clock;
  }

  /** Takes the next turn. @returns how long it is until then, ms */
  take(): number {
    const now = this.#clock.monotonic();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#intervalMs;
    return at - now;
  }
}

/** Requests that a carrier refuses when there were too many lately. */
export class RequestWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  readonly #clock: Clock;
  #times: number[] = [];

  constructor(limit: number, windowMs: number, clock: Clock) {
    this.#limit = limit;
    this.#windowMs = windowMs;
    this.#clock = clock;
  }

  /** @returns whether there is room for one more, which is counted then */
  take(): boolean {
    const now = this.#clock.monotonic();
    this.#times = this.#times.filter((at) => at > now - this.#windowMs);
    if (this.#times.length >= this.#limit) return false;
    this.#times.push(now);
    return true;
  }
}
