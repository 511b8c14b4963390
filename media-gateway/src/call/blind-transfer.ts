import type { COMMAND_ARGS } from '@parley/shared/contracts/commands';
import type { Clock } from '@parley/shared/time/clock';
import type { z } from 'zod';
import type { CarrierRequests, CarrierResult } from './carrier-requests.ts';
import type { ConsultArgs } from './consultation.ts';

/** How much longer than the target rings a carrier may take to say that nobody has answered. */
const GRACE_MS = 15_000;

/** The outcome of a transfer. @property returns the carrier brings the caller back on another connection */
export interface TransferResult extends CarrierResult {
  returns?: boolean;
}

/** How long a carrier that has taken the caller may take to say what came of it, ms. */
export function blindLimitMs(ringTimeoutSeconds: number): number {
  return ringTimeoutSeconds * 1000 + GRACE_MS;
}

/** The carrier takes the caller away and calls somebody for them. What came of it is told by a command, or by nobody. */
export class BlindTransfer {
  readonly #carrier: CarrierRequests;
  readonly #clock: Clock;
  readonly #onTaken: () => void;
  #wait: { transferId: string; over: (result: TransferResult) => void } | undefined;

  constructor(deps: {
    carrier: CarrierRequests;
    clock: Clock;
    /** The carrier has taken the caller. */
    onTaken: () => void;
  }) {
    this.#carrier = deps.carrier;
    this.#clock = deps.clock;
    this.#onTaken = deps.onTaken;
  }

  /**
   * Has the caller transferred. Never rejects, and takes no longer than `blindLimitMs` and one request to the carrier. A carrier
   * that says nothing within the time in which the target rings has connected the two.
   */
  async run(args: ConsultArgs): Promise<TransferResult> {
    const { promise, resolve } = Promise.withResolvers<TransferResult>();
    this.#wait = { transferId: args.transfer_id, over: resolve };
    const asked = await this.#carrier.ask('transfer', args);
    if (asked.ok) {
      this.#onTaken();
      const limitMs = blindLimitMs(args.ring_timeout_seconds);
      const timer = this.#clock.setTimeout(() => resolve({ ok: true }), limitMs);
      void promise.then(() => timer.cancel());
    } else resolve(asked);
    const result = await promise;
    this.#wait = undefined;
    return result;
  }

  /** Takes the outcome; one of another transfer is ignored. */
  onResult({ transfer_id: id, result }: z.output<(typeof COMMAND_ARGS)['transfer_result']>): void {
    if (this.#wait?.transferId !== id) return;
    if (result === 'bridged') this.#wait.over({ ok: true });
    else this.#wait.over({ ok: false, code: result, ...(result === 'returns' && { returns: true }) });
  }

  /** Ends the wait: they have been connected. */
  giveUp(): void {
    this.#wait?.over({ ok: true });
  }

  /** The call is over. */
  close(): void {
    this.#wait?.over({ ok: false, code: 'call_over' });
  }
}
