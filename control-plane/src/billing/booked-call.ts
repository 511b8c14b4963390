import type { Channel, Direction } from '@parley/shared/contracts/session-values';
import type { LogHistogram } from '@parley/shared/values/log-histogram';

/** One call that is over, with what was booked for it; amounts are in 10⁻⁹ of the currency. */
export interface BookedCall {
  session_id: string;
  org_id: string;
  project_id: string;
  agent_id: string | null;
  /** The version that had it; null: a test's, or that of no agent. */
  agent_version: number | null;
  channel: Channel;
  direction: Direction;
  /** Whether caller and agent were ever connected. */
  connected: boolean;
  ended_at: Date;
  /** 0 where nobody was connected. */
  connected_ms: number;
  /** Answers of the agent whose time was taken, and how long they took together. */
  replies: { count: number; total_ms: number };
  /** The same of each answer and of its parts, as histograms; null: of nobody known. */
  latencies: Record<string, LogHistogram> | null;
  /** `hangup_reason`, or why it failed; null where nobody has said it. */
  end_reason: string | null;
  amount_nano: bigint;
  /** ISO 4217. */
  currency: string;
}

/** Who sums up what calls cost. */
export interface BookedCalls {
  /** Takes one call in. It is called again where a process died in between: the same session counts once. */
  booked(entry: BookedCall): Promise<void>;
}
