import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { ValidationDetail } from '@parley/shared/errors/app-error';

/**
 * Settings of an agent that this version does not support, each with the values that describe what happens anyway
 * (its default first). Any other value is refused, so that nobody relies on a guard that is not there. A change that
 * supports one of them deletes its line.
 */
export const UNSUPPORTED_SETTINGS: readonly (readonly [path: string, ...accepted: unknown[]])[] = [
  ['stt.noise_suppression', 'off'],
  ['turn_taking.backchannel.enabled', false],
  ['turn_taking.backchannel.frequency', 0.4],
  ['turn_taking.backchannel.phrases', []],
  ['filler.generated', false],
  ['limits.warn_before_end_seconds', 0],
  ['recording.format', 'wav'],
  ['guardrails.prompt_injection', false],
  ['guardrails.blocked_topics', []],
  ['guardrails.refusal', ''],
];

/**
 * @param before the config so far: a value that it has is kept, though an earlier version took it
 * @returns one `not_available` for every setting that asks for what this version does not do
 */
export function checkUnsupportedSettings(config: AgentConfig, before?: AgentConfig): ValidationDetail[] {
  return UNSUPPORTED_SETTINGS.flatMap(([path, ...accepted]) => {
    const known = before ? valuesAt(before, path.split('.'), []) : [];
    return valuesAt(config, path.split('.'), [])
      .filter(({ value }) => !accepted.some((one) => isDeepStrictEqual(one, value)))
      .filter((one) => !known.some((old) => isDeepStrictEqual(old, one)))
      .map(({ loc }) => ({
        loc: ['body', 'config', ...loc],
        msg: `is not supported in this version: use ${JSON.stringify(accepted[0])}`,
        type: 'not_available',
      }));
  });
}

function valuesAt(
  value: unknown,
  path: readonly string[],
  loc: string[],
): { value: unknown; loc: string[] }[] {
  const [key, ...rest] = path;
  if (key === undefined) return [{ value, loc }];
  if (typeof value !== 'object' || value === null) return [];
  return valuesAt((value as Record<string, unknown>)[key], rest, [...loc, key]);
}
