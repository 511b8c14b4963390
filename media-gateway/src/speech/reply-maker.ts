import type { Usage } from '@parley/shared/contracts/call-events';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmMessage, LlmProvider } from '../providers/llm/llm-provider.ts';
import type { Playout } from './playout.ts';
import { Reply, type ReplyTools } from './reply.ts';
import type { CallVoices } from './speaker.ts';

/** What differs from one reply of a call to the next. */
export interface ReplyOrder {
  /** Fixed words instead of thinking. */
  speech?: string;
  /** Everything the LLM is told, as of then. */
  messages: () => LlmMessage[];
  /** Only written: no voice speaks it. */
  silent: boolean;
  /** False: thought ahead; nothing is heard and no tool runs until `Reply.release`. */
  released: boolean;
  onText(delta: string): void;
}

/** Begins a reply in the playout's speech. */
export type MakeReply = (order: ReplyOrder) => Reply;

/** @returns what makes the replies of one call, with all that they have in common */
export function replyMaker(deps: {
  plan: SessionPlan;
  llms: readonly LlmProvider[];
  voices: CallVoices;
  playout: Playout;
  tools: ReplyTools;
  clock: Clock;
  usage: Usage;
  onTrouble(code: string, error: unknown): void;
}): MakeReply {
  const { plan, playout, onTrouble, ...shared } = deps;
  const { llm, limits, filler } = plan.agent.config;
  const settings = {
    temperature: llm.temperature,
    maxOutputTokens: llm.max_output_tokens,
    requestTimeoutMs: llm.request_timeout_ms,
    maxToolSteps: limits.max_tool_steps,
    cacheKey: plan.agent.agent_id ?? plan.project_id,
    filler: filler.enabled
      ? { afterMs: filler.after_ms, messages: filler.messages, maxPerTurn: filler.max_per_turn }
      : undefined,
  };
  return ({ speech, messages, silent, released, onText }) =>
    new Reply(
      {
        ...shared,
        playout,
        settings,
        output: playout.format,
        messages,
        silent,
        events: { onText, onWarning: onTrouble },
      },
      { ...(speech === undefined ? {} : { speech }), released },
    );
}
