import type { SessionPlan } from '@parley/shared/contracts/session-plan';

/** The languages that a call may be held in, the present one first. */
export function languagesOf({ agent, languages }: Pick<SessionPlan, 'agent' | 'languages'>): string[] {
  // The agent's first language is not among its further ones, unless it is one of the others that is spoken.
  const { primary, additional } = agent.config.language;
  const further = Object.keys(languages);
  const first = [primary, ...additional].filter((tag) => !further.includes(tag) && further.length > 0);
  return [...new Set([primary, ...first.slice(0, 1), ...further])];
}
