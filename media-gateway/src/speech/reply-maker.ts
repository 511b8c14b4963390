import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { amplifier } from '@parley/shared/audio/gain';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import { builtInSentences } from './built-in-sentences.ts';
import type { ReplyGuard } from './reply-guard.ts';
import type { SpokenStyle } from './speaker.ts';
import { spokenForm } from './spoken-form/spoken-form.ts';
import { Reply, type ReplyDeps, type ReplyKnowledge, type ReplyModel, type ReplyOrder } from './reply.ts';

/** Begins a reply in the playout's speech. */
export type MakeReply = (
  order: Omit<ReplyOrder, 'recall' | 'answers' | 'guard'> & {
    /** What the caller wants answered; undefined: the reply is no answer. */
    question?: () => string | undefined;
  },
) => Reply;

/**
 * @returns what makes the replies of one call, with all that they have in common. Plan and models are read for each
 *   reply: they change with the agent.
 */
export function replyMaker({
  plan,
  llms,
  knowledge,
  guard,
  ...shared
}: Omit<ReplyDeps, 'model'> & {
  plan: SessionPlan;
  llms: readonly LlmProvider[];
  /** Asked by itself where the agent has documents and does not look them up as a tool. */
  knowledge: ReplyKnowledge;
  /** What guards replies that begin now. */
  guard: () => ReplyGuard | undefined;
}): MakeReply {
  const styleOf = styles(shared.playout.format);
  return ({ question, ...order }) => {
    const asked = question?.();
    const recall =
      asked === undefined || !looksUp(plan)
        ? undefined
        : (signal: AbortSignal) => knowledge.recall(asked, signal);
    return new Reply(
      { ...shared, model: modelOf(plan, llms, () => styleOf(plan)) },
      {
        ...order,
        answers: asked !== undefined,
        recall,
        // A fixed text is what somebody wrote for this.
        guard: order.speech === undefined ? guard() : undefined,
      },
    );
  };
}

function looksUp({ knowledge, agent }: SessionPlan): boolean {
  return knowledge.base_ids.length > 0 && agent.config.knowledge.mode === 'auto';
}

/** How an agent sounds, made anew when the agent or the language is another one. */
function styles(format: AudioFormat): (plan: SessionPlan) => SpokenStyle {
  let made: { config: AgentConfig; style: SpokenStyle } | undefined;
  return ({ agent: { config } }) => {
    if (made?.config !== config) {
      const { language, tts } = config;
      const style = {
        toSpoken: spokenForm(language.primary, tts),
        amplify: tts.volume === 1 ? undefined : amplifier(format, tts.volume),
      };
      made = { config, style };
    }
    return made.style;
  };
}

function modelOf(plan: SessionPlan, llms: readonly LlmProvider[], style: () => SpokenStyle): ReplyModel {
  const { llm, limits, filler, language } = plan.agent.config;
  return {
    llms: [...llms],
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
          generated: filler.generated,
        }
      : undefined,
    language: language.primary,
    style,
  };
}
