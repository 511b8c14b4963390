import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import { builtInSentences } from './built-in-sentences.ts';
import { Reply, type ReplyDeps, type ReplyModel, type ReplyOrder } from './reply.ts';

/** Begins a reply in the playout's speech. */
export type MakeReply = (order: ReplyOrder) => Reply;

/** @returns what makes the replies of one call, with all that they have in common */
export function replyMaker({
  plan,
  llms,
  ...shared
}: Omit<ReplyDeps, 'model'> & { plan: SessionPlan; llms: readonly LlmProvider[] }): MakeReply {
  const { llm, limits, filler, language } = plan.agent.config;
  const model: ReplyModel = {
    llms,
    temperature: llm.temperature,
    maxOutputTokens: llm.max_output_tokens,
    requestTimeoutMs: llm.request_timeout_ms,
    cacheKey: plan.agent.agent_id ?? plan.project_id,
    maxToolSteps: limits.max_tool_steps,
    filler: filler.enabled
      ? {
          afterMs: filler.after_ms,
          messages: filler.messages ?? [builtInSentences(language.primary).filler],
          maxPerTurn: filler.max_per_turn,
        }
      : undefined,
  };
  return (order) => new Reply({ ...shared, model }, order);
}
