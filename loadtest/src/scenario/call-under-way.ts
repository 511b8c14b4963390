import type { Step } from './conversation.ts';

/**
 * What is left of a conversation that is under way when it is first looked at: at least a step, and evenly spread over
 * callers in a row (multiples of the golden ratio), as over any line at any time.
 * @param caller its number
 */
export function stepsLeft(steps: readonly Step[], caller: number): readonly Step[] {
  const begun = ((caller + 1) * ((Math.sqrt(5) - 1) / 2)) % 1;
  return steps.slice(0, Math.ceil(steps.length * (1 - begun)));
}
