import { z } from 'zod';
import { MAX_BRIEF_LENGTH } from './call-events.ts';
import { sessionPlanSchema } from './session-plan.ts';

/** How many times a session may be handed over to another agent. */
export const MAX_HAND_OVERS = 5;

/** A gateway hands a running call over to another agent. The same `handover_id` again gets the same agent. */
export const handOverRequest = z.object({
  handover_id: z.string().min(8).max(64),
  agent_id: z.string().max(64),
  /** Number of the first turn that may be the other agent's. */
  from_index: z.number().int().min(0),
  /** Whether the variables of the session join those of the other agent. */
  pass_variables: z.boolean().default(true),
  /** How much of what was said so far the other agent's model is told. */
  pass_history: z.enum(['all', 'summary', 'none']).default('all'),
  /** Where it is told a summary. */
  summary: z.string().max(MAX_BRIEF_LENGTH).default(''),
});
export type HandOverRequest = z.output<typeof handOverRequest>;

/** What of a plan is the agent's: it takes the place of the same part of the plan that the call began with. */
export const handOverPart = sessionPlanSchema.pick({
  agent: true,
  flow: true,
  memories: true,
  knowledge: true,
  assets: true,
  variables: true,
  system: true,
  stt: true,
  llm: true,
  tts: true,
  languages: true,
  tools: true,
  limits: true,
  prices: true,
});
export type HandOverPart = z.output<typeof handOverPart>;
/** As sent by the control plane, secrets in the clear. */
export type HandOverPartWire = z.input<typeof handOverPart>;
