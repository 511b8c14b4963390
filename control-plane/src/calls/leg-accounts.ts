import type { CallReport } from '@parley/shared/contracts/call-events';
import { NOTHING_USED, usedTogether } from '@parley/shared/contracts/call-prices';
import type { LegAccount, SessionRecord } from '../sessions/session-record.ts';

/** Usage of one leg. */
export function accountOf({ usage, agent_talk_ms, transfer_ms, hand_overs }: CallReport): LegAccount {
  return { usage, agent_talk_ms, transfer_ms, ...(hand_overs && { hand_overs }) };
}

/** Usage of all legs that have reported, summed: a call that was rejoined is one call. */
export function totalsOf(
  session: Pick<SessionRecord, 'legs'>,
): Pick<SessionRecord, 'usage' | 'agent_duration_seconds' | 'transfer_duration_seconds'> {
  const legs = Object.values(session.legs ?? {});
  const sum = (pick: (leg: LegAccount) => number) => legs.reduce((total, leg) => total + pick(leg), 0);
  return {
    usage: legs.reduce((used, leg) => usedTogether(used, leg.usage), NOTHING_USED),
    agent_duration_seconds: Math.round(sum((leg) => leg.agent_talk_ms)) / 1000,
    transfer_duration_seconds: Math.round(sum((leg) => leg.transfer_ms)) / 1000,
  };
}
