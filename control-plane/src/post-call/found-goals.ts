import type { SessionRecord } from '../sessions/session-record.ts';
import type { LeadAnalysis } from './lead-analysis.ts';

/** Who is told whether the goal of a call was reached, which may be long after the call: `UsageSums`, `CampaignFollower`. */
export interface FoundGoals {
  /** Safe to repeat. */
  goalFound(session: SessionRecord, goal: NonNullable<LeadAnalysis['goal_status']>): Promise<void>;
}
