import { randomUUID } from 'node:crypto';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CarrierRequests, CarrierResult } from './carrier-requests.ts';
import type { TransferDestination } from './call-tools.ts';

/** A blind transfer: announced, then asked of the carrier, which takes the caller away from us. */
export class Transfer {
  readonly id = randomUUID();
  readonly destination: TransferDestination;
  /** The carrier was asked. */
  begun = false;
  /** The carrier took the stream away meanwhile, as it does while it connects the caller. */
  gone: { stopped: boolean; code: number } | undefined;

  constructor(destination: TransferDestination) {
    this.destination = destination;
  }

  /** @returns how it went; a number that is not allowed is not asked for (`target_not_allowed`) */
  async run(
    carrier: CarrierRequests,
    plan: Pick<SessionPlan, 'system' | 'direction'>,
    variables: Readonly<Record<string, string>>,
  ): Promise<CarrierResult> {
    this.begun = true;
    const to = this.#number(variables);
    if (to === undefined || !this.#allows(to)) return { ok: false, code: 'target_not_allowed' };
    const callerId = this.#callerId(plan);
    return carrier.ask('transfer', {
      to,
      ...(callerId === null ? {} : { caller_id: callerId }),
      ring_timeout_seconds: this.destination.ring_timeout_seconds,
      transfer_id: this.id,
    });
  }

  #number(variables: Readonly<Record<string, string>>): string | undefined {
    const { target } = this.destination;
    if (target.type === 'phone') return target.phone_number;
    return target.type === 'variable' ? variables[target.name] : undefined;
  }

  #allows(to: string): boolean {
    const { target } = this.destination;
    if (target.type !== 'variable') return true;
    return (
      (target.allowed_numbers?.includes(to) ?? false) ||
      (target.allowed_prefixes?.some((prefix) => to.startsWith(prefix)) ?? false)
    );
  }

  /** The caller's own number, or ours: on outbound calls the one that called is ours. */
  #callerId(plan: Pick<SessionPlan, 'system' | 'direction'>): string | null {
    const { caller_number: caller, called_number: called } = plan.system;
    return this.destination.caller_id === 'caller' || plan.direction === 'outbound' ? caller : called;
  }
}
