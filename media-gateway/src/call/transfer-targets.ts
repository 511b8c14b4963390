import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import { destinationsIn } from '@parley/shared/contracts/flow-definition';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { ConsultArgs } from './consultation.ts';
import type { TrustedVariables } from './trusted-variables.ts';

/** All that the caller may be brought to: the agent's destinations, and those of its flow's nodes. */
export function allDestinations({ agent, flow }: Pick<SessionPlan, 'agent' | 'flow'>): TransferDestination[] {
  return [...agent.config.transfer.destinations, ...(flow ? destinationsIn(flow.definition) : [])];
}

/** Whom the carrier is to call for a transfer, and how. */
export class TransferTargets {
  readonly #plan: SessionPlan;
  readonly #trusted: TrustedVariables;

  constructor(deps: { plan: SessionPlan; trusted: TrustedVariables }) {
    this.#plan = deps.plan;
    this.#trusted = deps.trusted;
  }

  /** @returns undefined for a number that is not allowed */
  argsOf(destination: TransferDestination, transferId: string): ConsultArgs | undefined {
    const to = numberOf(destination, this.#trusted);
    if (to === undefined || !allows(destination, to)) return undefined;
    const { target } = destination;
    const extension = target.type === 'phone' ? target.extension : null;
    const callerId =
      destination.mode === 'warm' ? this.#warmCallerId(destination) : this.#callerId(destination);
    return {
      to,
      destination_id: destination.id,
      ...(extension === null ? {} : { extension }),
      ...(callerId === null ? {} : { caller_id: callerId }),
      ring_timeout_seconds: destination.ring_timeout_seconds,
      transfer_id: transferId,
    };
  }

  /** A number of ours is chosen where the call is made. */
  #warmCallerId({ caller_id: shown }: TransferDestination): string | null {
    return shown === 'caller' ? this.#plan.system.caller_number : null;
  }

  /** The caller's own number, or ours, whoever called whom. */
  #callerId({ caller_id: shown }: TransferDestination): string | null {
    const { caller_number: theirs, called_number: ours } = this.#plan.system;
    return shown === 'caller' ? theirs : ours;
  }
}

function numberOf({ target }: TransferDestination, trusted: TrustedVariables): string | undefined {
  if (target.type === 'phone') return target.phone_number;
  return target.type === 'variable' ? trusted.get(target.name) : undefined;
}

function allows({ target }: TransferDestination, to: string): boolean {
  if (target.type !== 'variable') return true;
  return (
    (target.allowed_numbers?.includes(to) ?? false) ||
    (target.allowed_prefixes?.some((prefix) => to.startsWith(prefix)) ?? false)
  );
}
