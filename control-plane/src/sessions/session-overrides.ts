import { agentConfigSchema } from '@parley/shared/contracts/agent-config';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import { ValidationError } from '@parley/shared/errors/app-error';
import { toNano } from '../billing/money.ts';
import { mergePatch } from '../http/merge-patch.ts';
import { toValidationDetails } from '../http/validation.ts';
import { defined } from '../storage/defined.ts';
import type { SessionAgent } from './session-agent.ts';

/** Parts of an agent's `config` that one call may have its own way. */
export const OVERRIDABLE_SETTINGS = [
  'language',
  'greeting',
  'llm',
  'stt',
  'tts',
  'turn_taking',
  'interruption',
  'filler',
  'silence',
  'end_call',
  'answer_detection',
  'dtmf',
] as const satisfies readonly (keyof AgentConfig)[];

/** Limits that one call may have lower than its agent. */
const LOWERABLE_LIMITS = [
  'max_duration_seconds',
  'max_tool_steps',
  'max_cost_amount',
  'max_concurrent_sessions',
] as const satisfies readonly (keyof AgentConfig['limits'])[];
export type LowerableLimit = (typeof LOWERABLE_LIMITS)[number];

/** What one call, or the calls of one campaign, have otherwise than their agent. What is left out is the agent's. */
export interface Overrides {
  greeting?: string | undefined;
  system_prompt?: string | undefined;
  llm_id?: string | undefined;
  stt_id?: string | undefined;
  tts_id?: string | undefined;
  tts_voice_id?: string | null | undefined;
  /** JSON Merge Patch on the agent's config; limits only downwards. */
  config?:
    | ({ [Section in (typeof OVERRIDABLE_SETTINGS)[number]]?: Record<string, unknown> | null | undefined } & {
        limits?: { [Limit in LowerableLimit]?: number | string | undefined } | undefined;
      })
    | undefined;
}

/**
 * The agent as a call with these overrides runs it. Doing it again changes nothing. A limit that the agent has lower by
 * now stays the agent's.
 * @throws ValidationError with `loc` below `["body", "overrides", "config"]` for settings that contradict the agent's
 */
export function withOverrides(agent: SessionAgent, overrides: Overrides | null): SessionAgent {
  if (overrides === null) return agent;
  const { config, ...content } = overrides;
  return { ...agent, ...defined(content), ...(config && { config: overridden(agent.config, config) }) };
}

/** Of limits that are asked for, those above the agent's own. */
export function raisedLimits(limits: AgentConfig['limits'], overrides: Overrides): LowerableLimit[] {
  const asked = overrides.config?.limits ?? {};
  return LOWERABLE_LIMITS.filter((name) => asked[name] !== undefined && isAbove(asked[name], limits[name]));
}

/** As a session keeps them. */
export function storedOverrides(overrides: Overrides | null): string | null {
  return overrides === null ? null : JSON.stringify(overrides);
}

/** As they were stored. Sessions of earlier versions have none. */
export function readOverrides(stored: string | null | undefined): Overrides | null {
  return stored ? (JSON.parse(stored) as Overrides) : null;
}

function overridden(config: AgentConfig, { limits = {}, ...patch }: NonNullable<Overrides['config']>) {
  const lowered = LOWERABLE_LIMITS.filter(
    (name) => limits[name] !== undefined && !isAbove(limits[name], config.limits[name]),
  ).map((name) => [name, limits[name]]);
  const merged = mergePatch(
    { ...config, limits: { ...config.limits, ...Object.fromEntries(lowered) } },
    patch,
  );
  const parsed = agentConfigSchema.safeParse(merged, { reportInput: true });
  if (parsed.success) return parsed.data;
  throw new ValidationError(toValidationDetails(parsed.error, ['body', 'overrides', 'config']));
}

/** Whether a limit is above another; null is no limit. Amounts are texts. */
function isAbove(asked: number | string, limit: number | string | null): boolean {
  if (limit === null) return false;
  if (typeof asked === 'number' && typeof limit === 'number') return asked > limit;
  return toNano(String(asked)) > toNano(String(limit));
}
