import { slotsForLoss } from './erlang.ts';

export interface FleetCost {
  /** Calls that one core serves well, with room to spare: measured, then reduced. */
  callsPerCore: number;
  coresPerMachine: number;
  /** Mean length of a call. */
  callSeconds: number;
  /** Share of calls that may find no slot at the peak. */
  lossShare: number;
  /** Machines that may be missing at the peak. */
  spareMachines: number;
}

export interface Fleet {
  /** Calls that can run at a time. */
  slots: number;
  processes: number;
  machines: number;
  /** New calls, which is what the control plane and its database see. */
  startsPerSecond: number;
}

/** How much of everything it takes for `calls` at a time on average in the busiest hour. */
export function planFleet(calls: number, cost: FleetCost): Fleet {
  const slots = slotsForLoss(calls, cost.lossShare);
  const processes = Math.ceil(slots / cost.callsPerCore);
  return {
    slots,
    processes,
    machines: Math.ceil(processes / cost.coresPerMachine) + cost.spareMachines,
    startsPerSecond: calls / cost.callSeconds,
  };
}
