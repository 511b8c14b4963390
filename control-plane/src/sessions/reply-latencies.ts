import type { Turn } from '@parley/shared/contracts/turn';
import { barOf } from '@parley/shared/values/log-histogram';
import type { LogHistogram } from '@parley/shared/values/log-histogram';

/** A reply of the agent and what it waits for, in order. */
export const REPLY_LATENCIES = ['reply', 'turn_end', 'llm', 'voice'] as const;

/** The replies of some calls by how long each took, and each of its parts: histograms of milliseconds. */
export type ReplyLatencies = Partial<Record<(typeof REPLY_LATENCIES)[number], LogHistogram>>;

/**
 * What the replies among some turns took. A model that thought ahead had begun before the turn was over: only what it still
 * took after that was waited for.
 */
export function replyLatencies(turns: readonly Pick<Turn, 'latency'>[]): ReplyLatencies {
  const latencies: ReplyLatencies = {};
  const count = (of: (typeof REPLY_LATENCIES)[number], ms: number | null) => {
    if (ms === null) return;
    const bars = (latencies[of] ??= {});
    bars[barOf(ms)] = (bars[barOf(ms)] ?? 0) + 1;
  };
  for (const { latency } of turns) {
    if (latency?.e2e == null) continue;
    const { e2e, stt_final, llm_first_token: llm, tts_first_audio, thought_ahead } = latency;
    count('reply', e2e);
    count('turn_end', stt_final);
    count('llm', llm === null ? null : Math.max(0, llm - Math.max(0, thought_ahead ?? 0)));
    count('voice', tts_first_audio);
  }
  return latencies;
}
