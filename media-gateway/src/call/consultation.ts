import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import type { COMMAND_ARGS } from '@parley/shared/contracts/commands';
import { consultLimitMs } from '@parley/shared/contracts/consult';
import type { Clock } from '@parley/shared/time/clock';
import type { z } from 'zod';
import type { CarrierRequests, CarrierResult } from './carrier-requests.ts';

/** What the carrier is asked for. */
export type ConsultArgs = CarrierCommandData['args'] & { transfer_id: string; ring_timeout_seconds: number };

/** One wait. */
interface Wait {
  transferId: string;
  over: (result: CarrierResult) => void;
}

/**
 * The caller waits while somebody is called and told of them. That call is the control plane's and another gateway's: here it is
 * begun, and ends once, in whatever way.
 */
export class Consultation {
  readonly #carrier: CarrierRequests;
  readonly #clock: Clock;
  readonly #briefOf: (destination: TransferDestination) => Promise<string>;
  readonly #hold: (assetId: string) => () => void;
  #wait: Wait | undefined;

  constructor(deps: {
    carrier: CarrierRequests;
    clock: Clock;
    /** What is said to who answers; empty: nothing. Never rejects. */
    briefOf: (destination: TransferDestination) => Promise<string>;
    /** Has the caller hear an audio asset. @returns what ends that */
    hold: (assetId: string) => () => void;
  }) {
    this.#carrier = deps.carrier;
    this.#clock = deps.clock;
    this.#briefOf = deps.briefOf;
    this.#hold = deps.hold;
  }

  /**
   * Has somebody called. Never rejects, and takes no longer than `consultLimitMs` and one request to the carrier.
   * @returns ok when they have taken the caller, who is with them now
   */
  async run(destination: TransferDestination, args: ConsultArgs): Promise<CarrierResult> {
    const { transfer_id: transferId } = args;
    const { promise, resolve } = Promise.withResolvers<CarrierResult>();
    const wait: Wait = { transferId, over: resolve };
    this.#wait = wait;
    const limitMs = consultLimitMs(args.ring_timeout_seconds);
    const timer = this.#clock.setTimeout(() => resolve({ ok: false, code: 'timeout' }), limitMs);
    const assetId = destination.hold_audio_asset_id;
    const endHold = assetId === null ? undefined : this.#hold(assetId);
    void this.#begin(wait, destination, args);
    const result = await promise;
    timer.cancel();
    endHold?.();
    // The call is over: that was told already.
    if (this.#wait !== wait) return result;
    this.#wait = undefined;
    if (result.ok) return result;
    // Nobody is called for a caller who waits no more, and whoever is with them already stays.
    const cancelled = await this.#carrier.ask('consult_cancel', { transfer_id: transferId });
    return cancelled.code === 'bridged' ? { ok: true } : result;
  }

  /** Takes the outcome; one of another transfer is ignored. */
  onResult({ transfer_id: id, result, code }: z.output<(typeof COMMAND_ARGS)['consult_result']>): void {
    if (this.#wait?.transferId !== id) return;
    this.#wait.over(result === 'accepted' ? { ok: true } : { ok: false, code: code ?? result });
  }

  /** The caller's stream is gone: they have hung up, or the carrier has taken them to who was called. */
  callerGone(): void {
    this.#wait?.over({ ok: false, code: 'caller_left' });
  }

  /** Ends the wait with `timeout`. */
  giveUp(): void {
    this.#wait?.over({ ok: false, code: 'timeout' });
  }

  /** The call is over. */
  close(): void {
    const wait = this.#wait;
    if (!wait) return;
    this.#wait = undefined;
    this.#carrier.notify('consult_cancel', { transfer_id: wait.transferId });
    wait.over({ ok: false, code: 'call_over' });
  }

  async #begin(wait: Wait, destination: TransferDestination, args: ConsultArgs): Promise<void> {
    const brief = await this.#briefOf(destination);
    if (this.#wait !== wait) return;
    // Its outcome may come before the answer to this.
    const asked = await this.#carrier.ask('consult', args, brief);
    if (!asked.ok) wait.over(asked);
  }
}
