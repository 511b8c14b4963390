import type { Usage } from '@parley/shared/contracts/usage';
import { NOTHING_USED, usedSince, usedTogether } from '@parley/shared/contracts/call-prices';

/** A session, as far as it says who used what: of `SessionRecord`. */
export interface SharedUsage {
  usage: Usage | null;
  /** By number of the leg, as each has reported. */
  legs?:
    | Record<
        string,
        { usage: Usage; hand_overs?: readonly { handover_id: string; usage: Usage }[] | undefined }
      >
    | undefined;
  hand_overs?: readonly { handover_id: string; leg?: number }[] | undefined;
}

/**
 * What was used of a session while each agent held it, by the hand-over from which on it did; null: its first agent. A leg
 * begins with the agent that had the call when the one before it was over, whether that has reported or not.
 */
export function usageByAgent({ usage, legs, hand_overs = [] }: SharedUsage): Map<string | null, Usage> {
  if (hand_overs.length === 0) return new Map([[null, usage ?? NOTHING_USED]]);
  const used = new Map<string | null, Usage>();
  const add = (agent: string | null, more: Usage) =>
    used.set(agent, usedTogether(used.get(agent) ?? NOTHING_USED, more));
  for (const [number, leg] of Object.entries(legs ?? {})) {
    let agent = hand_overs.findLast((one) => (one.leg ?? Infinity) < Number(number))?.handover_id ?? null;
    let before: Usage = NOTHING_USED;
    for (const handOver of leg.hand_overs ?? []) {
      add(agent, usedSince(before, handOver.usage));
      agent = handOver.handover_id;
      before = handOver.usage;
    }
    add(agent, usedSince(before, leg.usage));
  }
  return used;
}
