import { number } from './session-log.ts';
import type { LogEvent } from './session-log.ts';

/** What a reply waited for, in order. `other` is the rest: tools, documents, and handing on. */
export const LATENCY_PARTS = ['turn_end', 'llm', 'voice', 'other'] as const;
export type LatencyPart = (typeof LATENCY_PARTS)[number];

export const LATENCY_LABELS: Readonly<Record<LatencyPart, string>> = {
  turn_end: 'Turn end',
  llm: 'LLM',
  voice: 'Voice',
  other: 'Other',
};

export interface ReplyLatency {
  /** From the caller's last sound to the agent's first, in milliseconds; the sum of the parts. */
  total: number;
  parts: readonly { part: LatencyPart; ms: number }[];
  /** What thinking ahead has saved. */
  saved: number;
}

/**
 * Takes a latency apart, as a turn's event tells it. A model that thought ahead had begun before the turn was over: only
 * what it still took after that was waited for. The parts never come to more than the whole.
 * @returns null where nothing was measured
 */
export function replyLatency(data: unknown): ReplyLatency | null {
  if (typeof data !== 'object' || data === null) return null;
  const { e2e, stt_final, llm_first_token, tts_first_audio, thought_ahead } = data as Record<string, unknown>;
  const saved = Math.max(0, number(thought_ahead) ?? 0);
  const measured: [LatencyPart, number][] = [
    ['turn_end', number(stt_final) ?? 0],
    ['llm', Math.max(0, (number(llm_first_token) ?? 0) - saved)],
    ['voice', number(tts_first_audio) ?? 0],
  ];
  const total = number(e2e) ?? measured.reduce((sum, [, ms]) => sum + Math.max(0, ms), 0);
  if (total <= 0) return null;
  let left = total;
  const parts: { part: LatencyPart; ms: number }[] = [];
  for (const [part, ms] of [...measured, ['other', total] as const]) {
    const taken = Math.min(left, Math.max(0, Math.round(ms)));
    if (taken > 0) parts.push({ part, ms: taken });
    left -= taken;
  }
  return { total, parts, saved };
}

/** The latencies of the agent's turns, by the turn's index. A turn that is told again replaces what was told. */
export function latenciesByTurn(events: readonly LogEvent[]): ReadonlyMap<number, ReplyLatency> {
  const found = new Map<number, ReplyLatency>();
  for (const { type, data } of events) {
    const index = type === 'turn' ? number(data['turn_index']) : undefined;
    const latency = index === undefined ? null : replyLatency(data['latency']);
    if (latency) found.set(index!, latency);
  }
  return found;
}

/** What the bars of a conversation are drawn to: the longest latency, in round steps, so that bars can be compared. */
export function latencyScale(latencies: Iterable<ReplyLatency>): number {
  let longest = 1000;
  for (const { total } of latencies) longest = Math.max(longest, total);
  return Math.ceil(longest / 500) * 500;
}
