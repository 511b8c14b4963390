import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import { builtInSentences } from './built-in-sentences.ts';
import { Reply, type ReplyDeps, type ReplyKnowledge, type ReplyModel, type ReplyOrder } from './reply.ts';

/** Begins a reply in the playout's speech. */
export type MakeReply = (
  order: Omit<ReplyOrder, 'recall'> & {
    /** What the caller wants answered; undefined: the reply is no answer. */
    question?: () => string | undefined;
  },
) => Reply;

/** @returns what makes the replies of one call, with all that they have in common */
export function replyMaker({
  plan,
  llms,
  knowledge,
  ...shared
}: Omit<ReplyDeps, 'model'> & {
  plan: SessionPlan;
  llms: readonly LlmProvider[];
  /** Undefined: nothing is looked up by itself. */
  knowledge: ReplyKnowledge | undefined;
}): MakeReply {
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
  return ({ question, ...order }) => {
    const asked = knowledge && question?.();
    const recall =
      knowledge && asked !== undefined ? (signal: AbortSignal) => knowledge.recall(asked, signal) : undefined;
    return new Reply({ ...shared, model }, { ...order, recall });
  };
}
