import { createHash } from 'node:crypto';
import type { AgentRecord } from './agent-record.ts';

/** The versions by which an agent may answer now, each once. */
export function versionsInUse({ version, traffic }: Pick<AgentRecord, 'version' | 'traffic'>): number[] {
  const splits = traffic.mode === 'pinned' ? traffic.splits : [];
  return splits.length === 0 ? [version] : splits.map((split) => split.version);
}

/**
 * The version that has the next conversation of this caller, by the agent's traffic rule: always the same while the rule
 * is. Each version draws a number from caller and version alone, and the weights decide whose is the best (weighted
 * rendezvous hashing): so a change of weights moves hardly more callers than it must, and between two versions only to
 * the one whose share has grown.
 * @param caller their number or user identifier; of somebody unknown what names the conversation
 */
export function versionFor(agent: Pick<AgentRecord, '_id' | 'version' | 'traffic'>, caller: string): number {
  const { mode, splits } = agent.traffic;
  if (mode !== 'pinned' || splits.length === 0) return agent.version;
  const scored = splits.map(({ version, weight }) => ({
    version,
    score: -Math.log(drawn(agent._id, caller, version)) / weight,
  }));
  return scored.reduce((best, next) => (next.score < best.score ? next : best)).version;
}

/** A number between 0 and 1, neither included. */
function drawn(agentId: string, caller: string, version: number): number {
  const digest = createHash('sha256').update(`${agentId}\0${caller}\0${version}`).digest();
  return (digest.readUIntBE(0, 6) + 1) / (2 ** 48 + 1);
}
